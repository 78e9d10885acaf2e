"""What HPBvalve's claims give over their maps, and which phones are still needed for that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from ufsim_papers import maps
from ufsim_papers.claims import Claim, Measured, Option, Place
from ufsim_papers.figure import Point, Setting
from ufsim_papers.hpbvalve.runs import AT_A_POINT, HPB, MEMORY_MIB, hpb_of, on, points, pooled
from ufsim_papers.hpbvalve.setups import Setup, setup_of
from ufsim_papers.scorecard import as_placed

# What a claim gives on a phone, from its runs and the options of the point.
Measure = Callable[[pd.DataFrame, Mapping[str, Option]], list[Measured]]


@dataclass(frozen=True)
class OverMap:
    """A claim over its map: with which schemes and sizes of HPB, on which phones, what it gives there, and its foil.

    The foil is measured at the default, from the sequences that all schemes have there.
    """

    claim: str
    schemes: Sequence[str]
    base: Setup
    measure: Measure
    foil: Measure | None = None
    foil_scheme: str = ""
    sizes: Sequence[int] = (MEMORY_MIB,)

    def runs(self, setting: Setting) -> list[Point]:
        """The runs that are known to be needed, with a few sequences each."""
        if setting.quick:
            return []
        claim = as_placed(self.claim)
        found = self._at(setting, claim, maps.needed(claim))
        foil = [self.foil_scheme] if self.foil_scheme else []
        return found + points(setting, foil, self.sizes, range(AT_A_POINT), self.base)

    def further(self, setting: Setting, frame: pd.DataFrame) -> list[Point]:
        """The runs of the joint ends, which are known when the rest is measured."""
        if setting.quick:
            return []
        claim = as_placed(self.claim)
        ends = [place for place in self._places(claim, frame) if not len(self._on(frame, claim, place))]
        return self._at(setting, claim, ends)

    def measured(self, frame: pd.DataFrame) -> list[Measured]:
        """What the claim gives at every point that was run, each value with its interval, and its foil."""
        claim = as_placed(self.claim)
        found = [part for place in self._places(claim, frame) for part in self._of(claim, frame, place)]
        if self.foil is None:
            return found
        rows = on(frame, self.base)
        if self.foil_scheme:
            names = [*self.schemes, self.foil_scheme]
            rows = common(rows, names) if self._whole(rows, names) else rows[:0]
        foil = self.foil
        default = claim.at(tuple(axis.options[0] for axis in claim.axes))
        return found + [
            replace(one, role="foil") for one in (pooled(lambda own: foil(own, default))(rows) if len(rows) else [])
        ]

    def _at(self, setting: Setting, claim: Claim, places: Sequence[Place]) -> list[Point]:
        phones = dict.fromkeys(setup_of(claim.at(place), self.base) for place in places)
        return [
            point
            for phone in phones
            for point in points(
                setting,
                [hpb_of(phone) if scheme == HPB else scheme for scheme in self.schemes],
                self.sizes,
                range(AT_A_POINT),
                phone,
            )
        ]

    def _on(self, frame: pd.DataFrame, claim: Claim, place: Place) -> pd.DataFrame:
        """The runs at a point; none unless all schemes were run there."""
        rows = on(frame, setup_of(claim.at(place), self.base))
        return rows[rows["scheme"].isin(list(self.schemes))] if self._whole(rows, self.schemes) else rows[:0]

    def _whole(self, rows: pd.DataFrame, schemes: Sequence[str]) -> bool:
        """Were all schemes run, those of HPB with all sizes?"""
        return set(schemes) <= set(rows["scheme"]) and all(
            set(self.sizes) <= set(own["memory_mib"])
            for scheme, own in rows[rows["scheme"].isin(list(schemes))].groupby("scheme")
            if scheme not in ("ufs", "ideal")
        )

    def _of(self, claim: Claim, frame: pd.DataFrame, place: Place) -> list[Measured]:
        at, rows = claim.at(place), self._on(frame, claim, place)
        other = {axis.name: at[axis.name] for axis in claim.axes if at[axis.name] != axis.options[0]}
        parts = pooled(lambda own: self.measure(own, at))(rows) if len(rows) else []
        return [replace(one, at=other) for one in parts]

    def _places(self, claim: Claim, frame: pd.DataFrame) -> list[Place]:
        """The points of the map, the joint ends among them as soon as they are known."""
        if claim.unit == "order":
            return maps.needed(claim)
        values = {}
        for place in maps.needed(claim):
            for part in self._of(claim, frame, place):
                if not part.part and part.value is not None:
                    values[place] = float(part.value)
        return maps.needed(claim, values)


def common(frame: pd.DataFrame, schemes: Sequence[str]) -> pd.DataFrame:
    """The runs of the sequences that all of some schemes have, and no others."""
    own = frame[frame["scheme"].isin(list(schemes))]
    seeds = [set(own[own["scheme"] == scheme]["seed"]) for scheme in schemes]
    return own[own["seed"].isin(set.intersection(*seeds))]
