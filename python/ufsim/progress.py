"""The progress bar: appears on a terminal when a run takes longer than a moment."""

import sys
import threading
import time
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import TransferSpeedColumn as SpeedColumn

PATIENCE_SECONDS = 2.0


class CountDisplay:
    """One bar that counts; silent where stderr is no terminal, and at first. Its calls may come from any thread."""

    def __init__(self, name: str, total: int | None = None, console: Console | None = None) -> None:
        self._console = console or Console(file=sys.stderr)
        self._start = time.monotonic()
        columns = (
            TextColumn(name),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[rate]}"),
        )
        self._progress = Progress(*columns, console=self._console, transient=True)
        self._task = self._progress.add_task(name, total=total, rate="")

    def __enter__(self) -> "CountDisplay":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, done: int, total: int | None = None) -> None:
        """Shows that `done` are done, of `total` if that was not known before."""
        seconds = time.monotonic() - self._start
        if not self._console.is_terminal or seconds < PATIENCE_SECONDS:
            return
        self._progress.start()
        self._progress.update(self._task, completed=done, rate=f"{done / seconds:.1f}/s")
        if total is not None:
            self._progress.update(self._task, total=total)


class ProgressDisplay:
    """A bar for each scheme on stderr; silent where stderr is no terminal. Its calls may come from any thread."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(file=sys.stderr)
        self._start = time.monotonic()
        self._lock = threading.Lock()
        self._bars: dict[str, tuple[str, TaskID]] = {}
        self._progress: Progress | None = None
        self._closed = False

    def __enter__(self) -> "ProgressDisplay":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._closed = True
            if self._progress is not None:
                self._progress.stop()

    def __call__(self, scheme: str, phase: str, done: int, total: int | None, sim_ns: int) -> None:
        """Shows that `scheme` has done `done` of `total` bytes (unknown: `None`) of `phase` in `sim_ns` simulated."""
        if not self._console.is_terminal or time.monotonic() - self._start < PATIENCE_SECONDS:
            return
        name = scheme if phase == "run" else f"{scheme} {phase}"
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
