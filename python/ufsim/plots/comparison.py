"""The picture of a comparison: a row for each scheme in every panel, legible for two schemes as for thirteen."""

import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ufsim.names import check_choice
from ufsim.plots.palette import OTHER_COLOURS, SchemeStyle, scheme_styles
from ufsim.results import chance, conditions
from ufsim.results.chance import Value, estimate, gain_text, told
from ufsim.results.conclusions import conclusion
from ufsim.results.formats import duration, number, workload_name
from ufsim.results.result import RECORDED, Comparison, Result

# Grey: the host's own work; red: what the mapping table costs; violet: garbage collection. None is a scheme's colour.
CAUSES = {
    "host_read": ("host read", "#c6cdd8"),
    "host_write": ("host write", "#8896ab"),
    "map_read": ("map read", "#fb6a4a"),
    "map_write": ("map write", "#cb181d"),
    "valid_page_search": ("valid-page search", "#67000d"),
    "gc_read": ("GC read", "#bcbddc"),
    "gc_write": ("GC write", "#756bb1"),
    "erase": ("erase", "#3b2a66"),
    "recovery": ("recovery", "#a6761d"),
}
# Statistics of a row of latencies, with the marker of each.
STATISTICS = (("p50", "p50", "|"), ("mean", "mean", "o"), ("p99", "p99", "D"), ("p999", "p99.9", ">"))
# Columns of numbers beside a panel of latencies: where they begin, in points from its edge.
NUMBERS = ((8, "mean"), (96, "p99"))
# The same of several seeds.
NUMBERS_AND_INTERVALS = ((8, "mean"), (158, "p99"))
# The device on which a trace was recorded: no scheme's colour.
RECORDED_STYLE = SchemeStyle("#b2182b", "", "o", "-")
# 95% intervals of means over seeds.
WHISKERS: dict[str, Any] = {"capsize": 3, "lw": 1.0, "ecolor": "black", "zorder": 4}
PANEL_INCHES = 6.6
# More of it where numbers have intervals.
INTERVAL_INCHES = 1.6
HEADING_WIDTH = 165
MOST_LATENCY_PANELS = 4
REQUESTS = ("read", "write", "flush", "trim")
# What a picture of one panel can show.
PANELS = ("speed", *REQUESTS, "nand")


