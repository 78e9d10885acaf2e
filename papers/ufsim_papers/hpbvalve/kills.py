"""HPBvalve (FAST 2023), Sec. 6.2.2: whom the low-memory killer ends, and what the foreground reads more (Fig. 16).

Kills of apps that the user has opened are few in a sequence, so as many sequences are drawn as its claims ask for.
"""

import json
from functools import lru_cache

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim_papers import draw
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Point, Setting, figure
from ufsim_papers.growing import doubled, settled
from ufsim_papers.hpbvalve.runs import (
    APPS,
    PAPER_NAMES,
    RESERVED,
    bars,
    kept,
    killed,
    less,
    listed,
    more_of,
    points,
    pooled,
    times,
    with_sign,
)

SCHEMES = ("ufs", "foam", RESERVED, "hpbvalve")
# Most sequences that are drawn for Fig. 16, as a bound of the time it takes.
MOST_SEQUENCES = 60


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


@lru_cache(maxsize=1024)
def top_of(text: str) -> int:
    """Kills in the top three priorities, from a run's choices of the killer."""
    return sum(1 for kill in json.loads(text) if not kill["spared"] and kill["category"] < 3)


def _f16_runs(setting: Setting) -> list[Point]:
    return points(setting, SCHEMES)


def _f16_further(setting: Setting, frame: pd.DataFrame) -> list[Point]:
    """More sequences, until the intervals are what the claims ask for (`growing`)."""
    if setting.quick or settled(_f16_pooled(frame), by_band=("hpbvalve.f16.kills", "hpbvalve.f16.reads")):
        return []
    return points(setting, SCHEMES, repeats=doubled(frame["seed"].nunique(), MOST_SEQUENCES))


def _f16_draw(frame: pd.DataFrame) -> Drawing:
    figure, (left, right) = draw.canvas(columns=2, width=5.6)
    counts = kills_by_scheme(frame)
    counts.index = [str(category + 1) for category in counts.index]
    bars(left, counts, "kills")
    left.set_yscale("symlog", linthresh=1)
    left.set_xlabel("priority, 1 = what the user would miss most")
    bars(right, reads_over_ufs(frame)[["foam", RESERVED, "hpbvalve"]], "foreground reads over UFS (%)")
    draw.legend(left)
    return figure


def top_kills(frame: pd.DataFrame) -> pd.Series:
    """Kills in the top three priorities, by scheme."""
    runs = kept(frame)
    return runs["kills"].map(top_of).groupby(runs["scheme"]).sum()


def _f16_measure(frame: pd.DataFrame) -> list[Measured]:
    total, more = top_kills(frame), reads_over_ufs(frame)
    sequences = kept(frame)["seed"].nunique()
    told = f"top three priorities in {sequences} sequences: UFS {total['ufs']}, HPBvalve {total['hpbvalve']}"
    measured = []
    for reading, scheme in enumerate(("foam", RESERVED)):
        name = PAPER_NAMES[scheme]
        ratio = times(total, by=scheme, of="ufs")
        told_here = f"{told}, {name} {total[scheme]}"
        over_ufs = "no ratio to UFS" if ratio is None else f"{ratio:.2f} times UFS (paper: 5)"
        measured += [
            Measured(
                "hpbvalve.f16.kills",
                less(total, by="hpbvalve", of=scheme),
                name,
                f"{told_here}; {over_ufs}",
                reason=_why_kills(total),
            ),
            Measured("hpbvalve.f16.kills-vs-ufs", ratio, told=told_here, reason=_why_kills(total), reading=reading),
        ]
    all_reads = reads(frame).sum()
    valve, foam, reserved = (more_of(all_reads, by=name, of="ufs") for name in ("hpbvalve", "foam", RESERVED))
    return [
        *measured,
        Measured(
            "hpbvalve.f16.reads",
            valve,
            "HPBvalve over UFS, all apps",
            reason=f"by app: {listed(more['hpbvalve'])}",
        ),
        Measured(
            "hpbvalve.f16.reads",
            None if foam is None or valve is None else foam > valve,
            "UFS+HPB more",
            f"{with_sign(foam)}; with its memory reserved {with_sign(reserved)}",
            reason=f"by app: {listed(more['foam'])}",
        ),
    ]


def _why_kills(total: pd.Series) -> str:
    """Why HPB's memory decides about few kills."""
    due = less(total, by="ufs", of=RESERVED)
    if due is None:
        return "nobody of high priority is killed"
    return (
        f"what apps take decides who is killed: without any memory for HPB {total['ufs']} are killed, with 256 MiB of "
        f"12 GB reserved {total[RESERVED]}, so these are due to HPB for {due:.0f}% and nobody can spare more. With its "
        "timer UFS+HPB holds a few MiB. The paper's factor of five would need 256 MiB to decide about four of five "
        "kills, on a phone that is nearly always short of just that much"
    )


_f16_pooled = pooled(_f16_measure)


F16 = figure("hpbvalve/f16", runs=_f16_runs, draw=_f16_draw, measure=_f16_pooled, further=_f16_further)

FIGURES = (F16,)
