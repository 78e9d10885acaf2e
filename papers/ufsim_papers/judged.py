"""What became of a claim: the points of its map, its foil, and its class, which is given here alone.

`papers/claims.toml` says what each class means and in which order they are tried. A point is *in* if every part is in
its band with the whole interval, *out* if a part is outside with the whole of it, and between otherwise.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from ufsim_papers import maps
from ufsim_papers.claims import (
    LEAST_SEEDS,
    Band,
    Claim,
    Condition,
    PartOf,
    Place,
    Sample,
    claim_of,
    load_claims,
    told_value,
    value_text,
)
from ufsim_papers.intervals import Interval, Value, defined, exact, middle, of_median

Class = Literal["reproduced", "reproduced-if", "contradicted", "not-determinable", "open", "conformance"]
EXPLAINED: tuple[Class, ...] = ("reproduced", "reproduced-if", "contradicted", "not-determinable")
CLASSES: tuple[Class, ...] = (*EXPLAINED, "open", "conformance")
State = Literal["in", "out", "between", "not measured"]


@dataclass
class Part:
    """A part of a claim at a point, or a case of it, with the values of all seeds."""

    of: PartOf
    case: str = ""
    samples: list[Sample] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The part and the case."""
        return ": ".join(word for word in (self.of.name, self.case) if word)

    @property
    def band(self) -> Band | None:
        """The interval inside which a value counts."""
        return self.of.band

    @property
    def told(self) -> str:
        """What else was measured, with the first seed."""
        return self.samples[0].measured.told

    @property
    def reason(self) -> str:
        """Why it is not inside, as far as that is known."""
        return self.samples[0].measured.reason

    @property
    def values(self) -> dict[int, Value]:
        """Values by seed; none by itself of samples that were pooled."""
        first = self.samples[0].measured
        if first.interval is not None or first.seeds > 1:
            return {}
        return {sample.seed: _cleaned(sample.measured.value) for sample in self.samples}

    @property
    def seeds(self) -> int:
        """How many seeds the value comes from."""
        return sum(sample.measured.seeds for sample in self.samples)

    @property
    def chance(self) -> bool:
        """Does it differ from seed to seed?"""
        return any(sample.chance for sample in self.samples)

    @property
    def value(self) -> Value:
        """The median."""
        return middle([sample.measured.value for sample in self.samples])

    @property
    def interval(self) -> Interval | None:
        """The interval of the median."""
        value = self.value
        if value is None:
            return None
        if not self.chance:
            return exact(value)
        return self.samples[0].measured.interval or of_median([sample.measured.value for sample in self.samples])

    @property
    def enough(self) -> bool:
        """Has it the seeds that a class needs?"""
        return not self.chance or self.seeds >= LEAST_SEEDS

    @property
    def in_band(self) -> bool:
        """Is the median inside the band?"""
        value = self.value
        return value is not None and defined(value) and _inside(value, value, self.band)

    @property
    def state(self) -> State:
        """Where the whole interval lies. What has nothing to compare is neither in nor out."""
        interval = self.interval
        if not self.enough:
            return "not measured"
        if interval is None or not defined(self.value):
            return "between"
        band = None if isinstance(self.value, bool) else self.band
        if _inside(interval.low, interval.high, band):
            return "in"
        outside = interval.high == 0 if band is None else interval.high < band[0] or band[1] < interval.low
        return "out" if outside else "between"

    @property
    def text(self) -> str:
        """The median with its unit and interval."""
        interval = self.interval if self.chance else None
        return told_value(self.value, None if interval is None else (interval.low, interval.high), self.of.unit)

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        interval = self.interval
        return {
            "part": self.of.name,
            "case": self.case,
            "foil": self.samples[0].measured.foil,
            "value": self.value,
            "interval": None if interval is None else [interval.low, interval.high],
            "coverage_percent": None if interval is None else interval.coverage_percent,
            "state": self.state,
            "seeds": self.seeds,
            "chance": self.chance,
            "values": {str(seed): value for seed, value in self.values.items()},
            **{name: text for name, text in (("told", self.told), ("reason", self.reason)) if text},
        }


@dataclass
class Point:
    """A point of a claim's map, or one case of it where an option says "each"."""

    place: Place
    case: str = ""
    parts: list[Part] = field(default_factory=list)

    def state(self, claim: Claim) -> State:
        """Is it in? Every part that the claim has is needed."""
        there = {part.of.name for part in self.parts}
        if any(part.name not in there for part in claim.needed):
            return "not measured"
        states = [part.state for part in self.parts]
        for state in ("not measured", "out", "between"):
            if state in states:
                return state
        return "in"

    @property
    def lacks_seeds(self) -> bool:
        """Was it measured, but too seldom to say anything?"""
        return any(not part.enough for part in self.parts)


