"""Why requests took as long as they did, from a log with stages (`ufsim run --log`).

A **band** is a part of the requests of a kind by latency: those between two percentiles. What a band is made of are the
means of its stages, which add up to its mean latency.

What would be if some work took no time is another run of the same (`if_free`), whose bands stand beside those of the
log.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ufsim import _core, inputs
from ufsim.names import check_choice
from ufsim.results.columns import KINDS, STAGES
from ufsim.results.formats import duration
from ufsim.results.table_file import ENDING, what_was_run
from ufsim.runner import Cache, Progress, run
from ufsim.spec import Spec

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

# Ends of the bands that are shown if nobody asks for others, in per cent.
PERCENTILES = (50.0, 90.0, 99.0, 99.9)
# Stages that take less of a band's time are summed up.
MINOR = 0.03
PLURALS = {"read": "reads", "write": "writes", "flush": "flushes", "trim": "trims"}
# Work that takes no time in another run, and what that is called.
FREE = {"gc": "GC free", "mapping": "mapping free"}
WHAT_IF = "what_if.free"
COLUMNS = {stage: f"stage_{stage}_ns" for stage in STAGES}
# Stages in which a request waits for others to get on, whatever these wait for.
BEHIND = ("outside", "block", "driver", "queue")
# The slowest requests whose roots are told, in per cent.
ROOTS_OF = 1.0


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


@dataclass(frozen=True)
class Root:
    """A part of the time of the slowest requests, from 0 to 1, and how much of it they spent behind others."""

    share: float
    behind: float


@dataclass(frozen=True)
class Chosen:
    """Measured requests of a log, the fastest first: their rows in the file, and their latencies in nanoseconds."""

    rows: "Array"
    latency_ns: "Array"

    def __len__(self) -> int:
        return len(self.rows)


class Log:
    """A log that has been written to a file.

    Of all requests only latency, kind and process are kept. The stages are read when they are asked for, a part of the
    file after the other, so that a log of tens of millions of requests fits the memory.

    Raises `ConfigError` for a file that is no such log.
    """

    def __init__(self, path: Path) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as parquet

        self.path = path
        try:
            self._file = parquet.ParquetFile(path)
            self.run = what_was_run(self._file.schema_arrow)
        except (pa.ArrowInvalid, ValueError) as error:
            # What Arrow says of a file is about the format, not about the file.
            why = "" if isinstance(error, pa.ArrowInvalid) else f": {error}"
            told = f"must be a {ENDING} file that `ufsim run --log` has written{why}"
            raise _core.ConfigError(f"log '{path}': {told}") from error
        self._processes: list[str] = []
        parts = [self._heads(group) for group in range(self._file.num_row_groups)]
        columns = zip(*parts, strict=True) if parts else [[np.zeros(0)]] * 4
        self._latency, self._kind, self._process, self._measured = (np.concatenate(list(part)) for part in columns)
        if not self._measured.any():
            raise _core.ConfigError(f"log '{path}': must have requests that were measured")

    def _heads(self, group: int) -> "tuple[Array, Array, Array, Array]":
        """Of each request in a part of the file: latency, place in `KINDS`, place in `_processes` or -1, measured."""
        import numpy as np

        table = self._file.read_row_group(group, ["latency_ns", "kind", "process", "measured"]).unify_dictionaries()
        kinds = table["kind"].to_pandas().cat
        kind = np.array([*map(KINDS.index, kinds.categories), -1], np.int8)[kinds.codes]
        names = table["process"].to_pandas().cat
        for name in names.categories:
            if name not in self._processes:
                self._processes.append(name)
        process = np.array([*map(self._processes.index, names.categories), -1], np.int32)[names.codes]
        return table["latency_ns"].to_numpy(), kind, process, table["measured"].to_numpy()

    @property
    def scheme(self) -> str:
        """The scheme that was run."""
        return str(self.run["scheme"])

    def kinds(self) -> list[str]:
        """Kinds of requests that were measured."""
        present = set(self._kind[self._measured].tolist())
        return [kind for place, kind in enumerate(KINDS) if place in present]

    def chosen(self, kind: str | None = None, process: str | None = None) -> Chosen:
        """Measured requests of a kind and a process."""
        import numpy as np

        taken = self._measured
        if kind is not None:
            check_choice("kind", kind, self.kinds())
            taken = taken & (self._kind == KINDS.index(kind))
        if process is not None:
            named = [self._processes[place] for place in np.unique(self._process[self._measured]) if place >= 0]
            names = [name for name in named if name]
            if not names:
                raise _core.ConfigError(f"process is '{process}'; allowed: no name, as this log has none")
            check_choice("process", process, sorted(names))
            taken = taken & (self._process == self._processes.index(process))
        rows = np.flatnonzero(taken)
        rows = rows[np.argsort(self._latency[rows], kind="stable")]
        return Chosen(rows, self._latency[rows])

    def bands(self, chosen: Chosen, percentiles: Sequence[float] = PERCENTILES) -> list[Band]:
        """The bands of requests; those without a request are left out."""
        import numpy as np

        ends = [0.0, *percentiles, 100.0]
        places = [round(end / 100 * len(chosen)) for end in ends]
        spans = [span for span in zip(ends, ends[1:], places, places[1:], strict=False) if span[3] > span[2]]
        # The number of its band for each row of the file, from 1 on; 0 stands for none.
        number = np.zeros(len(self._latency), np.int32)
        for place, (_, _, first, last) in enumerate(spans, 1):
            number[chosen.rows[first:last]] = place
        sums = self._sums(number, len(spans))
        return [
            band(chosen.latency_ns[first:last], low, high, {stage: sums[stage][place] for stage in COLUMNS})
            for place, (low, high, first, last) in enumerate(spans, 1)
        ]

    def _sums(self, number: "Array", bands: int) -> "dict[str, Array]":
        """Time in each stage by number of a band."""
        import numpy as np

        sums = {stage: np.zeros(bands + 1) for stage in COLUMNS}
        first = 0
        for group in range(self._file.num_row_groups):
            table = self._file.read_row_group(group, list(COLUMNS.values()))
            of = number[first : first + len(table)]
            for stage, column in COLUMNS.items():
                sums[stage] += np.bincount(of, table[column].to_numpy(), bands + 1)
            first += len(table)
        return sums

    def roots(self, chosen: Chosen, percent: float = ROOTS_OF) -> dict[str, Root]:
        """What the time of the slowest requests comes from, the largest part first.

        A request that waits behind others (`BEHIND`) waits for what they wait for: that time counts as the stages of
        those that completed from its arrival to its own completion, without the time that they waited behind others
        themselves. Where nothing completed meanwhile, it stays what it is.
        """
        import numpy as np

        if not len(chosen):
            return {}
        rows = np.sort(chosen.rows[-max(1, round(percent / 100 * len(chosen))) :])
        # The rows of the file are in the order of completion.
        ended = self._column("completion_ns").astype(np.int64)
        began = ended[rows] - self._latency[rows].astype(np.int64)
        first = np.minimum(np.searchsorted(ended, began, side="right"), rows)
        sums = self._sums_before(np.unique(np.concatenate([first, rows, rows + 1])))
        own = {stage: sums(stage, rows + 1) - sums(stage, rows) for stage in COLUMNS}
        ahead = {stage: sums(stage, rows) - sums(stage, first) for stage in COLUMNS if stage not in BEHIND}
        whole = sum(ahead.values())
        waited = sum(own[stage] for stage in BEHIND)
        behind = {stage: (waited * part / np.maximum(whole, 1)).sum() for stage, part in ahead.items()}
        own_sums = {stage: float((part[whole == 0] if stage in BEHIND else part).sum()) for stage, part in own.items()}
        total = float(self._latency[rows].sum()) or 1.0
        found = {
            stage: Root((time + behind.get(stage, 0.0)) / total, behind.get(stage, 0.0) / total)
            for stage, time in own_sums.items()
        }
        return dict(sorted(((k, v) for k, v in found.items() if v.share > 0), key=lambda item: -item[1].share))

    def _column(self, name: str) -> "Array":
        import numpy as np

        parts = [self._file.read_row_group(group, [name])[name].to_numpy() for group in self._groups]
        return np.concatenate(parts)

    @property
    def _groups(self) -> range:
        return range(self._file.num_row_groups)

    def _sums_before(self, places: "Array") -> "Callable[[str, Array], Array]":
        """The time in each stage of all rows before each of these places."""
        import numpy as np

        sums = {stage: np.zeros(len(places)) for stage in COLUMNS}
        first, so_far = 0, dict.fromkeys(COLUMNS, 0.0)
        for group in self._groups:
            table = self._file.read_row_group(group, list(COLUMNS.values()))
            here = (places >= first) & (places <= first + len(table))
            for stage, column in COLUMNS.items():
                running = np.concatenate([[0.0], np.cumsum(table[column].to_numpy(), dtype=np.float64)])
                sums[stage][here] = so_far[stage] + running[places[here] - first]
                so_far[stage] += running[-1]
            first += len(table)
        return lambda stage, of: sums[stage][np.searchsorted(places, of)]

    def slowest(self, chosen: Chosen, count: int) -> list[dict[str, Any]]:
        """The slowest requests, the slowest first, with the stages that took time in nanoseconds."""
        facts = ["arrival_ns", "latency_ns", "kind", "lba_units", "units"]
        wanted = chosen.rows[::-1][:count].tolist()
        found: dict[int, dict[str, Any]] = {}
        first = 0
        for group in range(self._file.num_row_groups):
            length = self._file.metadata.row_group(group).num_rows
            here = [row for row in wanted if first <= row < first + length]
            if here:
                table = self._file.read_row_group(group, [*facts, *COLUMNS.values()])
                rows = table.take([row - first for row in here]).to_pylist()
                found |= dict(zip(here, rows, strict=True))
            first += length
        return [
            {name: found[row][name] for name in facts}
            | {"stages": longest_first({stage: found[row][name] for stage, name in COLUMNS.items()})}
            for row in wanted
        ]


def longest_first(stages: dict[str, int]) -> dict[str, int]:
    """Stages that took time."""
    return dict(sorted(((stage, ns) for stage, ns in stages.items() if ns > 0), key=lambda item: -item[1]))


def band(latency_ns: "Array", low: float, high: float, sums: "dict[str, float]") -> Band:
    """What requests with these latencies, the fastest first, are made of."""
    means = {stage: float(total) / len(latency_ns) for stage, total in sums.items()}
    return Band(
        low=low,
        high=high,
        requests=len(latency_ns),
        from_ns=int(latency_ns[0]),
        to_ns=int(latency_ns[-1]),
        mean_ns=float(latency_ns.mean()),
        stages=dict(sorted(means.items(), key=lambda item: -item[1])),
    )


def if_free(log: Log, folder: Path, cache: Cache = True, progress: Progress | None = None) -> dict[str, Log]:
    """Logs of what was run, each with some work that takes no time (`FREE`). They are written to `folder`.

    A log is of a single seed, so these are. Raises `ConfigError` for a log of another version, or of files that have
    changed since, because it would not be the same run.
    """
    if log.run["version"] != _core.__version__:
        told = f"must be of this version, {_core.__version__}, not {log.run['version']}, to be run again"
        raise _core.ConfigError(f"log '{log.path}': {told}")
    options = log.run["options"]
    for name, then in inputs.of_spec(Spec(**options)).items():
        if then != log.run["inputs"][name]:
            told = f"is of a {name} that was another then: '{options[name]}' has changed or is gone"
            raise _core.ConfigError(f"log '{log.path}': {told}")
    found = {}
    for free in FREE:
        path = folder / f"{log.path.stem}-{free}{ENDING}"
        settings = {**options["settings"], WHAT_IF: free}
        run(**{**options, "settings": settings}, seeds=1, cache=cache, progress=progress, log=path)
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


def roots_in_words(roots: dict[str, Root], kind: str) -> str:
    """What the slowest requests come from, in a sentence."""
    main = {stage: root for stage, root in roots.items() if root.share >= MINOR}
    parts = []
    for stage, root in main.items():
        behind = root.behind / root.share
        ahead = f" ({behind * 100:.0f}% of that by requests ahead of them)" if behind >= MINOR else ""
        parts.append(f"{root.share * 100:.0f}% {plain(stage)}{ahead}")
    return f"root of the slowest {ROOTS_OF:g}% of {PLURALS[kind]}: " + "; ".join(parts)


def plain(stage: str) -> str:
    """A stage for people."""
    return stage.replace("_", " ")
