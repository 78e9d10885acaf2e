"""How well profile `pixel4` predicts an application that it was not fitted to."""

import json
from functools import cache, partial
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

import ufsim
from ufsim_papers import draw
from ufsim_papers.figure import Point, Setting, figure
from ufsim_papers.folders import FOLDERS
from ufsim_papers.hp_ufs.apps import APPS

SEEDS = 5
# Statistics of a score, how a panel calls them, and what divides their values.
PANELS = {"p50": ("p50 (ms)", 1e6), "p99": ("p99 (ms)", 1e6), "over_8ms": ("requests over 8 ms (%)", 0.01)}
VERDICT_COLOURS = {"hit": "#1b7837", "hit by interval": "#1b7837", "miss": draw.PAPER_COLOUR}


@cache
def folds() -> dict[str, Any]:
    """What `make fits` has kept of the fits: the device's profile, what was set, and the values that were
    fitted without each application."""
    text = (FOLDERS / "phone/folds-pixel4.json").read_text(encoding="utf-8")
    kept: dict[str, Any] = json.loads(text)
    return kept


def predicted(trace: Path, app: str, seed: int) -> dict[str, Any]:
    """The scores of an application under the fit to the others, as columns."""
    kept = folds()
    values = kept["left_out"][app]
    done = ufsim.calibrate(
        [str(trace)],
        profile=kept["profile"],
        settings=kept["set"] | values,
        precondition="touched",
        seed=seed,
        seeds=SEEDS,
        jobs=1,
    )
    return {
        f"{score.kind}_{score.statistic}_{name}": getattr(score, name)
        for score in done.scores
        for name in ("recorded", "low", "high", "simulated", "verdict")
    }


def _runs(setting: Setting) -> list[Point]:
    apps = ("twitter", "genshinimpact") if setting.quick else tuple(APPS)
    traces = {app: setting.trace("pixel4-hpufs", app) for app in apps}
    return [Point({"app": APPS[app]}, partial(predicted, trace, app, setting.seed)) for app, trace in traces.items()]


def cells(frame: pd.DataFrame, statistic: str) -> list[dict[str, Any]]:
    """The scores of one statistic: application and kind, the recorded value with its interval, the prediction."""
    found = []
    for kind in ("read", "write"):
        for _, row in frame.iterrows():
            recorded = row.get(f"{kind}_{statistic}_recorded")
            if recorded is not None and recorded == recorded:  # kinds with few requests have no score
                names = ("recorded", "low", "high", "simulated", "verdict")
                found.append({"name": f"{row['app']} {kind}s"} | {n: row[f"{kind}_{statistic}_{n}"] for n in names})
    return found


def _panel(axes: Axes, rows: list[dict[str, Any]], title: str, unit: float) -> None:
    for place, row in enumerate(rows):
        recorded, low, high = (row[name] / unit for name in ("recorded", "low", "high"))
        axes.plot([place, place], [low, high], color="#999999", lw=5, alpha=0.5, solid_capstyle="butt")
        axes.plot(place, recorded, marker="_", ms=14, mew=2, color="#444444", ls="")
        axes.plot(place, row["simulated"] / unit, marker="o", ms=7, color=VERDICT_COLOURS[row["verdict"]], ls="")
    axes.set_xticks(range(len(rows)), [row["name"] for row in rows], rotation=40, ha="right")
    axes.set_ylim(bottom=0)
    axes.set_title(title, fontsize=10)


def _draw(frame: pd.DataFrame) -> Drawing:
    from matplotlib.lines import Line2D

    figure, panels = draw.canvas(columns=3, width=4.2)
    for axes, (statistic, (title, unit)) in zip(panels, PANELS.items(), strict=True):
        _panel(axes, cells(frame, statistic), title, unit)
    marks = [
        Line2D([], [], marker="_", ms=14, mew=2, color="#444444", ls="", label="recorded"),
        Line2D([], [], color="#999999", lw=5, alpha=0.5, label="its 80% interval"),
        Line2D([], [], marker="o", ms=7, color=VERDICT_COLOURS["hit"], ls="", label="predicted: hit"),
        Line2D([], [], marker="o", ms=7, color=VERDICT_COLOURS["miss"], ls="", label="predicted: miss"),
    ]
    panels[0].legend(handles=marks, fontsize=7.5, frameon=False)
    return figure


VALIDATION = figure("phone/validation", runs=_runs, draw=_draw)

FIGURES = (VALIDATION,)
