"""The tables of `ufsim run` and `ufsim compare`: what tells the schemes apart comes first."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from ufsim import conditions, layout
from ufsim.formats import duration, number, percent_change
from ufsim.layout import Row
from ufsim.results import Comparison, Result, latency_value

LATENCY_ROWS = (("mean", "mean"), ("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"))
# Statistics whose gains are shown where latency is what tells the schemes apart.
GAINS_OF = ("mean", "p99")
MIB = 1024 * 1024

Cell = Callable[[Result], str]


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Prints the table, what was run, and what to know of it."""
    figures = list(with_recorded(comparison, rows(comparison, several=len(comparison) > 1)))
    for table in layout.tables(comparison.workload, comparison.columns, figures, console.width):
        console.print(table)
    print_judgement(console, comparison.results)


def print_judgement(console: Console, results: Sequence[Result]) -> None:
    """Prints what was run, and what to know of it, of one workload."""
    print_conditions(console, conditions.described(results), conditions.notes(results), conditions.warnings(results))
    print_time(console, results)


def print_conditions(console: Console, subjects: Mapping[str, str], notes: list[str], warnings: list[str]) -> None:
    """Prints what was run, what it did not exercise, and warnings."""
    console.print(Text(conditions.run_text(subjects), style="dim"))
    for note in notes:
        console.print(Text(f"note: {note}", style="cyan"))
    for warning in warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))


def print_time(console: Console, results: Sequence[Result]) -> None:
    """Prints how long the simulator took."""
    wall = sum(result.wall_seconds for result in results)
    console.print(Text(f"simulated in {wall:.1f} s, added over the runs", style="dim"))


def rows(comparison: Comparison, *, several: bool) -> Iterator[Row]:
    """Every figure, in the order in which it matters for this workload; of `several` schemes, with their gains."""
    results = comparison.results
    lead = conditions.leads_with(results)
    if lead == "operations":
        yield from operation_rows(results, gains=several)
    if lead == "throughput":
        yield from throughput_rows(comparison, gains=several)
    for kind in ("read", "write"):
        if any(latency_value(result, kind, "count") for result in results):
            yield from latency_rows(results, kind, gains=several and lead == "latency")
    if lead != "throughput":
        yield row(results, "throughput MiB/s", lambda result: number(result.throughput_mib_per_s))
        yield row(results, "requests/s", lambda result: number(result.iops), ends=True)
    yield from host_time_rows(results)
    yield from power_rows(results)
    yield from cost_rows(results)


def with_recorded(comparison: Comparison, figures: Iterable[Row]) -> Iterator[Row]:
    """The same with a cell for the traced device, if it is known: its latencies, and dashes elsewhere."""
    recorded = comparison.recorded
    if recorded is None:
        yield from figures
        return
    known = {
        f"{kind} {label}": latency_cell(recorded, kind, statistic)
        for kind in ("read", "write")
        for statistic, label in LATENCY_ROWS
    }
    known["requests"] = f"{recorded.data['requests']:,}"
    for figure in figures:
        yield replace(figure, cells=[*figure.cells, known.get(figure.label, "–")])


def row(results: Sequence[Result], label: str, cell: Cell, ends: bool = False) -> Row:
    """A figure of every result."""
    return Row(label, [cell(result) for result in results], ends)


def throughput_rows(comparison: Comparison, *, gains: bool) -> Iterator[Row]:
    """Throughput and, if wanted, its gains over the first scheme."""
    results = comparison.results
    yield row(results, "throughput MiB/s", lambda result: number(result.throughput_mib_per_s))
    yield row(results, "requests/s", lambda result: number(result.iops), ends=not gains)
    if gains:
        gain = f"gain over {results[0].scheme}"
        yield row(results, gain, lambda result: percent_change(comparison.gain_percent(result)), ends=True)


def latency_rows(results: Sequence[Result], kind: str, *, gains: bool) -> Iterator[Row]:
    """Latencies of one kind of request and, if wanted, how much shorter than the first scheme's."""
    for statistic, label in LATENCY_ROWS:
        cell = partial(latency_cell, kind=kind, statistic=statistic)
        yield row(results, f"{kind} {label}", cell, ends=statistic == "p999")
        if gains and statistic in GAINS_OF:
            gains_of = partial(gain_of, results[0], kind=kind, statistic=statistic)
            yield row(results, f"  gain over {results[0].scheme}", gains_of)


def gain_of(base: Result, result: Result, kind: str, statistic: str) -> str:
    """By how much a latency is shorter than the base's."""
    return gain_cell(conditions.latency_gain(base, result, kind, statistic))


