"""Latin hypercube samples: few points that still meet every part of every range.

With n points each range is cut into n parts of the same size, and each part has exactly one point (McKay, Beckman and
Conover, Technometrics 1979). Python's own generator gives the same points on every machine.
"""

import math
from dataclasses import dataclass
from random import Random

from ufsim._options import Setting


@dataclass(frozen=True)
class Range:
    """An axis whose values are drawn: between two ends, both included, or from a list.

    Between whole numbers only whole numbers are drawn. `log` says that logarithms are equally likely.
    """

    name: str
    low: float = 0
    high: float = 0
    log: bool = False
    values: tuple[Setting, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether only whole numbers are drawn."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def value(self, place: float) -> Setting:
        """The value at a place from 0 to below 1."""
        if self.values:
            return self.values[int(place * len(self.values))]
        # Each whole number has a part of its own, half a unit to either side.
        low, high = (self.low - 0.5, self.high + 0.5) if self.whole else (self.low, self.high)
        if self.log:
            found = math.exp(math.log(low) + place * (math.log(high) - math.log(low)))
        else:
            found = low + place * (high - low)
        if not self.whole:
            return found
        return int(min(max(math.floor(found + 0.5), self.low), self.high))


def drawn(ranges: tuple[Range, ...], points: int, seed: int) -> list[dict[str, Setting]]:
    """So many points, each with a value of every range."""
    random = Random(seed)
    columns = []
    for _ in ranges:
        parts = list(range(points))
        random.shuffle(parts)
        columns.append([(part + random.random()) / points for part in parts])
    return [
        {one.name: one.value(column[place]) for one, column in zip(ranges, columns, strict=True)}
        for place in range(points)
    ]
