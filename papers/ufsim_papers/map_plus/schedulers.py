"""MAP+ (TCAD 2018): the schedulers on the traces, Figs. 8 to 11 and 14."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim_papers import draw
from ufsim_papers.claims import Measured, Option, Role
from ufsim_papers.figure import Label, Run, Setting, Value, figure
from ufsim_papers.map_plus.loads import (
    ALL_SCHEDULERS,
    LOAD,
    PAPER_NAMES,
    SCHEDULERS,
    STRETCHED,
    TIMES,
    TURN_SECONDS,
    as_recorded,
    at_paper_load,
    bars,
    by_load,
    by_times,
    each_out,
    listed,
    loads,
    spec,
)

# The option of a map on which each trace is left out once.
EACH_OUT: dict[str, Option] = {"map-plus.traces": "each left out once"}

FIFO = "fifo"  # the claim's foil
KNOWLEDGE = ("full", "lru", "poll", FIFO)
KNOWN_BY = {"full": "full awareness", "lru": "LRU of the host", "poll": "query every 1000 requests"}


def _f8_runs(setting: Setting) -> list[Run]:
    return [
        Run({"trace": load, "knowledge": how}, spec(load, "hp", setting, {"scheme.*.cache_knowledge": how}))
        for load in loads(setting)
        for how in KNOWLEDGE
    ]


def overlaps(frame: pd.DataFrame, knowledge: str = "lru") -> pd.Series:
    """Per cent of the entries of the host's LRU that were in the device's cache, too."""
    rows = frame[frame["knowledge"] == knowledge].set_index("trace")
    return rows["host_sched_entries_right"] / rows["host_sched_entries_simulated"] * 100


def knowledge_costs(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean latency over that with full knowledge, in per cent more."""
    table = by_load(frame, "knowledge", "all_mean_ns")
    return (table.div(table["full"], axis=0) - 1) * 100


def _f8_draw(frame: pd.DataFrame) -> Drawing:
    figure, (left, right) = draw.canvas(columns=2, width=5.4)
    shares = overlaps(frame)
    shares.loc["mean"] = shares.mean()
    left.bar(range(len(shares)), shares, color="#0072b2", width=0.65)
    left.set_xticks(range(len(shares)), list(shares.index))
    left.axhline(93, color=draw.PAPER_COLOUR, lw=1, ls="--", label="paper: mean 93%")
    left.set_ylim(0, 125)
    left.set_ylabel("entries of the host's LRU\nalso in the device's cache (%)")
    draw.legend(left)
    table = by_load(frame[frame["knowledge"] != FIFO], "knowledge", "all_mean_ns")
    table = table.div(table["full"], axis=0).rename(columns=KNOWN_BY)
    table.loc["mean"] = table.mean()
    colours = dict(zip(KNOWN_BY.values(), ("#7a7a7a", "#0072b2", "#e69f00"), strict=True))
    draw.grouped_bars(right, table, labels=False, colours=colours)
    right.set_ylim(0, table.to_numpy().max() * 1.3)
    right.set_ylabel("latency of HP over full awareness")
    draw.legend(right)
    return figure


def _f8_measure(frame: pd.DataFrame) -> list[Measured]:
    shares, cost = overlaps(frame), knowledge_costs(frame)
    parts = {
        "": shares,
        "latency of HP from the host's LRU over full knowledge": cost["lru"],
        "latency of HP with a query every 1000 requests": cost["poll"],
    }
    claim = "map-plus.f8.host-lru"
    points = [part for name, values in parts.items() for part in over_traces(claim, values, name, digits=1)]
    foil = {"": overlaps(frame, FIFO), list(parts)[1]: cost[FIFO]}
    return points + [
        part for name, own in foil.items() for part in over_traces(claim, own, name, digits=1, role="foil")
    ]


def over_traces(
    claim: str,
    values: pd.Series,
    part: str = "",
    at: Mapping[str, Option] | None = None,
    digits: int = 0,
    role: Role = "point",
) -> list[Measured]:
    """A mean over all traces, and with each left out once."""
    own = dict(at or {})
    told = f"mean of {listed(values, digits)}"
    whole = Measured(claim, float(values.mean()), part, told, at=own, role=role)
    if role != "point":
        return [whole]
    left = {**own, **EACH_OUT}
    return [whole, *(Measured(claim, mean, part, at=left, case=case) for case, mean in each_out(values))]


