"""HP-UFS (MSST 2024), Fig. 10: what the flash was busy with under the applications of Fig. 9."""

from dataclasses import dataclass, replace

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim_papers import draw
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Run, Setting, figure
from ufsim_papers.hp_ufs.apps import (
    AT_HAND,
    OF_FIVE,
    READERS,
    at_point,
    drawn,
    judged,
    judged_points,
    runs,
    sources_below,
    states,
)
from ufsim_papers.hp_ufs.points import COLD, DRAWN, PLACED, START, At, labels
from ufsim_papers.hp_ufs.writes import SCHEMES


def _f10_draw(frame: pd.DataFrame) -> Drawing:
    frame = drawn(frame)
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
        sources_below(axes, [source for source, _ in apps], len(SCHEMES))
        axes.margins(x=0.01)
        axes.set_title("without GC" if state == "no GC" else "with GC", fontsize=10)
        axes.set_ylabel("NAND time over UFS")
    panels[-1].set_xlabel("U = UFS, H = HPB, u, h = both tuned, P = HP-UFS, I = Ideal", labelpad=52)
    draw.legend(panels[-1], outside=True)
    return figure


def _why_search(hpb: dict[str, pd.Series]) -> str:
    victims = sum(run["device_gc_victims"] for run in hpb.values())
    reads = sum(run["device_search_segment_reads"] for run in hpb.values())
    return (
        f"the search reads {reads / victims:,.0f} segments for each of {victims} victims, one for each segment that "
        "has a page there; how many that were in the paper, and how many victims its runs had, it does not say"
    )


def _why_written(hpb: dict[str, pd.Series], ours: dict[str, pd.Series]) -> str:
    theirs, own = (sum(run["device_segment_writes"] for run in runs.values()) for runs in (hpb, ours))
    read = sum(run["host_segment_reads"] for run in ours.values())
    return f"HP-UFS writes {own:,.0f} segments where HPB writes {theirs:,.0f}; its host reads {read:,.0f}"


ACCOUNT, COUNTERS, DIES = "hp-ufs.account", "the prototype's counters", "time of dies"
SEARCH, SEGMENTS = "hp-ufs.f10.valid-page-search", "hp-ufs.f10.segment-write"
SHARE = "share of total NAND time: HPB's larger than HP-UFS's on each (4-13% against 1-6%)"
# What the prototype's counter adds for each segment that the host writes: a 64th of a program of 150 us, for eight
# units on each of eight dies are programmed side by side.
OF_A_SEGMENT_NS, DIES_SIDE_BY_SIDE = 150_000 / 64, 8


@dataclass(frozen=True)
class Account:
    """What a run spent on segment writes and on valid page search, of what in all, in ns."""

    written: float
    searched: float
    total: float

    @property
    def share(self) -> float:
        """Of segment writes, in per cent."""
        return self.written / self.total * 100

    @property
    def search_share(self) -> float:
        """Of valid page search, in per cent."""
        return self.searched / self.total * 100


def account(run: pd.Series, how: str, *, host_writes: bool) -> Account:
    """By the time of dies; or by the prototype's two counters, and for all else by the time of dies side by side.

    These charge HPB the time that a flush or a search keeps the firmware, and HP-UFS a 64th of a program for each
    segment. Both are times on a clock, and so is an eighth of what the eight dies take.
    """
    total = float(sum(run[column] for column in run.index if column.startswith("nand_")))
    written, searched = float(run["nand_map_write_ns"]), float(run["nand_valid_page_search_ns"])
    if how == DIES:
        return Account(written, searched, total)
    flushed = run["device_segment_writes"] * OF_A_SEGMENT_NS if host_writes else run["device_map_flush_ns"]
    own = float(flushed), float(run["device_search_ns"])
    return Account(*own, (total - written - searched) / DIES_SIDE_BY_SIDE + sum(own))


def _gc_runs(setting: Setting) -> list[Run]:
    """The maps of the claims, which speak of GC; without it only what stands beside one of them."""
    without = runs_at(judged(setting, ["no GC"], ["hpb", "hp-ufs"]), PLACED)
    return [*judged(setting, ["GC"], ["hpb", "hp-ufs", AT_HAND]), *without]


def runs_at(found: list[Run], at: At) -> list[Run]:
    """The runs at a point."""
    return [run for run in found if labels(at).items() <= run.labels.items()]


