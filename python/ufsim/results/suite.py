"""Several workloads under the same schemes: a table by workload, and geometric means over them.

>>> import ufsim
>>> suite = ufsim.compare(["traces/chrome", "traces/twitter"], ["ufs", "hp-ufs"])  # doctest: +SKIP
>>> suite.gains()  # doctest: +SKIP
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

from ufsim import _core, outputs
from ufsim.documents import parse
from ufsim.results import chance, conditions
from ufsim.results.chance import Estimate, Value
from ufsim.results.columns import CI95
from ufsim.results.formats import workload_names
from ufsim.results.result import Comparison, Result, latency_value, results_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Measure:
    """A figure by which workloads are compared: its column, what people call it, and which way is better."""

    key: str
    label: str
    shorter: bool
    value: Value

    def gain(self, base: Result, result: Result) -> Estimate | None:
        """How much better a result is than the base, in per cent of the base, over the seeds."""
        return chance.gain(base, result, self.value, shorter=self.shorter)


def latency_measure(kind: str, statistic: str) -> Measure:
    """A latency of one kind of request."""
    label = f"{kind} {statistic.replace('p999', 'p99.9')}"
    return Measure(f"{kind}_{statistic}_ns", label, True, lambda result: latency_value(result, kind, statistic))


def mean_operation(result: Result) -> float | None:
    """Mean latency of all operations of a program, such as a database's transactions, in nanoseconds."""
    latencies = [operation["latency_ns"] for operation in result.data.get("operations", [])]
    count = sum(latency["count"] for latency in latencies)
    return sum(latency["mean"] * latency["count"] for latency in latencies) / count if count else None


THROUGHPUT = Measure("throughput_mib_per_s", "throughput MiB/s", False, lambda result: result.throughput_mib_per_s)
OPERATION = Measure("operation_mean_ns", "transaction mean", True, mean_operation)
LATENCIES = tuple(latency_measure(kind, statistic) for kind in ("read", "write") for statistic in ("mean", "p99"))
MEASURES = (THROUGHPUT, OPERATION, *LATENCIES)


def mean_gain(pairs: Sequence[tuple[Result, Result]], measure: Measure) -> float | None:
    """The gain of the second ones over the first by the geometric mean of the ratios, in per cent."""
    values = [(measure.value(base), measure.value(own)) for base, own in pairs]
    logarithms = [math.log(own / base) for base, own in values if base and own]
    if not logarithms:
        return None
    ratio = math.exp(math.fsum(logarithms) / len(logarithms))
    return chance.gain_percent(1.0, ratio, shorter=measure.shorter)


def columns_of(gains: Mapping[str, Estimate | None]) -> dict[str, float | None]:
    """Gains by scheme, then half of their intervals if there are several seeds."""
    columns = {scheme: found.mean if found else None for scheme, found in gains.items()}
    for scheme, found in gains.items():
        if found and found.half is not None:
            columns[f"{scheme}{CI95}"] = found.half
    return columns


