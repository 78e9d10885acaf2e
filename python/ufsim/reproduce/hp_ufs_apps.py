"""HP-UFS (MSST 2024): applications of a phone, replayed from the authors' traces with and without GC."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ufsim.reproduce import draw
from ufsim.reproduce.claims import Measured
from ufsim.reproduce.figure import Figure, Run, Setting, job
from ufsim.reproduce.frames import cell
from ufsim.reproduce.hp_ufs import CACHE, SCHEMES
from ufsim.spec import Replay, Spec

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawing

# Name of the trace, name in the paper's figures. Writes prevail in all but Genshin Impact.
APPS = {
    "twitter": "X",
    "chrome": "CH",
    "facebook": "FB",
    "camera-picture": "Cp",
    "genshinimpact": "GI",
}
READERS = ("GI",)
STATES = {"no GC": "hp-ufs-age-nogc", "GC": "hp-ufs-age-full"}


def spec(app: str, state: str, scheme: str, setting: Setting, replay: Replay = "closed") -> Spec:
    """An app on a device that was aged as the authors' scripts do."""
    return Spec(
        workload=str(setting.trace("pixel4-hpufs", app)),
        scheme=scheme,
        # What a trace reads may lie where the ageing has not written.
        precondition="footprint",
        replay=replay,
        depth=8 if replay == "closed" else None,
        per_cpu_streams=replay == "closed",
        host_memory_mib=CACHE,
        seed=setting.seed,
        age=job(STATES[state]),
    )


def _runs(setting: Setting, replay: Replay = "closed") -> list[Run]:
    apps = ("twitter", "genshinimpact") if setting.quick else tuple(APPS)
    states = ("no GC",) if setting.quick else tuple(STATES)
    return [
        Run({"state": state, "app": APPS[app], "scheme": scheme}, spec(app, state, scheme, setting, replay))
        for state in states
        for app in apps
        for scheme in SCHEMES
    ]


def speed(frame: pd.DataFrame, state: str) -> pd.DataFrame:
    """Throughput over that of UFS: a row for each app, a column for each scheme."""
    rows = frame[frame["state"] == state]
    table = rows.pivot(index="app", columns="scheme", values="throughput_mib_per_s")
    table = table.reindex([app for app in APPS.values() if app in table.index])[list(SCHEMES)]
    return table.div(table["ufs"], axis=0)


def geomean(values: pd.Series) -> float:
    """Geometric mean."""
    return float(prod(values) ** (1 / len(values)))


def states(frame: pd.DataFrame) -> list[str]:
    """The states that were run."""
    return [state for state in STATES if (frame["state"] == state).any()]


def _f9_draw(frame: pd.DataFrame) -> Drawing:
    present = states(frame)
    figure, panels = draw.canvas(columns=len(present), width=5.6)
    for axes, state in zip(panels, present, strict=True):
        table = speed(frame, state)
        table.loc["geomean"] = [geomean(table[scheme]) for scheme in table.columns]
        draw.grouped_bars(axes, table)
        paper = 1.04 if state == "no GC" else 1.26
        base = cell(table, "geomean", "hpb")
        draw.paper_points(axes, [len(table) - 1], [base * paper], f"paper: HPB + {(paper - 1) * 100:.0f}%")
        axes.set_title("without GC" if state == "no GC" else "with GC", fontsize=10)
        axes.set_ylabel("throughput over UFS")
        axes.set_ylim(0, table.to_numpy().max() * 1.35)
        draw.legend(axes)
    return figure


def _f9_measure(frame: pd.DataFrame) -> list[Measured]:
    measured = []
    gaps = []
    for state in states(frame):
        table = speed(frame, state)
        gain = (geomean(table["hp-ufs"] / table["hpb"]) - 1) * 100
        claim = "hp-ufs.f9.nogc-geomean" if state == "no GC" else "hp-ufs.f9.gc-geomean"
        measured.append(Measured(claim, gain, "five of the paper's apps" if len(table) == len(APPS) else "some apps"))
        gaps += list((1 - table["hp-ufs"] / table["ideal"]) * 100)
    gap = sum(gaps) / len(gaps)
    return [*measured, Measured("hp-ufs.abs.gap-to-ideal", gap, f"mean of {len(gaps)} replays")]


F9 = Figure(
    id="hp-ufs/f9",
    title="Applications of a phone",
    caption=(
        "Apps write in small ranges, so that few segments change and mapping costs little: HP-UFS gains what UFS and "
        "HPB lose in map flushes. With GC it also saves the search for valid pages, and the copies of GC cost it no "
        "read of a segment on the device. Replayed as the authors do, as fast as the device takes them, with eight "
        "requests of each of the phone's processors under way; at recorded times every scheme has idle time to hide "
        "its work in."
    ),
    paper_shows="HP-UFS over HPB: 4% without GC, 26% with GC (geometric means over 13 workloads).",
    runs=_runs,
    draw=_f9_draw,
    measure=_f9_measure,
    claims=("hp-ufs.f9.nogc-geomean", "hp-ufs.f9.gc-geomean", "hp-ufs.abs.gap-to-ideal"),
)


