"""Points of the maps that claims of Figs. 7, 9 and 10 share: what their conditions change in a run.

The host is left on after ageing, or the phone was switched off and its host caches nothing; it caches 20 MB of
segments, or all; metadata programs take as long as described, or as in the published emulator.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from statistics import median

import pandas as pd

from ufsim import Spec
from ufsim_papers.claims import LEAST_SEEDS, Measured, Option, Place, claim_of
from ufsim_papers.figure import Label
from ufsim_papers.hp_ufs.writes import CACHE, PROGRAMS, PUBLISHED
from ufsim_papers.maps import needed

At = Mapping[str, Option]

START, LIMIT, CONTINUATION = "hp-ufs.host-start", "hp-ufs.host-limit", "hp-ufs.continuation"
WARM, COLD = "warm", "cold"
AS_DESCRIBED, AS_PUBLISHED = "as described", "as published"
LIMITED, ALL = "20 MB, least recently used", "nothing evicted"
# Where the paper's set-up is placed in these three.
PLACED: At = {START: WARM, LIMIT: LIMITED, CONTINUATION: AS_PUBLISHED}
# Where drawings are made: the states of aged devices are kept as files, and all schemes share them.
DRAWN: At = {START: COLD, LIMIT: LIMITED, CONTINUATION: AS_DESCRIBED}


def run_at(spec: Spec, at: At) -> Spec:
    """A run at a point, of an aged device if the spec has one."""
    programs = {PROGRAMS: PUBLISHED} if at[CONTINUATION] == AS_PUBLISHED else {}
    return replace(
        spec,
        stay_on=at[START] == WARM and spec.age is not None,
        host_memory_mib="unlimited" if at[LIMIT] == ALL else CACHE,
        settings={**spec.settings, **programs},
    )


def of_claims(names: Iterable[str], axes: Iterable[str]) -> list[dict[str, Option]]:
    """The points that these claims need, as far as they lie on these axes."""
    own = tuple(axes)
    found = [
        {axis: option for axis, option in claim.at(place).items() if axis in own}
        for claim in map(claim_of, names)
        for place in needed(claim)
    ]
    return list({tuple(at.items()): at for at in found}.values())


def joint_ends(name: str, measure: Callable[[pd.DataFrame], Iterable[Measured]], frame: pd.DataFrame) -> list[At]:
    """The points that a claim needs beyond those that are measured, by the medians of these over all seeds.

    What is drawn with one seed alone is not measured yet.
    """
    claim, values = claim_of(name), defaultdict[Place, list[float]](list)
    for _, own in frame.groupby("of_seed"):
        for part in measure(own):
            if (part.claim, part.part, part.role) == (name, "", "point") and part.value is not None:
                values[claim.place(part.at)].append(float(part.value))
    enough = min(frame["of_seed"].nunique(), LEAST_SEEDS)
    medians = {place: median(own) for place, own in values.items() if len(own) >= enough}
    return [claim.at(place) for place in needed(claim, medians) if place not in medians]


def labels(at: At) -> dict[str, Label]:
    """Columns by which runs of a point are found again."""
    return {name.rpartition(".")[2]: option for name, option in at.items()}


def rows_at(frame: pd.DataFrame, at: At) -> pd.DataFrame:
    """The runs of a point."""
    for name, option in labels(at).items():
        frame = frame[frame[name] == option]
    return frame
