"""Beyond HP-UFS's paper: DFTL and its kin, other firmware for a device without DRAM, with as much SRAM for mappings."""

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim import Spec
from ufsim_papers import draw
from ufsim_papers.figure import Run, Setting, figure
from ufsim_papers.hp_ufs.apps import APPS
from ufsim_papers.hp_ufs.writes import CACHE, write_spec

SCHEMES = ("ufs", "dftl", "cdftl", "tpftl", "sftl", "hp-ufs", "ideal")
RANGES = (1, 4, 16)


def _app(app: str, scheme: str, setting: Setting) -> Spec:
    return Spec(
        workload=str(setting.trace("pixel4-hpufs", app)),
        scheme=scheme,
        precondition="touched",
        replay="closed",
        depth=8,
        per_cpu_streams=True,
        host_memory_mib=CACHE,
        seed=setting.seed,
    )


def _runs(setting: Setting) -> list[Run]:
    ranges = (1,) if setting.quick else RANGES
    apps = ("twitter", "genshinimpact") if setting.quick else tuple(APPS)
    writes = [
        Run({"load": f"{gib} GiB", "scheme": scheme}, write_spec(gib, scheme, setting))
        for gib in ranges
        for scheme in SCHEMES
    ]
    replays = [
        Run({"load": APPS[app], "scheme": scheme}, _app(app, scheme, setting)) for app in apps for scheme in SCHEMES
    ]
    return writes + replays


def speed(frame: pd.DataFrame) -> pd.DataFrame:
    """Throughput over that of Ideal: a row for each load, a column for each scheme."""
    table = frame.pivot(index="load", columns="scheme", values="throughput_mib_per_s")
    table = table.reindex(list(dict.fromkeys(frame["load"])))[list(SCHEMES)]
    return table.div(table["ideal"], axis=0)


def _draw(frame: pd.DataFrame) -> Drawing:
    figure, (axes,) = draw.canvas(width=8)
    draw.grouped_bars(axes, speed(frame), labels=False)
    axes.set_ylabel("throughput over Ideal")
    axes.set_ylim(0, 1.35)
    draw.legend(axes)
    return figure


BEYOND = figure("hp-ufs/beyond", runs=_runs, draw=_draw)

FIGURES = (BEYOND,)