@dataclass
class Outcome:
    """A claim with everything that was measured for it."""

    claim: Claim
    points: dict[tuple[Place, str], Point] = field(default_factory=dict)
    foil: list[Part] = field(default_factory=list)
    shown: list[Part] = field(default_factory=list)
    beside: list[Part] = field(default_factory=list)
    place: list[Part] = field(default_factory=list)
    # Why nothing is measured.
    missing: str = ""

    @property
    def measured(self) -> bool:
        """Was anything measured?"""
        return bool(self.points or self.foil or self.beside)

    @cached_property
    def places(self) -> list[Place]:
        """The points that are needed."""
        own = {place: part.value for (place, _), point in self.points.items() for part in point.parts if not part.name}
        numbers = {place: float(value) for place, value in own.items() if value is not None}
        return maps.needed(self.claim, numbers if self.claim.unit != "order" else None)

    def states(self, places: Iterable[Place]) -> list[State]:
        """The states of points; several of one whose option says "each"."""
        found: list[State] = []
        for place in places:
            own = [point.state(self.claim) for (at, _), point in self.points.items() if at == place]
            found += own or ["not measured"]
        return found

    def where_placed(self, name: str) -> list[Part]:
        """A part of the claim at the points that are left when all placed conditions are set to their place."""
        left = set(maps.left(self.claim, self.places))
        own = [part for (place, _), point in self.points.items() if place in left for part in point.parts]
        return [part for part in own if part.of.name == name]

    @property
    def foil_out(self) -> bool:
        """Was every foil measured, and is each outside with some part?"""
        foils: dict[str, list[Part]] = {}
        for part in self.foil:
            foils.setdefault(part.samples[0].measured.foil, []).append(part)
        return bool(foils) and all(any(part.state == "out" for part in own) for own in foils.values())

    @property
    def class_(self) -> Class:
        """The class, by the order that the claims' file gives."""
        claim = self.claim
        if claim.conformance:
            return "conformance"
        everywhere = self.states(self.places)
        if claim.needs or "not measured" in everywhere:
            return "open"
        if set(everywhere) == {"in"} and self.foil:
            return "reproduced"
        left = self.states(maps.left(claim, self.places))
        if left and set(left) == {"in"} and self.foil:
            return "reproduced-if"
        if {"in", "out"} <= set(left) and claim.missing and claim.agreed:
            return "not-determinable"
        shown = bool(self.shown) and all(part.value is True for part in self.shown)
        if set(everywhere) == {"out"} and claim.shown_by and shown and claim.agreed:
            return "contradicted"
        return "open"

    @property
    def weak(self) -> bool:
        """Says it little, because its foil is inside or the claims' file says so?"""
        return self.class_ in ("reproduced", "reproduced-if") and (not self.foil_out or bool(self.claim.weak))

    @property
    def class_text(self) -> str:
        """The class, and what it needs beside it."""
        return f"{self.class_} (weak)" if self.weak else self.class_

    @property
    def because(self) -> str:
        """In a sentence: the condition, the range, what is missing, what has to be done."""
        claim, kind = self.claim, self.class_
        if kind == "reproduced-if":
            placed = [axis for axis in claim.axes if axis.place is not None]
            return "if " + ", ".join(f"{_short(axis)} is {axis.placed_at} ({axis.placed_by})" for axis in placed)
        if kind == "not-determinable":
            return f"{self._range()}; not published: {', '.join(claim.missing)}"
        if kind == "contradicted":
            return f"{self._range()}; shown by {claim.shown_by}"
        if kind == "open":
            return "; ".join(self._debts())
        return ""

    def _range(self) -> str:
        values = [float(part.value) for part in self.where_placed("") if part.value is not None]
        unit = self.claim.unit
        if unit == "order" or not values:
            states = self.states(maps.left(self.claim, self.places))
            return f"in at {states.count('in')} of {len(states)} points"
        return f"from {value_text(min(values), unit)} to {value_text(max(values), unit)}"

    def _debts(self) -> list[str]:
        """Why it is open."""
        claim, everywhere = self.claim, self.states(self.places)
        unmeasured = everywhere.count("not measured")
        left = self.states(maps.left(claim, self.places))
        if claim.needs:
            return list(claim.needs)
        if unmeasured:
            seldom = sum(point.lacks_seeds for point in self.points.values())
            if seldom == unmeasured:
                return [f"{seldom} of {len(everywhere)} points have fewer than {LEAST_SEEDS} seeds"]
            return [f"{unmeasured} of {len(everywhere)} points are not measured"]
        if left and set(left) == {"in"}:
            return ["the foil is not measured"]
        debts = [f"in at {left.count('in')} and out at {left.count('out')} of the {len(left)} points that are left"]
        if ({"in", "out"} <= set(left) or set(everywhere) == {"out"}) and not claim.agreed:
            debts.append(claim.read_by or "a second reader has to read the evidence")
        return debts

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        claim = self.claim
        return {
            "id": claim.id,
            "paper": claim.paper,
            "where": claim.where,
            "says": claim.says,
            "unit": claim.unit,
            "paper_value": claim.value,
            "band": claim.band,
            "class": self.class_,
            "weak": self.weak,
            "because": self.because,
            "points": [
                {
                    "at": claim.at(point.place),
                    "case": point.case,
                    "state": point.state(claim),
                    "parts": [part.to_dict() for part in point.parts],
                }
                for point in self.points.values()
            ],
            **{name: [part.to_dict() for part in getattr(self, name)] for name in ("foil", "shown", "beside", "place")},
            "missing": self.missing,
        }


