"""Human-readable tables."""

from collections.abc import Callable
from functools import partial

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ufsim.crash import Campaign
from ufsim.documents import Document
from ufsim.results.formats import duration, number, plural, workload_name

MIB = 1024 * 1024


# Columns that a table with a summary beside each name needs.
WIDE = 80


def print_schemes(console: Console, schemes: list[dict[str, str]]) -> None:
    """Prints the presets with what they are made of: a table, or a few lines for each where that is too wide."""
    if console.width >= WIDE:
        console.print(schemes_table(schemes))
        return
    for scheme in schemes:
        parts = " + ".join(scheme[part] for part in ("scheduler", "booster", "mapping"))
        console.print(Text(scheme["name"], style="bold"))
        console.print(Padding(Text(f"{parts}\n{scheme['summary']}"), (0, 0, 1, 2)))


def schemes_table(schemes: list[dict[str, str]]) -> Table:
    """The presets with what they are made of."""
    table = Table(box=box.SIMPLE_HEAVY, pad_edge=False)
    for column in ("name", "scheduler", "booster", "mapping", "summary"):
        table.add_column(column, no_wrap=column != "summary")
    for scheme in schemes:
        table.add_row(*[scheme[column] for column in ("name", "scheduler", "booster", "mapping", "summary")])
    return table


def crash_table(campaign: Campaign, *, whole: bool = False) -> Table:
    """Cases by scheme, then cuts by what the device was doing, and by what else was going on.

    Of the `whole`: by how servers and devices have ended, and what else has happened.
    """
    cuts = plural(campaign.cuts, "power cut")
    done = f"{plural(campaign.steps, 'step')}, {plural(campaign.requests, 'request')}" if whole else cuts
    title = f"{plural(campaign.runs, 'case')}, {done}, {plural(len(campaign.failures), 'failure')}"
    table = Table(box=box.SIMPLE_HEAVY, title=title, title_justify="left", pad_edge=False)
    for heading in ("scheme", "cases", "ends" if whole else "power cuts", "" if whole else "longest recovery"):
        table.add_column(heading, justify="left" if heading == "scheme" else "right")
    for name, scheme in sorted(campaign.schemes.items()):
        longest = "" if whole else f"{scheme.longest_recovery_ms:.0f} ms"
        table.add_row(name, str(scheme.cases), str(scheme.cuts), longest)
    table.add_section()
    for moment, count in campaign.moments.items():
        when = moment if whole else f"during {moment}" if moment != "idle" else "while idle"
        table.add_row(when, "", str(count), "")
    table.add_section()
    for circumstance, count in campaign.circumstances.items():
        table.add_row(circumstance, "", str(count), "")
    return table


TRACES_PER_TABLE = 3


# Where in the block layer a trace was recorded, in words.
RECORDED = {"above": "above merging", "below": "below merging", "unknown": "not told"}


def print_traces(console: Console, infos: list[Document]) -> None:
    """Prints a column for each trace, a few at a time, and the warnings."""
    at_a_time = TRACES_PER_TABLE if console.width >= WIDE else 1
    for first in range(0, len(infos), at_a_time):
        console.print(traces_table(infos[first : first + at_a_time]))
    for info in infos:
        prefix = f"{workload_name(info['trace'])}: " if len(infos) > 1 else ""
        for line in info["origin"]:
            console.print(Text(f"{prefix}{line}"))
        for warning in info["warnings"]:
            console.print(Text(f"warning: {prefix}{warning}", style="yellow"))