F8 = figure("map-plus/f8", runs=_f8_runs, draw=_f8_draw, measure=_f8_measure)


WHOLE, RECORDED = "whole pages", "as recorded"
PAGES: dict[str, dict[str, Option]] = {WHOLE: {}, RECORDED: {"map-plus.pages": "as recorded"}}
# MAP+ that leaves the batch of a request that is due behind; a label of runs beside the schedulers'.
ALONE = "map-plus, due alone"


def _f9_runs(setting: Setting) -> list[Run]:
    """The schedulers on all traces. Those of which whole pages were made are replayed as recorded, too."""
    whole = [
        Run({"trace": load, "times": TIMES, "requests": WHOLE, "scheduler": scheduler}, spec(load, scheduler, setting))
        for load in loads(setting)
        for scheduler in ALL_SCHEDULERS
    ]
    cut_up = [run for run in whole if as_recorded(run.spec) != run.spec and run.labels["scheduler"] in SCHEDULERS]
    recorded = whole + [Run({**run.labels, "requests": RECORDED}, as_recorded(run.spec)) for run in cut_up]
    alone = [
        Run(
            {"trace": load, "times": TIMES, "requests": WHOLE, "scheduler": ALONE},
            spec(load, "map-plus", setting, {"scheme.*.due_batch": False}),
        )
        for load in loads(setting)
    ]
    return [*recorded, *(at_paper_load(run, setting) for run in [*recorded, *alone])]