def comparison_figure(comparison: Comparison, panel: str | None = None) -> Figure:
    """Speed, latencies by kind, and NAND time by cause, or one `panel` of them; what was run stands above."""
    panels = panels_of(comparison) if panel is None else [panel_of(comparison, panel)]
    rows = (len(panels) + 1) // 2
    lines = len(comparison.columns)
    height = 1.35 + (0.3 if lines <= 8 else 0.24) * max(3, lines)
    # The heading takes as much of a picture of one panel as of several.
    margin = 0.8 if rows > 1 else 2.2
    width = PANEL_INCHES + (INTERVAL_INCHES if comparison.results[0].repeats else 0)
    figure = Figure(figsize=(2 * width, margin + rows * height), dpi=120, layout="constrained")
    figure.get_layout_engine().set(h_pad=0.08, w_pad=0.1, hspace=0.04, wspace=0.04)  # type: ignore[union-attr,call-arg]
    grid = figure.add_gridspec(rows, 2)
    for place, draw in enumerate(panels):
        alone = place == len(panels) - 1 and place % 2 == 0
        draw(figure.add_subplot(grid[place // 2, slice(None) if alone else place % 2]))
    told = heading(comparison.workload, comparison.results, conclusion(comparison))
    figure.suptitle(told, fontsize=10, x=0.012, ha="left", linespacing=1.4)
    return figure


def panels_of(comparison: Comparison) -> list[Callable[[Axes], None]]:
    """What draws each panel: speed, what has latencies, NAND time."""
    kinds = latency_kinds(comparison)[:MOST_LATENCY_PANELS]
    latencies = [partial(draw_latency, comparison=comparison, kind=kind, title=title) for kind, title in kinds]
    return [panel_of(comparison, "speed"), *latencies, panel_of(comparison, "nand")]


def panel_of(comparison: Comparison, name: str) -> Callable[[Axes], None]:
    """What draws one of `PANELS`."""
    check_choice("panel", name, PANELS)
    if name == "speed":
        return partial(draw_headline, comparison=comparison, styles=scheme_styles(comparison.schemes))
    if name == "nand":
        return partial(draw_nand_time, comparison=comparison)
    return partial(draw_latency, comparison=comparison, kind=name, title=f"{name.capitalize()} latency")


def heading(workload: str, results: Sequence[Result], found: str | None = None, width: int = HEADING_WIDTH) -> str:
    """The workload, what was found, what was run, and what a reader has to know before believing it, in lines of so
    many characters.
    """
    lines = [workload_name(workload), *([found] if found else []), conditions.run_text(conditions.described(results))]
    lines += [f"note: {note}" for note in conditions.notes(results)]
    lines += [f"warning: {failure}" for failure in conditions.failures(results)]
    return "\n".join(line for text in lines for line in textwrap.wrap(text, width))


def latency_kinds(comparison: Comparison) -> list[tuple[str, str]]:
    """What has latencies, and how its panel is named: operations of databases first, then kinds of requests."""
    operations = [one["name"] for result in comparison.results for one in result.data.get("operations", [])]
    kinds = [(name, f"Latency of transaction: {name}") for name in dict.fromkeys(operations)]
    return kinds + [
        (kind, f"{kind.capitalize()} latency")
        for kind in REQUESTS
        if any(statistics(result, kind) for result in comparison.results)
    ]


def statistics(result: Result, kind: str) -> dict[str, Any] | None:
    """Latency statistics of a kind of request or operation; nothing where there was none."""
    found = result.data["latency_ns"].get(kind)
    for operation in result.data.get("operations", []):
        found = operation["latency_ns"] if operation["name"] == kind else found
    return found if found and found["count"] else None


def statistic_of(result: Result, kind: str, name: str) -> float | None:
    """One of them."""
    found = statistics(result, kind)
    return None if found is None else float(found[name])


def rows_of(axes: Axes, names: Sequence[str]) -> None:
    """A row for each scheme, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", which="major", alpha=0.3)
    axes.set_axisbelow(True)


def draw_headline(axes: Axes, comparison: Comparison, styles: dict[str, SchemeStyle]) -> None:
    """Bars of what tells the schemes apart on this workload, with the gain over the first."""
    what, unit, value = headline(comparison)
    shorter = unit != "MiB/s"
    for row, result in enumerate(comparison):
        style, found = styles[result.scheme], estimate(result, value)
        look: dict[str, Any] = {"color": style.colour, "hatch": style.hatch, "edgecolor": "white", "lw": 0.5}
        if found and found.half:
            look |= {"xerr": found.half, "error_kw": WHISKERS}
        bar = axes.barh(row, found.mean if found else 0, height=0.72, **look)
        gain = chance.gain(comparison.results[0], result, value, shorter=shorter)
        text = told(found, number) + (f" {unit}" if row == 0 or gain is None else f"  {gain_text(gain)}")
        axes.bar_label(bar, [text], padding=4, fontsize=9)
    rows_of(axes, comparison.schemes)
    axes.margins(x=0.3)
    axes.set_xlim(left=0)
    axes.set_xlabel(f"{what.lower()} ({unit}), {'less' if shorter else 'more'} is better")
    gains = f", gain over {comparison.schemes[0]}" if len(comparison) > 1 else ""
    axes.set_title(what + gains, fontsize=11, loc="left")


def headline(comparison: Comparison) -> tuple[str, str, Value]:
    """What tells the schemes apart: its name, its unit, and its value of a result."""
    lead = conditions.leads_with(comparison.results)
    if lead == "throughput":
        return "Throughput", "MiB/s", lambda result: result.throughput_mib_per_s
    kind, _ = latency_kinds(comparison)[0] if lead == "operations" else ("all", "")
    name = f"Mean latency of {kind}s" if lead == "operations" else "Mean latency of all requests"

    def mean_us(result: Result) -> float | None:
        found = statistics(result, kind)
        return None if found is None else float(found["mean"]) / 1e3

    return name, "µs", mean_us


def with_recorded(comparison: Comparison) -> list[Result]:
    """The results, then what is known of the traced device."""
    return [*comparison, *([comparison.recorded] if comparison.recorded else [])]


def draw_latency(axes: Axes, comparison: Comparison, kind: str, title: str) -> None:
    """A line from p50 to p99.9 for each scheme on a logarithmic axis; mean and p99 as numbers beside it.

    Below them stands the device on which the trace was recorded, if that is known.
    """
    styles = scheme_styles(comparison.schemes) | {RECORDED: RECORDED_STYLE}
    places = NUMBERS_AND_INTERVALS if comparison.results[0].repeats else NUMBERS
    for row, result in enumerate(with_recorded(comparison)):
        values = {name: estimate(result, partial(statistic_of, kind=kind, name=name)) for name, _, _ in STATISTICS}
        if values["mean"] is None:
            beside(axes, NUMBERS[0][0], row, "–")
            continue
        style = styles[result.scheme]
        # No time at all has no place on a logarithmic axis; the numbers beside it tell.
        known = [(label, marker, found) for name, label, marker in STATISTICS if (found := values[name]) and found.mean]
        points = [found.mean / 1e3 for _, _, found in known] or [float("nan")]
        axes.plot([min(points), max(points)], [row, row], color=style.colour, lw=4, alpha=0.45, solid_capstyle="butt")
        for (label, marker, found), place in zip(known, points, strict=False):
            if found.half:
                # Nor have times below none.
                half = found.half / 1e3
                axes.errorbar(place, row, xerr=[[min(half, 0.9 * place)], [half]], **WHISKERS)
            size = 12 if marker == "|" else 6
            look: dict[str, Any] = {
                "mew": 2 if marker == "|" else 0.6,
                "mec": style.colour if marker == "|" else "black",
            }
            axes.plot(place, row, marker, color=style.colour, ms=size, label=label if row == 0 else None, **look)
        for x, name in places:
            value = partial(statistic_of, kind=kind, name=name)
            is_gain = row and result.scheme != RECORDED
            gain = chance.gain(comparison.results[0], result, value, shorter=True) if is_gain else None
            beside(axes, x, row, told(values[name], duration) + ("" if gain is None else f"  {gain_text(gain)}"))
    for x, name in places:
        beside(axes, x, -0.75, f"{name}, gain" if len(comparison) > 1 else name, fontweight="bold")
    axes.set_xscale("log")
    axes.margins(x=0.06)
    plain_numbers(axes)
    rows_of(axes, comparison.columns)
    axes.set_xlabel("latency (µs): | p50, ● mean, ◆ p99, ▶ p99.9")
    axes.set_title(title, fontsize=11, loc="left")


def beside(axes: Axes, points: float, row: float, text: str, **look: Any) -> None:
    """Writes at a row, so many points to the right of the axes."""
    place: dict[str, Any] = {"xycoords": axes.get_yaxis_transform(), "textcoords": "offset points", "va": "center"}
    axes.annotate(text, (1, row), (points, 0), fontsize=8.5, annotation_clip=False, **place, **look)


def plain_numbers(axes: Axes) -> None:
    """Labels 100, 200, 500 or 100, 300 instead of powers of ten, as many as there is room for."""
    low, high = axes.get_xlim()
    span = high / low
    steps = (1.0, 2.0, 5.0) if span < 50 else (1.0, 3.0) if span < 1000 else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def nand_seconds(result: Result, cause: str) -> float:
    """Busy time of all dies for a cause, as a mean over seeds."""
    found = estimate(result, lambda one: one.nand_time_ns.get(cause, 0) / 1e9)
    return found.mean if found else 0.0


def draw_nand_time(axes: Axes, comparison: Comparison) -> None:
    """One bar for each scheme: busy time of all dies, stacked by cause, with the interval of the sum."""
    left = [0.0] * len(comparison)
    causes = dict(CAUSES)
    for result in comparison:
        for cause in result.nand_time_ns:
            causes.setdefault(cause, (cause.replace("_", " "), OTHER_COLOURS[len(causes) % len(OTHER_COLOURS)]))
    for cause, (label, colour) in causes.items():
        values = [nand_seconds(result, cause) for result in comparison]
        if not any(values):
            continue
        rows = range(len(values))
        axes.barh(rows, values, left=left, color=colour, label=label, height=0.72, edgecolor="white", linewidth=0.5)
        left = [start + value for start, value in zip(left, values, strict=True)]
    for row, result in enumerate(comparison):
        whole = estimate(result, lambda one: sum(one.nand_time_ns.values()) / 1e9)
        if whole and whole.half:
            axes.errorbar(whole.mean, row, xerr=whole.half, **WHISKERS)
    rows_of(axes, comparison.schemes)
    axes.set_xlabel("NAND busy time, sum over all dies (s), less is better")
    axes.set_title("NAND time by cause", fontsize=11, loc="left")
    if any(left):
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
