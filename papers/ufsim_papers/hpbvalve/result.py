"""HPBvalve (FAST 2023), Sec. 6: launches, loading, misses, hits and memory (Figs. 13 to 15, 17), profile lists."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MaxNLocator

from ufsim_papers import draw
from ufsim_papers.claims import Measured, Option
from ufsim_papers.figure import Point, Setting, figure
from ufsim_papers.hpbvalve.over_maps import Measure, OverMap
from ufsim_papers.hpbvalve.runs import (
    APPS,
    AT_A_POINT,
    COLOURS,
    DROPS_LEFT,
    GAMES,
    HPB,
    NO_PREFETCH,
    PAPER_NAMES,
    USUAL,
    bars,
    by_app,
    chosen,
    comparison,
    expanded,
    hpb_of,
    kept,
    less,
    listed,
    on,
    over,
    points,
    pooled,
    uses,
)
from ufsim_papers.hpbvalve.study import tenths_by_scheme

MIB = 1 << 20
NO_PENALTY = "misses cost UFS+HPB nothing, so that there is nothing to remove"


# ---------------------------------------------------------------- Fig. 13

# Fig. 13(a) has cold launches, 13(b) switches to an app in the background.
COLD = replace(USUAL, cold=True)
FOUR = ("ufs", HPB, "hpbvalve", "ideal")
SIX = "the six that are no games"
OF_TIMES = "of the apps' times"


def _f13_runs(setting: Setting) -> list[Point]:
    found = comparison(setting, COLD) + comparison(setting)
    return [*found, *(point for own in OF_F13 for point in own.runs(setting))]


def _f13_further(setting: Setting, frame: pd.DataFrame) -> list[Point]:
    return [point for own in OF_F13 for point in own.further(setting, frame)]


def _f13_draw(frame: pd.DataFrame) -> Drawing:
    cold, table = uses(on(frame, COLD)), uses(on(frame, USUAL))
    figure, axes = draw.canvas(columns=3, width=5.0)
    bars(axes[0], by_app(cold, "launch_ms"), "cold launch (ms)")
    warm = by_app(table[table["start"] == "warm"], "launch_ms")
    bars(axes[1], warm, "switch to an app in the background (ms)")
    bars(axes[2], by_app(cold, "loading_ms", GAMES) / 1000, "loading of games (s)")
    draw.legend(axes[0])
    return figure


def launches(frame: pd.DataFrame, at: Mapping[str, Option]) -> pd.DataFrame:
    """Mean times of cold launches in ms, of the apps that the point counts."""
    apps = [app for app in APPS if app not in GAMES] if at.get("hpbvalve.apps-launched") == SIX else APPS
    return by_app(uses(frame), "launch_ms", apps)


def mean_gain(table: pd.DataFrame, of: str, by: str, at: Mapping[str, Option]) -> float:
    """By how many per cent times with the one scheme are over those with the other, in the mean over the apps."""
    if at.get("average") == OF_TIMES:
        return float((table[of].mean() / table[by].mean() - 1) * 100)
    return float(over(table, of, by).mean())


def removed(table: pd.DataFrame, by: str = "hpbvalve") -> float | None:
    """Share of the time that misses cost UFS+HPB which a scheme saves, in per cent, over all apps."""
    cost = (table[HPB] - table["ideal"]).sum()
    return float((table[HPB] - table[by]).sum() / cost * 100) if cost > 0 else None


def _launch(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    table = launches(frame, at)
    above = over(table, "hpbvalve")
    told = f"by app: {listed(over(table, HPB, 'hpbvalve'))}"
    return [
        Measured(LAUNCH, mean_gain(table, HPB, "hpbvalve", at), told=told),
        Measured(
            LAUNCH,
            float(above.max()),
            "HPBvalve over Optimal, the app with the largest difference",
            f"by app: {listed(above)}",
        ),
    ]


def _gain_without_prefetch(claim: str, of: str) -> Measure:
    """The foil of the claims on launches: the same over an HPBvalve that fetches nothing beforehand."""

    def measure(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
        return [Measured(claim, mean_gain(launches(frame, at), of, NO_PREFETCH, at))]

    return measure


def _vs_ufs(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    table = launches(frame, at)
    told = f"by app: {listed(over(table, 'ufs', 'hpbvalve'))}"
    return [Measured(VERSUS, mean_gain(table, "ufs", "hpbvalve", at), told=told)]


def _loading(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    claim, table = "hpbvalve.f13.loading", launches(frame, at)
    loading = by_app(uses(frame), "loading_ms", GAMES)
    foam, valve = over(loading, HPB), over(loading, "hpbvalve")
    return [
        Measured(claim, removed(table), told="" if removed(table) is not None else NO_PENALTY),
        Measured(claim, removed(loading), "loading of the three games"),
        *(Measured(claim, float(foam[app]), f"UFS+HPB over Optimal, loading of {app}") for app in ("AP", "CR")),
        *(Measured(claim, float(valve[app]), "HPBvalve over Optimal, loading of each game", case=app) for app in GAMES),
    ]


def _removed_without_prefetch(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    return [Measured("hpbvalve.f13.loading", removed(launches(frame, at), NO_PREFETCH))]


def _switching(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    """What 6.2.1 says of switches to an app that is in the background, for apps that every system keeps there."""
    del at
    return switching(_switches(frame))


def _dropped(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    """The foil: entries of an app are gone when it comes back."""
    del at
    return switching(_switches(frame), DROPS_LEFT)


def _switches(frame: pd.DataFrame) -> pd.DataFrame:
    table = uses(frame)
    return by_app(table[table["start"] == "warm"], "launch_ms")


def switching(switches: pd.DataFrame, ours: str = "hpbvalve") -> list[Measured]:
    """The same from mean times of switches, a row for each app."""
    claim, warm = "hpbvalve.f13.switching", switches.dropna()
    if warm.empty:
        return []
    valve, foam = over(warm, ours), over(warm, HPB)
    left = "" if len(warm) == len(APPS) else f"; only {', '.join(warm.index)} are there in every system"
    return [
        Measured(claim, float(valve.max()), "HPBvalve over Optimal, most", f"by app: {listed(valve)}{left}"),
        Measured(claim, bool((foam > valve).all()), "UFS+HPB further over Optimal than HPBvalve, every app"),
        Measured(claim, float(foam.max()), "UFS+HPB over Optimal, most", f"by app: {listed(foam)}"),
    ]


LAUNCH, VERSUS = "hpbvalve.f13.launch", "hpbvalve.f13.vs-ufs"
OF_F13 = (
    OverMap(LAUNCH, FOUR, COLD, _launch, _gain_without_prefetch(LAUNCH, HPB), NO_PREFETCH),
    OverMap(VERSUS, FOUR, COLD, _vs_ufs, _gain_without_prefetch(VERSUS, "ufs"), NO_PREFETCH),
    OverMap("hpbvalve.f13.loading", FOUR[1:], COLD, _loading, _removed_without_prefetch, NO_PREFETCH),
    OverMap("hpbvalve.f13.switching", FOUR[1:], USUAL, _switching, _dropped, DROPS_LEFT),
)


def _f13_measure(frame: pd.DataFrame) -> list[Measured]:
    return [part for own in OF_F13 for part in own.measured(frame)]


F13 = figure("hpbvalve/f13", runs=_f13_runs, draw=_f13_draw, measure=_f13_measure, further=_f13_further)


# ---------------------------------------------------------------- Fig. 14


def _f14_runs(setting: Setting) -> list[Point]:
    schemes = (hpb_of(USUAL), "hpbvalve")
    known = [] if setting.quick else points(setting, schemes, repeats=range(AT_A_POINT), setup=ALL_KNOWN)
    return [*points(setting, schemes), *FEWER.runs(setting), *known]


# The claim's foil: every read is known from the use before.
ALL_KNOWN = replace(USUAL, fresh_share=0.0)


def _f14_draw(frame: pd.DataFrame) -> Drawing:
    by_scheme = tenths_by_scheme(on(frame, USUAL))
    figure, axes = draw.canvas(columns=4, width=3.4, height=3.0)
    for each, app in zip(axes, ("AP", "CR", "UB", "IG"), strict=True):
        for shift, (scheme, table) in zip((-0.2, 0.2), by_scheme.items(), strict=True):
            name = PAPER_NAMES[scheme]
            each.bar([i + 1 + shift for i in range(10)], table.loc[app], width=0.38, color=COLOURS[name], label=name)
        each.set_title(app, fontsize=9)
        each.set_xticks([1, 5, 10])
    axes[0].set_ylabel("L2P misses")
    axes[1].set_xlabel("tenth of the use")
    draw.legend(axes[0])
    return figure


def _fewer_misses(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    del at
    by_scheme = tenths_by_scheme(frame)
    before, after = by_scheme[HPB], by_scheme["hpbvalve"]
    fewer = (1 - after.sum(axis=1) / before.sum(axis=1)) * 100
    first = ((1 - after[0] / before[0]) * 100)[["AP", "CR", "UB", "IG"]]
    claim = "hpbvalve.f14.first-tenth"
    return [
        Measured(claim, float(fewer.max()), told=f"by app: {listed(fewer)}"),
        Measured(claim, float(first.max()), "first tenth, best of AP, CR, UB, IG", f"by app: {listed(first)}"),
        Measured(claim, float(first.min()), "first tenth, least of AP, CR, UB, IG"),
    ]


FEWER = OverMap("hpbvalve.f14.first-tenth", (HPB, "hpbvalve"), USUAL, _fewer_misses)


def _f14_measure(frame: pd.DataFrame) -> list[Measured]:
    known = on(frame, ALL_KNOWN)
    foil = pooled(lambda rows: _fewer_misses(rows, {}))(known) if len(known) else []
    return [*FEWER.measured(frame), *(replace(one, role="foil") for one in foil)]


F14 = figure("hpbvalve/f14", runs=_f14_runs, draw=_f14_draw, measure=_f14_measure)


# ---------------------------------------------------------------- Fig. 15


def _f15_runs(setting: Setting) -> list[Point]:
    return points(setting, (hpb_of(USUAL), "hpbvalve")) + HITS.runs(setting)


def hit_ratio(frame: pd.DataFrame) -> pd.DataFrame:
    """Reads in the foreground that the host's cache serves, in per cent, by app and launch; a column a scheme."""
    sums = uses(frame, first=True).groupby(["app", "launch", "scheme"])[["reads", "host"]].sum()
    return (sums["host"] / sums["reads"] * 100).unstack()


