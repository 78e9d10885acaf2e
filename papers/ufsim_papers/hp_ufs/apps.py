"""HP-UFS (MSST 2024): the applications of Table III, with and without GC.

Nine are published as whole traces. Where they are at hand, claims are judged by them; where only five are, these stand
beside. The others are generated from descriptions (`jobs/f9-*.toml`).
"""

from collections.abc import Callable, Collection, Sequence
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
from ufsim_papers.figure import Label, Replay, Run, Setting, Value, figure
from ufsim_papers.folders import job
from ufsim_papers.hp_ufs import hpb
from ufsim_papers.hp_ufs.points import (
    ALL,
    AS_DESCRIBED,
    AS_PUBLISHED,
    COLD,
    CONTINUATION,
    DRAWN,
    LIMIT,
    LIMITED,
    PLACED,
    START,
    WARM,
    At,
    labels,
    rows_at,
    run_at,
)
from ufsim_papers.hp_ufs.writes import CACHE, SCHEMES

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
# The nine whose traces are published whole; claims are judged where all of them are at hand.
NINE = (*APPS.values(), "CR", "IN", "GM", "YT")
# Named wrong models, and in which state of the device they are foils. A host that writes changed segments after as many
# entries as HPB's device collects before it does; a device that reads segments to find the pages that the host has
# named; HPB that has a valid page bitmap, and reads the segments of the pages that it copies.
AT_ONCE, SEARCHES, AT_HAND = "hp-ufs, writes at once", "hp-ufs, searches flash", "hpb, bitmap at hand"
FOILS: dict[str, tuple[str, str, dict[str, Value]]] = {
    AT_ONCE: ("no GC", "hp-ufs", {"scheme.hp-ufs.write_after_entries": 1408}),
    SEARCHES: ("GC", "hp-ufs", {"scheme.hp-ufs.searches_flash": True}),
    AT_HAND: ("GC", "hpb", {"scheme.segment-log.search_reads": "copied"}),
}
# What the claims compare.
JUDGED = ("hpb", "hp-ufs", "ideal")
ALL_JUDGED = (*JUDGED, *FOILS)
POINTS = [
    {START: start, LIMIT: limit, CONTINUATION: continuation}
    for start in (WARM, COLD)
    for limit in (LIMITED, ALL)
    for continuation in (AS_DESCRIBED, AS_PUBLISHED)
]
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
    columns: Sequence[Column],
    setting: Setting,
    replay: Replay = "closed",
    schemes: Sequence[str] = SCHEMES,
    at: At = DRAWN,
    wanted: Sequence[str] = tuple(STATES),
) -> list[Run]:
    """Each workload in each state of the device under each scheme, those that are foils in their state alone."""
    found = []
    for state in ("no GC",) if setting.quick else wanted:
        for column in columns:
            for name in schemes:
                where, scheme, own = FOILS.get(name, (state, name, {}))
                if where != state:
                    continue
                plain = spec(column.workload, state, scheme, setting, replay)
                run = replace(plain, clean=list(column.clean), settings={**plain.settings, **own})
                named: dict[str, Label] = {"state": state, "app": column.name, "source": column.source, "scheme": name}
                found.append(Run({**named, **labels(at)}, run_at(run, at)))
    return found


def runs(setting: Setting) -> list[Run]:
    """What is drawn, and what is judged."""
    found = [*recorded(setting), *others(setting), *elsewhere(setting)]
    order = (RECORDED, GENERATED, ELSEWHERE)
    drawn_runs = runs_of(sorted(found, key=lambda column: order.index(column.source)), setting)
    return [*drawn_runs, *judged(setting)]


def judged(setting: Setting, wanted: Sequence[str] = tuple(STATES), schemes: Sequence[str] = ALL_JUDGED) -> list[Run]:
    """All points of the maps, where the nine traces are at hand; else those of the five where drawings are made.

    Of some states of the device, and of some of the schemes and foils, if not all of them are wanted.
    """
    columns = [*recorded(setting), *(column for column in others(setting) if column.source == RECORDED)]
    nine = [column for column in columns if column.name in NINE]
    own = [name for name in JUDGED if name in schemes]
    if len(nine) < len(NINE):
        return runs_of(recorded(setting), setting, schemes=own, wanted=wanted)
    found = [run for at in POINTS for run in runs_of(nine, setting, schemes=_of(own, at), at=at, wanted=wanted)]
    foils = [name for name in FOILS if name in schemes]
    return [*found, *runs_of(nine, setting, schemes=foils, at=PLACED, wanted=wanted)]


