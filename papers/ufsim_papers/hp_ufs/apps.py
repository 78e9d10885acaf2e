"""HP-UFS (MSST 2024): the applications of Table III, with and without GC.

Five are replayed from the authors' traces, and stand beside the paper's claims. The others are generated
from descriptions (`jobs/f9-*.toml`), unless their traces are there, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import prod
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ufsim import Spec
from ufsim_papers import draw
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Replay, Run, Setting, figure
from ufsim_papers.folders import job
from ufsim_papers.hp_ufs import hpb
from ufsim_papers.hp_ufs.writes import CACHE, OF_PAPER, SCHEMES

# Name of the trace, name in the paper's figures. Writes prevail in all but Genshin Impact.
APPS = {
    "twitter": "X",
    "chrome": "CH",
    "facebook": "FB",
    "camera-picture": "Cp",
    "genshinimpact": "GI",
}
READERS = ("GI",)
# The other eight: the authors' name of the trace, the name in the paper, and the description that stands for it.
OTHERS = {
    "clashroyale": ("CR", "hp-ufs/f9-clash-royale.toml"),
    "instagram": ("IN", "hp-ufs/f9-instagram.toml"),
    "googlemaps": ("GM", "hp-ufs/f9-maps.toml"),
    "youtube": ("YT", "hp-ufs/f9-youtube.toml"),
    "camera-video": ("Cv", "hp-ufs/f9-camera-video.toml"),
    "camera-video-play": ("Cpv", "hp-ufs/f9-play-video.toml"),
    "install": ("AI", "hp-ufs/f9-app-install.toml"),
    "update": ("AU", "hp-ufs/f9-app-update.toml"),
}
# Of the same activities on another phone.
NEXUS = {"Installing_log181.txt.xz": "AI", "Movie_log121.txt.xz": "Cpv"}
# Where requests come from. A Pixel 4 is the paper's phone.
RECORDED, ELSEWHERE, GENERATED = "recorded", "recorded (Nexus 5)", "generated"
CPUS = 8
OF_FIVE = "five of nine workloads"
STATES = {"no GC": "hp-ufs/age-nogc", "GC": "hp-ufs/age-full"}


def spec(workload: str | Path, state: str, scheme: str, setting: Setting, replay: Replay = "closed") -> Spec:
    """A workload on a device that was aged as the authors' scripts do."""
    return Spec(
        workload=str(workload),
        scheme=scheme,
        # What a trace reads may lie where the ageing has not written.
        precondition="footprint",
        replay=replay,
        depth=8 if replay == "closed" else None,
        per_cpu_streams=replay == "closed",
        host_memory_mib=CACHE,
        settings=hpb.settings(scheme),
        seed=setting.seed,
        age=job(STATES[state]),
    )


@dataclass(frozen=True)
class Column:
    """A workload of the figures: its name in the paper, where its requests come from, and its file."""

    name: str
    source: str
    workload: str | Path
    clean: tuple[str, ...] = ()


def recorded(setting: Setting) -> list[Column]:
    """The authors' traces by which the claims are judged."""
    apps = ("twitter", "genshinimpact") if setting.quick else tuple(APPS)
    return [Column(APPS[app], RECORDED, setting.trace("pixel4-hpufs", app)) for app in apps]


def others(setting: Setting) -> list[Column]:
    """The rest of the paper's workloads: as their traces have them if every CPU's file is there, else generated."""
    chosen = ("youtube",) if setting.quick else tuple(OTHERS)
    columns = []
    for app in chosen:
        name, description = OTHERS[app]
        trace = setting.traces / "pixel4-hpufs" / app if setting.traces else None
        cpus = {path.name.split(".")[1] for path in trace.glob("trace.*")} if trace else set()
        whole = cpus >= {str(cpu) for cpu in range(CPUS)}
        columns.append(Column(name, RECORDED, trace) if trace and whole else Column(name, GENERATED, job(description)))
    return columns