def _no_gc(rows: pd.DataFrame) -> list[Measured]:
    found = [part for part in _f10_parts(rows, "no GC", DIES, {}) if part.claim == SEGMENTS and not part.part]
    return [replace(part, part="without GC, time of dies", role="beside") for part in found]


def _gc_draw(frame: pd.DataFrame) -> Drawing:
    """HPB's searches and HP-UFS's segment writes, in both accounts, where the paper's set-up is placed."""
    rows = at_point(frame, PLACED if judged_points(frame) else DRAWN)
    state = "GC" if "GC" in states(rows) else "no GC"
    figure, (left, right) = draw.canvas(columns=2, width=5.6, height=3.4)
    names = {COUNTERS: "#0072b2", DIES: "#9aa1ab"}
    for each, which in ((left, SEARCH), (right, SEGMENTS)):
        parts = {how: _f10_parts(rows, state, how, {}) for how in names}
        own = {how: {p.case: p.value for p in found if p.claim == which and not p.part} for how, found in parts.items()}
        if table := {how: values for how, values in own.items() if values}:
            draw.grouped_bars(each, pd.DataFrame(table), colours=names)
    draw.paper_band(left, 21, 27, "paper: 21 to 27%")
    draw.paper_band(right, 37, 80, "paper: 37 to 80%")
    left.set_ylabel("HPB's valid page search\n(% of the total NAND time)")
    right.set_ylabel("segment writes of HP-UFS\nbelow HPB's (%)")
    draw.legend(right, outside=True)
    return figure


def _gc_measure(frame: pd.DataFrame) -> list[Measured]:
    """The paper gives the range over its workloads, and the claim one band around its middle."""
    points = judged_points(frame)
    if not points:
        rows = at_point(frame, DRAWN)
        found = [part for state in states(rows) for part in _f10_parts(rows, state, DIES, {})]
        return [replace(part, part=f"{OF_FIVE}: {part.part}", role="beside") for part in found]
    found = []
    for at, rows in points:
        for how in (COUNTERS, DIES):
            found += _f10_parts(rows, "GC", how, {**at, ACCOUNT: how})
    placed = at_point(frame, PLACED)
    cold = _f10_parts(at_point(frame, {**PLACED, START: COLD}), "GC", COUNTERS, {})
    at_hand = _f10_parts(placed, "GC", COUNTERS, {}, hpb=AT_HAND)
    return [
        *found,
        *(replace(part, role="foil") for part in at_hand if part.claim == SEARCH),
        *(replace(part, role="foil") for part in cold if part.claim == SEGMENTS),
        *_no_gc(placed),
    ]


def _f10_parts(rows: pd.DataFrame, state: str, how: str, at: At, hpb: str = "hpb") -> list[Measured]:
    """What the claims say of the write-intensive workloads of a point."""
    runs = rows[rows["state"] == state].set_index(["app", "scheme"])
    apps = [app for app in dict.fromkeys(runs.index.get_level_values("app")) if app not in READERS]
    theirs = {app: account(runs.loc[(app, hpb)], how, host_writes=False) for app in apps}
    ours = {app: account(runs.loc[(app, "hp-ufs")], how, host_writes=True) for app in apps}
    why = _why_written({app: runs.loc[(app, hpb)] for app in apps}, {app: runs.loc[(app, "hp-ufs")] for app in apps})
    found = []
    for app in apps:
        cut = (1 - ours[app].written / theirs[app].written) * 100
        told = f"share of the total: {theirs[app].share:.1f}% against {ours[app].share:.1f}%"
        larger = theirs[app].share > ours[app].share
        found += [
            Measured(SEGMENTS, cut, told=told, at=at, case=app, reason=why),
            Measured(SEGMENTS, larger, SHARE, told, at, app),
        ]
    if state == "no GC":
        return found
    reason = _why_search({app: runs.loc[(app, hpb)] for app in apps})
    search = [Measured(SEARCH, theirs[app].search_share, at=at, case=app, reason=reason) for app in apps]
    none = all(own.searched == 0 for own in ours.values())
    return [*found, *search, Measured(SEARCH, none, "HP-UFS exactly 0", at=at)]


F10 = figure("hp-ufs/f10", runs=runs, draw=_f10_draw)
F10_GC = figure("hp-ufs/f10-gc", runs=_gc_runs, draw=_gc_draw, measure=_gc_measure)

FIGURES = (F10, F10_GC)
