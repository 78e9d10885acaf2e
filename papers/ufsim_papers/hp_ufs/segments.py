"""Beyond the paper: L2P segments written to flash in parts, after MSFTL, under the experiments of HP-UFS."""

from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ufsim import Spec, recovery
from ufsim_papers import draw
from ufsim_papers.figure import Point, Run, Setting, Value, figure
from ufsim_papers.folders import job
from ufsim_papers.hp_ufs import hpb
from ufsim_papers.hp_ufs.gc import ITERATIONS
from ufsim_papers.hp_ufs.recovery import PARTS
from ufsim_papers.hp_ufs.writes import CACHE

SCHEMES = ("ufs", "hpb", "hp-ufs")
# HPB writes as UFS does: its device need not be aged for this.
GC_SCHEMES = ("ufs", "hp-ufs")
RANGES = (4, 16, 64)
SIZES = ("4 KiB", "2 KiB", "1 KiB", "1 KiB, same SRAM")
# What parts of 1 KiB add to the tables in SRAM: places and numbers of 98,304 more parts, 4 bytes each, and for UFS and
# HPB places of 3 more pages for the bitmaps of 9472 superblocks. Pool and segment cache have so much less.
MORE_KIB = {"ufs": 768 + 112, "hpb": 768 + 112, "hp-ufs": 768}
POOL_KIB, CACHE_KIB = 1536, 1088
COLOURS = dict(zip(SIZES, ("#8896ab", "#6baed6", "#0072b2", "#d55e00"), strict=True))


def _settings(size: str, scheme: str) -> dict[str, Value]:
    # As in the authors' prototype tables lie beside the pool: those of parts of 1 KiB leave no segment cache otherwise.
    settings = {**hpb.settings(scheme), "sram.covers": "pool"}
    if size != "4 KiB":
        settings["scheme.*.segment_kib"] = int(size[0])
    if "same SRAM" in size:
        settings["sram.pool_kib"] = POOL_KIB - MORE_KIB[scheme]
        settings["sram.segment_cache_kib"] = CACHE_KIB - MORE_KIB[scheme]
    return settings


def _spec(workload: str, scheme: str, size: str, setting: Setting, age: str | None = None) -> Spec:
    return Spec(
        workload=workload,
        scheme=scheme,
        precondition="none",
        host_memory_mib=CACHE,
        seed=setting.seed,
        settings=_settings(size, scheme),
        age=age,
    )


def _runs(setting: Setting) -> list[Run | Point]:
    writes = [
        Run(
            {"like": "f6", "range_gib": gib, "scheme": scheme, "parts": size},
            _spec(job("hp-ufs/f6-randwrite", RANGE=f"{gib}g"), scheme, size, setting),
        )
        for gib in (RANGES[1:2] if setting.quick else RANGES)
        for scheme in SCHEMES
        for size in SIZES
    ]
    gc = [
        Run(
            {"like": "f7", "range_gib": 16, "scheme": scheme, "parts": size},
            _spec(job("hp-ufs/f7-gc"), scheme, size, setting, job("hp-ufs/age-gc")),
        )
        for scheme in GC_SCHEMES
        for size in ("4 KiB", "1 KiB")
    ]
    recoveries = [
        Point(
            {"like": "f11", "range_gib": 128, "scheme": "hp-ufs", "parts": size},
            # The end of the sweep of Fig. 11: eight log blocks, each page in another segment, all parts on flash.
            partial(recovery, 32768, 32768, int(size[0])),
            inputs={"recovery": int(size[0])},
        )
        for size in SIZES[:3]
    ]
    return [*writes, *([] if setting.quick else gc), *recoveries]


def table(frame: pd.DataFrame, like: str, column: str) -> pd.DataFrame:
    """Values of an experiment: a row for each range and scheme, a column for each size of the parts."""
    rows = frame[frame["like"] == like]
    values = rows.set_index(["range_gib", "scheme", "parts"])[column].unstack("parts")
    order = [(gib, scheme) for gib in sorted(rows["range_gib"].unique()) for scheme in SCHEMES]
    present = [key for key in order if key in values.index]
    return values.loc[present][[size for size in SIZES if size in values.columns]]


def stable(frame: pd.DataFrame) -> pd.DataFrame:
    """Throughput under GC once it runs: the mean of the last four iterations."""
    names = [f"group_iteration-{n}_mib_per_s" for n in range(ITERATIONS // 2 + 1, ITERATIONS + 1)]
    return table(frame.assign(stable=frame[[name for name in names if name in frame]].mean(axis=1)), "f7", "stable")


def _bars(axes: Axes, values: pd.DataFrame, title: str, y_label: str) -> None:
    named = values.set_axis([f"{draw.NAMES[scheme]}\n{gib} GiB" for gib, scheme in values.index])
    draw.grouped_bars(axes, named, colours=COLOURS)
    axes.tick_params(axis="x", labelsize=7)
    axes.set_title(title, fontsize=10)
    axes.set_ylabel(y_label)
    # Room for the legend above the bars.
    axes.set_ylim(top=1.2 * axes.get_ylim()[1])
    draw.legend(axes)


def _draw(frame: pd.DataFrame) -> Drawing:
    figure, panels = draw.canvas(columns=2, rows=2, width=8.4, height=3.8)
    _bars(panels[0], table(frame, "f6", "throughput_mib_per_s"), "random writes, as Fig. 6", "throughput (MiB/s)")
    _bars(panels[1], table(frame, "f6", "map_mib"), "metadata programmed for 1 GiB of them", "MiB")
    _draw_recovery(panels[2], frame[frame["like"] == "f11"].set_index("parts"))
    if (frame["like"] == "f7").any():
        _bars(panels[3], stable(frame), "random writes under GC, as Fig. 7", "throughput (MiB/s)")
    else:
        panels[3].set_axis_off()
    return figure


def _draw_recovery(axes: Axes, rows: pd.DataFrame) -> None:
    draw.stacked(axes, rows, PARTS, width=0.6)
    axes.set_title("HP-UFS: worst recovery, as Fig. 11", fontsize=10)
    axes.set_ylabel("recovery (ms)")
    draw.legend(axes, outside=True)


SEGMENTS = figure("hp-ufs/segments", runs=_runs, draw=_draw)

FIGURES = (SEGMENTS,)