def elsewhere(setting: Setting) -> list[Column]:
    """Traces of another phone that do as two of the paper's workloads do, where they are there."""
    if setting.quick or setting.traces is None:
        return []
    paths = {setting.traces / "nexus5-zhou" / file: name for file, name in NEXUS.items()}
    clean = ("packed", "pages")
    return [Column(name, ELSEWHERE, path, clean) for path, name in paths.items() if path.exists()]


def runs_of(
    columns: Sequence[Column], setting: Setting, replay: Replay = "closed", schemes: Sequence[str] = SCHEMES
) -> list[Run]:
    """Each workload in each state of the device under each scheme."""
    return [
        Run(
            {"state": state, "app": column.name, "source": column.source, "scheme": scheme},
            replace(spec(column.workload, state, scheme, setting, replay), clean=list(column.clean)),
        )
        for state in (("no GC",) if setting.quick else tuple(STATES))
        for column in columns
        for scheme in schemes
    ]


def _runs(setting: Setting) -> list[Run]:
    found = [*recorded(setting), *others(setting), *elsewhere(setting)]
    order = (RECORDED, GENERATED, ELSEWHERE)
    return runs_of(sorted(found, key=lambda column: order.index(column.source)), setting)


def _judged(setting: Setting) -> list[Run]:
    return runs_of(recorded(setting), setting, schemes=OF_PAPER)


