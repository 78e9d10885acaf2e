"""MAP+ (TCAD 2018): the schedulers on the traces, Figs. 8 to 11 and 14."""

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim_papers import draw
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Run, Setting, figure
from ufsim_papers.map_plus.loads import (
    ALL_SCHEDULERS,
    PAPER_NAMES,
    SCHEDULERS,
    as_recorded,
    bars,
    by_load,
    listed,
    loads,
    miss_ratio,
    spec,
)

KNOWLEDGE = ("full", "lru", "poll")
KNOWN_BY = {"full": "full awareness", "lru": "LRU of the host", "poll": "query every 1000 requests"}


def _f8_runs(setting: Setting) -> list[Run]:
    return [
        Run({"trace": load, "knowledge": how}, spec(load, "hp", setting, {"scheme.*.cache_knowledge": how}))
        for load in loads(setting)
        for how in KNOWLEDGE
    ]


def overlaps(frame: pd.DataFrame) -> pd.Series:
    """Per cent of the entries of the host's LRU that were in the device's cache, too."""
    rows = frame[frame["knowledge"] == "lru"].set_index("trace")
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
    table = by_load(frame, "knowledge", "all_mean_ns")
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
    claim = "map-plus.f8.host-lru"
    why = (
        "segmented LRU keeps entries that were used twice and gives up those used once sooner than LRU does: the two "
        "differ where a trace has both"
    )
    return [
        Measured(claim, float(shares.mean()), "entries in both caches", f"mean of {listed(shares)}", reason=why),
        _cost(cost["lru"], "cost of LRU"),
        _cost(cost["poll"], "cost of queries"),
    ]


def _cost(costs: pd.Series, part: str) -> Measured:
    return Measured("map-plus.f8.host-lru", float(costs.mean()), part, f"mean of {listed(costs, 1)}", band=(-1, 5))


F8 = figure("map-plus/f8", runs=_f8_runs, draw=_f8_draw, measure=_f8_measure)


WHOLE, RECORDED = "whole pages", "as recorded"


def _f9_runs(setting: Setting) -> list[Run]:
    """The schedulers on all traces. Those of which whole pages were made are replayed as recorded, too."""
    runs = [
        Run({"trace": load, "requests": WHOLE, "scheduler": scheduler}, spec(load, scheduler, setting))
        for load in loads(setting)
        for scheduler in ALL_SCHEDULERS
    ]
    cut_up = [run for run in runs if as_recorded(run.spec) != run.spec and run.labels["scheduler"] in SCHEDULERS]
    return runs + [Run({**run.labels, "requests": RECORDED}, as_recorded(run.spec)) for run in cut_up]


