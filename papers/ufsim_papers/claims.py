"""What the papers claim, what was measured under each reading of it, and the verdict, which is given here alone.

papers/README.md has the rules. In short: everything with chance in it needs `LEAST_SEEDS` seeds. A
claim is *firm* if it is in its band under every reading, with the whole interval; *fragile* if it is in it under some,
or with its median only; a *miss* if it is in it under none, or if there is nothing to compare. Before that is known it
is *not yet* judged: readings that can still change the verdict are not measured, or with too few seeds.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from ufsim_papers.folders import FOLDERS, PAPERS
from ufsim_papers.intervals import Interval, Value, defined, exact, middle, of_median

Verdict = Literal["firm", "fragile", "miss", "not yet"]
VERDICTS: tuple[Verdict, ...] = ("firm", "fragile", "miss", "not yet")
LEAST_SEEDS = 5
# The only reading of a claim for which the data lists none.
AS_SET_UP = "as set up"

Band = tuple[float, float]
# Claim, and the place of a reading among its readings.
Place = tuple[str, int]


@dataclass(frozen=True)
class Claim:
    """A claim of a paper. `band` is `None` for an ordering or a shape, which holds or does not."""

    id: str
    paper: str
    where: str
    claim: str
    value: float | bool
    unit: str
    band: Band | None
    setup: str
    readings: tuple[str, ...] = (AS_SET_UP,)

    def paper_value(self) -> str:
        """The paper's value with its unit."""
        return value_text(self.value, self.unit)

    def band_text(self) -> str:
        """The band with its unit."""
        return "" if self.band is None else f"{self.band[0]:g} .. {self.band[1]:g}"


@dataclass(frozen=True)
class Measured:
    """A value of a claim, or of a part of it (a thread count, a kind of access), under one reading and with one seed.

    `part` is the same with every seed; `told` is what else was measured, for people. `band` replaces the claim's band
    for a part that has its own; `reason` says why it is not inside, as far as that is known. A value `None` has nothing
    to compare with. A figure that pools samples of its own gives their `interval` and how many `seeds` they had.
    """

    claim: str
    value: Value
    part: str = ""
    told: str = ""
    band: Band | None = None
    reason: str = ""
    reading: int = 0
    interval: Interval | None = None
    seeds: int = 1


@dataclass(frozen=True)
class Sample:
    """What a figure has measured with a seed. Without `chance` every seed would give the same."""

    seed: int
    measured: Measured
    chance: bool = True


@dataclass
class Part:
    """A part of a claim under one reading, with the values of all seeds."""

    name: str
    band: Band | None
    unit: str
    samples: list[Sample]

    @property
    def first(self) -> Measured:
        """What the first seed gave."""
        return self.samples[0].measured

    @property
    def values(self) -> dict[int, Value]:
        """Values by seed; none by itself of samples that were pooled."""
        if self.first.interval is not None or self.first.seeds > 1:
            return {}
        return {sample.seed: cleaned(sample.measured.value) for sample in self.samples}

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
        return self.first.interval or of_median([sample.measured.value for sample in self.samples])

    @property
    def enough(self) -> bool:
        """Has it the seeds that a verdict needs?"""
        return not self.chance or self.seeds >= LEAST_SEEDS

    @property
    def in_band(self) -> bool:
        """Is the median inside the band?"""
        value = self.value
        return value is not None and inside(value, value, self.band)

    @property
    def interval_in_band(self) -> bool:
        """Is the whole interval inside the band?"""
        interval = self.interval
        if interval is None or not self.in_band:
            return False
        return inside(interval.low, interval.high, None if isinstance(self.value, bool) else self.band)

    @property
    def text(self) -> str:
        """The median with its unit and interval."""
        interval = self.interval if self.chance else None
        return told_value(self.value, None if interval is None else (interval.low, interval.high), self.unit)

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "part": self.name,
            **summary(self),
            "band": self.band,
            "values": {str(seed): value for seed, value in self.values.items()},
            **({"told": self.first.told} if self.first.told else {}),
            **({"reason": self.first.reason} if self.first.reason and not self.interval_in_band else {}),
        }


