"""Results of simulations and their views as data frames, JSON, Parquet and pictures.

pandas and matplotlib are imported where they are used: they take longer to start than a small simulation to run.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ufsim import _core
from ufsim.documents import parse

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PERCENTILES = ("p50", "p90", "p99", "p999")
LATENCY_FIELDS = ("count", "mean", "min", *PERCENTILES, "max")
# NAND work that exists only because the mapping table lives on flash.
MAPPING_CAUSES = ("map_read", "map_write", "valid_page_search")


@dataclass(frozen=True)
class Result:
    """What one simulation gave: the fields of the JSON report, as attributes and in `data`."""

    data: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        # Only called for names that are not found otherwise; copy and pickle ask before `data` exists.
        if name.startswith("__") or name == "data" or name not in self.data:
            raise AttributeError(f"a result has no field '{name}'")
        return self.data[name]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.data]

    def __repr__(self) -> str:
        return (
            f"<ufsim.Result {self.scheme} on {self.workload}: {self.completed} requests, "
            f"{self.throughput_mib_per_s:.1f} MiB/s, digest {self.digest}>"
        )

    @property
    def mapping_share(self) -> float:
        """Share of the NAND's busy time that map reads, map writes and valid-page search take (0 to 1)."""
        total = sum(self.nand_time_ns.values())
        mapping = sum(self.nand_time_ns.get(cause, 0) for cause in MAPPING_CAUSES)
        return mapping / total if total else 0.0

    def to_json(self) -> str:
        """The report as JSON."""
        return json.dumps(self.data, indent=2, allow_nan=False)

    def to_fio_json(self) -> str:
        """The report in the form of `fio --output-format=json`."""
        return _core.fio_json(json.dumps(self.data))


@dataclass(frozen=True)
class Comparison:
    """Results of several schemes under one workload, in the order in which they were asked for."""

    workload: str
    results: list[Result]

    def gain_percent(self, result: Result) -> float:
        """Throughput gain over the first scheme, in per cent."""
        base = self.results[0].throughput_mib_per_s
        return (result.throughput_mib_per_s - base) / base * 100 if base else 0.0

    def table(self) -> "pd.DataFrame":
        """One row for each scheme; latencies in nanoseconds, missing where no request of the kind was made."""
        import pandas as pd

        return pd.DataFrame([self._row(result) for result in self.results]).set_index("scheme")

    def _row(self, result: Result) -> dict[str, Any]:
        fields = ("scheme", "submitted", "completed", "sim_seconds", "wall_seconds", "iops", "throughput_mib_per_s")
        row = {name: result.data[name] for name in fields}
        row["gain_percent"] = self.gain_percent(result)
        for kind in ("read", "write"):
            for statistic in ("mean", "p50", "p99", "p999", "max"):
                row[f"{kind}_{statistic}_ns"] = latency_value(result, kind, statistic)
        row |= {f"waf_{part}": value for part, value in result.waf.items()}
        row["mapping_share"] = result.mapping_share
        row |= {name: result.data[name] for name in ("host_dram_bytes", "sram_bytes", "digest")}
        return row

    def latency(self) -> "pd.DataFrame":
        """Latencies in nanoseconds: one row for each scheme and kind, a column for each statistic and `count`."""
        import pandas as pd

        rows = [
            {"scheme": result.scheme, "kind": kind}
            | {name: latency_value(result, kind, name) for name in LATENCY_FIELDS}
            for result in self.results
            for kind in result.latency_ns
        ]
        return pd.DataFrame(rows).set_index(["scheme", "kind"])

    def nand_time(self) -> "pd.DataFrame":
        """Busy time of the NAND dies in nanoseconds: one row for each scheme, a column for each cause."""
        import pandas as pd

        rows = [{"scheme": result.scheme} | dict(result.nand_time_ns) for result in self.results]
        return pd.DataFrame(rows).set_index("scheme").fillna(0).astype("int64")

    def to_dict(self) -> dict[str, Any]:
        """The document that `to_json` writes."""
        results = [dict(result.data) for result in self.results]
        return {"ufsim": version("ufsim"), "workload": self.workload, "results": results}

    def to_json(self) -> str:
        """One JSON document with the version, the workload and a list of results."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Comparison":
        """Reads what `to_json` gave."""
        document = parse(text)
        return cls(document["workload"], [Result(data) for data in document["results"]])

    def to_parquet(self, path: str | Path) -> None:
        """Writes one row for each scheme: the columns of `table` and `nand_time_<cause>_ns`."""
        times = self.nand_time().rename(columns=lambda cause: f"nand_time_{cause}_ns")
        self.table().join(times).reset_index().to_parquet(path, engine="pyarrow", index=False)

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draws throughput, latency percentiles and NAND time by cause; writes the picture if `path` is given.

        The kind of file follows from the ending of `path` (.png, .svg, .pdf).
        """
        from ufsim.plots import comparison_figure

        figure = comparison_figure(self)
        if path is not None:
            figure.savefig(path)
        return figure


def latency_value(result: Result, kind: str, statistic: str) -> int | float | None:
    """A latency statistic in nanoseconds (or `count`); `None` where no request of this kind was made."""
    values: Mapping[str, int | float] = result.latency_ns.get(kind) or {}
    if statistic == "count":
        return values.get("count", 0)
    return values.get(statistic) if values.get("count") else None