def operation_rows(results: Sequence[Result], *, gains: bool) -> Iterator[Row]:
    """Latencies of a program's operations, such as a database's transactions, and how much shorter they are."""
    for name in dict.fromkeys(
        operation["name"] for result in results for operation in result.data.get("operations", [])
    ):
        found = [operation_of(result, name) for result in results]
        for statistic, label in LATENCY_ROWS:
            values = [operation["latency_ns"][statistic] if operation else None for operation in found]
            yield Row(f"{name} {label}", [duration(value) for value in values])
            if gains and statistic in GAINS_OF:
                shorter = [conditions.gain_percent(values[0], value, shorter=True) for value in values]
                yield Row(f"  gain over {results[0].scheme}", [gain_cell(gain) for gain in shorter])
        yield Row(f"{name}s/s", [rate_cell(operation) for operation in found], ends=True)


def operation_of(result: Result, name: str) -> dict[str, Any] | None:
    """The operation of that name, if the run had any."""
    named = (operation for operation in result.data.get("operations", []) if operation["name"] == name)
    return next((operation for operation in named if operation["latency_ns"]["count"]), None)


def rate_cell(operation: dict[str, Any] | None) -> str:
    """Operations per second of simulated time."""
    if operation is None or not operation["duration_ns"]:
        return "–"
    return number(operation["latency_ns"]["count"] / operation["duration_ns"] * 1e9)


def cost_rows(results: Sequence[Result]) -> Iterator[Row]:
    """What the requests cost, and how many there were."""
    yield row(results, "write amplification", lambda result: f"{result.waf['total']:.2f}")
    yield row(results, "NAND time for mapping", lambda result: f"{result.mapping_share * 100:.1f} %")
    yield row(results, "NAND busy time", lambda result: duration(sum(result.nand_time_ns.values())))
    yield row(results, "host memory MiB", lambda result: number(result.host_dram_bytes / MIB))
    yield row(results, "simulated time", lambda result: duration(result.sim_seconds * 1e9))
    failed = any(result.data.get("failed") for result in results)
    yield row(results, "requests", lambda result: f"{result.completed:,}", ends=not failed)
    if failed:
        yield row(results, "  failed", lambda result: f"{result.data.get('failed', 0):,}", ends=True)


def power_rows(results: Sequence[Result]) -> Iterator[Row]:
    """How long the link was down, what woke it and what the device took, if a profile has power states."""
    powers = [result.data.get("power") for result in results]
    if not any(powers):
        return
    for label, cell in POWER_ROWS.items():
        yield Row(label, [cell(power) if power else "–" for power in powers], ends=label == "energy mJ")


def host_time_rows(results: Sequence[Result]) -> Iterator[Row]:
    """What processors did for requests, and who waited before the queue, if a profile gives the host time."""
    hosts = [result.data.get("host_time") for result in results]
    if not any(hosts):
        return
    for label, cell in HOST_TIME_ROWS.items():
        yield Row(label, [cell(host) if host else "–" for host in hosts], ends=label == "came late")


def processor_time(host: Mapping[str, Any]) -> str:
    """Processor time of all submissions and completions."""
    return duration(sum(work["submit_ns"] + work["complete_ns"] for work in host["work"].values()))


HOST_TIME_ROWS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "processor time": processor_time,
    "waited for processors": lambda host: duration(host["queued_ns"]),
    "requests at once": lambda host: f"{host['requests'] / host['batches']:.1f}" if host["batches"] else "–",
    "most requests inside": lambda host: f"{host['inside_peak']:,}",
    "waited before the queue": lambda host: f"{host['waited_requests']:,}",
    "came late": lambda host: f"{host['late_requests']:,}",
}


def down_share(power: Mapping[str, Any]) -> str:
    """Share of the time in which the link was down."""
    down = sum(power["states"][state]["time_ns"] for state in ("hibern8", "clk_gated", "sleep"))
    return f"{down / power['elapsed_ns'] * 100:.1f} %" if power["elapsed_ns"] else "–"


POWER_ROWS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "link down": down_share,
    "wakes for requests": lambda power: f"{power['request_wakes']:,}",
    "wakes by the driver": lambda power: f"{power['driver_wakes']:,}",
    "waited for wakes": lambda power: duration(power["waited_ns"]),
    "energy mJ": lambda power: number(power["energy"]["total_uj"] / 1000),
}


def latency_cell(result: Result, kind: str, statistic: str) -> str:
    """A latency in the unit that suits it."""
    return duration(latency_value(result, kind, statistic))


def gain_cell(gain: float | None) -> str:
    """A gain, or a dash where there is nothing to compare."""
    return "–" if gain is None else percent_change(gain)