@dataclass
class Reading:
    """A way of measuring a claim, with its parts; or why it is not measured."""

    name: str
    parts: list[Part] = field(default_factory=list)
    missing: str = ""

    @property
    def in_band(self) -> bool:
        """Are the medians of all parts inside?"""
        return bool(self.parts) and all(part.in_band for part in self.parts)

    @property
    def interval_in_band(self) -> bool:
        """Are the intervals of all parts inside?"""
        return bool(self.parts) and all(part.interval_in_band for part in self.parts)

    @property
    def enough(self) -> bool:
        """Have all parts the seeds that a verdict needs?"""
        return bool(self.parts) and all(part.enough for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        """For programs. Value and interval are those of the first part; in the band have to be all."""
        if not self.parts:
            none = dict.fromkeys(("value", "interval", "coverage_percent", "in_band", "interval_in_band"))
            return {"name": self.name, **none, "seeds": 0, "missing": self.missing, "parts": []}
        own = {"in_band": self.in_band, "interval_in_band": self.interval_in_band}
        return {"name": self.name, **summary(self.parts[0]), **own, "parts": [part.to_dict() for part in self.parts]}


@dataclass
class Outcome:
    """A claim with everything that was measured for it."""

    claim: Claim
    readings: list[Reading]

    @property
    def measured(self) -> bool:
        """Was anything measured?"""
        return any(reading.parts for reading in self.readings)

    @property
    def verdict(self) -> Verdict:
        """The verdict by the rules of the data."""
        return verdict(self.readings)

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        claim = self.claim
        return {
            "id": claim.id,
            "paper": claim.paper,
            "where": claim.where,
            "claim": claim.claim,
            "unit": claim.unit,
            "paper_value": claim.value,
            "band": claim.band,
            "verdict": self.verdict,
            "readings": [reading.to_dict() for reading in self.readings],
        }


def verdict(readings: Sequence[Reading]) -> Verdict:
    """The verdict of a claim from all of its readings."""
    measured = [reading for reading in readings if reading.parts]
    if not measured or not all(reading.enough for reading in measured):
        return "not yet"
    if all(reading.interval_in_band for reading in readings):
        return "firm"
    if any(reading.in_band for reading in measured):
        return "fragile"
    return "miss" if len(measured) == len(readings) else "not yet"


def outcomes(samples: Iterable[Sample], missing: Mapping[Place, str] | None = None) -> list[Outcome]:
    """Every claim with what was measured for it; `missing` says why a reading is not measured."""
    missing = missing or {}
    by_id = {
        claim.id: Outcome(claim, [Reading(name, [], missing.get((claim.id, at), "")) for at, name in numbered(claim)])
        for claim in load_claims()
    }
    for sample in samples:
        own = sample.measured
        if own.claim not in by_id:
            raise KeyError(f"'{own.claim}' is no claim")
        outcome = by_id[own.claim]
        parts = outcome.readings[own.reading].parts
        known = next((part for part in parts if part.name == own.part), None)
        if known is None:
            parts.append(Part(own.part, own.band or outcome.claim.band, outcome.claim.unit, [sample]))
        else:
            known.samples.append(sample)
    return list(by_id.values())


def numbered(claim: Claim) -> Iterable[tuple[int, str]]:
    """The readings of a claim with their places."""
    return enumerate(claim.readings)


@cache
def load_claims() -> tuple[Claim, ...]:
    """All claims of the five papers, in the order of papers and data."""
    paths = [FOLDERS / paper / "claims.toml" for paper in PAPERS]
    entries = [tomllib.loads(path.read_text(encoding="utf-8"))["claim"] for path in paths if path.exists()]
    return tuple(
        Claim(
            id=entry["id"],
            paper=entry["paper"],
            where=entry["where"],
            claim=entry["claim"],
            value=entry["value"],
            unit=entry["unit"],
            band=tuple(entry["band"]) if "band" in entry else None,
            setup=entry.get("setup", ""),
            readings=tuple(entry.get("readings", (AS_SET_UP,))),
        )
        for own in entries
        for entry in own
    )


def counted(verdicts: Iterable[str]) -> str:
    """How many claims are firm, fragile, missed and not judged yet, in words."""
    words = list(verdicts)
    return ", ".join(f"{words.count(word)} {word}" for word in VERDICTS) + f", of {len(words)}"


def summary(part: Part) -> dict[str, Any]:
    """Value, interval and band of a part, for programs."""
    interval = part.interval
    return {
        "value": part.value,
        "interval": None if interval is None else [interval.low, interval.high],
        "coverage_percent": None if interval is None else interval.coverage_percent,
        "in_band": part.in_band,
        "interval_in_band": part.interval_in_band,
        "seeds": part.seeds,
        "chance": part.chance,
    }


def inside(low: float, high: float, band: Band | None) -> bool:
    """Does an interval lie in a band? Without one it has to hold throughout."""
    if isinstance(low, bool) or band is None:
        return bool(low) and bool(high)
    return band[0] <= low and high <= band[1]


def cleaned(value: Value) -> Value:
    """A value as JSON can hold it."""
    return value if defined(value) else None


UNITS = {
    "gain_pct": "%",
    "cut_pct": "%",
    "pct": "%",
    "ms": " ms",
    "us": " us",
    "mib": " MiB",
    "bytes": " bytes",
    "cost_units": " units",
}


def value_text(value: Value, unit: str) -> str:
    """A value as a report shows it, also one that holds or does not, or is none."""
    if value is None:
        return "nothing to compare"
    if isinstance(value, bool):
        return "holds" if value else "does not hold"
    return with_unit(value, unit)


def told_value(value: Value, interval: Sequence[float] | None, unit: str) -> str:
    """A value with its unit, and with its interval if there is one."""
    text = value_text(value, unit)
    if value is None or interval is None:
        return text
    if isinstance(value, bool):
        return text if interval[0] == interval[1] else f"{text}, not in every case"
    return f"{text} ({with_unit(interval[0], unit)} .. {with_unit(interval[1], unit)})"


def with_unit(value: float, unit: str) -> str:
    """A number as a report shows it."""
    return f"{value:.3g}" if unit == "ratio" else f"{value:,.1f}{UNITS.get(unit, '')}"
