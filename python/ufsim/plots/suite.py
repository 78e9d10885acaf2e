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

PANEL_HEIGHT = 2.9
# Of the heading, on one line.
CHARACTERS_PER_INCH = 12
# Per cent that a panel shows at least, up and down: smaller differences are not to look large.
LEAST_RANGE = 5.0
# Most bars of a panel that have their gain written above them.
MOST_LABELS = 16


def suite_figure(suite: Suite) -> Figure:
    """A panel below the other for each measure: groups of bars for the workloads, and one for their mean."""
    measures = suite.measures()
    groups = max((len(places) for _, places in measures), default=0) + 1
    width = min(16.0, max(6.5, 1.6 + 0.24 * groups * len(suite.schemes)))
    figure = Figure(figsize=(width, 1.2 + PANEL_HEIGHT * max(1, len(measures))), dpi=120, layout="constrained")
    by_name = {name: one.results for name, one in zip(suite.names, suite.comparisons, strict=True)}
    told = f"{len(suite)} workloads, gains over {suite.schemes[0]}"
    lines = textwrap.wrap(conditions.run_text(conditions.described_suite(by_name)), int(width * CHARACTERS_PER_INCH))
    figure.suptitle("\n".join([told, *lines]), fontsize=10, x=0.012, ha="left", linespacing=1.4)
    panels: Any = figure.subplots(max(1, len(measures)), 1, squeeze=False)
    for row, (measure, places) in zip(panels, measures, strict=False):
        draw_gains(row[0], suite, measure, places)
    if measures:
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(5, len(labels)), frameon=False, fontsize=9)
    return figure


def draw_gains(axes: Axes, suite: Suite, measure: Measure, places: list[int]) -> None:
    """Bars of the gains of all schemes but the first."""
    schemes = suite.schemes[1:] or suite.schemes
    styles = scheme_styles(suite.schemes)
    groups = [list(suite.gains_of(measure, place).values()) for place in places]
    if len(places) > 1:
        groups.append([suite.mean_gain(measure, places, column) for column in range(len(suite.schemes))])
    nothing = Estimate(0.0, None)
    names = [suite.names[place] for place in places] + [MEAN] * (len(places) > 1)
    width = 0.82 / len(schemes)
    for index, scheme in enumerate(schemes):
        column = suite.schemes.index(scheme)
        at = [group + (index - (len(schemes) - 1) / 2) * width for group in range(len(groups))]
        found = [group[column] or nothing for group in groups]
        gains, halves = [one.mean for one in found], [one.half or 0.0 for one in found]
        look: dict[str, Any] = {"color": styles[scheme].colour, "hatch": styles[scheme].hatch, "label": scheme}
        if any(halves):
            look |= {"yerr": halves, "capsize": 2, "error_kw": {"lw": 0.8}}
        bars = axes.bar(at, gains, width=width * 0.94, edgecolor="white", linewidth=0.3, **look)
        if len(groups) * len(schemes) <= MOST_LABELS:
            axes.bar_label(bars, [gain_text(one) for one in found], padding=2, fontsize=8)
    axes.axhline(0, color="black", linewidth=0.8)
    turned = len(names) > 6 or max(map(len, names)) > 18
    axes.set_xticks(range(len(names)), names, rotation=25 if turned else 0, ha="right" if turned else "center")
    axes.tick_params(axis="x", length=0)
    axes.margins(y=0.18)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, -LEAST_RANGE), max(high, LEAST_RANGE))
    better = "shorter" if measure.shorter else "more"
    axes.set_ylabel(f"% {better}")
    axes.set_title(f"{measure.label}, {better} than {suite.schemes[0]}", fontsize=11)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)
