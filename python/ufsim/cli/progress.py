"""How far a run is: a bar on a terminal, when it takes longer than a moment; elsewhere a line every now and then."""

import math
import os
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import TransferSpeedColumn as SpeedColumn
from rich.text import Text

from ufsim._core import ConfigError

PATIENCE_SECONDS = 2.0
HEARTBEAT_SECONDS = 30.0
# A run that has not been heard of for so long has ended, or stands still.
SILENT_SECONDS = 10.0


class Heartbeat:
    """Writes a line every `seconds` while it is entered, so that a log shows that the program is alive.

    `UFSIM_HEARTBEAT` says how many seconds; 0 stands for never.
    """

    def __init__(self, console: Console, line: Callable[[], str], seconds: float | None = None) -> None:
        self._console, self._line = console, line
        self._seconds = heartbeat_seconds() if seconds is None else seconds
        self._start = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="ufsim-heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        if self._seconds > 0 and not self._console.is_terminal:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _beat(self) -> None:
        while not self._ended.wait(self._seconds):
            seconds = time.monotonic() - self._start
            try:
                self._console.file.write(f"ufsim: {clock(seconds)}: {self._line()}\n")
                self._console.file.flush()
            except OSError:
                return  # nobody reads it


def heartbeat_seconds() -> float:
    """What `UFSIM_HEARTBEAT` asks for."""
    text = os.environ.get("UFSIM_HEARTBEAT", "")
    try:
        seconds = float(text) if text.strip() else HEARTBEAT_SECONDS
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= threading.TIMEOUT_MAX:
        raise ConfigError(f"UFSIM_HEARTBEAT is '{text}'; allowed: seconds between lines, 0 for none")
    return seconds