def of_claims(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs by which the claims are judged."""
    return frame[(frame["source"] == RECORDED) & frame["app"].isin(list(APPS.values()))]


def speed(frame: pd.DataFrame, state: str) -> pd.DataFrame:
    """Throughput over that of UFS: a row for each source and app, a column for each scheme."""
    rows = frame[frame["state"] == state]
    table = rows.set_index(["source", "app", "scheme"])["throughput_mib_per_s"].unstack("scheme")
    order = list(dict.fromkeys(zip(rows["source"], rows["app"], strict=True)))
    table = table.reindex(order)[[scheme for scheme in SCHEMES if scheme in table]]
    return table.div(table["ufs"], axis=0)


def geomean(values: pd.Series) -> float:
    """Geometric mean."""
    return float(prod(values) ** (1 / len(values)))


def states(frame: pd.DataFrame) -> list[str]:
    """The states that were run."""
    return [state for state in STATES if (frame["state"] == state).any()]


def _sources_below(axes: Axes, sources: Sequence[str], width: int = 1) -> None:
    """Names below the axis where the requests of each stretch of groups come from, each of `width` bars."""
    start = 0
    for source, stretch in groupby(sources):
        end = start + len(list(stretch)) * width
        left, right = start - 0.42, end - 1 + 0.42
        axes.annotate(
            "",
            (left, -0.19),
            (right, -0.19),
            ("data", "axes fraction"),
            arrowprops={"arrowstyle": "|-|", "mutation_scale": 3, "lw": 0.8},
        )
        axes.annotate(
            source, ((left + right) / 2, -0.22), xycoords=("data", "axes fraction"), ha="center", va="top", fontsize=8
        )
        start = end


def _means(table: pd.DataFrame, frame: pd.DataFrame, state: str) -> pd.DataFrame:
    """Geometric means: of the apps of the claims, and of all workloads of the paper where all of them were run."""
    judged = speed(of_claims(frame), state)
    rows = {("geometric means", f"claims\n({len(judged)})"): judged}
    ours = table[table.index.get_level_values(0) != ELSEWHERE]
    if len(ours) == len(APPS) + len(OTHERS):
        rows["geometric means", f"all\n({len(ours)})"] = ours
    return pd.DataFrame({key: {scheme: geomean(part[scheme]) for scheme in SCHEMES} for key, part in rows.items()}).T


def _f9_draw(frame: pd.DataFrame) -> Drawing:
    present = states(frame)
    figure, panels = draw.canvas(rows=len(present), width=12.5, height=3.8)
    for axes, state in zip(panels, present, strict=True):
        apps = speed(frame, state)
        table = pd.concat([apps, _means(apps, frame, state)])
        draw.grouped_bars(axes, table.set_axis(table.index.get_level_values(1)))
        sources = list(table.index.get_level_values(0))
        for bars in axes.containers:
            for bar, source in zip(bars, sources, strict=True):
                bar.set_hatch("////" if source == GENERATED else "")
                bar.set_edgecolor("white")
        _sources_below(axes, sources)
        paper = 1.04 if state == "no GC" else 1.26
        means = [place for place, source in enumerate(sources) if source == "geometric means"]
        bases = [float(table["hpb"].iloc[place]) for place in means]
        draw.paper_points(axes, means, [base * paper for base in bases], f"paper: HPB + {(paper - 1) * 100:.0f}%")
        axes.set_title("without GC" if state == "no GC" else "with GC", fontsize=10)
        axes.set_ylabel("throughput over UFS")
        axes.set_ylim(0, table.to_numpy().max() * 1.25)
        axes.margins(x=0.01)
        draw.legend(axes, outside=True)
    return figure


def _f9_measure(frame: pd.DataFrame) -> list[Measured]:
    """Of five of the nine whole workloads, whose host started cold: no point of the maps yet, so it stands beside."""
    frame = of_claims(frame)
    measured = []
    gaps: dict[str, pd.Series] = {}
    for state in states(frame):
        table = speed(frame, state)
        gain = (geomean(table["hp-ufs"] / table["hpb"]) - 1) * 100
        claim = "hp-ufs.f9.nogc-geomean" if state == "no GC" else "hp-ufs.f9.gc-geomean"
        each = (table["hp-ufs"] / table["hpb"] - 1) * 100
        measured.append(Measured(claim, gain, OF_FIVE, f"of {named(each)}", role="beside"))
        gaps[state] = (1 - table["hp-ufs"] / table["ideal"]) * 100
    gap, every = "hp-ufs.abs.gap-to-ideal", pd.concat(list(gaps.values()))
    told = "; ".join(f"{state}: {named(values)}" for state, values in gaps.items())
    why = _why_gap(frame) if "GC" in gaps else ""
    return [*measured, Measured(gap, float(every.mean()), OF_FIVE, told, role="beside", reason=why)]


def _why_gap(frame: pd.DataFrame) -> str:
    """What HP-UFS's time over Ideal's goes into under GC."""
    rows = frame[(frame["state"] == "GC") & ~frame["app"].isin(READERS)].set_index(["scheme", "app"])
    ours, ideal = rows.loc["hp-ufs"], rows.loc["ideal"]
    more = (ours["sim_seconds"] - ideal["sim_seconds"]).sum()
    held = (ours["device_exclusive_ns"] - ideal["device_exclusive_ns"]).sum() / 1e9
    changed = ours["device_gc_units_programmed"] + ours["device_data_units_programmed"]
    writes = ours["device_segment_writes"].sum()
    return (
        f"nearly all of it comes under GC: the ageing has spread the device's pages, so that {len(ours)} applications "
        f"change {changed.sum():,.0f} entries in segments of which {CACHE} MB of host memory hold a fifth; "
        f"{ours['host_segment_reads'].sum():,.0f} segments are read for that, and {writes:,.0f} written. "
        f"{held / more * 100:.0f}% of the time over Ideal's is GC that waits for them and holds the device's front end."
        " Host memory without a limit takes less than half of the gap away: segments also have to be written when the "
        "log block that they wait for has to go"
    )


def named(values: pd.Series) -> str:
    """Values of applications with their names; the index ends with these."""
    return ", ".join(f"{app} {value:.1f}" for app, value in zip(app_names(values), values, strict=True))


def app_names(values: pd.Series) -> list[str]:
    """The applications of a table's rows."""
    return [str(app) for app in values.index.get_level_values(values.index.nlevels - 1)]


F9 = figure("hp-ufs/f9", runs=_runs, judged=_judged, draw=_f9_draw, measure=_f9_measure)


def _f10_draw(frame: pd.DataFrame) -> Drawing:
    present = states(frame)
    figure, panels = draw.canvas(rows=len(present), width=12.5, height=4.0)
    for axes, state in zip(panels, present, strict=True):
        rows = frame[frame["state"] == state]
        causes = [column for column in rows.columns if column.startswith("nand_")]
        table = rows.set_index(["source", "app", "scheme"])[causes]
        apps = list(dict.fromkeys(zip(rows["source"], rows["app"], strict=True)))
        parts = [table.xs(app, level=("source", "app")).reindex(SCHEMES) for app in apps]
        parts = [part / part.loc["ufs"].sum() for part in parts]
        short = {"ufs": "U", "hpb": "H", "ufs-tuned": "u", "hpb-tuned": "h", "hp-ufs": "P", "ideal": "I"}
        draw.stacked_causes(axes, pd.concat(parts).set_axis([short[scheme] for _ in apps for scheme in SCHEMES]))
        axes.tick_params(axis="x", labelsize=6.5, length=0)
        for number, (_, app) in enumerate(apps):
            middle = number * len(SCHEMES) + (len(SCHEMES) - 1) / 2
            axes.annotate(app, (middle, 0), (0, -24), "data", "offset points", ha="center", fontsize=9)
        _sources_below(axes, [source for source, _ in apps], len(SCHEMES))
        axes.margins(x=0.01)
        axes.set_title("without GC" if state == "no GC" else "with GC", fontsize=10)
        axes.set_ylabel("NAND time over UFS")
    panels[-1].set_xlabel("U = UFS, H = HPB, u, h = both tuned, P = HP-UFS, I = Ideal", labelpad=52)
    draw.legend(panels[-1], outside=True)
    return figure


def _each(claim: str, values: dict[str, float], part: str, why: str) -> list[Measured]:
    """A value of each application, which stands beside as those of Fig. 9 do."""
    return [Measured(claim, value, f"{part}{app}", role="beside", reason=why) for app, value in values.items()]


def _why_search(hpb: dict[str, pd.Series]) -> str:
    victims = sum(run["device_gc_victims"] for run in hpb.values())
    reads = sum(run["device_search_segment_reads"] for run in hpb.values())
    return (
        f"the search reads {reads / victims:,.0f} segments for each of {victims} victims, one for each segment that "
        "has a page there; how many that were in the paper, and how many victims its runs had, it does not say"
    )


def _why_written(hpb: dict[str, pd.Series], ours: dict[str, pd.Series], *, gc: bool) -> str:
    theirs, own = (sum(run["device_segment_writes"] for run in runs.values()) for runs in (hpb, ours))
    found = f"HP-UFS writes {own:,.0f} segments where HPB writes {theirs:,.0f}: "
    if not gc:
        return found + "the host's memory holds all that an application changes"
    return found + (
        f"copies and writes change segments all over an aged device, of which {CACHE} MB of host memory hold a fifth, "
        "so most are given back after a few changes. HPB collects them in its log until a flush"
    )


def _f10_measure(frame: pd.DataFrame) -> list[Measured]:
    """The paper gives the range over its workloads, and the claim one band around its middle."""
    frame = of_claims(frame)
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
            search = "hp-ufs.f10.valid-page-search"
            measured += _each(search, shares, "HPB: ", _why_search(hpb))
            none = all(run["nand_valid_page_search_ns"] == 0 for run in ours.values())
            measured.append(Measured(search, none, "HP-UFS: none at all", role="beside"))
        cuts = {app: float((1 - ours[app]["nand_map_write_ns"] / hpb[app]["nand_map_write_ns"]) * 100) for app in apps}
        part = "with GC: " if state == "GC" else "without GC: "
        why = _why_written(hpb, ours, gc=state == "GC")
        measured += _each("hp-ufs.f10.segment-write", cuts, part, why)
    return measured


F10 = figure("hp-ufs/f10", runs=_runs, judged=_judged, draw=_f10_draw, measure=_f10_measure)


def _timed_runs(setting: Setting) -> list[Run]:
    """Times of generated requests would be invented, and the Nexus 5 had another device: only the recorded ones."""
    return runs_of(recorded(setting), setting, "timed")


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


F9_TIMED = figure("hp-ufs/f9-timed", runs=_timed_runs, draw=_timed_draw)

FIGURES = (F9, F9_TIMED, F10)
