"""HPBvalve (FAST 2023), Sec. 6.2.2: whom the low-memory killer ends, and what the foreground reads more (Fig. 16).

Kills of apps that the user has opened are few in a sequence. So where the paper's phone may lie, as many sequences are
drawn as its claims ask for.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim_papers import draw, maps
from ufsim_papers.claims import Measured, Option
from ufsim_papers.figure import Point, Setting, figure
from ufsim_papers.growing import doubled, settled
from ufsim_papers.hpbvalve.over_maps import Measure, OverMap
from ufsim_papers.hpbvalve.runs import (
    APPS,
    AT_A_POINT,
    GIVES_NOTHING,
    HPB,
    USUAL,
    bars,
    hpb_of,
    kept,
    killed,
    less,
    listed,
    more_of,
    on,
    points,
    pooled,
    times,
)
from ufsim_papers.hpbvalve.setups import Setup, setups
from ufsim_papers.scorecard import as_placed

SCHEMES = ("ufs", HPB, "hpbvalve")
# Most sequences that are drawn for a phone, as a bound of the time it takes.
MOST_SEQUENCES = 60
CLAIMS = ("hpbvalve.f16.kills", "hpbvalve.f16.reads", "hpbvalve.f16.kills-vs-ufs")
# Whose kills count as those of the top three categories: by `oom_score_adj` (`killer.rs`), or by who opened the app.
CATEGORIES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "not cached (adj below 900)": lambda kill: int(kill["adj"]) < 900,
    "adj up to 700": lambda kill: int(kill["adj"]) <= 700,
    "every app that the user opened": lambda kill: int(kill["category"]) < 3,
}


def kills_by_scheme(frame: pd.DataFrame) -> pd.DataFrame:
    """Processes killed by category, a column for each scheme."""
    counts = killed(frame).groupby(["category", "scheme"]).size().unstack(fill_value=0)
    order = list(dict.fromkeys(frame["scheme"]))
    return counts.reindex(index=range(7), columns=order, fill_value=0)


def reads_over_ufs(frame: pd.DataFrame) -> pd.DataFrame:
    """Reads of apps in the foreground, in per cent over those under UFS, by app."""
    sums = reads(frame)
    return (sums.div(sums["ufs"], axis=0) - 1) * 100


def reads(frame: pd.DataFrame) -> pd.DataFrame:
    """Reads of apps in the foreground: a row for each app, a column for each scheme."""
    runs = kept(frame)
    by_run = pd.DataFrame([reads_by_app(text) for text in runs["uses"]], columns=list(APPS)).fillna(0)
    return by_run.groupby(runs["scheme"].to_numpy()).sum().T


# A run is looked at once for each sequence that is left out (`hpbvalve.pooled`), so what it says is kept.
@lru_cache(maxsize=1024)
def reads_by_app(text: str) -> dict[str, int]:
    """Reads of each app in the foreground, from a run's uses."""
    sums = dict.fromkeys(APPS, 0)
    for use in json.loads(text):
        sums[use["app"]] += int(use["reads"])
    return sums


@lru_cache(maxsize=4096)
def top_of(text: str, categories: str) -> int:
    """Kills in the top three priorities, from a run's choices of the killer."""
    return sum(1 for kill in json.loads(text) if not kill["spared"] and CATEGORIES[categories](kill))


def _phones() -> list[Setup]:
    """The phones of all points of the claims' maps."""
    found = [setup for name in CLAIMS for own in [as_placed(name)] for setup in setups(own, maps.needed(own), USUAL)]
    return list(dict.fromkeys([USUAL, *found]))


def _left() -> list[Setup]:
    """Those of the points that are left when all placed conditions are at their place."""
    return [setup for setup in _phones() if setup.reserved and setup.relief]


def _f16_runs(setting: Setting) -> list[Point]:
    usual = _on(setting, USUAL) + points(setting, (GIVES_NOTHING,))
    others = [] if setting.quick else _phones()[1:]
    return usual + [point for setup in others for point in _on(setting, setup, range(AT_A_POINT))]


def _on(setting: Setting, setup: Setup, repeats: range | None = None) -> list[Point]:
    names = [hpb_of(setup) if name == HPB else name for name in SCHEMES]
    return points(setting, names, repeats=repeats, setup=setup)


