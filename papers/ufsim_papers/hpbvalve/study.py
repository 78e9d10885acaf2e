"""HPBvalve (FAST 2023), Sec. 4: what misses cost, who misses, when, and HPB's memory (Figs. 2, 3, 5, 6, 7).

What these figures call HPB is measured with both policies that it may mean: `runs.HPB_POLICIES`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim_papers import draw
from ufsim_papers.claims import Measured, Option, claim_of
from ufsim_papers.figure import Point, Setting, figure
from ufsim_papers.hpbvalve.over_maps import OverMap
from ufsim_papers.hpbvalve.runs import (
    APPS,
    AT_A_POINT,
    COLOURS,
    GAMES,
    HPB,
    HPB_POLICIES,
    PAPER_NAMES,
    RESERVED,
    USUAL,
    bars,
    by_app,
    comparison,
    hpb_of,
    killed,
    listed,
    on,
    over,
    points,
    pooled,
    same_phone,
    uses,
)

SIZES = (16, 64, 256, 512, 1024)
# For the size of HPB it matters as well whether the memory is taken from boot on.
SIZED = (*HPB_POLICIES, RESERVED)


# ---------------------------------------------------------------- Fig. 2

COLD = replace(USUAL, cold=True)
# The claims' foil: reads lie as dense as in first starts on a Pixel 6a.
DENSE = 15.1
DENSE_COLD = replace(COLD, density=DENSE)
SYSTEMS = ("ufs", RESERVED, "ideal")


def _f2_runs(setting: Setting) -> list[Point]:
    dense = [] if setting.quick else points(setting, SYSTEMS, repeats=range(AT_A_POINT), setup=DENSE_COLD)
    return [*comparison(setting, COLD), *OPTIMAL.runs(setting), *dense]


def _f2_draw(frame: pd.DataFrame) -> Drawing:
    table = uses(on(frame, COLD))
    figure, (left, right) = draw.canvas(columns=2, width=5.6)
    bars(left, by_app(table, "launch_ms"), "cold launch (ms)")
    bars(right, by_app(table, "loading_ms", GAMES) / 1000, "loading of games (s)")
    draw.legend(left)
    return figure


def _over_optimal(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    apps = [app for app in APPS if app not in GAMES] if at["hpbvalve.apps-launched"] != "all nine" else APPS
    table, claim = by_app(uses(frame), "launch_ms", apps), "hpbvalve.f2.launch-optimal"
    ufs, hpb = over(table, "ufs"), over(table, HPB)
    return [
        Measured(claim, float(ufs.max()), told=f"by app: {listed(ufs)}"),
        Measured(claim, float(hpb.max()), "UFS+HPB over Optimal, the largest", f"by app: {listed(hpb)}"),
        Measured(claim, float((table["ufs"] - table["ideal"]).mean()), "mean gap of UFS to Optimal"),
        Measured(claim, float((table[HPB] - table["ideal"]).mean()), "mean gap of UFS+HPB to Optimal"),
    ]


OPTIMAL = OverMap("hpbvalve.f2.launch-optimal", ("ufs", HPB, "ideal"), COLD, _over_optimal)


def on_dense(own: OverMap, frame: pd.DataFrame) -> list[Measured]:
    """A claim where reads lie dense and all else is at its default: the foil."""
    rows = on(frame, replace(own.base, density=DENSE))
    default = {axis.name: axis.options[0] for axis in claim_of(own.claim).axes}
    parts = pooled(lambda some: own.measure(some, default))(rows) if len(rows) else []
    return [replace(part, role="foil") for part in parts]


F2 = figure(
    "hpbvalve/f2",
    runs=_f2_runs,
    draw=_f2_draw,
    measure=lambda frame: [*OPTIMAL.measured(frame), *on_dense(OPTIMAL, frame)],
    further=OPTIMAL.further,
)


# ---------------------------------------------------------------- Fig. 3

ANDROID = replace(USUAL, policy="hpb-linux")


def _f3_runs(setting: Setting) -> list[Point]:
    return points(setting, (hpb_of(ANDROID),), setup=ANDROID) + IN_FRONT.runs(setting)


def missing(frame: pd.DataFrame) -> pd.DataFrame:
    """Share of reads without an entry in HPB, in per cent: of an app in the foreground, and of all others meanwhile."""
    table = uses(frame).groupby("app")[["reads", "host", "background_reads", "background_host"]].sum()
    table = table.reindex([app for app in APPS if app in table.index])
    table["foreground"] = (1 - table["host"] / table["reads"]) * 100
    table["background"] = (1 - table["background_host"] / table["background_reads"]) * 100
    return table


def _f3_draw(frame: pd.DataFrame) -> Drawing:
    table = missing(on(frame, ANDROID))
    figure, (left, right) = draw.canvas(columns=2, width=5.6)
    colours = {"foreground": "#0072b2", "background": "#9aa1ab"}
    counts = table[["reads", "background_reads"]].set_axis(["foreground", "background"], axis=1)
    draw.grouped_bars(left, counts / 1000, labels=False, colours=colours)
    left.set_ylabel("reads (thousands)")
    draw.grouped_bars(right, table[["foreground", "background"]], labels=False, colours=colours)
    right.set_ylabel("reads that miss HPB (%)")
    draw.legend(left)
    return figure


def _more_in_front(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    table, claim = missing(frame), "hpbvalve.f3.fg-misses-more"
    more = table.index[table["foreground"] > table["background"]]
    shown = ", ".join(f"{app} {row['foreground']:.1f}/{row['background']:.1f}" for app, row in table.iterrows())
    told = f"for {len(more)} of {len(table)} apps; misses in per cent, foreground/background: {shown}"
    del at
    return [Measured(claim, all(app in more for app in table.index if app != "UB"), told=told)]


IN_FRONT = OverMap("hpbvalve.f3.fg-misses-more", (HPB,), ANDROID, _more_in_front)

F3 = figure(
    "hpbvalve/f3",
    runs=_f3_runs,
    draw=_f3_draw,
    measure=lambda frame: [*IN_FRONT.measured(frame), *on_dense(IN_FRONT, frame)],
)


# ---------------------------------------------------------------- Fig. 5


def _f5_runs(setting: Setting) -> list[Point]:
    return points(setting, HPB_POLICIES)


def tenths(table: pd.DataFrame) -> pd.DataFrame:
    """L2P misses by tenth of a use: a row for each app."""
    names = [f"map_tenth_{tenth}" for tenth in range(1, 11)]
    sums = {app: own[names].sum().tolist() for app, own in table.groupby("app")}
    return pd.DataFrame(sums).T.reindex([app for app in APPS if app in sums])


def tenths_by_scheme(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The same for each scheme of the frame."""
    table = uses(frame)
    return {scheme: tenths(table[table["scheme"] == scheme]) for scheme in dict.fromkeys(table["scheme"])}


