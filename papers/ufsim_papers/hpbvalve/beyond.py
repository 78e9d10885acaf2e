"""Beyond HPBvalve's paper: its policy on HP-UFS's cache, beside either of them alone, on the same phone."""

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim.plots import scheme_colours
from ufsim_papers import draw
from ufsim_papers.figure import Point, Setting, figure
from ufsim_papers.hpbvalve.runs import by_app, expanded, killed, points, uses

SCHEMES = ("hpbvalve", "hp-ufs", "hpbvalve-hp-ufs", "ideal")


def _runs(setting: Setting) -> list[Point]:
    return [point for point in points(setting, SCHEMES) if point.labels["seed"] == setting.seed]


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """By scheme: mean launch in ms, misses in per cent of the foreground's reads, most memory, apps killed."""
    table, kills, samples = uses(frame), killed(frame), expanded(frame, "timeline")
    order = list(frame["scheme"])
    sums = table.groupby("scheme")[["reads", "map"]].sum()
    columns = {
        "launch_ms": by_app(table, "launch_ms").mean(),
        "misses_percent": sums["map"] / sums["reads"] * 100,
        "hpb_mib": samples.groupby("scheme")["hpb_mib"].max(),
        "apps_killed": kills[kills["category"] < 3].groupby("scheme").size().reindex(order, fill_value=0),
    }
    return pd.DataFrame(columns).reindex(order)


def _draw(frame: pd.DataFrame) -> Drawing:
    table = summary(frame)
    figure, axes = draw.canvas(columns=4, width=3.2, height=3.2)
    labels = {
        "launch_ms": "mean launch (ms)",
        "misses_percent": "L2P misses (% of reads)",
        "hpb_mib": "memory of the driver, at most (MiB)",
        "apps_killed": "apps killed",
    }
    colours = scheme_colours(list(table.index))
    for each, (column, label) in zip(axes, labels.items(), strict=True):
        bars = each.bar(range(len(table)), table[column], color=[colours[name] for name in table.index], width=0.7)
        each.bar_label(bars, [f"{value:.3g}" for value in table[column]], fontsize=7)
        each.set_xticks(range(len(table)), list(table.index), rotation=20, fontsize=7)
        each.set_ylabel(label)
    return figure


BEYOND = figure("hpbvalve/beyond", runs=_runs, draw=_draw)

FIGURES = (BEYOND,)
