"""The picture of `ufsim explain`: what each band of latencies is made of, scheme beside scheme."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ufsim.results.columns import STAGES
from ufsim.results.explain import PLURALS, Band, plain
from ufsim.results.formats import duration

# Grey: the way there and back; blue: waiting outside the device; red: mapping; violet: GC; green: the data itself.
# Waits for dies are pale.
STAGE_COLOURS = {
    "outside": "#9ecae1",
    "block": "#4292c6",
    "driver": "#08519c",
    "fetch": "#dd3497",
    "link_down": "#d9d9d9",
    "queue": "#fdd0a2",
    "gc": "#756bb1",
    "meta_gc": "#54278f",
    "map_flush": "#cb181d",
    "recovery": "#a6761d",
    "sram": "#fd8d3c",
    "map_read": "#fb6a4a",
    "die_host_read": "#c7e9c0",
    "die_host_write": "#a1d99b",
    "die_map_read": "#fcbba1",
    "die_map_write": "#fcae91",
    "die_gc": "#bcbddc",
    "die_erase": "#9e9ac8",
    "flash_read": "#41ab5d",
    "program": "#006d2c",
    "firmware": "#525252",
    "link_up": "#bdbdbd",
    "wake": "#c6dbef",
}
# A smaller part of a bar has no room for its name.
NAMED = 0.08


def explain_figure(bands: Mapping[str, Sequence[Band]], kind: str) -> Figure:
    """Shares of stages: a panel for each log, a bar for each of its bands."""
    figure = Figure(figsize=(2.6 + 4.6 * len(bands), 5.2), dpi=120, layout="constrained")
    panels = figure.subplots(1, len(bands), sharey=True, squeeze=False)[0]
    for axes, (name, of_log) in zip(panels, bands.items(), strict=True):
        draw_bands(axes, of_log)
        axes.set_title(name, fontsize=11)
    panels[0].set_ylabel(f"share of the mean latency of {PLURALS[kind]}")
    present = [stage for stage in STAGES if any(band.shares().get(stage) for part in bands.values() for band in part)]
    handles = [panels[0].bar([0], [0], color=STAGE_COLOURS[stage]) for stage in present]
    names = [plain(stage) for stage in present]
    figure.legend(handles[::-1], names[::-1], loc="outside right upper", fontsize=9, frameon=False)
    return figure


def draw_bands(axes: Axes, bands: Sequence[Band]) -> None:
    """A stacked bar for each band, in the order in which a request passes the stages."""
    for place, band in enumerate(bands):
        bottom = 0.0
        for stage, share in ((stage, band.shares().get(stage, 0.0)) for stage in STAGES):
            axes.bar(place, share, bottom=bottom, color=STAGE_COLOURS[stage], width=0.82, edgecolor="white", lw=0.4)
            if share >= NAMED:
                dark = stage in ("driver", "fetch", "gc", "meta_gc", "map_flush", "program", "firmware")
                text = f"{plain(stage)}\n{duration(band.stages[stage])}"
                axes.text(
                    place, bottom + share / 2, text, ha="center", va="center", fontsize=7.5,
                    color="white" if dark else "black",
                )  # fmt: skip
            bottom += share
    names = [f"{band.name}\nmean {duration(band.mean_ns)}" for band in bands]
    axes.set_xticks(range(len(bands)), names, fontsize=8)
    axes.set_ylim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)