def _f5_draw(frame: pd.DataFrame) -> Drawing:
    figure, axes = draw.canvas(columns=3, rows=3, width=3.4, height=2.2)
    for shift, (scheme, table) in zip((-0.2, 0.2), tenths_by_scheme(frame).items(), strict=True):
        name = PAPER_NAMES[scheme]
        shares = table.div(table.sum(axis=1), axis=0) * 100
        for each, (app, values) in zip(axes, shares.iterrows(), strict=False):
            each.bar([i + 1 + shift for i in range(10)], values, color=COLOURS[name], width=0.38, label=name)
            each.set_title(str(app), fontsize=9)
            each.set_xticks([1, 5, 10])
    axes[3].set_ylabel("misses (%)")
    axes[7].set_xlabel("tenth of the use")
    draw.legend(axes[0])
    return figure


def _f5_measure(frame: pd.DataFrame) -> list[Measured]:
    claim = "hpbvalve.f5.early-misses"
    measured = []
    for scheme, table in tenths_by_scheme(frame).items():
        name = PAPER_NAMES[scheme]
        first = table[0] / table.sum(axis=1) * 100
        fifth = (table[0] + table[1]) / table.sum(axis=1) * 100
        early = bool((first > 10).all() and (fifth > 20).all())
        shares = ", ".join(f"{app} {first[app]:.0f}/{fifth[app]:.0f}" for app in table.index)
        told = f"first tenth/fifth, per cent: {shares}"
        measured += [
            Measured(claim, early, told=told, case=f"{name}: more than even shares in first tenth and fifth"),
            Measured(claim, bool(first["UB"] > first["AP"]), told=told, case=f"{name}: UB earlier than AP"),
        ]
    return measured


F5 = figure("hpbvalve/f5", runs=_f5_runs, draw=_f5_draw, measure=pooled(_f5_measure))


# ---------------------------------------------------------------- Figs. 6 and 7


