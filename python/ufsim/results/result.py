"""Results of simulations and their views as data frames, JSON, Parquet and pictures.

pandas and matplotlib are imported where they are used: they take longer to start than a small simulation to run.
`ufsim.columns` gives type, unit and meaning of every column.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from ufsim import _core, outputs
from ufsim.documents import parse
from ufsim.names import did_you_mean
from ufsim.results import chance, frames
from ufsim.results.columns import text_type, typed
from ufsim.results.formats import workload_name
from ufsim.results.frames import LATENCY_STATISTICS, PERCENTILES, latency_value
from ufsim.results.html import html_table
from ufsim.results.request_log import RequestLog

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["LATENCY_STATISTICS", "PERCENTILES", "Comparison", "Result", "ResultSet", "latency_value"]

# What the device on which a trace was recorded is called beside schemes.
RECORDED = "recorded"
# NAND work that exists only because the mapping table lives on flash.
MAPPING_CAUSES = ("map_read", "map_write", "valid_page_search")


@dataclass(frozen=True)
class Result:
    """What one simulation gave: the fields of the JSON report, as attributes and in `data`.

    The frames are flat: an index from 0 and plain columns, so that those of several results can be put together with
    `pandas.concat`. Every row ends with what was run: `workload`, `profile`, `settings`, `seed`, `version`.

    `repeats` are the results of the same run with the seeds that follow, if it was made with several; fields and frames
    are those of the first seed. `unwritten` has a line for each log, timeline or series that could not be written.
    """

    data: Mapping[str, Any]
    request_log: RequestLog | None = field(default=None, compare=False)
    repeats: tuple["Result", ...] = ()
    unwritten: tuple[str, ...] = field(default=(), compare=False)

    def __getattr__(self, name: str) -> Any:
        # Only called for names that are not found otherwise; copy and pickle ask before `data` exists.
        own = name in ("data", "request_log", "repeats", "unwritten")
        if name.startswith("__") or own or name not in self.data:
            if not name.startswith("_") and not own and hasattr(type(self), name):
                raise AttributeError(
                    f"a result of scheme '{self.data['scheme']}' has no '{name}': what it needs is not in it"
                )
            known = () if name.startswith("_") or own else dir(self)
            raise AttributeError(f"a result has no field '{name}'{did_you_mean(name, known)}")
        return self.data[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.data]

    def __repr__(self) -> str:
        if self.scheme == RECORDED:
            return f"<ufsim.Result {RECORDED} with {self.workload}: {self.data['requests']} requests>"
        return (
            f"<ufsim.Result {self.scheme} on {self.workload}: {self.completed} requests, "
            f"{self.throughput_mib_per_s:.1f} MiB/s, digest {self.digest}>"
        )

    def _repr_html_(self) -> str:
        if self.scheme == RECORDED:
            return str(self.latency().to_html())
        return Comparison(self.workload, [self])._repr_html_()

    @property
    def each_seed(self) -> tuple["Result", ...]:
        """The result, then its repetitions with other seeds."""
        return (self, *self.repeats)

    def on_recorded_device(self) -> "Result | None":
        """What the same requests took on the device on which the trace was recorded; nothing if it does not tell.

        A result of the scheme "recorded" with latencies and nothing else: `latency` and `cdf` work on it.
        """
        recorded: Mapping[str, Any] | None = self.data.get("recorded")
        if not recorded:
            return None
        run = {name: self.data[name] for name in ("workload", "seed", "version")}
        return Result({"scheme": RECORDED, "profile": "", "set": {}, **run, **recorded})

    @property
    def mapping_share(self) -> float:
        """Share of the NAND's busy time that map reads, map writes and valid-page search take (0 to 1)."""
        total = sum(self.nand_time_ns.values())
        mapping = sum(self.nand_time_ns.get(cause, 0) for cause in MAPPING_CAUSES)
        return mapping / total if total else 0.0

    def latency(self) -> "pd.DataFrame":
        """Latencies in nanoseconds: a row for each kind of request.

        Columns: `scheme`, `kind` (read, write, flush, trim, all; for programs also their operations, such as insert),
        `count` (requests), `mean`, `stddev`, `min`, `p50`, `p90`, `p99`, `p999` and `max` (ns; missing where there were
        no requests), and what was run.
        """
        return typed("latency", frames.latency_rows(self))

    def cdf(self) -> "pd.DataFrame":
        """How latencies are distributed: a row for each kind and point, 20 points for each power of ten.

        Columns: `scheme`, `kind`, `latency_ns` (ns), `requests` that took so long at most, `share` of all of the kind
        (0 to 1), and what was run.
        """
        return typed("cdf", frames.cdf_rows(self))

    def time_series(self) -> "pd.DataFrame":
        """The run over time: a row for each kind and interval, of which there are at most 256.

        Columns: `scheme`, `kind`, `at_s` (start of the interval, s from the first measured request), `interval_s` (its
        length, s), `requests` that completed in it, `iops` (1/s), `mib_per_s` (MiB/s), `mean_ns` and `max_ns` (latency,
        ns; missing where nothing completed), and what was run.
        """
        return typed("time_series", frames.time_series_rows(self))

    def power_states(self) -> "pd.DataFrame":
        """Power states of link and device: a row for each. No rows where the profile has none.

        Columns: `scheme`, `state`, `time_s` (s) and `share` of the measured part (0 to 1), `stays`, `working_s` (s, in
        which the device had work of its own while the link was down), and what was run.
        """
        return typed("power_states", frames.power_state_rows(self))

    def uses(self) -> "pd.DataFrame":
        """What the user of a phone waits for: a row for each use of an app. No rows where the workload is no phone.

        Columns: `scheme`, `use`, `app`, `launch`, `start` (cold or warm), `at_s` and `duration_s` (s); `launch_ms` with
        its parts `compute_ms`, `blocked_ms` and `stalled_ms`, `loading_ms` and `loading_blocked_ms` (ms); `reads` and
        of them `host`, `sram`, `map`, by where their mapping came from, the same for the phases `launch_`, `loading_`,
        `run_` and `background_`; `map_tenth_1` to `map_tenth_10`, misses by tenth of the use; `fetches`,
        commands by which the driver fetched mappings meanwhile; and what was run.
        """
        return typed("uses", frames.use_rows(self))

    def requests(self) -> "pd.DataFrame":
        """Every request in the order of completion, if the run was made with `log=True`.

        Columns: `scheme`, `arrival_s` (s, from the beginning of the workload on), `kind`, `sector` (512 B), `bytes`,
        the flags `fua`, `sync`, `meta`, `readahead`, `preflush`, `process`, `latency_ns`, `waiting_ns` (ns, until its
        first command was sent; missing if none was), `recorded_ns` (ns, on the traced device; missing if unknown),
        `measured`, `failed`, `outcome` (of reads: host, sram, map: where the mapping came from), and what was run.
        Texts are categories: there may be millions of rows. `request_log` has the same as arrays of numpy, and how many
        requests were left out because the log was full.
        """
        if self.request_log is None:
            raise _core.ConfigError("the result has no log of requests; make it with log=True")
        return self.request_log.frame(self)

    def to_json(self) -> str:
        """The report as JSON; with several seeds also `repeats`, the reports of the other ones."""
        repeats = {"repeats": [one.data for one in self.repeats]} if self.repeats else {}
        return json.dumps({**self.data, **repeats}, indent=2, allow_nan=False)

    def to_fio_json(self) -> str:
        """The report in the form of `fio --output-format=json`."""
        return _core.fio_json(json.dumps(self.data))


