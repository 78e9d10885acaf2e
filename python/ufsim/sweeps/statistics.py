"""What the rows of a sweep say together: means with intervals, which axis explains how much, who is on the front."""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ufsim.student import half_width

if TYPE_CHECKING:
    import pandas as pd

# The axis whose values are repetitions.
SEED = "seed"
# A drawn axis is cut into so many parts at most, each with as many points.
MOST_PARTS = 10


def means(frame: "pd.DataFrame", axes: Sequence[str], columns: Sequence[str]) -> "pd.DataFrame":
    """A row for each combination of the axes but `seed`, in the order of the frame.

    Columns: these axes, `seeds` (how many there were), and for each of `columns` its mean and, with `_ci95` behind the
    name, half of its 95% confidence interval by Student's t; missing where there is a single seed or no value.
    """
    import pandas as pd

    keys = [axis for axis in axes if axis != SEED]
    groups: Iterable[tuple[Any, pd.DataFrame]] = (
        frame.groupby(keys, sort=False, dropna=False) if keys else [((), frame)] if len(frame) else []
    )
    kinds: dict[str, Any] = {**{key: frame[key].dtype for key in keys}, "seeds": "int64"}
    rows = []
    for values, own in groups:
        row: dict[str, Any] = dict(zip(keys, values, strict=True)) | {"seeds": len(own)}
        for column in columns:
            known = [float(value) for value in own[column] if not pd.isna(value)]
            half = half_width(known)
            row[column] = math.fsum(known) / len(known) if known else math.nan
            row[f"{column}_ci95"] = math.nan if half is None else half
        rows.append(row)
    kinds |= {name: "float64" for column in columns for name in (column, f"{column}_ci95")}
    return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)


def shares(frame: "pd.DataFrame", axes: Sequence[str], drawn: Sequence[str], y: str) -> dict[str, float]:
    """Which share of the variance of column `y` each axis explains alone (first order), the largest first.

    The rows are put into k groups by the value of the axis. With SSt the sum of squares around the mean of all n rows,
    and SSw that around the means of the groups, the share is the main effect of an analysis of variance,

        (SSt - SSw) / SSt.

    It is exact where every value meets the same values of all other axes, as in a grid. Values of drawn axes do not:
    they are cut into up to 10 groups of neighbours of the same size, and what chance gives k groups, (k - 1) SSw /
    (n - k), is taken off (Kelley's epsilon squared, 1935), but not below 0. What all shares leave to 1 is interaction
    of axes, and chance.
    """
    known = frame[frame[y].notna()]
    values = [float(value) for value in known[y]]
    found = {axis: share(groups_of(known, axis, axis in drawn), values, axis in drawn) for axis in axes}
    return dict(sorted(found.items(), key=lambda entry: -entry[1]))


def groups_of(frame: "pd.DataFrame", axis: str, drawn: bool) -> list[Any]:
    """The group of each row."""
    values = list(frame[axis])
    distinct = list(dict.fromkeys(values))
    parts = min(MOST_PARTS, max(2, math.isqrt(len(values))))
    if not drawn or len(distinct) <= parts or any(isinstance(value, str) for value in distinct):
        return values
    rank = {value: place * parts // len(distinct) for place, value in enumerate(sorted(distinct))}
    return [rank[value] for value in values]


def share(groups: Sequence[Any], values: Sequence[float], drawn: bool) -> float:
    """The share of the variance that lies between groups: see `shares`."""
    count = len(values)
    if count == 0:
        return 0.0
    total = squares(values)
    members: dict[Any, list[float]] = {}
    for group, value in zip(groups, values, strict=True):
        members.setdefault(group, []).append(value)
    # Sums of equal numbers leave rounding behind.
    if total <= 1e-24 * math.fsum(value * value for value in values):
        return 0.0
    within = math.fsum(squares(own) for own in members.values())
    chance = (len(members) - 1) * within / (count - len(members)) if drawn and count > len(members) else 0.0
    return max(0.0, (total - within - chance) / total)


def squares(values: Sequence[float]) -> float:
    """The sum of squares around the mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def front(costs: Sequence[float], gains: Sequence[float]) -> list[int]:
    """Places of the points on the Pareto front, by cost: no other costs as little and gains more, or less and as much.

    Of equal points the first is taken.
    """
    order = sorted(range(len(costs)), key=lambda place: (costs[place], -gains[place], place))
    best, kept = -math.inf, []
    for place in order:
        if gains[place] > best:
            best = gains[place]
            kept.append(place)
    return kept