def where_placed(setting: Setting, claims: Collection[str]) -> list[Run]:
    """What the gains over HPB among these claims need of a further seed."""
    wanted = [state for state, claim in GAINS.items() if claim in claims]
    nine = [column for column in [*recorded(setting), *others(setting)] if column.name in NINE]
    return runs_of(nine, setting, schemes=("hpb", "hp-ufs"), at=PLACED, wanted=wanted)


def _of(schemes: Sequence[str], at: At) -> list[str]:
    """Those to run at a point: Ideal has nothing in the host's memory, so that its limit changes nothing."""
    return [name for name in schemes if at[LIMIT] == LIMITED or name != "ideal"]


def at_point(frame: pd.DataFrame, at: At) -> pd.DataFrame:
    """The runs of the nine workloads, or of as many as are at hand, at a point, with those of Ideal."""
    frame = frame[(frame["source"] == RECORDED) & frame["app"].isin(NINE)]
    found = rows_at(frame, at)
    if at[LIMIT] == LIMITED:
        return found
    same = rows_at(frame, {**at, LIMIT: LIMITED})
    return pd.concat([found, same[same["scheme"] == "ideal"]])


def drawn(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs that are drawn."""
    return rows_at(frame[frame["scheme"].isin(SCHEMES)], DRAWN)


def judged_points(frame: pd.DataFrame) -> list[tuple[At, pd.DataFrame]]:
    """The points at which all nine workloads were run, and their runs."""
    found = [(at, at_point(frame, at)) for at in POINTS]
    return [(at, rows) for at, rows in found if set(rows["app"]) >= set(NINE)]


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


def sources_below(axes: Axes, sources: Sequence[str], width: int = 1) -> None:
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
    judged = speed(at_point(frame, DRAWN), state)
    rows = {("geometric means", f"recorded\n({len(judged)})"): judged}
    ours = table[table.index.get_level_values(0) != ELSEWHERE]
    if len(ours) == len(APPS) + len(OTHERS):
        rows["geometric means", f"all\n({len(ours)})"] = ours
    return pd.DataFrame({key: {scheme: geomean(part[scheme]) for scheme in SCHEMES} for key, part in rows.items()}).T


def _f9_draw(frame: pd.DataFrame) -> Drawing:
    frame = drawn(frame)
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
        sources_below(axes, sources)
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
    """Throughput over HPB and below Ideal; of fewer than the nine workloads it stands beside."""
    points = judged_points(frame)
    if not points:
        return _f9_parts(at_point(frame, DRAWN), {}, beside=True)
    found = [part for at, rows in points for part in _f9_parts(rows, at)]
    if not set(FOILS) <= set(frame["scheme"]):
        # A further seed has what is judged, and only that.
        return found
    placed = at_point(frame, PLACED)
    cold = at_point(frame, {**PLACED, START: COLD})
    return [
        *found,
        *_gain_parts(placed, "no GC", {}, foil=AT_ONCE),
        *_gain_parts(placed, "GC", {}, foil=SEARCHES),
        Measured(GAP, _gap(cold, "hp-ufs"), role="foil", foil="host cache empty at the start"),
        Measured(GAP, _gap(placed, "hpb"), role="foil", foil="HPB in the place of HP-UFS"),
    ]


GAP = "hp-ufs.abs.gap-to-ideal"
# The gain over HPB, by the state of the device.
GAINS = {"no GC": "hp-ufs.f9.nogc-geomean", "GC": "hp-ufs.f9.gc-geomean"}


def _f9_parts(rows: pd.DataFrame, at: At, *, beside: bool = False) -> list[Measured]:
    """What the claims say of the runs of a point."""
    present = states(rows)
    found = [part for state in present for part in _gain_parts(rows, state, at)]
    if "ideal" not in set(rows["scheme"]):
        return found
    gaps = [_below_ideal(rows, state, "hp-ufs") for state in present]
    told = "; ".join(f"{state}: {named(values)}" for state, values in zip(present, gaps, strict=True))
    why = _why_gap(rows) if "GC" in present else ""
    found += [
        Measured(GAP, value, told="" if case else told, at=at, case=case, reason="" if case else why)
        for case, value in left_out(pd.concat(gaps), lambda values: float(values.mean()))
    ]
    if not beside:
        return found
    whole = [part for part in found if not part.case and not part.part]
    return [replace(part, part=OF_FIVE, role="beside", at={}) for part in whole]


def _gain_parts(rows: pd.DataFrame, state: str, at: At, *, foil: str = "") -> list[Measured]:
    """The gain of HP-UFS, or of a foil, over HPB in a state of the device."""
    claim = GAINS[state]
    table = throughput(rows, state)
    ratio = table[foil or "hp-ufs"] / table["hpb"]
    each = (ratio - 1) * 100
    own: list[tuple[str, float]] = left_out(ratio, lambda values: (geomean(values) - 1) * 100)
    found = [
        Measured(claim, value, told="" if case else f"of {named(each)}", at=at, case=case)
        for case, value in (own[:1] if foil else own)
    ]
    if state == "no GC" and "YT" in app_names(each):
        found.append(Measured(claim, float(each["YT"]), "YT", at=at))
    return [replace(part, role="foil") for part in found] if foil else found


def throughput(rows: pd.DataFrame, state: str) -> pd.DataFrame:
    """Throughput: a row for each app, a column for each scheme."""
    return rows[rows["state"] == state].set_index(["app", "scheme"])["throughput_mib_per_s"].unstack("scheme")


def left_out(values: pd.Series, mean: Callable[[pd.Series], float]) -> list[tuple[str, float]]:
    """A mean over workloads, and with each of them left out once."""
    apps = list(dict.fromkeys(app_names(values)))
    return [("", mean(values)), *((f"without {app}", mean(values.drop(app))) for app in apps)]


def _below_ideal(rows: pd.DataFrame, state: str, scheme: str) -> pd.Series:
    table = throughput(rows, state)
    return (1 - table[scheme] / table["ideal"]) * 100


def _gap(rows: pd.DataFrame, scheme: str) -> float:
    return float(pd.concat([_below_ideal(rows, state, scheme) for state in states(rows)]).mean())


def _why_gap(rows: pd.DataFrame) -> str:
    """What HP-UFS's time over Ideal's goes into under GC."""
    own = rows[(rows["state"] == "GC") & ~rows["app"].isin(READERS)].set_index(["scheme", "app"])
    ours, ideal = own.loc["hp-ufs"], own.loc["ideal"]
    more = (ours["sim_seconds"] - ideal["sim_seconds"]).sum()
    held = (ours["device_exclusive_ns"] - ideal["device_exclusive_ns"]).sum() / 1e9
    changed = ours["device_gc_units_programmed"] + ours["device_data_units_programmed"]
    return (
        f"under GC {len(ours)} applications and the copies of GC change {changed.sum():,.0f} entries; "
        f"{ours['host_segment_reads'].sum():,.0f} segments are read for that, and "
        f"{ours['device_segment_writes'].sum():,.0f} written. GC holds the device's front end for "
        f"{held / more * 100:.0f}% of the time over Ideal's"
    )


def named(values: pd.Series) -> str:
    """Values of applications with their names; the index ends with these."""
    return ", ".join(f"{app} {value:.1f}" for app, value in zip(app_names(values), values, strict=True))


def app_names(values: pd.Series) -> list[str]:
    """The applications of a table's rows."""
    return [str(app) for app in values.index.get_level_values(values.index.nlevels - 1)]


F9 = figure("hp-ufs/f9", runs=runs, judged=judged, draw=_f9_draw, measure=_f9_measure, where_placed=where_placed)


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

FIGURES = (F9, F9_TIMED)