class ResultSet:
    """Results of several schemes, in the order in which they were asked for.

    It has a length, can be iterated over, and gives the result of a scheme: `comparison["ufs"]`.
    """

    results: list[Result]

    @property
    def schemes(self) -> list[str]:
        """Names of the schemes."""
        return [result.scheme for result in self.results]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __contains__(self, scheme: object) -> bool:
        return scheme in self.schemes or scheme in self.results

    def __getitem__(self, scheme: str | int) -> Result:
        if not isinstance(scheme, str):
            return self.results[scheme]
        for result in self.results:
            if result.scheme == scheme:
                return result
        told = f"'{scheme}'; there are: {', '.join(self.schemes)}{did_you_mean(scheme, self.schemes)}"
        raise KeyError(told)

    def cdf(self) -> "pd.DataFrame":
        """`Result.cdf` of all schemes."""
        return self._frame("cdf", frames.cdf_rows)

    def time_series(self) -> "pd.DataFrame":
        """`Result.time_series` of all schemes."""
        return self._frame("time_series", frames.time_series_rows)

    def power_states(self) -> "pd.DataFrame":
        """`Result.power_states` of all schemes."""
        return self._frame("power_states", frames.power_state_rows)

    def uses(self) -> "pd.DataFrame":
        """`Result.uses` of all schemes."""
        return self._frame("uses", frames.use_rows)

    def _frame(self, name: str, rows: Callable[[Result], Iterable[frames.Row]]) -> "pd.DataFrame":
        return typed(name, (row for result in self.results for row in rows(result)))


def results_of(document: Mapping[str, Any]) -> list[Result]:
    """The results of a document that `Comparison.to_dict` made."""
    results = document["results"]
    repeats = document.get("repeats") or [[]] * len(results)
    return [Result(data, None, tuple(map(Result, more))) for data, more in zip(results, repeats, strict=True)]


