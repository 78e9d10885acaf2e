"""What is kept of a run beside its result: a log of requests, a timeline, a series at a chosen step.

Each goes to a file of its own, which takes its place only when the run has ended. Of several schemes each has its own:
FILE-SCHEME with the ending of FILE.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ufsim import _core, inputs, outputs
from ufsim.results import text_logs
from ufsim.results.request_log import room
from ufsim.results.table_file import PART, TableFile
from ufsim.results.text_logs import TextLog

if TYPE_CHECKING:
    from ufsim.spec import Spec

PathText = str | PathLike[str]
# Every request of a run: kept in memory, up to a number (True: a million), or written to a file, or not at all (False).
Log = bool | int | PathText

# Events of a timeline: a file of some 300 MB, which the Perfetto UI can still open.
MOST_EVENTS = 5_000_000
WHOLE_RUN = ".."
STEP = "100ms"
ENDINGS = {"log": (".parquet", *text_logs.ENDINGS), "timeline": (".pftrace",), "series": (".parquet",)}


@dataclass(frozen=True)
class Observed:
    """What is wanted."""

    log: Log = False
    timeline: PathText | None = None
    timeline_window: str | None = None
    series: PathText | None = None
    step: str | None = None
    bins: bool = False

    @property
    def files(self) -> dict[str, Path]:
        """The files that are wanted, by what they hold."""
        given = {"log": self.log, "timeline": self.timeline, "series": self.series}
        return {what: Path(path) for what, path in given.items() if isinstance(path, str | PathLike)}

    def places(self, schemes: Sequence[str]) -> list[Path]:
        """Where the files of runs of these schemes are to be."""
        alone = len(schemes) == 1
        return [_of_scheme(path, scheme, alone=alone) for path in self.files.values() for scheme in schemes]

    def check(self, specs: "Sequence[Spec]", beside: Iterable[Path] = (), more: Iterable[Path] = ()) -> None:
        """Raises `ConfigError` for what can not be had of these runs, and `Unwritten` for what is an input of them.

        `beside` are the other files that are written of them, `more` what is read beside the files of `specs`.
        """
        for what, path in self.files.items():
            if path.suffix not in ENDINGS[what]:
                endings = " or ".join(ENDINGS[what])
                raise _core.ConfigError(f"{what} = '{path}': must be the path of a file that ends with {endings}")
            if len({spec.workload for spec in specs}) > 1:
                raise _core.ConfigError(f"{what} = '{path}': must be of one workload; there are several")
        if self.timeline is None and self.timeline_window is not None:
            raise _core.OptionError("--timeline-window (timeline_window) has no effect without --timeline (timeline)")
        if self.series is None and self.step is not None:
            raise _core.OptionError("--step (step) has no effect without --series (series)")
        _core.check_observed(self.timeline_window or WHOLE_RUN, self.step or STEP)
        # Of a spec for each seed, schemes repeat.
        if places := [*self.places(list(dict.fromkeys(spec.scheme for spec in specs))), *beside]:
            outputs.apart(places, {*(file for spec in specs for file in inputs.files_read(spec)), *more})

    @contextmanager
    def of(self, spec: "Spec", *, alone: bool) -> "Iterator[Asked]":
        """What the core is asked for, for one run of several or the only one; the files are complete at the end.

        A file that cannot be written is noted, and takes neither the run nor another file with it.
        """
        asked = Asked()
        with ExitStack() as open_files:
            # The timeline last: it is the one whose failure the core tells, from within all of them.
            for what, path in sorted(self.files.items(), key=lambda file: file[0] == "timeline"):
                own = _of_scheme(path, spec.scheme, alone=alone)
                open_files.enter_context(asked.noting())
                beside = open_files.enter_context(outputs.writing(own))
                if what == "timeline":
                    open_files.enter_context(_told_by_core(own))
                    asked.core[what] = (beside, self.timeline_window or WHOLE_RUN, MOST_EVENTS)
                else:
                    if own.suffix in text_logs.ENDINGS:
                        take: Callable[..., None] = open_files.enter_context(TextLog(beside, spec)).take
                    else:
                        take = open_files.enter_context(TableFile(beside, spec, what)).take
                    asked.core[what] = (PART if what == "log" else self.step or STEP, take)
            if not isinstance(self.log, str | PathLike) and room(self.log):
                asked.core["keep"] = room(self.log)
            if self.bins:
                asked.core["bins"] = True
            yield asked


@dataclass
class Asked:
    """What the core is asked for beside a result, and what became of the files."""

    core: dict[str, Any] = field(default_factory=dict)
    unwritten: list[str] = field(default_factory=list)

    @contextmanager
    def noting(self) -> "Iterator[None]":
        """Notes what could not be written within."""
        try:
            yield
        except outputs.Unwritten as error:
            self.unwritten += error.failures

    def ended(self, error: str | None) -> None:
        """The run has ended; `error` says why the core could not write the timeline."""
        if error is not None:
            raise _core.OutputError(error.partition(" (os error")[0])


@contextmanager
def _told_by_core(path: Path) -> "Iterator[None]":
    """Names a file that the core writes to, under another name as yet."""
    try:
        yield
    except _core.OutputError as error:
        raise outputs.Unwritten([f"{path}: not written: {error}"]) from error


def _of_scheme(path: Path, scheme: str, *, alone: bool) -> Path:
    """The file of one of several schemes, or of the only one."""
    return path if alone else path.with_stem(f"{path.stem}-{scheme}")
