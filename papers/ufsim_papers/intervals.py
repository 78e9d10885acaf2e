"""What chance does to a value: its median over seeds, and the interval in which that median lies.

Nothing is assumed about how values are spread, so intervals are order statistics: the median of all possible seeds lies
between the k-th smallest and the k-th largest of n values unless k or more of them fall on one side of it by chance,
which is as likely as with coins. That is 93.75% for the whole range of five values, 96.9% for that of six, and from six
on the narrowest pair is taken that gives 95%. Five values can not give more without assuming a distribution; how much
an interval covers always stands beside it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, median_low

from ufsim.student import student

# A number, whether something holds, or nothing where there is nothing to compare.
Value = float | bool | None

WANTED_PERCENT = 95.0
# What columns of an interval's ends have behind the name of the value's column.
FROM, TO = ", from", ", to"


@dataclass(frozen=True)
class Interval:
    """Where a value lies but for chance. What holds or does not is counted as 1 and 0.

    `coverage_percent` is the probability that the interval holds the value, `None` where none can be told.
    """

    low: float
    high: float
    coverage_percent: float | None


def exact(value: float) -> Interval:
    """The interval of a value that has no chance in it."""
    return Interval(float(value), float(value), 100.0)


def middle(values: Sequence[Value]) -> Value:
    """The median of some seeds' values; nothing if one of them has none."""
    known = numbers(values)
    if len(known) < len(values) or not known:
        return None
    return bool(median_low(known)) if all(isinstance(value, bool) for value in values) else median(known)


def of_median(values: Sequence[Value]) -> Interval | None:
    """The interval of the median of all seeds; `None` for a single value, or if one has none."""
    known = sorted(numbers(values))
    count = len(known)
    if len(known) < len(values) or count < 2:
        return None
    outer = max([k for k in range(1, count // 2 + 1) if coverage_percent(count, k) >= WANTED_PERCENT], default=1)
    return Interval(known[outer - 1], known[-outer], coverage_percent(count, outer))


def coverage_percent(count: int, outer: int) -> float:
    """Probability that the median lies between the values of places `outer` from below and from above."""
    outside = sum(math.comb(count, fewer) for fewer in range(outer))
    return 100 - 200 * outside / (1 << count)


def jackknife(whole: Value, without: Sequence[Value]) -> Interval | None:
    """The interval of a value of pooled samples, from the values without each of them.

    What holds has to hold without any one of the samples, which has no probability. `None` if there is a sample without
    which nothing is left to compare.
    """
    known = numbers(without)
    count = len(known)
    if whole is None or not defined(whole) or count < len(without) or count < 2:
        return None
    if isinstance(whole, bool):
        return Interval(min(known), max(known), None)
    mean = sum(known) / count
    error = math.sqrt((count - 1) / count * sum((value - mean) ** 2 for value in known))
    reach = error * student(count - 1)
    return Interval(whole - reach, whole + reach, WANTED_PERCENT)


def numbers(values: Sequence[Value]) -> list[float]:
    """The values that there are; what holds is 1."""
    return [float(value) for value in values if value is not None and math.isfinite(value)]


def defined(value: Value) -> bool:
    """Is there a value?"""
    return value is not None and math.isfinite(value)