def outcomes(samples: Iterable[Sample], missing: Mapping[str, str] | None = None) -> list[Outcome]:
    """Every claim with what was measured for it; `missing` says why one is not measured."""
    missing, samples = missing or {}, list(samples)
    places = _places(samples)
    found = {claim.id: Outcome(_at_place(claim, places), missing=missing.get(claim.id, "")) for claim in load_claims()}
    for sample in samples:
        _add(found[claim_of(sample.measured.claim).id], sample)
    return list(found.values())


def _places(samples: Iterable[Sample]) -> dict[str, list[Value]]:
    """Options at which a claim's measurement places a condition of others, by the name of the condition."""
    found: dict[str, list[Value]] = {}
    for own in (sample.measured for sample in samples):
        if own.role == "place":
            found.setdefault(own.part, []).append(own.value)
    return found


def _at_place(claim: Claim, places: Mapping[str, list[Value]]) -> Claim:
    def resolved(axis: Condition) -> Condition:
        if axis.place != () or axis.name not in places:
            return axis
        found = tuple(option for option in axis.options if option in places[axis.name])
        # It was looked for, and lies nowhere in the range: nothing places it.
        return replace(axis, place=found or None)

    return replace(claim, conditions=tuple(map(resolved, claim.conditions)))


def _add(outcome: Outcome, sample: Sample) -> None:
    own, claim = sample.measured, outcome.claim
    case = own.case
    if own.role == "point":
        place = claim.place(own.at)
        several = any(isinstance(option, str) and option.startswith("each ") for option in place)
        point = outcome.points.setdefault((place, case if several else ""), Point(place, case if several else ""))
        parts, case = point.parts, "" if several else case
    else:
        parts = getattr(outcome, own.role)
    of = claim.part(own.part) if own.role in ("point", "foil") else PartOf(own.part, True, claim.unit, None)
    known = next((part for part in parts if (part.of.name, part.case) == (own.part, case)), None)
    if known is None:
        parts.append(Part(of, case, [sample]))
    else:
        known.samples.append(sample)


def counted(found: Iterable[Outcome]) -> str:
    """How many claims have each class, in words: weak ones apart, conformance outside."""
    own = list(found)
    words = [f"{_number(own, kind)} {kind}" for kind in (*EXPLAINED, "open")]
    judged = sum(outcome.class_ != "conformance" for outcome in own)
    return f"{', '.join(words)}, of {judged}; beside them {len(own) - judged} of conformance"


def _number(found: list[Outcome], kind: str) -> str:
    own = [outcome for outcome in found if outcome.class_ == kind]
    weak = sum(outcome.weak for outcome in own)
    return f"{len(own)} ({weak} weak)" if weak else str(len(own))


def _short(axis: Any) -> str:
    return str(axis.name).rpartition(".")[2]


def _inside(low: float, high: float, band: Band | None) -> bool:
    """Does an interval lie in a band? Without one it has to hold throughout."""
    if isinstance(low, bool) or band is None:
        return bool(low) and bool(high)
    return band[0] <= low and high <= band[1]


def _cleaned(value: Value) -> Value:
    """A value as JSON can hold it."""
    return value if defined(value) else None
