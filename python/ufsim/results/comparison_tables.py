"""The tables of `ufsim run` and `ufsim compare`: what tells the schemes apart comes first."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from rich.console import Console
from rich.text import Text

from ufsim.results import chance, conditions, layout
from ufsim.results.chance import Value, estimate, gain_text, told
from ufsim.results.conclusions import conclusion
from ufsim.results.formats import count, duration, number, ratio, share
from ufsim.results.layout import Row
from ufsim.results.result import Comparison, Result, latency_value

LATENCY_ROWS = (("mean", "mean"), ("p50", "p50"), ("p99", "p99"), ("p999", "p99.9"))
# Of flushes and trims, which are told shortly.
SHORT_ROWS = (("mean", "mean"), ("p99", "p99"))
# Statistics whose gains are shown where latency is what tells the schemes apart.
GAINS_OF = ("mean", "p99")
MIB = 1024 * 1024

# How a value is written, with half of its interval.
Form = Callable[[float, float | None], str]
# A figure of a part of the report.
Figure = Callable[[Any], float | None]


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Prints the table, what was run, and what to know of it."""
    figures = list(with_recorded(comparison, rows(comparison, several=len(comparison) > 1)))
    for table in layout.tables(comparison.workload, comparison.columns, figures, console.width):
        console.print(table)
    if found := conclusion(comparison):
        console.print(Text(found, style="bold"))
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
    wall = sum(one.wall_seconds for result in results for one in result.each_seed)
    console.print(Text(f"simulated in {wall:.1f} s, added over the runs", style="dim"))


def rows(comparison: Comparison, *, several: bool) -> Iterator[Row]:
    """Every figure, in the order in which it matters for this workload; of `several` schemes, with their gains."""
    results = comparison.results
    lead = conditions.leads_with(results)
    if lead == "operations":
        yield from operation_rows(results, gains=several)
    yield from section(results, "llm", LLM_ROWS)
    yield from section(results, "fragmentation", FRAGMENTATION_ROWS)
    if lead == "throughput":
        yield from throughput_rows(results, gains=several)
    for kind in ("read", "write"):
        if any(latency_value(result, kind, "count") for result in results):
            yield from latency_rows(results, kind, gains=several and lead == "latency")
    for kind in ("flush", "trim"):
        if any(latency_value(result, kind, "count") for result in results):
            yield from latency_rows(results, kind, SHORT_ROWS, gains=False)
    if lead != "throughput":
        yield from throughput_rows(results, gains=False)
    yield from host_time_rows(results)
    yield from power_rows(results)
    yield from section(results, "power_cut", POWER_CUT_ROWS)
    yield from cost_rows(results)


def with_recorded(comparison: Comparison, figures: Iterable[Row]) -> Iterator[Row]:
    """The same with a cell for the traced device, if it is known: its latencies, and dashes elsewhere."""
    recorded = comparison.recorded
    if recorded is None:
        yield from figures
        return
    known = {
        f"{kind} {label}": duration(latency_value(recorded, kind, statistic))
        for kind in ("read", "write", "flush", "trim")
        for statistic, label in LATENCY_ROWS
    }
    known["requests"] = f"{recorded.data['requests']:,}"
    for figure in figures:
        yield replace(figure, cells=[*figure.cells, known.get(figure.label, "–")])


def row(results: Sequence[Result], label: str, value: Value, form: Form, ends: bool = False) -> Row:
    """A figure of every result, over its seeds."""
    return Row(label, [told(estimate(result, value), form) for result in results], ends)


def gain_row(results: Sequence[Result], of: str, value: Value, *, shorter: bool, ends: bool = False) -> Row:
    """By how much better than the first scheme's a figure is; `of` is the label of that figure."""
    gains = [chance.gain(results[0], result, value, shorter=shorter) for result in results]
    return Row(f"  gain over {results[0].scheme}", [gain_text(found) for found in gains], ends, of)


def throughput(result: Result) -> float:
    """MiB/s."""
    return float(result.throughput_mib_per_s)


def throughput_rows(results: Sequence[Result], *, gains: bool) -> Iterator[Row]:
    """Throughput and, if wanted, its gains over the first scheme."""
    yield row(results, "throughput MiB/s", throughput, number)
    yield row(results, "requests/s", lambda result: result.iops, number, ends=not gains)
    if gains:
        yield gain_row(results, "throughput MiB/s", throughput, shorter=False, ends=True)


def latency_rows(
    results: Sequence[Result], kind: str, shown: Sequence[tuple[str, str]] = LATENCY_ROWS, *, gains: bool
) -> Iterator[Row]:
    """Latencies of one kind of request and, if wanted, how much shorter than the first scheme's."""
    for statistic, label in shown:
        value = partial(latency_value, kind=kind, statistic=statistic)
        yield row(results, f"{kind} {label}", value, duration, ends=(statistic, label) == shown[-1])
        if gains and statistic in GAINS_OF:
            yield gain_row(results, f"{kind} {label}", value, shorter=True)


def operation_rows(results: Sequence[Result], *, gains: bool) -> Iterator[Row]:
    """Latencies of a program's operations, such as a database's transactions, and how much shorter they are."""
    for name in dict.fromkeys(
        operation["name"] for result in results for operation in result.data.get("operations", [])
    ):
        for statistic, label in LATENCY_ROWS:
            value = partial(operation_value, name=name, statistic=statistic)
            yield row(results, f"{name} {label}", value, duration)
            if gains and statistic in GAINS_OF:
                yield gain_row(results, f"{name} {label}", value, shorter=True)
        yield row(results, f"{name}s/s", partial(operation_rate, name=name), number, ends=True)