def drawn(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs that are drawn: requests in whole pages."""
    return frame[frame["requests"] == WHOLE]


def by_reading(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """The runs of each reading, requests in whole pages and as recorded, on all traces."""
    recorded = frame[frame["requests"] == RECORDED]
    alike = drawn(frame)
    alike = alike[~alike["trace"].isin(recorded["trace"]) & alike["scheduler"].isin(SCHEDULERS)]
    return [drawn(frame), pd.concat([alike, recorded])]


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


def _order(read: pd.Series) -> list[Measured]:
    above = bool(read["hp"] < read["amphibian"] < min(read["map-plus"], read["rb"]))
    close = bool(abs(read["map"] - read["map-plus"]) <= 10)
    return [
        Measured("map-plus.f9.read", above, "HP < Amphibian < RB, MAP+", f"means {listed(read.drop('row'), 1)}"),
        Measured("map-plus.f9.read", close, "MAP within 10 points of MAP+"),
    ]


def _best(frame: pd.DataFrame, reading: int) -> Measured:
    """Is MAP+ the best on every trace, among those that the paper compares?"""
    overall = relative(frame, "all_mean_ns")[list(SCHEDULERS)]
    best = {load: str(overall.loc[load].idxmin()) for load in overall.index}
    beaten = {load: name for load, name in best.items() if name != "map-plus"}
    lost = ", ".join(
        f"{PAPER_NAMES[name]} on {load} by {(1 - overall.loc[load, name] / overall.loc[load, 'map-plus']) * 100:.1f}%"
        for load, name in beaten.items()
    )
    told = f"on {len(overall) - len(beaten)} of {len(overall)} traces"
    return Measured("map-plus.f9.best-everywhere", not beaten, "", told, reason=f"the best is {lost}", reading=reading)


def _writes(write: pd.Series) -> list[Measured]:
    """The mean over all traces, and those without one of them, of which the lowest and the highest count."""
    claim = "map-plus.f9.write"
    why = (
        "a write takes 350 us and its miss adds 35: where the queue is never empty, a scheduler that avoids every miss "
        "saves 35 of 385, 9%"
    )
    without = {str(load): float(write.drop(load).mean()) for load in write.index}
    ends = {"lowest mean": min(without, key=without.__getitem__), "highest mean": max(without, key=without.__getitem__)}
    return [
        Measured(claim, float(write.mean()), "", f"mean of {listed(write)}", reason=why),
        *(
            Measured(claim, without[load], part, f"without {load}", reading=1, reason=why)
            for part, load in ends.items()
        ),
    ]


def _f9_measure(frame: pd.DataFrame) -> list[Measured]:
    readings = by_reading(frame)
    read, write = (cuts(readings[0], kind) for kind in ("read", "write"))
    return [
        Measured("map-plus.f9.read", float(read["map-plus"].mean()), "", f"mean of {listed(read['map-plus'])}"),
        *_order(read.mean()),
        *_writes(write["map-plus"]),
        *(_best(own, reading) for reading, own in enumerate(readings)),
    ]


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
    return [
        Measured(
            "map-plus.f11.variation",
            bool((ours < 1).all()),
            told=f"variance over RoW: {listed(ours, 2)}",
            reason="what MAP+ moves back waits longer than it did, where misses are few",
            reading=reading,
        )
        for reading, own in enumerate(by_reading(frame))
        for ours in [variations(own)["map-plus"]]
    ]


F11 = figure("map-plus/f11", runs=_f9_runs, draw=_f11_draw, measure=_f11_measure)

# The paper's two.
CDFTL_CLAIM = ("MP", "F1")


def _f14_runs(setting: Setting) -> list[Run]:
    return [
        Run({"trace": load, "scheduler": scheduler}, spec(load, scheduler, setting, scheme="cdftl"))
        for load in loads(setting)
        for scheduler in SCHEDULERS
    ]


def _f14_draw(frame: pd.DataFrame) -> Drawing:
    figure, (axes,) = draw.canvas(width=11, height=2.9)
    bars(axes, relative(frame, "all_mean_ns"), "overall latency over RoW")
    axes.axhline(1, color="black", lw=0.6)
    draw.legend(axes, outside=True)
    return figure


def _f14_measure(frame: pd.DataFrame) -> list[Measured]:
    cut = cuts(frame, "all")
    chosen = [load for load in CDFTL_CLAIM if load in cut.index]
    ours = cut.loc[chosen, "map-plus"]
    ahead = cut.index[cut["hp"] > cut["rb"]]
    row = frame[frame["scheduler"] == "row"].set_index("trace")
    missing = miss_ratio(row)
    claim = "map-plus.f14.cdftl"
    return [
        Measured(
            claim,
            float(ours.mean()),
            told=f"mean of {listed(ours, 1)} (all: {listed(cut['map-plus'], 1)})",
            reason=(
                f"under RoW only {listed(missing[chosen], 1)}% of the lookups miss CDFTL's two levels: with two "
                "translation pages in SRAM neighbours hit. The paper gains most on Multiple; how long its turns are it "
                "does not say, and here they are a minute"
            ),
        ),
        Measured(
            claim,
            bool(len(ahead) > len(cut) / 2),
            "HP beats RB on most",
            f"on {len(ahead)} of {len(cut)}",
            reason=f"HP: {listed(cut['hp'], 1)}; RB: {listed(cut['rb'], 1)}",
        ),
    ]


F14 = figure("map-plus/f14", runs=_f14_runs, draw=_f14_draw, measure=_f14_measure)

FIGURES = (F8, F9, F10, F11, F14)
