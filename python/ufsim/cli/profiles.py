"""The command `ufsim profiles`: what there is, what stands in a profile, and what follows from it."""

import json
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

import ufsim
from ufsim.cli.screen import Screen
from ufsim.devices import describe_profile
from ufsim.results.formats import number

# Facts that stand together, with what the table calls them.
FACTS = (
    (
        ("usable_bytes", "usable capacity"),
        ("raw_bytes", "raw capacity"),
        ("overprovision_ratio", "over-provisioning"),
        ("metadata_bytes", "flash for metadata"),
    ),
    (("dies", "dies"), ("row_bytes", "row of a die"), ("superblock_bytes", "superblock")),
    (
        ("l2p_table_bytes", "L2P table"),
        ("l2p_segments", "L2P segments"),
        ("l2p_in_sram_ratio", "share of it in SRAM, at most"),
        ("l2p_in_host_ratio", "share of it in host memory, at most"),
    ),
    (
        ("sram_pool_bytes", "SRAM pool"),
        ("sram_segments_bytes", "of it L2P segments, at most"),
        ("sram_write_bytes", "of it write data, at most"),
        ("sram_reserve_bytes", "of it kept from write data"),
        ("log_bytes", "SRAM of the log"),
    ),
    (("user_commands", "user commands under way, at most"),),
)
PATTERNS = ("sequential_read", "sequential_write", "random_read", "random_write")
LIMITS = ("link", "channel", "die", "firmware", "tags")
BYTE_UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def print_list(as_json: bool) -> None:
    """The built-in profiles."""
    devices = {name: describe_profile(name) for name in ufsim.profiles()}
    if as_json:
        shown = ("name", "summary", "extends", "facts")
        print(json.dumps([{"profile": name} | {key: d[key] for key in shown} for name, d in devices.items()], indent=2))
        return
    console = Screen()
    table = Table(box=box.SIMPLE_HEAVY, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("capacity", no_wrap=True, justify="right")
    table.add_column("what it models")
    for name, device in devices.items():
        table.add_row(name, size(device["facts"]["usable_bytes"]), device["summary"])
    console.print(table)
    console.print("ufsim profiles NAME, or FILE for one of your own, tells more of one.", highlight=False)


def print_profile(console: Console, device: dict[str, Any]) -> None:
    """A profile: what follows from it, then its values with their sources."""
    console.print(Text(f"{device['name']}: {device['summary']}", style="bold"), soft_wrap=True)
    if device["extends"]:
        plain(console, f"extends {', which extends '.join(device['extends'])}")
    console.print(facts_table(device["facts"]))
    console.print(ceilings_table(device["ceilings"]))
    plain(console, "The lowest limit of each line, marked *, holds. docs/device-facts.md has the formulas.")
    for name, problem in device["schemes"].items():
        if problem is not None:
            plain(console, f"scheme {name} cannot run on this device: {problem}")
    print_values(console, device["values"])


def plain(console: Console, text: str) -> None:
    """A line as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def facts_table(facts: dict[str, float]) -> Table:
    """Sizes and shares."""
    table = Table(box=box.SIMPLE_HEAVY, pad_edge=False, show_header=False)
    table.add_column("fact")
    table.add_column("value", justify="right", no_wrap=True)
    for group in FACTS:
        for name, label in group:
            table.add_row(label, fact_text(name, facts[name]), end_section=name == group[-1][0])
    return table


def fact_text(name: str, value: float) -> str:
    """A fact as its unit wants it."""
    if name.endswith("_bytes"):
        return size(value)
    if name.endswith("_ratio"):
        return f"{number(100 * value)} %"
    return f"{value:,}"


def ceilings_table(ceilings: dict[str, dict[str, Any]]) -> Table:
    """What each part of the system allows by itself."""
    table = Table(box=box.SIMPLE_HEAVY, pad_edge=False, title="ceilings", title_justify="left")
    table.add_column("")
    for limit in LIMITS:
        table.add_column(limit, justify="right", no_wrap=True)
    for pattern in PATTERNS:
        ceiling = ceilings[pattern]
        name = pattern.replace("_", " ")
        sequential = pattern.startswith("sequential")
        unit = "MiB/s" if sequential else "kIOPS"
        cells = []
        for limit in LIMITS:
            rate = ceiling["requests_per_s_by"][limit]
            mark = "*" if limit == ceiling["limited_by"] else ""
            scale = ceiling["request_bytes"] / (1 << 20) if sequential else 1e-3
            cells.append("none" if rate is None else f"{number(rate * scale)}{mark}")
        table.add_row(f"{name} {size(ceiling['request_bytes'])}, {unit}", *cells)
    return table


def print_values(console: Console, values: list[dict[str, Any]]) -> None:
    """The values by section, each with its source."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column("key", no_wrap=True)
    table.add_column("value", no_wrap=True)
    table.add_column("source")
    last = ""
    for value in values:
        section, _, key = value["key"].rpartition(".")
        if section != last:
            table.add_row(Text(""), Text(""), Text(""))
            table.add_row(Text(f"[{section}]", style="bold"), Text(""), Text(""))
            last = section
        if value["source"] is None:
            table.add_row(Text(key), Text(""), Text(str(value["value"])))
        else:
            table.add_row(Text(key), Text(value_text(value["value"])), Text(source_text(value)))
    console.print(table)


def source_text(value: dict[str, Any]) -> str:
    """Where a value comes from."""
    return f"assumed: {value['source']}" if value["assumed"] else str(value["source"])


def value_text(value: object) -> str:
    """A value as TOML has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def size(count: float) -> str:
    """Bytes with the unit that suits them; whole numbers without a fraction."""
    for unit, factor in BYTE_UNITS:
        if count >= factor:
            amount = count / factor
            return f"{amount:,.0f} {unit}" if amount.is_integer() else f"{number(amount)} {unit}"
    return f"{count:,.0f} bytes"