def clock(seconds: float) -> str:
    """A time as people read it: 45 s, 3 min 20 s, 2 h 5 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@dataclass
class Phase:
    """How far a phase of a run is."""

    name: str
    start: float
    heard: float = 0.0
    done: int = 0
    total: int | None = None
    sim_ns: int = 0

    def line(self) -> str:
        """The same in words: share, rate, time left, simulated time."""
        if self.total is None and not self.done:
            return self.name
        rate = self.done / max(self.heard - self.start, 1e-3)
        amount = f"{self.done / 2**20:,.0f} MiB"
        parts = [f"{self.done / self.total:.0%} of {self.total / 2**20:,.0f} MiB" if self.total else amount]
        parts.append(f"{rate / 2**20:,.0f} MiB/s")
        if self.total and rate:
            parts.append(f"{clock((self.total - self.done) / rate)} left")
        return f"{self.name} {', '.join(parts)} ({self.sim_ns / 1e9:.1f} s simulated)"


class TimeLeft:
    """Time left at the rate of the later half of the time up to the last step, or lower if the step under way is late.

    Half, because what an earlier command has left comes in a moment and says nothing about the rest.
    """

    def __init__(self, start: float, total: int | None = None) -> None:
        self._total = total
        self._times, self._counts = [start], [0]

    def step(self, now: float, done: int, total: int | None) -> None:
        """At a time so many are done. Fewer than before are the first of another count."""
        if done < self._counts[-1]:
            self._times, self._counts = [self._times[-1]], [0]
        if done != self._counts[-1]:
            self._times.append(now)
            self._counts.append(done)
        self._total = total

    def seconds(self, now: float) -> float | None:
        """Unknown before the first step."""
        last, done = self._times[-1], self._counts[-1]
        if self._total is None or not done:
            return None
        half = bisect_right(self._times, (self._times[0] + last) / 2, hi=len(self._times) - 1) - 1
        since, steps = self._times[half], done - self._counts[half]
        each = max((last - since) / steps, (now - since) / (steps + 1))
        left = self._total - done
        return max(left * each - (now - last), (left - 1) * each, 0.0)


class LeftColumn(ProgressColumn):
    """Shows a time left."""

    def __init__(self, left: TimeLeft) -> None:
        super().__init__()
        self._left = left

    def render(self, task: Task) -> Text:
        """The column of a bar."""
        del task
        seconds = self._left.seconds(time.monotonic())
        return Text("" if seconds is None else f"{clock(seconds)} left", style="progress.remaining")


class CountDisplay:
    """One bar that counts; elsewhere than on a terminal, lines. Its calls may come from any thread."""

    def __init__(self, name: str, total: int | None = None, console: Console | None = None) -> None:
        self._console = console or Console(file=sys.stderr)
        self._start = time.monotonic()
        self._name, self._done, self._total, self._shown, self._doing = name, 0, total, False, ""
        self._left = TimeLeft(self._start, total)
        self._heartbeat = Heartbeat(self._console, self._line)
        columns = (
            TextColumn(name),
            BarColumn(),
            MofNCompleteColumn(),
            LeftColumn(self._left),
            TextColumn("{task.fields[rate]}{task.fields[doing]}"),
        )
        self._progress = Progress(*columns, console=self._console, transient=True)
        self._task = self._progress.add_task(name, total=total, rate="", doing="")

    def __enter__(self) -> "CountDisplay":
        self._heartbeat.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._heartbeat.__exit__()
        if self._shown:
            self._progress.stop()

    def _line(self) -> str:
        of = f" of {self._total:,}" if self._total is not None else ""
        seconds = self._left.seconds(time.monotonic())
        left = "" if seconds is None else f", {clock(seconds)} left"
        return f"{self._done:,}{of} {self._name}{left}{self._doing}"

    def doing(self, what: str) -> None:
        """Shows what takes long meanwhile, until the next call with a number."""
        self._doing = f"; {what}"
        self._show()

    def __call__(self, done: int, total: int | None = None) -> None:
        """Shows that `done` are done, of `total` if that was not known before."""
        self._done, self._total, self._doing = done, self._total if total is None else total, ""
        self._left.step(time.monotonic(), done, self._total)
        self._show()

    def _show(self) -> None:
        seconds = time.monotonic() - self._start
        if not self._console.is_terminal or seconds < PATIENCE_SECONDS:
            return
        if not self._shown:
            self._shown = True
            self._progress.start()
        rate = f"{self._done / seconds:.1f}/s"
        self._progress.update(self._task, completed=self._done, total=self._total, rate=rate, doing=self._doing)


class ProgressDisplay:
    """A bar for each scheme on stderr; elsewhere than on a terminal, lines. Its calls may come from any thread."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(file=sys.stderr)
        self._start = time.monotonic()
        self._lock = threading.Lock()
        self._bars: dict[str, tuple[str, TaskID]] = {}
        self._phases: dict[str, Phase] = {}
        self._heartbeat = Heartbeat(self._console, self._line)
        self._progress: Progress | None = None
        self._closed = False

    def __enter__(self) -> "ProgressDisplay":
        self._heartbeat.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._heartbeat.__exit__()
        with self._lock:
            self._closed = True
            if self._progress is not None:
                self._progress.stop()

    def __call__(self, scheme: str, phase: str, done: int, total: int | None, sim_ns: int) -> None:
        """Shows that `scheme` has done `done` of `total` bytes (unknown: `None`) of `phase` in `sim_ns` simulated."""
        name = scheme if phase == "run" else f"{scheme} {phase}"
        self._hear(scheme, name, done, total, sim_ns)
        if not self._console.is_terminal or time.monotonic() - self._start < PATIENCE_SECONDS:
            return
        simulated = f"{sim_ns / 1e9:.1f} s simulated"
        with self._lock:
            if self._closed:
                return
            if self._progress is None:
                self._progress = self._started()
            known = self._bars.get(scheme)
            if known is None or known[0] != name:
                # A bar of its own for each phase: rate and time left count from its start.
                if known is not None:
                    self._progress.remove_task(known[1])
                bar = self._progress.add_task(name, total=total, completed=done, simulated=simulated)
                self._bars[scheme] = (name, bar)
            self._progress.update(self._bars[scheme][1], completed=done, total=total, simulated=simulated)

    def _hear(self, scheme: str, name: str, done: int, total: int | None, sim_ns: int) -> None:
        now = time.monotonic()
        with self._lock:
            phase = self._phases.get(scheme)
            if phase is None or phase.name != name:
                phase = self._phases[scheme] = Phase(name, start=now)
            phase.heard, phase.done, phase.total, phase.sim_ns = now, done, total, sim_ns

    def _line(self) -> str:
        since = time.monotonic() - SILENT_SECONDS
        with self._lock:
            lines = [phase.line() for phase in self._phases.values() if phase.heard > since]
        return "; ".join(lines) or "working"

    def _started(self) -> Progress:
        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            SpeedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[simulated]}"),
            console=self._console,
            transient=True,
        )
        progress.start()
        return progress
