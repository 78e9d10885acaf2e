"""`ufsim top`: a live view of a server that a person leaves open."""

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live

from ufsim._core import ConfigError
from ufsim.cli.options import UsageError
from ufsim.cli.screen import Screen
from ufsim.live.server import Control
from ufsim.live.top_rates import Look, Rates, rates
from ufsim.live.top_view import WIDTH, frame

INTERVAL_S = 1.0

IntervalOption = Annotated[float, typer.Option(metavar="S", help="Seconds between two looks, 0.1 to 3600.")]
OnceOption = Annotated[bool, typer.Option("--once", help="Print one frame after one interval, and end.")]


def top(path: Path, interval: float, export: str | None, *, once: bool) -> None:
    """Shows rates until Ctrl-C or q, which are the ordinary ends; or once."""
    if not 0.1 <= interval <= 3600:
        raise ConfigError(f"interval is {interval}; allowed: 0.1 to 3600 seconds")
    if path.exists() and not path.is_socket():
        raise ConfigError(f"{path}: must be the control socket of `ufsim serve`, which prints its path")
    screen = Screen()
    if not once and not (screen.is_terminal and os.environ.get("TERM") != "dumb"):
        raise UsageError("standard output is no terminal; --once prints one frame")
    with Control(path) as control:
        source = Source(control, path, export)
        if once:
            time.sleep(interval)
            screen.print(frame(source.rates(), source.title()), width=max(screen.width, WIDTH), highlight=False)
        else:
            watch(source, screen, interval)


class Source:
    """Looks at a server, each compared with the one before it."""

    def __init__(self, control: Control, path: Path, export: str | None) -> None:
        self._control, self._path, self._export = control, path, export
        self._last = self._look()
        self._wall_s = 0.0

    def _look(self) -> Look:
        exports = self._control.stats(self._export)
        return Look(time.monotonic(), exports)

    def rates(self) -> dict[str, Rates]:
        """What has been done since the last look."""
        look = self._look()
        found = rates(self._last, look)
        self._wall_s, self._last = look.at_s - self._last.at_s, look
        return found

    def title(self) -> str:
        """The line above all exports."""
        return f"ufsim top {self._path.name}: last {self._wall_s:.1f} s; * since power-on; q ends"


def watch(source: Source, screen: Screen, interval: float) -> None:
    """Draws a frame after every interval."""
    with keys() as pressed, Live(console=screen, screen=True, auto_refresh=False) as live:
        try:
            live.update(f"The first rates come after {interval:g} s; q ends.", refresh=True)
            while not pressed(interval):
                live.update(frame(source.rates(), source.title(), screen.height), refresh=True)
        except KeyboardInterrupt:
            return


@contextmanager
def keys() -> Iterator["Pressed"]:
    """Makes keys come one by one while it is entered, where standard input is a terminal."""
    if not sys.stdin.isatty():
        yield Pressed(None)
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield Pressed(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class Pressed:
    """Waits for a time, or until q is pressed."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def __call__(self, seconds: float) -> bool:
        """True if q was pressed; False after so many seconds."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self._descriptor is None:
                time.sleep(left)
            elif select.select([self._descriptor], [], [], left)[0]:
                key = os.read(self._descriptor, 1)
                if not key:  # nobody types any more
                    self._descriptor = None
                elif key in b"qQ":
                    return True
        return False
