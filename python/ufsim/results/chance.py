"""How far chance goes: means over seeds with their 95% intervals, and gains between schemes taken seed by seed.

A result knows the same run with the seeds that follow (`Result.repeats`). The n-th repetitions of two schemes have the
same seed, and what is drawn for a request does not hang on the scheme (common random numbers). So a gain is taken pair
by pair, and its interval is that of the pairs: luck that both schemes had in common does not widen it.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ufsim.results.formats import percent_change
from ufsim.student import half_width

if TYPE_CHECKING:
    from ufsim.results.result import Result

Value = Callable[["Result"], float | None]


@dataclass(frozen=True)
class Estimate:
    """A mean, and half of its 95% interval by Student's t: `None` for a single value."""

    mean: float
    half: float | None

    @property
    def differs(self) -> bool:
        """True if zero lies outside of the interval, or nothing is known of it."""
        return self.half is None or abs(self.mean) > self.half

    @property
    def most(self) -> float:
        """How far from zero the truth may lie."""
        return abs(self.mean) + (self.half or 0.0)


def over(values: Iterable[float | None]) -> Estimate | None:
    """The mean of what is known; nothing if nothing is."""
    known = [float(value) for value in values if value is not None]
    return Estimate(math.fsum(known) / len(known), half_width(known)) if known else None


def estimate(result: "Result", value: Value) -> Estimate | None:
    """A value of a result over its seeds."""
    return over(map(value, result.each_seed))


def gain_percent(base: float | None, value: float | None, *, shorter: bool) -> float | None:
    """How much better a value is than the base's, in per cent of the base: higher, or `shorter` for times."""
    if base is None or value is None or base == 0:
        return None
    return ((base - value) if shorter else (value - base)) / base * 100


def gain(base: "Result", result: "Result", value: Value, *, shorter: bool) -> Estimate | None:
    """By how many per cent of the base's a value is better, seed by seed."""
    pairs = zip(base.each_seed, result.each_seed, strict=True)
    return over(gain_percent(value(first), value(own), shorter=shorter) for first, own in pairs)


def told(found: Estimate | None, form: Callable[[float, float | None], str]) -> str:
    """An estimate as a cell of a table; a dash for nothing."""
    return "–" if found is None else form(found.mean, found.half)


def gain_text(found: Estimate | None) -> str:
    """A gain; where chance alone may have made it, how large it is at most."""
    if found is None:
        return "–"
    if not found.differs and found.half:
        return f"none, ≤ {found.most:.1f} %"
    return percent_change(found.mean, found.half)