def _f15_draw(frame: pd.DataFrame) -> Drawing:
    ratio = hit_ratio(on(frame, USUAL))
    figure, axes = draw.canvas(columns=3, rows=3, width=3.4, height=2.2)
    for each, app in zip(axes, APPS, strict=True):
        for scheme, name in ((HPB, "HPB only"), ("hpbvalve", "HPBvalve only")):
            own = ratio.loc[app][scheme]
            each.plot(own.index, own, marker="o", ms=3, color=COLOURS[PAPER_NAMES[scheme]], label=name)
        each.xaxis.set_major_locator(MaxNLocator(integer=True))
        each.set_ylim(0, 100)
        each.set_title(app, fontsize=9)
    axes[3].set_ylabel("hits of the host's cache (%)")
    axes[7].set_xlabel("launch")
    draw.legend(axes[0])
    return figure


def _hits(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    del at
    return _apart(hit_ratio(frame), "hpbvalve")


def _hits_without_prefetch(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    del at
    return _apart(hit_ratio(frame), NO_PREFETCH)


def _apart(ratio: pd.DataFrame, ours: str) -> list[Measured]:
    """How far the hits of a scheme are above HPB's, and whether they rise."""
    claim = "hpbvalve.f15.hit-ratio"
    apart = (ratio[ours] - ratio[HPB]).groupby("app").max()
    first, last = ratio[ours].xs(1, level="launch"), ratio[ours].groupby("app").last()
    rises = [app for app in APPS if last[app] > first[app]]
    means = {scheme: ratio[scheme].groupby("app").mean() for scheme in (HPB, ours)}
    return [
        Measured(claim, float(apart.max()), told=f"by app: {listed(apart)}"),
        Measured(
            claim,
            len(rises) == len(APPS),
            "HPBvalve's rises from the first to the last launch of every app",
            f"for {len(rises)} of {len(APPS)}",
        ),
        Measured(claim, bool((means[HPB] < means[ours]).all()), "HPBvalve's higher for every app"),
    ]


HITS = OverMap(
    "hpbvalve.f15.hit-ratio", (HPB, "hpbvalve"), USUAL, _hits, _hits_without_prefetch, foil_scheme=NO_PREFETCH
)
F15 = figure("hpbvalve/f15", runs=_f15_runs, draw=_f15_draw, measure=HITS.measured)


# ---------------------------------------------------------------- Fig. 17


def _f17_draw(frame: pd.DataFrame) -> Drawing:
    # One of the repeated sequences, whole.
    frame = frame[frame["seed"] == frame["seed"].min()]
    samples, kills = expanded(frame, "timeline"), chosen(frame)
    figure, axes = draw.canvas(rows=2, width=9.0, height=2.6)
    for each, scheme in zip(axes, ("foam", "hpbvalve"), strict=True):
        own = samples[samples["scheme"] == scheme]
        name = PAPER_NAMES[scheme]
        each.plot(own["at_s"], own["hpb_mib"], color=COLOURS[name], label="memory of HPB")
        each.set_ylabel(f"{name} (MiB)")
        each.set_ylim(bottom=0)
        pressed = own[own["pressure"] >= 0.07]
        top = max(1.0, own["hpb_mib"].max())
        each.vlines(pressed["at_s"], 0, top * 0.06, color="#b2182b", lw=0.6, label="pressure")
        spared = kills[(kills["scheme"] == scheme) & kills["spared"].astype(bool)]
        each.scatter(spared["at_s"], [top] * len(spared), marker="v", s=14, color="#009e73", label="spared")
    axes[0].legend(*axes[1].get_legend_handles_labels(), fontsize=7, frameon=False, loc="center right")
    axes[1].set_xlabel("s")
    return figure


F17 = figure("hpbvalve/f17", runs=lambda setting: points(setting, ("foam", "hpbvalve")), draw=_f17_draw)


# ---------------------------------------------------------------- Sec. 5.2, 6.3


def _s63_draw(frame: pd.DataFrame) -> Drawing:
    figure, axes = draw.canvas(width=5.0, height=3.0)
    total = kept(frame)["profile_bytes"].mean() / 1024
    axes[0].bar(["nine apps", "an app on average"], [total, total / len(APPS)], color="#0072b2", width=0.5)
    draw.paper_points(axes[0], [0, 1], [99, 7])
    axes[0].set_ylabel("profile lists (KiB)")
    draw.legend(axes[0])
    return figure


def _s63_measure(frame: pd.DataFrame) -> list[Measured]:
    total = float(kept(frame)["profile_bytes"].mean())
    mean, most = total / len(APPS), float(frame["profile_bytes"].max())
    told = f"{total / 1000:.0f} KB for nine apps, {mean / 1000:.1f} KB for one, {mean * 20 / 1000:.0f} KB for twenty"
    return [Measured("hpbvalve.s63.profile-size", bool(mean * 20 < MIB and most < MIB), told=told)]


S63 = figure(
    "hpbvalve/s63", runs=lambda setting: points(setting, ("hpbvalve",)), draw=_s63_draw, measure=pooled(_s63_measure)
)

# ---------------------------------------------------------------- Sec. 6.3, energy

# Fig. 13 has 65 ms more a use, which are 0.56% of so many seconds. Apps that were not killed are switched to: part of
# what a system costs are the apps that it has killed.
SHORT = replace(USUAL, use_s=11.6)
LONG = replace(SHORT, use_s=60)


def _energy_runs(setting: Setting) -> list[Point]:
    """What is drawn, the claim's map, and its foil, uses of a minute."""
    few = range(1 if setting.quick else AT_A_POINT)
    long = points(setting, (hpb_of(LONG), "hpbvalve", "ideal"), repeats=few, setup=LONG)
    return [*comparison(setting, SHORT), *ENERGY.runs(setting), *long]


def joules(frame: pd.DataFrame) -> pd.Series:
    """Mean energy of a sequence, by scheme in the order of the frame.

    A use is as long as it is under Optimal, the wait for the launch included; longer waits come on top.
    """
    runs = kept(frame).groupby("scheme", sort=False)
    return runs["energy_j"].mean() - float(runs["user_j"].mean()["ideal"])


def _energy_draw(frame: pd.DataFrame) -> Drawing:
    energy = joules(on(frame, SHORT))
    figure, axes = draw.canvas(width=5.0, height=3.0)
    more = ((energy / energy["ideal"] - 1) * 100).drop("ideal")
    names = [PAPER_NAMES[str(scheme)] for scheme in more.index]
    axes[0].bar(names, more, color=[COLOURS[name] for name in names], width=0.5)
    draw.paper_points(axes[0], [names.index("UFS+HPB"), names.index("HPBvalve")], [4.02, 0.56])
    axes[0].set_ylabel("energy over Optimal (%)")
    draw.legend(axes[0])
    return figure


def _energy(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    del at
    energy = joules(frame)
    above = {name: (energy[name] / energy["ideal"] - 1) * 100 for name in ("hpbvalve", HPB)}
    told = f"over Optimal HPBvalve {above['hpbvalve']:+.2f}%, UFS+HPB {above[HPB]:+.2f}%"
    return [Measured("hpbvalve.s63.energy", less(energy, by="hpbvalve", of=HPB), told=told)]


ENERGY = OverMap("hpbvalve.s63.energy", FOUR[1:], SHORT, _energy)


def _energy_measure(frame: pd.DataFrame) -> list[Measured]:
    long = pooled(lambda rows: _energy(rows, {}))(on(frame, LONG))
    return [*ENERGY.measured(frame), *(replace(one, role="foil") for one in long)]


S63_ENERGY = figure(
    "hpbvalve/s63-energy", runs=_energy_runs, draw=_energy_draw, measure=_energy_measure, further=ENERGY.further
)

FIGURES = (F13, F14, F15, F17, S63, S63_ENERGY)