def operation_of(result: Result, name: str) -> dict[str, Any] | None:
    """The operation of that name, if the run had any."""
    named = (operation for operation in result.data.get("operations", []) if operation["name"] == name)
    return next((operation for operation in named if operation["latency_ns"]["count"]), None)


def operation_value(result: Result, name: str, statistic: str) -> float | None:
    """A latency of that operation, in nanoseconds."""
    operation = operation_of(result, name)
    return None if operation is None else float(operation["latency_ns"][statistic])


def operation_rate(result: Result, name: str) -> float | None:
    """Operations per second of simulated time."""
    operation = operation_of(result, name)
    if operation is None or not operation["duration_ns"]:
        return None
    return float(operation["latency_ns"]["count"] / operation["duration_ns"] * 1e9)


def cost_rows(results: Sequence[Result]) -> Iterator[Row]:
    """What the requests cost, and how many there were."""
    yield row(results, "write amplification", lambda result: result.waf["total"], ratio)
    yield row(results, "NAND time for mapping", lambda result: result.mapping_share, share)
    yield row(results, "NAND busy time", lambda result: sum(result.nand_time_ns.values()), duration)
    yield row(results, "host memory MiB", lambda result: result.host_dram_bytes / MIB, number)
    yield row(results, "simulated time", lambda result: result.sim_seconds * 1e9, duration)
    failed = any(one.data.get("failed") for result in results for one in result.each_seed)
    yield row(results, "requests", lambda result: result.completed, count, ends=not failed)
    if failed:
        failures = row(results, "  failed", lambda result: result.data.get("failed", 0), count, ends=True)
        yield replace(failures, of="requests")


def section(results: Sequence[Result], name: str, figures: Mapping[str, tuple[Figure, Form]]) -> Iterator[Row]:
    """Rows of a part of the report that only some profiles have."""
    if not any(result.data.get(name) for result in results):
        return

    def value(result: Result, figure: Figure) -> float | None:
        part = result.data.get(name)
        return figure(part) if part else None

    last = list(figures)[-1]
    for label, (figure, form) in figures.items():
        yield row(results, label, partial(value, figure=figure), form, ends=label == last)


def power_rows(results: Sequence[Result]) -> Iterator[Row]:
    """How long the link was down, what woke it and what the device took, if a profile has power states."""
    return section(results, "power", POWER_ROWS)


def host_time_rows(results: Sequence[Result]) -> Iterator[Row]:
    """What processors did for requests, and who waited before the queue, if a profile gives the host time."""
    return section(results, "host_time", HOST_TIME_ROWS)


def processor_time(host: Mapping[str, Any]) -> float:
    """Processor time of all submissions and completions."""
    return float(sum(work["submit_ns"] + work["complete_ns"] for work in host["work"].values()))


HOST_TIME_ROWS: dict[str, tuple[Figure, Form]] = {
    "processor time": (processor_time, duration),
    "waited for processors": (lambda host: host["queued_ns"], duration),
    "requests at once": (lambda host: host["requests"] / host["batches"] if host["batches"] else None, number),
    "most requests inside": (lambda host: host["inside_peak"], count),
    "waited before the queue": (lambda host: host["waited_requests"], count),
    "came late": (lambda host: host["late_requests"], count),
}


def down_share(power: Mapping[str, Any]) -> float | None:
    """Share of the time in which the link was down."""
    down = sum(power["states"][state]["time_ns"] for state in ("hibern8", "clk_gated", "sleep"))
    return down / power["elapsed_ns"] if power["elapsed_ns"] else None


# What a power cut in the middle of the run (`--cut-at`) has cost.
POWER_CUT_ROWS: dict[str, tuple[Figure, Form]] = {
    "ready after the cut": (lambda cut: cut["ready_ns"], duration),
    "requests cut off": (lambda cut: cut["outstanding"], count),
    "flash reads to recover": (lambda cut: cut["flash"]["read"], count),
    "programs and erases": (lambda cut: cut["flash"]["program"] + cut["flash"]["erase"], count),
}

# What a language model on flash came to. The profile may have no power states.
LLM_ROWS: dict[str, tuple[Figure, Form]] = {
    "loading": (lambda llm: llm["load_ns"], duration),
    "waited for reads": (lambda llm: llm["io_share"], share),
    "MiB per token": (lambda llm: llm["bytes_per_token"] / MIB, number),
    "reads per token": (lambda llm: llm["reads_per_token"], number),
    "mean run, bundles": (lambda llm: llm["mean_run"], number),
    "longest run": (lambda llm: llm["longest_run"], count),
    "tokens/J of the device": (lambda llm: llm["tokens_per_joule"], number),
}


def of_round(place: int, name: str) -> Figure:
    """A figure of a round of a fragmentation loop."""
    return lambda rounds: float(rounds[place][name])


FRAGMENTATION_ROWS: dict[str, tuple[Figure, Form]] = {
    "write MB/s, first round": (of_round(0, "write_mb_per_s"), number),
    "write MB/s, last round": (of_round(-1, "write_mb_per_s"), number),
    "read MB/s, first round": (of_round(0, "read_mb_per_s"), number),
    "read MB/s, last round": (of_round(-1, "read_mb_per_s"), number),
    "pieces in the last round": (of_round(-1, "pieces"), count),
}

POWER_ROWS: dict[str, tuple[Figure, Form]] = {
    "link down": (down_share, share),
    "wakes for requests": (lambda power: power["request_wakes"], count),
    "wakes by the driver": (lambda power: power["driver_wakes"], count),
    "waited for wakes": (lambda power: power["waited_ns"], duration),
    "energy mJ": (lambda power: power["energy"]["total_uj"] / 1000, number),
}
