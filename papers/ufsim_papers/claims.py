"""The claims of the papers as data (`papers/claims.toml`), and what a figure says that it has measured of one.

A claim is measured on a map: its conditions are axes, each with a range of options, of which the first is the default.
`judged` gives classes, `maps` says which points of a map are needed.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal

from ufsim_papers.folders import FOLDERS
from ufsim_papers.intervals import Interval, Value

# Everything with chance in it needs so many seeds.
LEAST_SEEDS = 5

Band = tuple[float, float]
# One of the values that a condition may have.
Option = str | float | bool
# An option for each axis of a claim, in the order of its conditions.
Place = tuple[Option, ...]
# A point of the map; the claim's foil; whether the command of `shown_by` shows the contradiction; what is never judged;
# at which option of the condition `part` this claim places it, for the others.
Role = Literal["point", "foil", "shown", "beside", "place"]


@dataclass(frozen=True)
class Condition:
    """What a measurement hangs on. With one option it is fixed, else an axis of the map.

    `place` has the options at which the paper's set-up lies: `None` if nothing places it, empty if `placed_at` is told
    by a measurement that is not there yet.
    """

    name: str
    options: tuple[Option, ...]
    place: tuple[Option, ...] | None = None
    placed_at: str = ""
    placed_by: str = ""

    def text(self, option: Option) -> str:
        """An option as a report names it."""
        own = {True: "yes", False: "no"}.get(option) if isinstance(option, bool) else None
        return own or (option if isinstance(option, str) else f"{option:g}")


@dataclass(frozen=True)
class PartOf:
    """What a claim says besides its value, or that value itself (without a name). Without a band it holds or not."""

    name: str
    value: float | bool
    unit: str
    band: Band | None


@dataclass(frozen=True)
class Claim:
    """A claim of a paper. Keys are those of `papers/claims.toml`, whose head says what they mean."""

    id: str
    paper: str
    where: str
    says: str
    quantity: str
    unit: str
    value: float | bool
    band: Band | None = None
    conformance: bool = False
    parts: tuple[PartOf, ...] = ()
    conditions: tuple[Condition, ...] = ()
    foil: str = ""
    read_by: str = ""
    weak: str = ""
    shown_by: str = ""
    missing: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @cached_property
    def axes(self) -> tuple[Condition, ...]:
        """The conditions that have a range."""
        return tuple(condition for condition in self.conditions if len(condition.options) > 1)

    @property
    def agreed(self) -> bool:
        """Has a second reader agreed with the class that the evidence gives?"""
        return self.read_by.startswith("a second reader: agrees")

    @cached_property
    def needed(self) -> tuple[PartOf, ...]:
        """What has to be in: the value and all parts; of an order that has parts these alone."""
        own = PartOf("", self.value, self.unit, self.band)
        return self.parts if self.unit == "order" and self.parts else (own, *self.parts)

    def part(self, name: str) -> PartOf:
        """A part by its name. Raises `KeyError`."""
        for part in self.needed:
            if part.name == name:
                return part
        raise KeyError(f"claim '{self.id}' has no part '{name}'; it has {', '.join(repr(p.name) for p in self.needed)}")

    def place(self, at: Mapping[str, Option]) -> Place:
        """The point at which some conditions have other options than the default. Raises `KeyError`."""
        known = {axis.name: axis for axis in self.axes}
        for name, option in at.items():
            if name not in known or option not in known[name].options:
                raise KeyError(f"claim '{self.id}' has no point where '{name}' is {option!r}")
        return tuple(at.get(axis.name, axis.options[0]) for axis in self.axes)

    def at(self, place: Place) -> dict[str, Option]:
        """The options of a point by the names of their conditions."""
        return {axis.name: option for axis, option in zip(self.axes, place, strict=True)}

    def place_text(self, place: Place) -> str:
        """A point as a report names it, by what is not at its default."""
        pairs = [(axis, option) for axis, option in zip(self.axes, place, strict=True) if option != axis.options[0]]
        return ", ".join(f"{short(axis.name)}: {axis.text(option)}" for axis, option in pairs)

    def default_text(self) -> str:
        """The point where all conditions are at their default."""
        return ", ".join(f"{short(axis.name)}: {axis.text(axis.options[0])}" for axis in self.axes)

    def paper_value(self) -> str:
        """The paper's value with its unit."""
        return value_text(self.value, self.unit)

    def band_text(self) -> str:
        """The band."""
        return "" if self.band is None else f"{self.band[0]:g} .. {self.band[1]:g}"