@dataclass(frozen=True)
class Suite:
    """A comparison for each workload, in the order in which they were asked for; all have the same schemes."""

    comparisons: list[Comparison]

    def __len__(self) -> int:
        return len(self.comparisons)

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.comparisons)

    def __getitem__(self, workload: str | SupportsIndex) -> Comparison:
        """The comparison of a workload: its path, its name in the tables, or its place."""
        if not isinstance(workload, str):
            return self.comparisons[workload]
        for name, comparison in zip(self.names, self.comparisons, strict=True):
            if workload in (name, comparison.workload):
                return comparison
        raise KeyError(f"{workload!r}; the suite has {', '.join(self.names)}")

    def __repr__(self) -> str:
        return f"<ufsim.Suite of {', '.join(self.schemes)} on {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        return self.gains().round(1).to_html()

    @property
    def names(self) -> list[str]:
        """Names of the workloads, as short as they can be told apart."""
        return workload_names([comparison.workload for comparison in self.comparisons])

    @property
    def schemes(self) -> list[str]:
        """Names of the schemes."""
        return [result.scheme for result in self.comparisons[0].results]

    @property
    def results(self) -> list[Result]:
        """All results, workload by workload."""
        return [result for comparison in self.comparisons for result in comparison.results]

    def measures(self) -> list[tuple[Measure, list[int]]]:
        """The measures that tell schemes apart, each with the places of the workloads that it is for.

        Throughput is for workloads that go as fast as the device allows, transactions for databases, latencies for all
        that have such requests.
        """
        leads = [conditions.leads_with(comparison.results) for comparison in self.comparisons]
        found = []
        for measure in MEASURES:
            own = {THROUGHPUT: "throughput", OPERATION: "operations"}.get(measure)
            places = [
                place
                for place, comparison in enumerate(self.comparisons)
                if own in (None, leads[place]) and measure.value(comparison.results[0]) is not None
            ]
            if places:
                found.append((measure, places))
        return found

    def gains(self) -> "pd.DataFrame":
        """Gains over the first scheme in per cent: a row for each measure and workload, a column for each scheme.

        With several seeds they are means, and `<scheme>_ci95` is half of the 95% interval.
        """
        import pandas as pd

        names = self.names
        rows = [
            {"measure": measure.key, "workload": names[place], **columns_of(self.gains_of(measure, place))}
            for measure, places in self.measures()
            for place in places
        ]
        return pd.DataFrame(rows).set_index(["measure", "workload"]).astype("float64")

    def gains_of(self, measure: Measure, place: int) -> dict[str, Estimate | None]:
        """Gains of one measure on one workload, by scheme."""
        results = self.comparisons[place].results
        return {result.scheme: measure.gain(results[0], result) for result in results}

    def geometric_mean(self) -> dict[str, dict[str, float | None]]:
        """By measure and scheme: the gain over the first scheme that the geometric mean of the ratios gives.

        With several seeds `<scheme>_ci95` is half of its 95% interval.
        """
        found = {
            measure: {scheme: self.mean_gain(measure, places, column) for column, scheme in enumerate(self.schemes)}
            for measure, places in self.measures()
        }
        return {measure.key: columns_of(gains) for measure, gains in found.items()}

    def mean_gain(self, measure: Measure, places: Sequence[int], column: int) -> Estimate | None:
        """The gain of one scheme over the first by the geometric mean over workloads, in per cent, over the seeds."""
        own = [self.comparisons[place].results for place in places]
        seeds = range(len(own[0][0].each_seed))
        return chance.over(
            mean_gain([(results[0].each_seed[seed], results[column].each_seed[seed]) for results in own], measure)
            for seed in seeds
        )

    def table(self) -> "pd.DataFrame":
        """The tables of all comparisons: one row for each workload and scheme, by whose names it is indexed.

        The columns are those of `Comparison.table`; the workload's path is called `workload_path`.
        """
        import pandas as pd

        tables = [one.table().rename(columns={"workload": "workload_path"}) for one in self.comparisons]
        return pd.concat(tables, keys=self.names, names=["workload", "scheme"])

    def to_dict(self) -> dict[str, Any]:
        """The document that `to_json` writes."""
        suite = []
        for name, comparison in zip(self.names, self.comparisons, strict=True):
            document = comparison.to_dict()
            del document["ufsim"]
            suite.append({"name": name, **document})
        return {"ufsim": _core.__version__, "suite": suite, "geometric_mean": self.geometric_mean()}

    def to_json(self) -> str:
        """One JSON document.

        `ufsim`: the version. `suite`: a list of objects with `name`, `workload`, `results` and perhaps `recorded`, as
        in the document of a comparison. `geometric_mean`: gains over the first scheme in per cent, by measure and
        scheme.
        """
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Suite":
        """Reads what `to_json` gave."""
        entries = parse(text)["suite"]
        return cls([Comparison(one["workload"], results_of(one)) for one in entries])

    def to_parquet(self, path: str | Path) -> None:
        """Writes one row for each workload and scheme: the columns of `table` and `nand_time_<cause>_ns`."""
        import pandas as pd

        times = pd.concat(
            [comparison.nand_time() for comparison in self.comparisons], keys=self.names, names=["workload", "scheme"]
        )
        times = times.fillna(0).astype("int64").rename(columns=lambda cause: f"nand_time_{cause}_ns")
        outputs.save_parquet(self.table().join(times).reset_index(), path)

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draws the gains over the first scheme by workload, a panel for each measure; writes them to `path`."""
        from ufsim.plots import save
        from ufsim.plots.suite import suite_figure

        figure = suite_figure(self)
        if path is not None:
            save(figure, path)
        return figure
