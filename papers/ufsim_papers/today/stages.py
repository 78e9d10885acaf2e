"""Where the time of applications goes on a device in use: what of it a scheme for the mapping could save at all."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Drawing

import ufsim
from ufsim import Spec, StateCache
from ufsim_papers import draw
from ufsim_papers.figure import Point, Setting, figure
from ufsim_papers.today.uses import AS_IT_IS, CONDITIONS, MODEL, spec, workloads

KINDS = ("read", "write")
# Stages of a request that count together, with the colour in which they are drawn, from below.
GROUPS = {
    "host, link, firmware": ("#999999", ("link_down", "firmware", "link_up", "wake")),
    "its flash": ("#56b4e9", ("flash_read", "program")),
    "other requests": (
        "#e69f00",
        ("outside", "block", "driver", "queue", "sram", "recovery", "die_host_read", "die_host_write"),
    ),
    "GC": ("#d55e00", ("gc", "meta_gc", "die_gc", "die_erase")),
    "the mapping": ("#0072b2", ("fetch", "map_read", "map_flush", "die_map_read", "die_map_write")),
}


def measured(options: Spec) -> dict[str, Any]:
    """Mean nanoseconds of each group of stages, by kind of request."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"
        ufsim.run(**asdict(options), seeds=1, cache=StateCache(), log=log)
        frame = pd.read_parquet(log)
    found: dict[str, Any] = {}
    for kind in KINDS:
        own = frame[frame["measured"] & (frame["kind"] == kind)]
        found |= {
            f"{kind} {group}": float(own[[f"stage_{name}_ns" for name in stages]].sum(axis=1).mean())
            for group, (_, stages) in GROUPS.items()
        }
    return found


def _runs(setting: Setting) -> list[Point]:
    condition = CONDITIONS[AS_IT_IS]
    options = {
        (name, scheme): spec(condition, scheme, setting.seed, own)
        for name, own in workloads(setting, condition.repeat)
        if name != MODEL
        for scheme in condition.schemes
    }
    return [
        Point({"workload": name, "scheme": scheme}, partial(measured, own), asdict(own))
        for (name, scheme), own in options.items()
    ]


def shares(frame: pd.DataFrame) -> pd.DataFrame:
    """Per cent of a mean request's time under `ufs`: a row for each workload and kind, a column for each group."""
    rows = frame[frame["scheme"] == "ufs"].set_index("workload")
    table = pd.DataFrame.from_dict(
        {
            f"{workload}, {kind}s": {group: row[f"{kind} {group}"] for group in GROUPS}
            for kind in KINDS
            for workload, row in rows.iterrows()
        },
        orient="index",
    )
    return table.div(table.sum(axis=1), axis=0) * 100


def _draw(frame: pd.DataFrame) -> Drawing:
    canvas, panels = draw.canvas(rows=len(KINDS), width=13.0, height=3.4)
    for axes, kind in zip(panels, KINDS, strict=True):
        table = frame[[f"{kind} {group}" for group in GROUPS]] / 1e3
        looks = {f"{kind} {group}": (group, colour) for group, (colour, _) in GROUPS.items()}
        draw.stacked(axes, table, looks)
        axes.set_xticks(range(len(frame)), list(frame["scheme"]), rotation=90, fontsize=6)
        axes.set_ylabel(f"mean time of a {kind} (us)")
        workloads_of = list(frame["workload"])
        for name in dict.fromkeys(workloads_of):
            middle = workloads_of.index(name) + (workloads_of.count(name) - 1) / 2
            axes.text(middle, 1.0, name, transform=axes.get_xaxis_transform(), ha="center", fontsize=8)
    draw.legend(panels[0], outside=True)
    return canvas


STAGES = figure("today/stages", runs=_runs, draw=_draw, table=shares)

FIGURES = (STAGES,)
