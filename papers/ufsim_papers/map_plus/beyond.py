"""Beyond the paper: MAP+ above boosters, on the UFS device of HP-UFS, and above other mapping caches, on its eMMC."""

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim import Spec
from ufsim_papers import draw
from ufsim_papers.figure import Replay, Run, Setting, figure
from ufsim_papers.hp_ufs.apps import APPS
from ufsim_papers.hp_ufs.writes import CACHE
from ufsim_papers.map_plus.loads import by_load, loads, miss_ratio, spec

SCHEMES = ("ufs", "hpb", "hp-ufs")
REPLAYS: tuple[tuple[str, Replay], ...] = (("at recorded times", "timed"), ("128 requests outstanding", "closed"))


def _spec(app: str, scheme: str, scheduler: str, replay: Replay, setting: Setting) -> Spec:
    return Spec(
        workload=str(setting.trace("pixel4-hpufs", app)),
        scheme=scheme,
        scheduler=scheduler,
        precondition="touched",
        replay=replay,
        depth=128 if replay == "closed" else None,
        host_memory_mib=CACHE,
        seed=setting.seed,
    )


def _runs(setting: Setting) -> list[Run]:
    apps = ("twitter", "genshinimpact") if setting.quick else tuple(APPS)
    return [
        Run(
            {"replay": name, "trace": APPS[app], "scheme": scheme, "scheduler": scheduler},
            _spec(app, scheme, scheduler, replay, setting),
        )
        for name, replay in REPLAYS
        for app in apps
        for scheme in SCHEMES
        for scheduler in ("row", "map-plus")
    ]


def gains(frame: pd.DataFrame, replay: str, column: str) -> pd.DataFrame:
    """By how many per cent MAP+ lowers a value of RoW: a row for each trace, a column for each scheme."""
    rows = frame[frame["replay"] == replay].set_index(["trace", "scheme", "scheduler"])[column].unstack("scheduler")
    table = ((1 - rows["map-plus"] / rows["row"]) * 100).unstack("scheme")[list(SCHEMES)]
    return table.reindex([app for app in APPS.values() if app in table.index])


def _draw(frame: pd.DataFrame) -> Drawing:
    figure, panels = draw.canvas(columns=3, width=4.8)
    sides = [(replay, "all_mean_ns", f"overall latency, {replay}") for replay, _ in REPLAYS]
    sides.append((REPLAYS[1][0], "nand_map_read_ns", f"flash time of map reads, {REPLAYS[1][0]}"))
    # HP-UFS reads no mapping, so that there is nothing to cut.
    tables = [gains(frame, replay, column).fillna(0) for replay, column, _ in sides]
    widest = max(30.0, *(1.05 * table.abs().to_numpy().max() for table in tables))
    for axes, (_, _, title), table in zip(panels, sides, tables, strict=True):
        table.loc["mean"] = table.mean()
        draw.grouped_bars(axes, table, labels=False)
        axes.axhline(0, color="black", lw=0.6)
        axes.set_ylim(-widest, widest)
        axes.set_title(title, fontsize=10)
        axes.set_ylabel("MAP+ cuts that of RoW by (%)")
        draw.legend(axes)
    return figure


BEYOND = figure("map-plus/beyond", runs=_runs, draw=_draw)

MAPPINGS = ("dftl", "cdftl", "tpftl", "sftl")


def _mapping_runs(setting: Setting) -> list[Run]:
    return [
        Run({"trace": load, "scheme": scheme, "scheduler": scheduler}, spec(load, scheduler, setting, scheme=scheme))
        for load in loads(setting)
        for scheme in MAPPINGS
        for scheduler in ("row", "map-plus")
    ]


def misses(frame: pd.DataFrame, scheduler: str) -> pd.DataFrame:
    """Per cent of the lookups that miss: a row for each trace, a column for each mapping."""
    rows = frame[frame["scheduler"] == scheduler].copy()
    rows["misses"] = miss_ratio(rows)
    return by_load(rows, "scheme", "misses")


def mapping_gains(frame: pd.DataFrame) -> pd.DataFrame:
    """By how many per cent MAP+ lowers the mean latency of RoW: a row for each trace, a column for each mapping."""
    row, map_plus = (
        by_load(frame[frame["scheduler"] == scheduler], "scheme", "all_mean_ns") for scheduler in ("row", "map-plus")
    )
    return (1 - map_plus / row) * 100


def _mapping_draw(frame: pd.DataFrame) -> Drawing:
    figure, (left, right) = draw.canvas(columns=2, width=5.4)
    sides = (
        (left, misses(frame, "row"), "lookups that miss, with RoW (%)"),
        (right, mapping_gains(frame), "MAP+ cuts the mean latency of RoW by (%)"),
    )
    for axes, table, label in sides:
        table.loc["mean"] = table.mean()
        draw.grouped_bars(axes, table, labels=False)
        axes.axhline(0, color="black", lw=0.6)
        axes.set_ylim(min(0, table.to_numpy().min() * 1.3), table.to_numpy().max() * 1.3)
        axes.set_ylabel(label)
        draw.legend(axes)
    return figure


OVER_MAPPINGS = figure("map-plus/mappings", runs=_mapping_runs, draw=_mapping_draw)

FIGURES = (BEYOND, OVER_MAPPINGS)
