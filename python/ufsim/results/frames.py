"""Rows of data frames, made from the documents that simulations give. `ufsim.columns` says what is in them."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ufsim.results.chance import gain_percent, over
from ufsim.results.columns import CI95, MEANS, OUTCOMES, PHASES

if TYPE_CHECKING:
    from ufsim.results.result import Result

Row = dict[str, Any]

PERCENTILES = ("p50", "p90", "p99", "p999")
LATENCY_STATISTICS = ("mean", "stddev", "min", *PERCENTILES, "max")
MIB = 1024 * 1024


def provenance(result: "Result") -> Row:
    """What every row says of the run that it comes from."""
    row: Row = {name: result.data[name] for name in ("scheme", "workload", "profile", "seed", "version")}
    return row | {"settings": pairs(result.data.get("set"))}


def pairs(values: Mapping[str, str] | None) -> str:
    """Values by key, in one text."""
    return " ".join(f"{key}={value}" for key, value in sorted((values or {}).items()))


def latency_value(result: "Result", kind: str, statistic: str) -> int | float | None:
    """A latency statistic in nanoseconds (or `count`); `None` where no request of this kind was made."""
    values: Mapping[str, int | float] = result.data["latency_ns"].get(kind) or {}
    if statistic == "count":
        return values.get("count", 0)
    return values.get(statistic) if values.get("count") else None


def table_row(result: "Result", first: "Result") -> Row:
    """A row of `Comparison.table`."""
    data = result.data
    fields = ("submitted", "completed", "failed", "sim_seconds", "wall_seconds", "iops", "throughput_mib_per_s")
    row = provenance(result) | {name: data.get(name, 0) for name in fields}
    rates = (one.data["throughput_mib_per_s"] for one in (first, result))
    row["gain_percent"] = gain_percent(*rates, shorter=False) or 0.0
    means = (latency_value(one, "all", "mean") for one in (first, result))
    row["latency_gain_percent"] = gain_percent(*means, shorter=True)
    for kind in ("read", "write"):
        for statistic in ("mean", "p50", "p99", "p999", "max"):
            row[f"{kind}_{statistic}_ns"] = latency_value(result, kind, statistic)
    row |= {f"waf_{part}": value for part, value in data["waf"].items()}
    row["mapping_share"] = result.mapping_share
    row |= {name: data[name] for name in ("host_dram_bytes", "sram_bytes", "digest")}
    return (
        row
        | {name: data.get(name) or "" for name in ("scheduler", "booster", "mapping", "replay", "precondition", "age")}
        | {"aged_with": pairs(data.get("aged_with")), "depth": data.get("depth")}
    )


def table_means(result: "Result", first: "Result") -> Row:
    """A row of `Comparison.table`: means over seeds with half of their 95% intervals, and the rest as of the first."""
    rows = [table_row(own, base) for own, base in zip(result.each_seed, first.each_seed, strict=True)]
    row = rows[0] | {"seeds": len(rows)}
    for name in MEANS:
        found = over(one[name] for one in rows)
        row[name] = found and found.mean
        row[f"{name}{CI95}"] = found and found.half
    return row


def latency_rows(result: "Result") -> Iterator[Row]:
    """Rows of `latency`: kinds of requests, then operations of a program above the block layer."""
    for kind in result.data["latency_ns"]:
        count = {"count": latency_value(result, kind, "count")}
        statistics = {name: latency_value(result, kind, name) for name in LATENCY_STATISTICS}
        yield provenance(result) | {"kind": kind} | count | statistics
    for operation in result.data.get("operations", []):
        yield provenance(result) | {"kind": operation["name"]} | operation["latency_ns"]


def cdf_rows(result: "Result") -> Iterator[Row]:
    """Rows of `cdf`."""
    kinds = {**result.data.get("latency_within_by_kind", {}), "all": result.data.get("latency_within", [])}
    kinds |= {one["name"]: one.get("latency_within", []) for one in result.data.get("operations", [])}
    for kind, points in kinds.items():
        for latency, requests in points:
            row = {"kind": kind, "latency_ns": latency, "requests": requests, "share": requests / points[-1][1]}
            yield provenance(result) | row


def time_series_rows(result: "Result") -> Iterator[Row]:
    """Rows of `time_series`."""
    over_time: Mapping[str, Any] = result.data.get("over_time", {})
    seconds = over_time.get("interval_ns", 0) / 1e9
    for kind, column in over_time.get("kinds", {}).items():
        for number, requests in enumerate(column["requests"]):
            yield provenance(result) | {
                "kind": kind,
                "at_s": number * seconds,
                "interval_s": seconds,
                "requests": requests,
                "iops": requests / seconds,
                "mib_per_s": column["bytes"][number] / MIB / seconds,
                "mean_ns": column["latency_sum_ns"][number] / requests if requests else None,
                "max_ns": column["latency_max_ns"][number] if requests else None,
            }


def power_state_rows(result: "Result") -> Iterator[Row]:
    """Rows of `power_states`; none where the profile has no power states."""
    power: Mapping[str, Any] = result.data.get("power") or {}
    for state, stay in power.get("states", {}).items():
        yield provenance(result) | {
            "state": state,
            "time_s": stay["time_ns"] / 1e9,
            "share": stay["time_ns"] / power["elapsed_ns"] if power["elapsed_ns"] else 0.0,
            "stays": stay["stays"],
            "working_s": stay["working_ns"] / 1e9,
        }


def use_rows(result: "Result") -> Iterator[Row]:
    """Rows of `uses`; none where the workload is no phone."""
    for number, use in enumerate((result.data.get("phone") or {}).get("uses", [])):
        loading = use["loading_ns"]
        row = provenance(result) | {
            "use": number,
            "app": use["app"],
            "launch": use["launch"],
            "start": "cold" if use["cold"] else "warm",
            "at_s": use["at_ns"] / 1e9,
            "launch_ms": use["launch_ns"] / 1e6,
            "loading_ms": None if loading is None else loading / 1e6,
            "compute_ms": use["compute_ns"] / 1e6,
            "blocked_ms": use["blocked_ns"] / 1e6,
            "stalled_ms": use["stalled_ns"] / 1e6,
            "loading_blocked_ms": None if loading is None else use["loading_blocked_ns"] / 1e6,
            "duration_s": use["duration_ns"] / 1e9,
        }
        for name in ("reads", *OUTCOMES):
            row[name] = sum(use[f"{phase}_reads"][name] for phase in ("launch", "loading", "run"))
        for phase in PHASES:
            counts = use[f"{phase}_reads"]
            row |= {f"{phase}_{name}": counts[name] for name in ("reads", *OUTCOMES)}
        row["fetches"] = use["fetches"]
        row |= {f"map_tenth_{tenth}": misses for tenth, misses in enumerate(use["misses_by_tenth"], 1)}
        yield row


def kill_rows(result: "Result") -> Iterator[Row]:
    """Rows of `kills`."""
    names = result.phone["categories"]
    for kill in result.phone["kills"]:
        yield provenance(result) | {
            "at_s": kill["at_ns"] / 1e9,
            "app": kill["app"],
            "adj": kill["adj"],
            "category": kill["category"],
            "category_name": names[kill["category"]],
            "expected_mib": kill["expected_bytes"] / MIB,
            "returned_mib": kill["returned_bytes"] / MIB,
            "spared": kill["spared"],
        }


def timeline_rows(result: "Result") -> Iterator[Row]:
    """Rows of `timeline`."""
    for sample in result.phone["timeline"]:
        row = provenance(result) | {"at_s": sample["at_ns"] / 1e9}
        row |= {name: sample[name] for name in ("foreground", "pressure", "alive")}
        memory = ("hpb", "free", "cache", "apps", "system")
        yield row | {f"{name}_mib": sample[f"{name}_bytes"] / MIB for name in memory}