def _f16_further(setting: Setting, frame: pd.DataFrame) -> list[Point]:
    """More sequences where the paper's phone may lie, until the intervals are what the claims ask for (`growing`)."""
    if setting.quick:
        return []
    undecided = [setup for setup in _left() if _more(frame, setup) and not _settled(on(frame, setup))]
    found = [point for setup in undecided for point in _on(setting, setup, _more(frame, setup))]
    foil = points(setting, (GIVES_NOTHING,), repeats=_more(frame, USUAL)) if USUAL in undecided else []
    return found + foil


def _more(frame: pd.DataFrame, setup: Setup) -> range:
    return doubled(on(frame, setup)["seed"].nunique(), MOST_SEQUENCES)


def _settled(rows: pd.DataFrame) -> bool:
    """Is every part that has a value inside or outside of its band? Kills that never happen are not waited for."""
    parts = pooled(lambda own: _of(own, {}))(rows)
    return settled([part for part in parts if part.value is not None], by_band=CLAIMS)


def _f16_draw(frame: pd.DataFrame) -> Drawing:
    frame = on(frame, USUAL)
    frame = frame[frame["scheme"] != GIVES_NOTHING]
    figure, (left, right) = draw.canvas(columns=2, width=5.6)
    counts = kills_by_scheme(frame)
    counts.index = [str(category + 1) for category in counts.index]
    bars(left, counts, "kills")
    left.set_yscale("symlog", linthresh=1)
    left.set_xlabel("priority, 1 = what the user would miss most")
    bars(right, reads_over_ufs(frame)[[HPB, "hpbvalve"]], "foreground reads over UFS (%)")
    draw.legend(left)
    return figure


def top_kills(frame: pd.DataFrame, categories: str) -> pd.Series:
    """Kills in the top three priorities, by scheme."""
    runs = kept(frame)
    return runs["kills"].map(lambda text: top_of(text, categories)).groupby(runs["scheme"]).sum()


def _of(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    """What the claims say of a phone. HPB that took no memory from apps would kill as UFS does."""
    total = top_kills(frame, str(at.get("hpbvalve.categories", next(iter(CATEGORIES)))))
    all_reads, more = reads(frame).sum(), reads_over_ufs(frame)
    sequences = kept(frame)["seed"].nunique()
    told = f"{sequences} sequences: UFS {total['ufs']}, UFS+HPB {total[HPB]}, HPBvalve {total['hpbvalve']}"
    kills, versus, read = CLAIMS[0], CLAIMS[2], CLAIMS[1]
    parts = [
        Measured(kills, less(total, by="hpbvalve", of=HPB), told=told),
        Measured(versus, times(total, by=HPB, of="ufs"), told=told),
        Measured(versus, _fewest(frame, "ufs"), "UFS has the fewest kills in every category"),
        Measured(read, more_of(all_reads, by="hpbvalve", of="ufs"), told=f"by app: {listed(more['hpbvalve'])}"),
        Measured(read, more_of(all_reads, by=HPB, of="ufs"), "UFS+HPB over UFS", f"by app: {listed(more[HPB])}"),
        Measured(versus, times(total, by="ufs", of="ufs"), role="foil"),
        Measured(read, 0.0, role="foil"),
        Measured(read, 0.0, "UFS+HPB over UFS", role="foil"),
    ]
    if GIVES_NOTHING in total:
        parts.append(Measured(kills, less(total, by=GIVES_NOTHING, of=HPB), role="foil"))
    return parts


def _fewest(frame: pd.DataFrame, scheme: str) -> bool:
    counts = kills_by_scheme(frame[frame["scheme"] != GIVES_NOTHING])
    return bool((counts[scheme] <= counts.min(axis=1)).all())


def _f16_measure(frame: pd.DataFrame) -> list[Measured]:
    """A claim takes its parts of all at each point, and its foil at the default."""
    return [part for own in map(_over_map, CLAIMS) for part in own.measured(frame)]


def _over_map(name: str) -> OverMap:
    def parts(role: str) -> Measure:
        def measure(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
            return [part for part in _of(frame, at) if part.claim == name and part.role == role]

        return measure

    return OverMap(name, SCHEMES, USUAL, parts("point"), parts("foil"), GIVES_NOTHING)


F16 = figure("hpbvalve/f16", runs=_f16_runs, draw=_f16_draw, measure=_f16_measure, further=_f16_further)

FIGURES = (F16,)
