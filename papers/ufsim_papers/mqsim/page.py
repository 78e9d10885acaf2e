"""What the page on MQSim shows, from figures.json of its folder, which `figures` writes."""

import json
from collections.abc import Callable
from functools import cache
from statistics import mean
from typing import Any

from ufsim_papers.markdown import table
from ufsim_papers.mqsim.figures import RESULT

FIGURES = {"iops": "requests per second", "mean_us": "mean latency, us", "shortest_us": "shortest latency, us"}


@cache
def document() -> dict[str, Any]:
    """The kept result."""
    kept: dict[str, Any] = json.loads(RESULT.read_text(encoding="utf-8"))
    return kept


def number(figure: str, value: float) -> str:
    """A value as precise as it is worth."""
    return f"{value:,.0f}" if figure == "iops" else f"{value:,.1f}"


def off(value: float, reference: float) -> str:
    """How far a value is from another one."""
    share = value / reference - 1
    return "0.0%" if abs(share) < 0.0005 else f"{share:+.1%}"


def terms() -> str:
    """The terms of the sums."""
    one = document()["terms"]
    service = one["read_us"] + one["transfer_us"]
    outside = one["firmware_us"] + one["link_us"]
    rows = [
        ["the die senses", "tR", f"{one['read_us']:.2f}"],
        ["4 KiB over its channel, the die is busy still", "t", f"{one['transfer_us']:.2f}"],
        ["**service**", "S", f"**{service:.2f}**"],
        ["firmware, for the command", "", f"{one['firmware_us']:.2f}"],
        ["link: command, data and response on the wire, and their handling at both ends", "", f"{one['link_us']:.2f}"],
        ["**outside**", "Z", f"**{outside:.2f}**"],
        ["**shortest latency**", "S + Z", f"**{service + outside:.2f}**"],
    ]
    return table(("a read of 4 KiB", "", "us>"), rows)


def measured() -> str:
    """What is derived for ufsim beside what its runs gave."""
    rows = []
    for case in document()["cases"].values():
        for figure, derived in case["derived"].items():
            found = mean(run[figure] for run in case["measured"])
            rows.append(
                [case["what"], FIGURES[figure], number(figure, derived), number(figure, found), off(found, derived)]
            )
    head = ("ufsim", "figure", "derived>", "measured>", "off>")
    said = f"Means of {len(document()['seeds'])} seeds, ufsim {document()['ufsim']}.\n\n"
    return said + table(head, rows)


def steps(kind: str) -> str:
    """One difference after the other, and what MQSim told."""
    derived, told = document()["steps"][kind], document()["told"][kind]["iops"]
    rows = []
    before = derived[0][1]
    for what, iops in derived:
        rows.append([what, number("iops", iops), "" if iops == before else off(iops, before)])
        before = iops
    rows.append(["**what MQSim told**", f"**{number('iops', told)}**", off(told, before)])
    return table((f"random {kind}", "requests per second>", "change>"), rows)


def told() -> str:
    """The figures of MQSim beside what is derived for it, without and with pairs."""
    kept = document()
    rows = []
    for kind, figures in kept["told"].items():
        sums = kept["mqsim"][kind]
        for figure, value in figures.items():
            columns = ((number(figure, of[figure]), off(of[figure], value)) for of in (sums["alone"], sums["paired"]))
            rows.append(
                [f"random {kind}, {FIGURES[figure]}", f"{value:,}", *(text for pair in columns for text in pair)]
            )
    return table(("MQSim", "told>", "derived>", "off>", "with pairs>", "off>"), rows)


PARTS: dict[str, Callable[[], str]] = {
    "terms": terms,
    "measured": measured,
    "reads": lambda: steps("reads"),
    "writes": lambda: steps("writes"),
    "told": told,
}


def part(name: str) -> str:
    """A table of the page."""
    return PARTS[name]()