def _f6_runs(setting: Setting) -> list[Point]:
    """What is drawn; the claim's map; and where UB's reads tell the memory of the system."""
    sizes = (16, 256, 1024) if setting.quick else SIZES
    drawn = points(setting, ("ufs",)) + points(setting, SIZED, sizes)
    if setting.quick:
        return drawn
    placing = [
        point
        for mib in SYSTEM_MIB
        for point in points(setting, ("ufs", RESERVED), sizes[-1:], range(AT_A_POINT), replace(USUAL, system_mib=mib))
    ]
    return [*drawn, *TRADE.runs(setting), *placing]


TRADEOFF = "hpbvalve.f6.size-tradeoff"
# The options of the condition that UB's reads place, and what the paper says of these (Fig. 6).
PLACED = "hpbvalve.system-mib"
SYSTEM_MIB = (5738, 4764, 5000, 5250, 6712)
UB_MORE_PERCENT = 142


def sized(table: pd.DataFrame, scheme: str) -> pd.DataFrame:
    """Rows of a policy by size of HPB; those of UFS stand as size 0."""
    table = table[table["scheme"].isin(("ufs", scheme))].copy()
    table.loc[table["scheme"] == "ufs", "memory_mib"] = 0
    return table


def by_size(table: pd.DataFrame, scheme: str) -> pd.DataFrame:
    """Reads of apps in the foreground, and L2P reads meanwhile, by app and size of HPB.

    L2P reads are those of the device for reads of the foreground that have missed, and the fetches of HPB.
    """
    sums = sized(table, scheme).groupby(["app", "memory_mib"])[["reads", "map", "fetches"]].sum()
    sums["l2p"] = sums["map"] + sums["fetches"]
    sums["all"] = sums["reads"] + sums["l2p"]
    return sums


def kills_by_size(kills: pd.DataFrame, scheme: str) -> pd.DataFrame:
    """Apps and services killed by category, a row for each size of HPB."""
    counts = sized(kills, scheme).groupby(["memory_mib", "category"]).size().unstack(fill_value=0)
    return counts.reindex(columns=range(7), fill_value=0).sort_index()