def _f10_draw(frame: pd.DataFrame) -> Drawing:
    present = states(frame)
    figure, panels = draw.canvas(columns=len(present), width=6.2, height=4.0)
    for axes, state in zip(panels, present, strict=True):
        rows = frame[frame["state"] == state].copy()
        causes = [column for column in rows.columns if column.startswith("nand_")]
        base = rows[rows["scheme"] == "ufs"].set_index("app")[causes].sum(axis=1)
        table = rows.set_index(rows["app"] + " " + rows["scheme"])[causes].div(rows["app"].map(base).to_numpy(), axis=0)
        keys = [f"{app} {scheme}" for app in APPS.values() for scheme in SCHEMES if f"{app} {scheme}" in table.index]
        short = {"ufs": "U", "hpb": "H", "hp-ufs": "P", "ideal": "I"}
        draw.stacked_causes(axes, table, [(key, short[key.split()[1]]) for key in keys])
        for start in range(0, len(keys), len(SCHEMES)):
            middle = start + (len(SCHEMES) - 1) / 2
            axes.annotate(keys[start].split()[0], (middle, 0), (0, -24), "data", "offset points", ha="center")
        axes.set_title("without GC" if state == "no GC" else "with GC", fontsize=10)
        axes.set_ylabel("NAND time over UFS")
        axes.set_xlabel("U = UFS, H = HPB, P = HP-UFS, I = Ideal", labelpad=18)
    draw.legend(panels[-1], outside=True)
    return figure


def _mean(claim: str, values: dict[str, float], part: str) -> Measured:
    """The mean over the applications, with each of them named."""
    each = ", ".join(f"{app} {value:.1f}" for app, value in values.items())
    return Measured(claim, sum(values.values()) / len(values), f"{part}, mean of {each}")


def _f10_measure(frame: pd.DataFrame) -> list[Measured]:
    """The paper gives the range over its workloads, and the claim one band around its middle: judged by the mean."""
    measured = []
    for state in states(frame):
        rows = frame[frame["state"] == state].set_index(["app", "scheme"])
        causes = [column for column in rows.columns if column.startswith("nand_")]
        apps = [app for app in dict.fromkeys(rows.index.get_level_values("app")) if app not in READERS]
        hpb = {app: rows.loc[(app, "hpb")] for app in apps}
        ours = {app: rows.loc[(app, "hp-ufs")] for app in apps}
        if state == "GC":
            shares = {
                app: float(run["nand_valid_page_search_ns"] / run[causes].sum() * 100) for app, run in hpb.items()
            }
            measured.append(_mean("hp-ufs.f10.valid-page-search", shares, "HPB"))
            none = all(run["nand_valid_page_search_ns"] == 0 for run in ours.values())
            measured.append(Measured("hp-ufs.f10.valid-page-search", none, "HP-UFS: none at all"))
        cuts = {app: float((1 - ours[app]["nand_map_write_ns"] / hpb[app]["nand_map_write_ns"]) * 100) for app in apps}
        part = "with GC" if state == "GC" else "without GC"
        measured.append(_mean("hp-ufs.f10.segment-write", cuts, part))
    return measured


F10 = Figure(
    id="hp-ufs/f10",
    title="NAND time by cause",
    caption=(
        "The same runs as Fig. 9. What HP-UFS takes away is red: segments read for map flushes, segments written again "
        "and again, and under GC the segments read only to learn which pages of a victim are valid. What is left of "
        "map writes is the writeback of segments whose log block has to go, and of those that GC has changed."
    ),
    paper_shows=(
        "With GC, HPB spends 21 to 27% of its time on valid page search in write-intensive workloads, HP-UFS none; "
        "segment writes take 37 to 80% less."
    ),
    runs=_runs,
    draw=_f10_draw,
    measure=_f10_measure,
    claims=("hp-ufs.f10.valid-page-search", "hp-ufs.f10.segment-write"),
)


def _timed_runs(setting: Setting) -> list[Run]:
    return _runs(setting, "timed")


def _timed_draw(frame: pd.DataFrame) -> Drawing:
    present = states(frame)
    statistics = {"all_mean_ns": "mean", "all_p99_ns": "99th percentile"}
    figure, panels = draw.canvas(columns=len(statistics), rows=len(present), width=5.6, height=3.2)
    sides = [(state, statistic) for state in present for statistic in statistics]
    for axes, (state, statistic) in zip(panels, sides, strict=True):
        rows = frame[frame["state"] == state]
        table = rows.pivot(index="app", columns="scheme", values=statistic)
        table = table.reindex([app for app in APPS.values() if app in table.index])[list(SCHEMES)]
        table = table.div(table["ufs"], axis=0)
        draw.grouped_bars(axes, table)
        axes.set_title(f"{'with' if state == 'GC' else 'without'} GC, {statistics[statistic]}", fontsize=10)
        axes.set_ylabel("latency over UFS")
        axes.set_ylim(0, table.to_numpy().max() * 1.35)
        draw.legend(axes)
    return figure


F9_TIMED = Figure(
    id="hp-ufs/f9-timed",
    title="The same applications at their recorded times",
    caption=(
        "The phone waited for its users: these traces keep the device busy for less than a second of their five "
        "minutes. Requests come at the times at which the phone issued them, so what differs between schemes is "
        "latency, not throughput. Without GC map flushes mostly find idle time to hide in, and a replay as fast as "
        "possible overstates what they cost. With GC they do not: a step holds up whatever comes, and HPB's steps are "
        "long, because they read segments to find valid pages."
    ),
    paper_shows="Nothing: the authors' scripts ignore the recorded times.",
    runs=_timed_runs,
    draw=_timed_draw,
)

FIGURES = (F9, F9_TIMED, F10)