@dataclass(frozen=True)
class Comparison(ResultSet):
    """Results of several schemes under one workload, in the order in which they were asked for.

    It has a length, can be iterated over, and gives the result of a scheme: `comparison["ufs"]`.
    """

    workload: str
    results: list[Result]

    @property
    def recorded(self) -> Result | None:
        """What the traced device did: `Result.on_recorded_device`, of requests that are the same for all schemes."""
        return self.results[0].on_recorded_device()

    def __repr__(self) -> str:
        return f"<ufsim.Comparison of {', '.join(self.schemes)} on {self.workload}>"

    def _repr_html_(self) -> str:
        # The tables know the results, and not the other way round.
        from ufsim.results import comparison_tables, conditions

        rows = comparison_tables.rows(self, several=len(self) > 1)
        rows = comparison_tables.with_recorded(self, rows)
        caption = f"{workload_name(self.workload)}: {conditions.run_text(conditions.described(self.results))}"
        return html_table(caption, ["", *self.columns], [[row.label, *row.cells] for row in rows])

    @property
    def columns(self) -> list[str]:
        """Names of the schemes, then "recorded" if the traced device is known."""
        return [*self.schemes, *([RECORDED] if self.recorded else [])]

    def gain_percent(self, result: Result) -> float:
        """Throughput gain over the first scheme, in per cent, as a mean over seeds."""
        found = chance.gain(self.results[0], result, lambda one: one.throughput_mib_per_s, shorter=False)
        return found.mean if found else 0.0

    def table(self) -> "pd.DataFrame":
        """One row for each scheme, by which it is indexed.

        Columns: `seeds` (how many runs there are: columns with an interval are their means, others those of the first
        one), `submitted`, `completed`, `failed` (requests); `sim_seconds`, `wall_seconds` (s); `iops` (1/s),
        `throughput_mib_per_s`, `gain_percent` over the first scheme, `latency_gain_percent` (how much shorter the mean
        latency of all requests is); `read_mean_ns`, `read_p50_ns`, `read_p99_ns`, `read_p999_ns`, `read_max_ns`, the
        same for `write_` (ns; missing where no request of the kind was made); `waf_total`, `waf_data`, `waf_map`,
        `waf_gc`; `mapping_share` of the dies' busy time (0 to 1); half of their 95% intervals, `iops_ci95` and so on
        (missing with one seed); `host_dram_bytes`, `sram_bytes`; and what was run: `scheduler`, `booster`, `mapping`,
        `replay`, `depth`, `precondition`, `age`, `aged_with` (what differed meanwhile), `digest`, `workload`,
        `profile`, `settings`, `seed`, `version`.
        """
        first = self.results[0]
        return self._frame("table", lambda result: [frames.table_means(result, first)]).set_index("scheme")

    def latency(self) -> "pd.DataFrame":
        """`Result.latency` of all schemes, then of the traced device ("recorded"), indexed by scheme and kind."""
        return self._frame("latency", frames.latency_rows).set_index(["scheme", "kind"])

    def cdf(self) -> "pd.DataFrame":
        """`Result.cdf` of all schemes, then of the traced device ("recorded"), if that is known."""
        return self._frame("cdf", frames.cdf_rows)

    def _frame(self, name: str, rows: Callable[[Result], Iterable[frames.Row]]) -> "pd.DataFrame":
        recorded = [self.recorded] if name in ("latency", "cdf") and self.recorded else []
        return typed(name, (row for result in [*self.results, *recorded] for row in rows(result)))

    def nand_time(self) -> "pd.DataFrame":
        """Busy time of the NAND dies in nanoseconds: one row for each scheme, a column for each cause."""
        import pandas as pd

        rows = [{"scheme": result.scheme} | dict(result.nand_time_ns) for result in self.results]
        return pd.DataFrame(rows).astype({"scheme": text_type()}).set_index("scheme").fillna(0).astype("int64")

    def to_dict(self) -> dict[str, Any]:
        """The document that `to_json` writes."""
        results = [dict(result.data) for result in self.results]
        recorded = {RECORDED: results[0][RECORDED]} if results[0].get(RECORDED) else {}
        document = {"ufsim": _core.__version__, "workload": self.workload, **recorded, "results": results}
        if not self.results[0].repeats:
            return document
        means = [frames.table_means(result, self.results[0]) for result in self.results]
        repeats = [[dict(one.data) for one in result.repeats] for result in self.results]
        return document | {"over_seeds": means, "repeats": repeats}

    def to_json(self) -> str:
        """One JSON document with the version, the workload and a list of results.

        Beside them, if the trace has completions: `recorded`, what the device took on which it was recorded. Its
        `latency_ns`, `latency_within` and `latency_within_by_kind` have the form of a result's and are about the same
        requests, but for those `without` a recorded latency.

        With several seeds `results` are those of the first. `over_seeds` has a row for each scheme, with the columns of
        `table`; `repeats` has for each scheme the list of the other seeds' results.
        """
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads what `to_json` gave."""
        document = parse(text)
        return cls(document["workload"], results_of(document))

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Writes one row for each scheme: the columns of `table`, and `nand_time_<cause>_ns` (ns)."""
        times = self.nand_time().rename(columns=lambda cause: f"nand_time_{cause}_ns")
        outputs.save_parquet(self.table().join(times).reset_index(), path)

    def plot(self, path: str | PathLike[str] | None = None, panel: str | None = None) -> "Figure":
        """Draws speed, latencies and NAND time by cause of all schemes; writes the picture if `path` is given.

        `panel` is the only one to draw: "speed", "read", "write", "flush", "trim" or "nand".

        The kind of file follows from the ending of `path` (.png, .svg, .pdf). `ufsim.plots` draws single diagrams for
        papers.
        """
        from ufsim.plots import save
        from ufsim.plots.comparison import comparison_figure

        figure = comparison_figure(self, panel)
        if path is not None:
            save(figure, path)
        return figure
