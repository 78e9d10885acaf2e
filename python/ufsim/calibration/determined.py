"""What the data says of each fitted parameter: which other values would do as well.

A value is excluded when the recordings, resampled in blocks of ten seconds, prefer the fitted one nearly always: when
its loss is larger in 90% of the resamplings, over the same blocks. From the fitted value outward, in steps of the
parameter's range, the values before the first one that is excluded make its interval. The other parameters keep their
fitted values, so where two of them do the same work the true interval is wider.

Where runs are random, each resampling has one of several seeds that the search has not seen: no value is excluded for
bad luck, and the fitted one has none of the luck for which it was chosen.

A parameter without influence has the same loss everywhere: nothing is excluded, and its interval is its whole range.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ufsim import _core
from ufsim.calibration.parameters import Parameter
from ufsim.calibration.recording import Floats
from ufsim.calibration.resampling import draws
from ufsim.calibration.search import FRESH_SEEDS, Objective, Values, mapped

RESAMPLINGS = 40
EXCLUDED_IN = 0.9
# Steps away from the fitted value, where 1 is the whole range.
STEPS = (0.002, 0.005, 0.01, 0.03, 0.1, 0.2, 0.4, 1.0)
# About so many evaluations are needed for each parameter.
EVALUATIONS_EACH = 6
# An interval that covers more of the range says nothing; one of a number that is this much of it is a wide one.
OPEN, WIDE = 0.6, 0.5
# Nearer to a bound than this, in shares of the range, a value is at it.
AT_BOUND = 0.01


@dataclass(frozen=True)
class Fitted:
    """A fitted parameter: its value, the interval of values that do as well, and what there is to say against it.

    `verdict`: "determined"; "wide", where the interval is large against the value; "at its lower bound" and "at its
    upper bound", where the data may want more; "not determined", where most of the range does as well. `is_own` says
    that the search began with the profile's value.
    """

    key: str
    unit: str
    low: int
    high: int
    start: int
    value: int
    interval_low: int
    interval_high: int
    verdict: str
    is_own: bool

    @property
    def may_go_back(self) -> bool:
        """Whether the profile's value is as good, and the data has none of its own."""
        is_open = self.verdict == "not determined" and self.is_own
        return is_open and self.interval_low <= self.start <= self.interval_high

    @property
    def is_kept(self) -> bool:
        """Whether it has the profile's value, for lack of a better one."""
        return self.may_go_back and self.value == self.start

    def row(self) -> dict[str, Any]:
        """The same as a dictionary."""
        return asdict(self)

    def warning(self) -> str | None:
        """What to know before believing the value."""
        around = f"{self.interval_low:,} to {self.interval_high:,} {self.unit}".rstrip()
        match self.verdict:
            case "determined":
                return None
            case "not determined":
                kept = ", which the profile has" if self.is_kept else ""
                return f"{self.key}: the data does not determine it: {around} do as well as {self.value:,}{kept}"
            case "wide":
                return f"{self.key}: the data hardly determines it: {around} do as well as {self.value:,}"
        return f"{self.key} is {self.verdict}, {self.value:,}: the data may want a value beyond it"


def fitted(objective: Objective, values: Values, seed: int, watch: Callable[[int], None]) -> list[Fitted]:
    """What the data says of each parameter at the fitted values.

    What the data does not determine goes back to the value that it began with, if that is as good: a search leaves such
    parameters anywhere. `watch` is told how many evaluations were made so far.
    """
    judge = Judge(objective, values, seed, watch)
    found = [judged(one, values[place], judge.reach(place)) for place, one in enumerate(objective.parameters)]
    back = tuple(one.start if one.may_go_back else one.value for one in found)
    if back == values or judge.excludes(back):
        return found
    return [replace(one, value=value) for one, value in zip(found, back, strict=True)]


def judged(parameter: Parameter, value: int, interval: tuple[int, int]) -> Fitted:
    """A parameter with its verdict."""
    told = verdict(parameter, value, *interval)
    one = parameter
    return Fitted(one.key, one.unit, one.low, one.high, one.start, value, *interval, told, one.is_own)


def verdict(parameter: Parameter, value: int, low: int, high: int) -> str:
    """What there is to say against a value with this interval."""
    at = parameter.place(value)
    if parameter.place(high) - parameter.place(low) >= OPEN:
        return "not determined"
    if at <= AT_BOUND:
        return "at its lower bound"
    if at >= 1 - AT_BOUND:
        return "at its upper bound"
    return "wide" if high - low > WIDE * max(value, 1) else "determined"


class Judge:
    """Compares other values with the fitted ones over the same resamplings."""

    def __init__(self, objective: Objective, values: Values, seed: int, watch: Callable[[int], None]) -> None:
        self._objective, self._values, self._watch = objective, values, watch
        self._evaluations = 0
        self._times = []
        for place, one in enumerate(objective.recorded):
            drawn = draws(one.recording.blocks, RESAMPLINGS, [seed, place])
            self._times.append([times[one.recording.block] for times in drawn])
        self._seeds = list(range(seed + 1, seed + 1 + FRESH_SEEDS))
        if not self._is_random():
            self._seeds = [seed]
        self._fitted = self._resampled(values)

    def reach(self, place: int) -> tuple[int, int]:
        """The first and the last value of a parameter that are not excluded."""
        low, high = (self._last(place, direction) for direction in (-1, 1))
        return low, high

    def excludes(self, values: Values) -> bool:
        """Whether the recordings nearly always prefer the fitted values to these, or the profile allows no such."""
        try:
            resampled = self._resampled(values)
        except _core.ConfigError:
            return True
        return bool((resampled > self._fitted).mean() >= EXCLUDED_IN)

    def _last(self, place: int, direction: int) -> int:
        parameter, own = self._objective.parameters[place], self._values[place]
        at = parameter.place(own)
        values = list(dict.fromkeys(parameter.value(at + direction * step) for step in STEPS))
        values = [own, *(value for value in values if value != own)]
        # Bisection: what is beyond an excluded value is taken to be excluded, too.
        last, excluded = 0, len(values)
        while excluded - last > 1:
            middle = (last + excluded) // 2
            if self.excludes((*self._values[:place], values[middle], *self._values[place + 1 :])):
                excluded = middle
            else:
                last = middle
        return values[last]

    def _is_random(self) -> bool:
        """Whether another seed makes another run."""
        one, other = self._seeds[:2]
        places = range(len(self._objective.recorded))
        run = self._objective.run
        return any((run(place, self._values, one) != run(place, self._values, other)).any() for place in places)

    def _resampled(self, values: Values) -> Floats:
        """The mean loss over all recordings, in each resampling."""
        numbers, places = range(len(self._seeds)), range(len(self._objective.recorded))

        def one(task: tuple[int, int]) -> Floats:
            place, number = task
            simulated = self._objective.run(place, values, self._seeds[number])
            return self._objective.losses[place].resampled(simulated, self._times[place][number :: len(self._seeds)])

        self._evaluations += 1
        self._watch(self._evaluations)
        tasks = [(place, number) for place in places for number in numbers]
        found = dict(zip(tasks, mapped(one, tasks, self._objective.jobs), strict=True))
        by_place = [np.concatenate([found[place, number] for number in numbers]) for place in places]
        losses: Floats = np.mean(by_place, axis=0)
        return losses
