"""The search for the parameters with the least loss: CMA-ES, on all processors, the same for the same seed.

Why CMA-ES (the package `cma`, by its author): the loss is made of sorted times of a simulation, so it has no
derivative, small steps everywhere, and parameters that trade with each other; CMA-ES needs only the order of losses,
learns such trades, and takes some hundred evaluations for ten parameters, of which a whole generation can go on at the
same time. Of the same seed it asks the same questions; answers are kept, so a search that was stopped goes on.

Optuna's sampler of the same kind, which `ufsim tune` could lend, does not tell the middle of what a search has come to,
which runs with random times need (`surer`). Nine fits of eight parameters to recordings of the simulator came to losses
from 0.006 to 0.033 with `cma` (median 0.015) and from 0.004 to 0.095 with Optuna (median 0.010).
"""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from ufsim import _core
from ufsim.answers import Answers
from ufsim.calibration.loss import Loss
from ufsim.calibration.parameters import Parameter
from ufsim.calibration.recording import Floats, Recorded
from ufsim.spec import Spec

# First steps are this long, where 1 is the whole range of a parameter.
FIRST_STEP = 0.2
# The search ends when steps are shorter, or losses of a generation nearer to each other.
LAST_STEP, LAST_DIFFERENCE = 2e-4, 1e-6
# Evaluations for each parameter, unless it is said.
EVALUATIONS_EACH = 80
# Seeds that a search does not see, by which its outcome is judged.
FRESH_SEEDS = 8
# The loss of values with which the profile allows no run.
REFUSED = 100.0

Values = tuple[int, ...]
# Digest of a trace, values and seed.
Question = tuple[str, Values, int]
Watch = Callable[[int, int, float], None]

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Objective:
    """The loss of values of some parameters over some recordings, of which each counts the same."""

    spec: Spec
    parameters: Sequence[Parameter]
    recorded: Sequence[Recorded]
    losses: Sequence[Loss]
    answers: Answers
    jobs: int

    def settings(self, values: Values) -> Spec:
        """The specification of a run with these values."""
        fitted = {one.key: value for one, value in zip(self.parameters, values, strict=True)}
        return with_settings(self.spec, fitted)

    def run(self, place: int, values: Values, seed: int) -> Floats:
        """Latencies of a recording's requests with these values and a seed."""
        one = self.recorded[place]
        return one.simulated(replace(self.settings(values), workload=one.recording.path, seed=seed))

    def loss(self, place: int, values: Values, seed: int) -> float:
        """The loss of one recording with these values and a seed."""
        known = self.answers.known.get(self._question(place, values, seed))
        if known is None:
            try:
                known = self.losses[place](self.run(place, values, seed))
            except _core.ConfigError:
                known = REFUSED
        return known

    def of(self, candidates: Iterable[Values], places: Sequence[int], seeds: Sequence[int]) -> list[float]:
        """The mean loss of each of some candidates over some recordings and seeds."""
        candidates = list(candidates)
        each = [(place, seed) for place in places for seed in seeds]
        tasks = list(dict.fromkeys((place, values, seed) for values in candidates for place, seed in each))
        # Longest first: the last one to end decides.
        tasks.sort(key=lambda task: -len(self.recorded[task[0]].recording))
        found = dict(zip(tasks, mapped(lambda task: self.loss(*task), tasks, self.jobs), strict=True))
        for task, loss in found.items():
            question = self._question(*task)
            if question not in self.answers.known:
                self.answers.add(question, loss)
        return [math.fsum(found[place, values, seed] for place, seed in each) / len(each) for values in candidates]

    def _question(self, place: int, values: Values, seed: int) -> Question:
        return self.recorded[place].digest, values, seed


@dataclass(frozen=True)
class Fit:
    """The best values that a search has found, their loss, that of the values it began with, and its length."""

    values: Values
    loss: float
    first_loss: float
    evaluations: int
    ended: str


def search(objective: Objective, places: Sequence[int], evaluations: int, seed: int, watch: Watch | None) -> Fit:
    """Searches for the values with the least loss over the recordings at these places."""
    cma = library()
    parameters = objective.parameters
    start = tuple(one.start for one in parameters)
    first = objective.of([start], places, [seed])[0]
    best, best_loss, done = start, first, 1
    # CMA-ES has no use for a single dimension; a second one without effect makes it one.
    begun = [one.place(one.start) for one in parameters] + [0.5] * (len(parameters) == 1)
    # Even, so that two processors end together; not of their number, on which the result must not depend.
    size = 4 + int(3 * math.log(len(begun)))
    size += size % 2
    options = {
        "bounds": [0.0, 1.0],
        "seed": seed % (1 << 32 - 1) + 1,
        "popsize": size,
        "maxfevals": max(1, evaluations - 1),
        "tolx": LAST_STEP,
        "tolfun": LAST_DIFFERENCE,
        "tolfunhist": LAST_DIFFERENCE,
        "tolflatfitness": 10,
        "verbose": -9,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strategy = cma.CMAEvolutionStrategy(begun, FIRST_STEP, options)
        while not strategy.stop():
            asked = strategy.ask()
            candidates = [values_at(parameters, point) for point in asked]
            losses = objective.of(candidates, places, [seed])
            strategy.tell(asked, losses)
            done += len(losses)
            lowest = int(np.argmin(losses))
            if losses[lowest] < best_loss:
                best, best_loss = candidates[lowest], losses[lowest]
            if watch is not None:
                watch(min(done, evaluations), evaluations, best_loss)
        ended = ", ".join(strategy.stop())
        favourite = values_at(parameters, strategy.result.xfavorite)
    return Fit(surer(objective, places, seed, [best, favourite]), best_loss, first, done, ended)


def library() -> Any:
    """The package `cma`, which is optional."""
    try:
        return import_module("cma")
    except ImportError as error:
        raise _core.ConfigError("a fit needs the package cma: pip install 'ufsim[calibrate]'") from error


def surer(objective: Objective, places: Sequence[int], seed: int, candidates: Sequence[Values]) -> Values:
    """The candidate with the least loss over seeds that the search has not seen.

    Where runs are random, the best of a thousand values owes some of that to luck, and the middle of what the search
    has come to may be better.
    """
    losses = objective.of(candidates, places, range(seed + 1, seed + 1 + FRESH_SEEDS))
    return candidates[int(np.argmin(losses))]


def values_at(parameters: Sequence[Parameter], point: Sequence[float]) -> Values:
    """The values at a point of the search."""
    return tuple(one.value(float(place)) for one, place in zip(parameters, point, strict=False))


def with_settings(spec: Spec, values: Mapping[str, int]) -> Spec:
    """A specification with other values of the profile."""
    return replace(spec, settings={**spec.settings, **values})


def mapped(
    call: Callable[[T], R], tasks: Sequence[T], jobs: int, ended: Callable[[], object] = lambda: None
) -> list[R]:
    """Calls a function for each task, some at a time: the core leaves other threads the interpreter meanwhile.

    `ended` is called by this thread for each task that has ended, in their order.
    """

    def collected(results: Iterable[R]) -> list[R]:
        found = []
        for result in results:
            found.append(result)
            ended()
        return found

    if jobs == 1 or len(tasks) == 1:
        return collected(map(call, tasks))
    with ThreadPoolExecutor(max_workers=min(jobs, len(tasks)), thread_name_prefix="ufsim-calibrate") as pool:
        return collected(pool.map(call, tasks))