def drawn(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs that are drawn: requests in whole pages at their recorded times."""
    return frame[(frame["requests"] == WHOLE) & (frame["times"] == TIMES) & frame["scheduler"].isin(ALL_SCHEDULERS)]


def by_place(frame: pd.DataFrame) -> list[tuple[dict[str, Option], pd.DataFrame]]:
    """The runs at each point of the maps, requests in whole pages and as recorded, on all traces."""
    found = []
    for load, own in by_times(frame[frame["scheduler"].isin(ALL_SCHEDULERS)]):
        whole, recorded = own[own["requests"] == WHOLE], own[own["requests"] == RECORDED]
        alike = whole[~whole["trace"].isin(recorded["trace"]) & whole["scheduler"].isin(SCHEDULERS)]
        found.append(({**load, **PAGES[WHOLE]}, whole))
        found.append(({**load, **PAGES[RECORDED]}, pd.concat([alike, recorded])))
    return found


def relative(frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """A value over that of RoW, where a trace has one: a row for each trace, a column for each scheduler."""
    table = by_load(frame, "scheduler", value)
    return table.div(table["row"], axis=0).dropna()


def cuts(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """By how many per cent each scheduler shortens the mean latency of RoW."""
    return (1 - relative(frame, f"{kind}_mean_ns")) * 100


def access_times(frame: pd.DataFrame) -> pd.DataFrame:
    """Time of storage access over the latency of RoW: from the first command of a request to its end."""
    access, latency = by_load(frame, "scheduler", "all_access_ns"), by_load(frame, "scheduler", "all_mean_ns")
    return access.div(latency["row"], axis=0)


def _f9_draw(frame: pd.DataFrame) -> Drawing:
    frame = drawn(frame)
    figure, (reads, writes, overall) = draw.canvas(rows=3, width=11, height=2.7)
    for axes, kind in ((reads, "read"), (writes, "write"), (overall, "all")):
        bars(axes, relative(frame, f"{kind}_mean_ns"), f"{'overall' if kind == 'all' else kind} latency over RoW")
        axes.axhline(1, color="black", lw=0.6)
    paper = {"read": (reads, 0.66), "write": (writes, 0.82)}
    for axes, value in paper.values():
        axes.axhline(value, color=draw.PAPER_COLOUR, lw=1, ls="--", label="paper: mean of MAP+")
    access, shown = access_times(frame), relative(frame, "all_mean_ns")
    access.loc["mean"], shown.loc["mean"] = access.mean(), shown.mean()
    width = 0.84 / len(ALL_SCHEDULERS)
    for index, scheduler in enumerate(ALL_SCHEDULERS):
        places = [group + (index - (len(ALL_SCHEDULERS) - 1) / 2) * width for group in range(len(access))]
        label = "of it storage access" if index == 0 else None
        overall.bar(
            places, access[scheduler], width=width * 0.94, fill=False, hatch="////", lw=0, ec="#00000066", label=label
        )
    for axes in (reads, writes, overall):
        axes.set_ylim(top=axes.get_ylim()[1] * 1.12)
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _f9_measure(frame: pd.DataFrame) -> list[Measured]:
    paper_load = frame[(frame["requests"] == WHOLE) & (frame["times"] == STRETCHED)]
    return [part for at, own in by_place(frame) for part in _cuts(own, at)] + [
        replace(part, role="foil") for part in _best(paper_load, {}, ALONE)
    ]


def _cuts(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    """What MAP+ saves at a point, and at the paper's load what HP does, which is the foil."""
    read, write = (cuts(frame, kind) for kind in ("read", "write"))
    parts = over_traces("map-plus.f9.read", read["map-plus"], at=at)
    parts += over_traces("map-plus.f9.write", write["map-plus"], at=at)
    parts += _order(read, at)
    if at == {"map-plus.load": LOAD_OF_PAPER}:
        parts += over_traces("map-plus.f9.read", read["hp"], role="foil")
        parts += over_traces("map-plus.f9.write", write["hp"], role="foil")
    return parts + _best(frame, at)


# Where the paper's set-up is placed.
LOAD_OF_PAPER = str(LOAD[STRETCHED]["map-plus.load"])


def _order(read: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    """The orders of the means, also with each trace left out once."""
    claim, above = "map-plus.f9.read", "HP < Amphibian < RB, MAP, MAP+"
    means = {"": read.mean(), **{f"without {load}": read.drop(load).mean() for load in read.index}}
    parts = []
    for case, mean in means.items():
        place = {**at, **EACH_OUT} if case else at
        order = bool(mean["hp"] < mean["amphibian"] < min(mean["map-plus"], mean["rb"], mean["map"]))
        close = bool(abs(mean["map"] - mean["map-plus"]) <= 10)
        told = "" if case else f"means {listed(mean.drop('row'), 1)}"
        parts.append(Measured(claim, order, above, told, at=place, case=case))
        parts.append(Measured(claim, close, "MAP within 10 points of MAP+", at=place, case=case))
    return parts


def _best(frame: pd.DataFrame, at: Mapping[str, Option], ours: str = "map-plus") -> list[Measured]:
    """Is MAP+ the best on every trace, among those that the paper compares?"""
    others = [name for name in SCHEDULERS if name != "map-plus"]
    overall = relative(frame, "all_mean_ns")[[*others, ours]]
    best = {load: str(overall.loc[load].idxmin()) for load in overall.index}
    beaten = {load: name for load, name in best.items() if name != ours}
    lost = ", ".join(
        f"{PAPER_NAMES[name]} on {load} by {(1 - overall.loc[load, name] / overall.loc[load, ours]) * 100:.1f}%"
        for load, name in beaten.items()
    )
    told = f"on {len(overall) - len(beaten)} of {len(overall)} traces" + (f"; better is {lost}" if lost else "")
    return [Measured("map-plus.f9.best-everywhere", not beaten, told=told, at=at)]


F9 = figure("map-plus/f9", runs=_f9_runs, draw=_f9_draw, measure=_f9_measure)


def _f10_draw(frame: pd.DataFrame) -> Drawing:
    frame = drawn(frame)
    figure, (axes,) = draw.canvas(width=11, height=2.7)
    requests = frame["read_count"] + frame["write_count"]
    shares = frame.assign(share=frame["host_sched_prioritised"] / requests * 100)
    table = by_load(shares, "scheduler", "share")[["hp", "rb", "map", "map-plus"]]
    bars(axes, table, "prioritised requests (%)")
    draw.legend(axes, outside=True)
    return figure


F10 = figure("map-plus/f10", runs=_f9_runs, draw=_f10_draw)


def variations(frame: pd.DataFrame) -> pd.DataFrame:
    """Variance of the latencies over that of RoW."""
    return relative(frame, "all_stddev_ns") ** 2


def _f11_draw(frame: pd.DataFrame) -> Drawing:
    frame = drawn(frame)
    figure, (axes,) = draw.canvas(width=11, height=2.7)
    bars(axes, variations(frame), "variance of latency over RoW")
    axes.axhline(1, color="black", lw=0.6)
    draw.legend(axes, outside=True)
    return figure


def _f11_measure(frame: pd.DataFrame) -> list[Measured]:
    claim = "map-plus.f11.variation"
    measured = []
    for at, own in by_place(frame):
        table = variations(own)
        ours = table["map-plus"]
        told = f"variance over RoW: {listed(ours, 2)}"
        measured.append(Measured(claim, bool((ours < 1).all()), told=told, at=at))
        if at == {"map-plus.load": LOAD_OF_PAPER}:
            measured += [
                Measured(claim, bool((table[name] < 1).all()), case=PAPER_NAMES[name], role="foil", foil=name)
                for name in ("hp", "noop")
            ]
    return measured


F11 = figure("map-plus/f11", runs=_f9_runs, draw=_f11_draw, measure=_f11_measure)

# The paper's two.
CDFTL_CLAIM = ("MP", "F1")
TURNS = (TURN_SECONDS, 5.0, 1.0, 0.1)
NO_MISS = "nothing misses"


def _f14_runs(setting: Setting) -> list[Run]:
    def run(load: str, scheduler: str, cache: str = "", turn: float = TURN_SECONDS) -> Run:
        settings: dict[str, Value] = {"scheme.*.cache_kib": "unlimited"} if cache else {}
        own = spec(load, scheduler, setting, settings, "cdftl", turn)
        labels: dict[str, Label] = {"trace": load, "times": TIMES, "turn": turn, "cache": cache, "scheduler": scheduler}
        return Run(labels, own)

    usual = [run(load, scheduler) for load in loads(setting) for scheduler in SCHEDULERS]
    if not setting.quick:
        usual += [run("MP", scheduler, turn=turn) for turn in TURNS[1:] for scheduler in SCHEDULERS]
    foil = [run(load, name, NO_MISS) for load in CDFTL_CLAIM if load in loads(setting) for name in ("row", "map-plus")]
    return [*usual, *(at_paper_load(run, setting) for run in [*usual, *foil])]


def _f14_draw(frame: pd.DataFrame) -> Drawing:
    frame = frame[(frame["times"] == TIMES) & (frame["turn"] == TURN_SECONDS) & (frame["cache"] == "")]
    figure, (axes,) = draw.canvas(width=11, height=2.9)
    bars(axes, relative(frame, "all_mean_ns"), "overall latency over RoW")
    axes.axhline(1, color="black", lw=0.6)
    draw.legend(axes, outside=True)
    return figure


def _f14_measure(frame: pd.DataFrame) -> list[Measured]:
    claim = "map-plus.f14.cdftl"
    foil = frame[frame["cache"] == NO_MISS]
    nothing = cuts(foil, "all")["map-plus"]
    measured = [Measured(claim, float(nothing.mean()), told=f"mean of {listed(nothing, 1)}", role="foil")]
    for load, own in by_times(frame[frame["cache"] == ""]):
        usual = own[own["turn"] == TURN_SECONDS]
        for turn in dict.fromkeys(own["turn"]):
            # Other turns make another Multiple and nothing else.
            changed = own[(own["turn"] == turn) & (own["trace"] == "MP")] if turn != TURN_SECONDS else own[:0]
            table = pd.concat([usual[~usual["trace"].isin(changed["trace"])], changed])
            measured += _cdftl(cuts(table, "all"), {**load, **({"turn": turn} if turn != TURN_SECONDS else {})})
    return measured


def _cdftl(cut: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    """What the claim says, at a point."""
    claim = "map-plus.f14.cdftl"
    ours = cut.loc[[load for load in CDFTL_CLAIM if load in cut.index], "map-plus"]
    ahead = cut.index[cut["hp"] > cut["rb"]]
    told = f"mean of {listed(ours, 1)} (all: {listed(cut['map-plus'], 1)})"
    return [
        Measured(claim, float(ours.mean()), told=told, at=at),
        Measured(
            claim,
            bool(len(ahead) > len(cut) / 2),
            "HP better than RB on most traces",
            f"on {len(ahead)} of {len(cut)}",
            at=at,
        ),
    ]


F14 = figure("map-plus/f14", runs=_f14_runs, draw=_f14_draw, measure=_f14_measure)

FIGURES = (F8, F9, F10, F11, F14)
