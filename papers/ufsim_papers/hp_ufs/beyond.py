"""Beyond HP-UFS's paper: DFTL and its kin, other firmware for a device without DRAM, with as much SRAM for mappings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ufsim import Spec
from ufsim_papers import draw
from ufsim_papers.figure import Figure, Run, Setting
from ufsim_papers.hp_ufs.apps import APPS
from ufsim_papers.hp_ufs.writes import CACHE, write_spec

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

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


BEYOND = Figure(
    id="hp-ufs/beyond",
    title="HP-UFS against DFTL, CDFTL, TPFTL and S-FTL",
    caption=(
        "These four keep entries, or translation pages, in as much SRAM as UFS has for segments, and write nothing "
        "without having loaded the old entry. Under random writes nearly every entry has to be loaded once the range "
        "is wider than the cache, one after another, while most dies wait; the log of UFS needs no old entry, and "
        "HP-UFS leaves it to the host. DFTL, CDFTL and TPFTL write translation pages so that recovery has few "
        "superblocks to scan, and none for lack of room. S-FTL has a tenth of the SRAM for single entries and writes "
        "pages when that is full. It leads the four while nearly all pages fit, since one load brings in a whole page. "
        "In wider ranges fewer of its lookups miss, too, but it falls behind: each page that has to be written before "
        "an entry can leave keeps all commands waiting. The apps begin with a warm cache, which the writes before them "
        "have filled, and all their entries fit: the four then load nothing, and come as near to Ideal as HP-UFS, "
        "without a host. For a comparison of caches these replays are too small."
    ),
    paper_shows="Nothing: it compares with UFS, HPB and a device with DRAM.",
    runs=_runs,
    draw=_draw,
)

FIGURES = (BEYOND,)