def _f6_draw(frame: pd.DataFrame) -> Drawing:
    table = uses(same_phone(frame, USUAL), first=True)
    figure, axes = draw.canvas(columns=3, rows=3, width=3.9, height=2.4)
    for number, scheme in enumerate(SIZED):
        sums = by_size(table, scheme)
        hatch = ("", "////", "....")[number]
        for each, app in zip(axes, APPS, strict=True):
            own = sums.loc[app] / 1000
            places = [place + (number - 1) * 0.28 for place in range(len(own))]
            look: dict[str, Any] = {"width": 0.26, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
            name = PAPER_NAMES[scheme]
            each.bar(places, own["reads"], color="#0072b2", label=f"app reads, {name}", **look)
            each.bar(places, own["l2p"], bottom=own["reads"], color="#e69f00", label=f"L2P reads, {name}", **look)
            least = int(own["all"].argmin())
            each.scatter([places[least]], [own["all"].min()], marker="v", color="#b2182b", zorder=5, s=18)
            each.set_xticks(range(len(own)), [str(size) for size in own.index], fontsize=7)
            each.set_title(app, fontsize=9)
    axes[3].set_ylabel("flash reads (thousands)")
    axes[7].set_xlabel("HPB (MiB)")
    for each in axes:
        each.margins(y=0.2)
    draw.legend(axes[2], outside=True)
    return figure


def _f6_measure(frame: pd.DataFrame) -> list[Measured]:
    return [*TRADE.measured(frame), *_placing(frame)]


def _tradeoff(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    del at
    return _by_size(frame, HPB)


def _frees_for_apps(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    """The foil: HPB that frees its memory when an app would be killed."""
    del at
    return _by_size(frame, "hpbvalve")


def _by_size(frame: pd.DataFrame, scheme: str) -> list[Measured]:
    """What the claim says of a scheme, from size to size."""
    table, kills = uses(frame, first=True), killed(frame)
    sums = by_size(table, scheme)
    total = sums.groupby("memory_mib").sum()
    dead = kills_by_size(kills, scheme).sum(axis=1).reindex(total.index, fill_value=0)
    best_sizes = {app: int(str(sums.loc[app]["all"].idxmin())) for app in APPS}
    share = total["l2p"] / total["reads"] * 1000
    differ = len(set(best_sizes.values())) > 1 and best_sizes["UB"] < best_sizes["IG"]
    shown = ", ".join(f"{app} {size}" for app, size in best_sizes.items())
    parts = {
        "L2P reads fall": (monotone(-share), f"with the fetches of HPB, for each 1000 app reads: {by_mib(share)}"),
        "app reads rise": (monotone(total["reads"]), f"thousands: {by_mib(total['reads'] / 1000, 1)}"),
        "kills rise": (monotone(dead), by_mib(dead)),
        "size with the fewest flash reads differs by app; UB's is smaller than IG's": (differ, f"in MiB: {shown}"),
    }
    return [Measured(TRADEOFF, holds, part, told) for part, (holds, told) in parts.items()]


TRADE = OverMap(TRADEOFF, ("ufs", HPB), USUAL, _tradeoff, _frees_for_apps, "hpbvalve", SIZES)


def more_reads_of_ub(frame: pd.DataFrame, mib: int) -> float | None:
    """By how many per cent UB reads more with the largest HPB than with none, where the system takes so much."""
    rows = same_phone(frame, replace(USUAL, system_mib=mib))
    rows = rows[(rows["scheme"] == "ufs") | (rows["memory_mib"] == SIZES[-1])]
    if not {"ufs", RESERVED} <= set(rows["scheme"]):
        return None
    own = by_size(uses(rows, first=True), RESERVED).loc["UB"]["reads"]
    return float((own.iloc[-1] / own.iloc[0] - 1) * 100)


def _placing(frame: pd.DataFrame) -> list[Measured]:
    """Where the memory of the system lies: at the option where UB's reads are nearest to the paper's, if near."""
    found = {mib: more_reads_of_ub(frame, mib) for mib in SYSTEM_MIB}
    known = {mib: more for mib, more in found.items() if more is not None}
    if len(known) < len(SYSTEM_MIB):
        return []
    told = ", ".join(f"{mib} MiB {more:+.0f}%" for mib, more in known.items())
    shown = Measured(TRADEOFF, max(known.values()), "UB's reads with 1 GB, over none, the most", told, role="beside")
    if not min(known.values()) <= UB_MORE_PERCENT <= max(known.values()):
        return [shown, Measured(TRADEOFF, None, PLACED, told, role="place")]
    nearest = min(known, key=lambda mib: abs(known[mib] - UB_MORE_PERCENT))
    return [shown, Measured(TRADEOFF, float(nearest), PLACED, told, role="place")]


def by_mib(values: pd.Series, digits: int = 0) -> str:
    """Values by size of HPB in MiB."""
    return ", ".join(f"{size} MiB {value:.{digits}f}" for size, value in values.items())


def monotone(values: pd.Series) -> bool:
    """Does it rise with the size? Sizes that are level, as beyond what the scenario fetches, do not break it."""
    return bool(values.is_monotonic_increasing and higher_in_the_end(values))


def higher_in_the_end(values: pd.Series) -> bool:
    """Is it higher with the largest size than without HPB?"""
    return bool(values.iloc[-1] > values.iloc[0])


F6 = figure("hpbvalve/f6", runs=_f6_runs, draw=_f6_draw, measure=_f6_measure)


def _f7_draw(frame: pd.DataFrame) -> Drawing:
    kills = killed(same_phone(frame, USUAL))
    figure, axes = draw.canvas(columns=2, rows=len(SIZED), width=5.0, height=2.6)
    shades = ("#67001f", "#b2182b", "#d6604d", "#f4a582", "#bcbcbc", "#878787", "#4d4d4d")
    for number, scheme in enumerate(SIZED):
        counts = kills_by_size(kills, scheme)
        left, right = axes[2 * number], axes[2 * number + 1]
        for each, table in ((left, counts), (right, counts.div(counts.sum(axis=1), axis=0) * 100)):
            draw.stacked(each, table, {category: (f"{category + 1}", shade) for category, shade in enumerate(shades)})
        left.set_ylabel(f"kills, {PAPER_NAMES[scheme]}", fontsize=8)
        right.set_ylabel("share (%)")
    axes[-2].set_xlabel("HPB (MiB)")
    axes[-1].set_xlabel("HPB (MiB)")
    axes[1].legend(title="priority", fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


F7 = figure("hpbvalve/f7", runs=_f6_runs, draw=_f7_draw)

FIGURES = (F2, F3, F5, F6, F7)
