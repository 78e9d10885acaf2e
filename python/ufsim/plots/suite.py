"""The picture of a suite: gains over the first scheme by workload, a panel for each measure."""

import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ufsim.plots.palette import scheme_styles
from ufsim.results import conditions
from ufsim.results.chance import Estimate, gain_text
from ufsim.results.suite import Measure, Suite
from ufsim.results.suite_tables import MEAN

PANEL_INCHES = 6.4
# Of a bar, at most, and of all bars of a panel, if they do not become too thin to be seen.
BAR_INCHES, THINNEST, BARS_INCHES = 0.19, 0.06, 7.0
# Of the heading, on one line.
CHARACTERS_PER_INCH = 13
# Of a name beside its bars, on one line.
NAME_CHARACTERS = 24
# Per cent that a panel shows at least, up and down: smaller differences are not to look large.
LEAST_RANGE = 5.0


def suite_figure(suite: Suite) -> Figure:
    """A panel for each measure: a group of bars for each workload, and one for their mean."""
    measures = suite.measures()
    columns = min(2, max(1, len(measures)))
    bars = [(len(places) + (len(places) > 1)) * len(suite.schemes) for _, places in measures]
    of_rows = [max(bars[at : at + columns]) for at in range(0, len(bars), columns)] or [1]
    thick = min(BAR_INCHES, max(THINNEST, BARS_INCHES / max(of_rows)))
    heights = [1.0 + thick * row for row in of_rows]
    width = PANEL_INCHES * columns
    figure = Figure(figsize=(width, 1.2 + sum(heights)), dpi=120, layout="constrained")
    figure.get_layout_engine().set(h_pad=0.08, w_pad=0.1)  # type: ignore[union-attr,call-arg]
    by_name = {name: one.results for name, one in zip(suite.names, suite.comparisons, strict=True)}
    told = f"{len(suite)} workloads, gains over {suite.schemes[0]}"
    lines = textwrap.wrap(conditions.run_text(conditions.described_suite(by_name)), int(width * CHARACTERS_PER_INCH))
    figure.suptitle("\n".join([told, *lines]), fontsize=10, x=0.012, ha="left", linespacing=1.4)
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    for at, (measure, places) in enumerate(measures):
        axes = figure.add_subplot(grid[at // columns, at % columns])
        draw_gains(axes, suite, measure, places, labels=thick == BAR_INCHES)
    if measures:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(7, len(labels)), frameon=False, fontsize=9)
    return figure


def draw_gains(axes: Axes, suite: Suite, measure: Measure, places: list[int], *, labels: bool) -> None:
    """Bars of the gains of all schemes but the first; `labels` writes them beside the bars."""
    schemes = suite.schemes[1:] or suite.schemes
    styles = scheme_styles(suite.schemes)
    groups = [list(suite.gains_of(measure, place).values()) for place in places]
    if len(places) > 1:
        groups.append([suite.mean_gain(measure, places, column) for column in range(len(suite.schemes))])
    nothing = Estimate(0.0, None)
    names = [suite.names[place] for place in places] + [MEAN] * (len(places) > 1)
    thick = 0.82 / len(schemes)
    for index, scheme in enumerate(schemes):
        column = suite.schemes.index(scheme)
        at = [group + (index - (len(schemes) - 1) / 2) * thick for group in range(len(groups))]
        found = [group[column] or nothing for group in groups]
        gains, halves = [one.mean for one in found], [one.half or 0.0 for one in found]
        look: dict[str, Any] = {"color": styles[scheme].colour, "hatch": styles[scheme].hatch, "label": scheme}
        if any(halves):
            look |= {"xerr": halves, "error_kw": {"capsize": 2, "lw": 0.8}}
        bars = axes.barh(at, gains, height=thick * 0.94, edgecolor="white", linewidth=0.3, **look)
        if labels:
            axes.bar_label(bars, [gain_text(one) for one in found], padding=3, fontsize=8)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(names)), [textwrap.fill(name, NAME_CHARACTERS) for name in names], fontsize=9)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.3 if labels else 0.05)
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, -LEAST_RANGE), max(high, LEAST_RANGE))
    better = "shorter" if measure.shorter else "more"
    axes.set_xlabel(f"% {better}")
    axes.set_title(f"{measure.label}, {better} than {suite.schemes[0]}", fontsize=11, loc="left")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