@dataclass(frozen=True)
class Measured:
    """A value of a claim, or of a part of it, at a point of the map and with one seed.

    `at` has the conditions that are not at their default. A part that is measured several times at a point, for each
    number of threads, say, has a `case` for each, and all have to be in. `told` is what else was measured, for people;
    `reason` says why it is not inside, as far as that is known. A value `None` has nothing to compare with. A figure
    that pools samples of its own gives their `interval` and how many `seeds` they had.
    """

    claim: str
    value: Value
    part: str = ""
    told: str = ""
    at: Mapping[str, Option] = field(default_factory=dict)
    case: str = ""
    role: Role = "point"
    # Which of several foils.
    foil: str = ""
    reason: str = ""
    interval: Interval | None = None
    seeds: int = 1


@dataclass(frozen=True)
class Sample:
    """What a figure has measured with a seed. Without `chance` every seed would give the same."""

    seed: int
    measured: Measured
    chance: bool = True


def short(name: str) -> str:
    """A shared condition without the name of its paper."""
    return name.rpartition(".")[2]


@cache
def load_claims() -> tuple[Claim, ...]:
    """All claims of the five papers, in the order of the data."""
    document = tomllib.loads((FOLDERS / "claims.toml").read_text(encoding="utf-8"))
    shared = {entry["name"]: entry for entry in document["condition"]}
    return tuple(_claim(entry, shared) for entry in document["claim"])


def claim_of(name: str) -> Claim:
    """A claim by its name. Raises `KeyError`."""
    for claim in load_claims():
        if claim.id == name:
            return claim
    raise KeyError(f"'{name}' is no claim")


def _claim(entry: Mapping[str, Any], shared: Mapping[str, Mapping[str, Any]]) -> Claim:
    plain: dict[str, Any] = {name: entry[name] for name in PLAIN if name in entry}
    lists: dict[str, Any] = {name: tuple(entry[name]) for name in ("missing", "needs") if name in entry}
    conditions = [shared[own["shared"]] if "shared" in own else own for own in entry.get("conditions", ())]
    return Claim(
        **plain,
        **lists,
        band=_band(entry),
        conformance=entry.get("kind") == "conformance",
        parts=tuple(_part(part) for part in entry.get("parts", ())),
        conditions=tuple(_condition(own) for own in conditions),
    )


PLAIN = ("id", "paper", "where", "says", "quantity", "unit", "value", "foil", "read_by", "weak", "shown_by")


def _part(entry: Mapping[str, Any]) -> PartOf:
    return PartOf(entry["name"], entry.get("value", True), entry.get("unit", "order"), _band(entry))


def _band(entry: Mapping[str, Any]) -> Band | None:
    return (entry["band"][0], entry["band"][1]) if "band" in entry else None


def _condition(entry: Mapping[str, Any]) -> Condition:
    options = tuple(entry["range"]) if "range" in entry else (entry["value"],)
    placed = entry.get("placed")
    return Condition(
        name=entry["name"],
        options=options,
        place=None if placed is None else _placed(placed["at"], placed["by"], options),
        placed_at="" if placed is None else str(placed["at"]),
        placed_by="" if placed is None else placed["by"],
    )


def _placed(at: Option | Sequence[float], by: str, options: Sequence[Option]) -> tuple[Option, ...]:
    """The options at a place: one of them, those between two numbers, or none yet if a claim has to tell."""
    if isinstance(at, list):
        low, high = at
        return tuple(option for option in options if not isinstance(option, str) and low <= option <= high)
    found = tuple(option for option in options if option == at)
    if not found and not by.startswith("claim:"):
        raise ValueError(f"'{at}' is no option of {options}, and no claim tells where it lies")
    return found


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


def told_value(value: Value, interval: Iterable[float] | None, unit: str) -> str:
    """A value with its unit, and with its interval if there is one."""
    text = value_text(value, unit)
    if value is None or interval is None:
        return text
    low, high = interval
    if isinstance(value, bool):
        return text if low == high else f"{text}, not in every case"
    return f"{text} ({with_unit(low, unit)} .. {with_unit(high, unit)})"


def with_unit(value: float, unit: str) -> str:
    """A number as a report shows it; what rounds to nothing has no sign."""
    return f"{value:.3g}" if unit == "ratio" else f"{round(value, 1) or 0.0:,.1f}{UNITS.get(unit, '')}"
