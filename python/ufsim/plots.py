"""Pictures of comparisons. Uses matplotlib's objects directly: no global state, no display, safe in threads."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ufsim.formats import number, percent_change, workload_name
from ufsim.results import Comparison, latency_value

# Okabe and Ito's palette, which colour-blind readers can tell apart. A scheme has the same colour in every picture.
SCHEME_COLOURS = {"ufs": "#7a7a7a", "hpb": "#e69f00", "hp-ufs": "#0072b2", "ideal": "#009e73"}
OTHER_COLOURS = ("#cc79a7", "#d55e00", "#56b4e9", "#f0e442", "#000000", "#8c564b")

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
PERCENTILES = {"p50": "p50", "p99": "p99", "p999": "p99.9"}
PERCENTILE_KINDS = ("read", "write", "flush", "trim")
MOST_LATENCY_PANELS = 3


def scheme_colours(schemes: Sequence[str]) -> dict[str, str]:
    """A colour for each scheme; those without a colour of their own take the others in alphabetical order."""
    others = sorted(set(schemes) - SCHEME_COLOURS.keys())
    extra = {name: OTHER_COLOURS[index % len(OTHER_COLOURS)] for index, name in enumerate(others)}
    return {name: SCHEME_COLOURS.get(name) or extra[name] for name in schemes}


def comparison_figure(comparison: Comparison) -> Figure:
    """Throughput with gains on the left, latency percentiles beside it, NAND time by cause below."""
    kinds = [
        kind for kind in PERCENTILE_KINDS if any(latency_value(result, kind, "count") for result in comparison.results)
    ][:MOST_LATENCY_PANELS]
    schemes = len(comparison.results)
    figure = Figure(figsize=(4.6 + 3.3 * max(1, len(kinds)), 6.3 + 0.3 * schemes), dpi=120, layout="constrained")
    grid = figure.add_gridspec(
        2,
        1 + max(1, len(kinds)),
        width_ratios=[1.0, *[1.15] * max(1, len(kinds))],
        height_ratios=[4.2, 0.9 + 0.4 * schemes],
    )
    colours = scheme_colours([result.scheme for result in comparison.results])
    draw_throughput(figure.add_subplot(grid[0, 0]), comparison, colours)
    first = None
    for column, kind in enumerate(kinds, start=1):
        axes = figure.add_subplot(grid[0, column], sharey=first)
        draw_latency(axes, comparison, kind, colours)
        if first is None:
            first = axes
            axes.set_ylabel("latency (µs)")
            axes.legend(fontsize=8, frameon=False, loc="upper left")
    if first is not None:
        low, high = first.get_ylim()
        first.set_ylim(low, high * 3)  # room for the labels that stand on the bars
    draw_nand_time(figure.add_subplot(grid[1, :]), comparison)
    profile = ", ".join(dict.fromkeys(Path(result.profile).stem for result in comparison.results))
    figure.suptitle(f"{workload_name(comparison.workload)} on device profile {profile}", fontsize=13, fontweight="bold")
    return figure


def draw_throughput(axes: Axes, comparison: Comparison, colours: dict[str, str]) -> None:
    """Bars of throughput, each labelled with its value and its gain over the first scheme."""
    results = comparison.results
    names = [result.scheme for result in results]
    values = [result.throughput_mib_per_s for result in results]
    bars = axes.bar(names, values, color=[colours[name] for name in names], width=0.7)
    labels = [number(values[0])]
    labels += [
        f"{number(result.throughput_mib_per_s)}\n{percent_change(comparison.gain_percent(result))}"
        for result in results[1:]
    ]
    axes.bar_label(bars, labels, padding=2, fontsize=9)
    axes.margins(y=0.16)
    axes.set_ylabel("throughput (MiB/s)")
    axes.set_title(f"Throughput, gain over {names[0]}" if len(names) > 1 else "Throughput", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    if len(names) > 4:
        axes.tick_params(axis="x", rotation=35)


def draw_latency(axes: Axes, comparison: Comparison, kind: str, colours: dict[str, str]) -> None:
    """Grouped bars of one kind's latency percentiles in microseconds, on a logarithmic axis."""
    results = comparison.results
    width = 0.82 / len(results)
    for index, result in enumerate(results):
        places = [group + (index - (len(results) - 1) / 2) * width for group in range(len(PERCENTILES))]
        values = [(latency_value(result, kind, name) or 0) / 1000 for name in PERCENTILES]
        bars = axes.bar(places, values, width=width * 0.94, color=colours[result.scheme], label=result.scheme)
        # A latency below 0.1 us stands at the edge of the axis without a bar; its label would only clutter.
        labels = [number(value) if value >= 0.1 else "" for value in values]
        axes.bar_label(bars, labels, padding=3, fontsize=7.5, rotation=90)
    axes.set_yscale("log")
    axes.set_xticks(range(len(PERCENTILES)), list(PERCENTILES.values()))
    axes.set_title(f"{kind.capitalize()} latency", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", which="major", alpha=0.25)
    axes.set_axisbelow(True)


def draw_nand_time(axes: Axes, comparison: Comparison) -> None:
    """One bar for each scheme: busy time of all dies, stacked by cause."""
    results = comparison.results
    names = [result.scheme for result in results]
    left = [0.0] * len(results)
    causes = dict(CAUSES)
    for result in results:
        for cause in result.nand_time_ns:
            causes.setdefault(cause, (cause.replace("_", " "), OTHER_COLOURS[len(causes) % len(OTHER_COLOURS)]))
    for cause, (label, colour) in causes.items():
        values = [result.nand_time_ns.get(cause, 0) / 1e9 for result in results]
        if not any(values):
            continue
        axes.barh(names, values, left=left, color=colour, label=label, height=0.7, edgecolor="white", linewidth=0.5)
        left = [start + value for start, value in zip(left, values, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("NAND busy time, sum over all dies (s)")
    axes.set_title("NAND time by cause", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    if any(left):
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