def traces_table(infos: list[Document]) -> Table:
    """What is in traces."""
    table = Table(box=box.SIMPLE_HEAVY, pad_edge=False)
    table.add_column("")
    for info in infos:
        table.add_column(workload_name(info["trace"]), justify="right")

    def row(name: str, cell: Callable[[Document], str], last: bool = False) -> None:
        table.add_row(name, *[cell(info) for info in infos], end_section=last)

    def lengths(kind: str) -> Callable[[Document], str]:
        def cell(info: Document) -> str:
            values = info[f"{kind}_lengths"]
            parts = [values["mean"], values["p50"], values["p99"], values["max"]]
            return "/".join(number(part / 1024) for part in parts) if info[f"{kind}s"] else "–"

        return cell

    row("format", lambda info: info["format"])
    row("devices", lambda info: devices_text(info["devices"]))
    row("recorded", lambda info: RECORDED[info["recorded"]])
    row("busiest process", lambda info: info["processes"][0]["name"], last=True)
    for name in ("requests", "reads", "writes", "flushes", "trims"):
        row(name, partial(count_cell, name=name))
    row("FUA / preflush", lambda info: f"{info['fua']:,} / {info['preflushes']:,}")
    row("write ratio", lambda info: f"{info['write_ratio'] * 100:.1f} %")
    row("sequential ratio", lambda info: f"{info['sequential_ratio'] * 100:.1f} %")
    row("mean size KiB", lambda info: number(info["mean_bytes"] / 1024), last=True)
    row("read KiB: mean/p50/p99/max", lengths("read"))
    row("write KiB: mean/p50/p99/max", lengths("write"))
    for name in ("read", "write", "trim"):
        row(f"MiB {name}", partial(mib_cell, name=f"{name}_bytes"), last=name == "trim")
    row("footprint MiB", lambda info: number(info["footprint_bytes"] / MIB))
    row("  read / written MiB", lambda info: f"{footprint(info, 'read')} / {footprint(info, 'write')}")
    row("needs GiB", lambda info: number(info["span_bytes"] / 1024 / MIB), last=True)
    row("duration", lambda info: duration(info["duration_seconds"] * 1e9))
    row("requests/s", lambda info: number(info["requests_per_second"]))
    row("busiest second / mean", lambda info: number(info["peak_to_mean"]))
    row("CV of interarrival times", lambda info: number(info["interarrival_variation"]))
    row("with recorded latency", lambda info: f"{info['with_latency']:,}")
    for kind in ("read", "write"):
        row(f"recorded {kind}: p50/p90/p99", partial(recorded_cell, kind=kind))
    row("mean recorded latency", lambda info: duration(info["mean_latency_ns"]), last=True)
    row("unaligned", lambda info: f"{info['unaligned']:,}")
    row("  widened by MiB", lambda info: number(info["widened_bytes"] / MIB))
    row("read-modify-writes", lambda info: f"{info['partial_writes']:,}")
    row("  reads for them", lambda info: f"{info['merge_reads']:,}", last=True)
    return table


def count_cell(info: Document, name: str) -> str:
    """A number of requests."""
    return f"{info[name]:,}"


def recorded_cell(info: Document, kind: str) -> str:
    """What the traced device took."""
    latency = (info["recorded_latency_ns"] or {}).get(kind)
    return " / ".join(duration(latency[name]) for name in ("p50", "p90", "p99")) if latency else "–"


def mib_cell(info: Document, name: str) -> str:
    """A number of bytes, in MiB."""
    return number(info[name] / MIB)


def footprint(info: Document, kind: str) -> str:
    """MiB that are read or written."""
    return number(info[f"{kind}_footprint_bytes"] / MIB)


def devices_text(devices: list[Document]) -> str:
    """One name, or how many."""
    return devices[0]["name"] if len(devices) == 1 else f"{len(devices)} volumes"


def formats_table(formats: list[Document]) -> Table:
    """The formats of traces."""
    table = Table(box=box.SIMPLE_HEAVY, pad_edge=False)
    for column in ("name", "written", "what"):
        table.add_column(column, no_wrap=column != "what")
    for entry in formats:
        needs = f"; needs {entry['needs']}" if entry["needs"] else ""
        table.add_row(entry["name"], "yes" if entry["writable"] else "", Text(entry["about"] + needs))
    return table
