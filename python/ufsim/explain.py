"""Why requests took as long as they did, from a log with stages (`ufsim run --log`).

A **band** is a part of the requests of a kind by latency: those between two percentiles. What a band is made of are the
means of its stages, which add up to its mean latency.

What would be if some work took no time is another run of the same (`if_free`), whose bands stand beside those of the
log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ufsim import _core
from ufsim.columns import STAGES
from ufsim.formats import duration
from ufsim.names import check_choice
from ufsim.request_file import ENDING, what_was_run
from ufsim.request_log import KINDS
from ufsim.runner import Cache, Progress, run

if TYPE_CHECKING:
    import pandas as pd

# Ends of the bands that are shown if nobody asks for others, in per cent.
PERCENTILES = (50.0, 90.0, 99.0, 99.9)
# Stages that take less of a band's time are summed up.
MINOR = 0.03
PLURALS = {"read": "reads", "write": "writes", "flush": "flushes", "trim": "trims"}
# Work that takes no time in another run, and what that is called.
FREE = {"gc": "GC free", "mapping": "mapping free"}
WHAT_IF = "what_if.free"
COLUMNS = {stage: f"stage_{stage}_ns" for stage in STAGES}


@dataclass(frozen=True)
class Band:
    """Requests between two percentiles of latency, and the means of their stages in nanoseconds, the longest first."""

    low: float
    high: float
    requests: int
    from_ns: int
    to_ns: int
    mean_ns: float
    stages: dict[str, float]

    @property
    def name(self) -> str:
        """What people call it."""
        if self.low == 0:
            return "all" if self.high == 100 else f"fastest {self.high:g}%"
        return f"slowest {100 - self.low:.4g}%" if self.high == 100 else f"{self.low:g} to {self.high:g}%"

    def shares(self) -> dict[str, float]:
        """Part of the time in each stage that took some, from 0 to 1."""
        return {stage: ns / self.mean_ns for stage, ns in self.stages.items() if ns > 0 and self.mean_ns > 0}


class Log:
    """A log that has been written to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run, self.requests = read(path)

    @property
    def scheme(self) -> str:
        """The scheme that was run."""
        return str(self.run["scheme"])

    def kinds(self) -> list[str]:
        """Kinds of requests that were measured."""
        present = set(self.requests["kind"].unique())
        return [kind for kind in KINDS if kind in present]

    def chosen(self, kind: str | None = None, process: str | None = None) -> "pd.DataFrame":
        """Measured requests of a kind and a process, the fastest first."""
        rows = self.requests
        if kind is not None:
            check_choice("kind", kind, self.kinds())
            rows = rows[rows["kind"] == kind]
        if process is not None:
            check_choice("process", process, sorted(set(rows["process"].dropna().astype(str))))
            rows = rows[rows["process"] == process]
        return rows.sort_values("latency_ns", kind="stable")

    def bands(self, rows: "pd.DataFrame", percentiles: Sequence[float] = PERCENTILES) -> list[Band]:
        """The bands of requests that are sorted by latency; those without a request are left out."""
        ends = [0.0, *percentiles, 100.0]
        places = [round(end / 100 * len(rows)) for end in ends]
        spans = zip(ends, ends[1:], places, places[1:], strict=False)
        return [band(rows.iloc[first:last], low, high) for low, high, first, last in spans if last > first]


def read(path: Path) -> "tuple[dict[str, Any], pd.DataFrame]":
    """What was run, and the measured requests; raises `ConfigError` for a file that is no such log."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        run = what_was_run(parquet.read_schema(path))
    except (pa.ArrowInvalid, ValueError) as error:
        told = f"must be a {ENDING} file that `ufsim run --log` has written"
        raise _core.ConfigError(f"log '{path}': {told}: {error}") from error
    needed = ["arrival_ns", "latency_ns", "kind", "process", "lba_units", "units", "outcome", *COLUMNS.values()]
    frame = pd.read_parquet(path, columns=needed, filters=[("measured", "==", True)])
    if frame.empty:
        raise _core.ConfigError(f"log '{path}': must have requests that were measured")
    return run, frame


def band(rows: "pd.DataFrame", low: float, high: float) -> Band:
    """What these requests, sorted by latency, are made of."""
    means = {stage: float(rows[column].mean()) for stage, column in COLUMNS.items()}
    return Band(
        low=low,
        high=high,
        requests=len(rows),
        from_ns=int(rows["latency_ns"].iloc[0]),
        to_ns=int(rows["latency_ns"].iloc[-1]),
        mean_ns=float(rows["latency_ns"].mean()),
        stages=dict(sorted(means.items(), key=lambda item: -item[1])),
    )


def if_free(log: Log, folder: Path, cache: Cache = True, progress: Progress | None = None) -> dict[str, Log]:
    """Logs of what was run, each with some work that takes no time (`FREE`). They are written to `folder`.

    Raises `ConfigError` for a log of another version, because it would not be the same run.
    """
    if log.run["version"] != _core.__version__:
        told = f"must be of this version, {_core.__version__}, not {log.run['version']}, to be run again"
        raise _core.ConfigError(f"log '{log.path}': {told}")
    options = log.run["options"]
    found = {}
    for free in FREE:
        path = folder / f"{log.path.stem}-{free}{ENDING}"
        settings = {**options["settings"], WHAT_IF: free}
        run(**{**options, "settings": settings}, cache=cache, progress=progress, log=path)
        found[free] = Log(path)
    return found


def made_of(of: Band) -> str:
    """The stages of a band with their shares, the longest first."""
    main = [f"{plain(stage)} {share * 100:.0f}%" for stage, share in of.shares().items() if share >= MINOR]
    return ", ".join(main)


def in_words(of: Band, kind: str) -> str:
    """A band in a sentence: what its requests waited for, the longest first."""
    main = {stage: share for stage, share in of.shares().items() if share >= MINOR}
    parts = [f"{share * 100:.0f}% {STAGES[stage]}" for stage, share in main.items()]
    return f"{of.name} of {PLURALS[kind]}, {duration(of.mean_ns)} in the mean: " + "; ".join(parts)


def plain(stage: str) -> str:
    """A stage for people."""
    return stage.replace("_", " ")


def slowest(rows: "pd.DataFrame", count: int) -> list[dict[str, Any]]:
    """The slowest requests, the slowest first, with the stages that took time in nanoseconds."""
    found = []
    for row in rows.iloc[::-1].head(count).to_dict("records"):
        stages = {stage: int(row[column]) for stage, column in COLUMNS.items() if row[column] > 0}
        facts = {name: row[name] for name in ("arrival_ns", "latency_ns", "kind", "lba_units", "units")}
        found.append({**facts, "stages": dict(sorted(stages.items(), key=lambda item: -item[1]))})
    return found
