"""The search: Optuna proposes values, runs say what they are worth, until the budget is spent.

Optuna's state is not kept. The results of runs are, by their inputs, and the same seed proposes the same values after
the same worths: a search that was stopped goes through its first trials again without a run, and then goes on. Trials
are proposed in batches whose size does not depend on how many runs go on at a time, so neither does what is found.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ufsim import _core
from ufsim.calibration.parameters import number
from ufsim.devices import describe_profile
from ufsim.sweeps.latin import Range
from ufsim.tuning.evaluate import Bench, Measured, Values, profile_of
from ufsim.tuning.task import MEMORY, UNLIMITED, Task

# Trials that are proposed at a time.
BATCH = 4
# Worths of values that do not keep what has to be kept, and of those that can not run. Only their order counts.
SHORT, REFUSED = 1e100, 1e200

KEPT, TOO_LITTLE, FAILED = "kept", "too little", "failed"

# trials done, trials in all
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Trial:
    """Values of the parameters, what they gave, and whether that keeps what has to be kept."""

    number: int
    values: Values
    measured: Measured
    status: str


@dataclass(frozen=True)
class Found:
    """All trials, what the profile's own values gave, and the value that has to be reached."""

    trials: list[Trial]
    own: Measured
    floor: float | None

    def best(self, task: Task) -> Trial | None:
        """The trial that serves the aim best, the first of equal ones; nothing if none keeps what has to be kept."""
        kept = [trial for trial in self.trials if trial.status == KEPT]
        return min(kept, key=lambda trial: task.sign * trial.measured.means[task.column], default=None)


def search(bench: Bench, progress: Progress | None = None) -> Found:
    """Spends the budget. Raises `ConfigError` if the profile's own values can not run."""
    task, optuna = bench.task, library()
    unlimited = {"host_memory_mib": UNLIMITED}
    asked = [{}, unlimited] if task.keep and task.keep.of == UNLIMITED else [{}]
    references = bench.measured(asked)
    for one in references:
        if one.error:
            raise _core.ConfigError(f"{task.grid.source}: before the search: {one.error}")
    floor = references[-1].means[task.keep.column] * task.keep.percent / 100 if task.keep else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=task.seed))
    space = {one.name: distribution(one, optuna) for one in task.parameters}
    if (begun := own_values(task)) is not None:
        study.enqueue_trial(begun)
    trials: list[Trial] = []
    while len(trials) < task.trials:
        asked_now = [study.ask(space) for _ in range(min(BATCH, task.trials - len(trials)))]
        results = bench.measured([one.params for one in asked_now])
        for one, measured in zip(asked_now, results, strict=True):
            trial = Trial(len(trials), dict(one.params), measured, status_of(task, measured, floor))
            trials.append(trial)
            study.tell(one, worth(task, trial, floor))
        if progress is not None:
            progress(len(trials), task.trials)
    return Found(trials, references[0], floor)


def library() -> Any:
    """Optuna, which is optional, and says what it does only if something is wrong."""
    try:
        optuna: Any = import_module("optuna")
    except ImportError as error:
        raise _core.ConfigError("`ufsim tune` needs the package optuna: pip install 'ufsim[tune]'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def distribution(one: Range, optuna: Any) -> Any:
    """A range as Optuna has it."""
    if one.values:
        return optuna.distributions.CategoricalDistribution(one.values)
    kind = optuna.distributions.IntDistribution if one.whole else optuna.distributions.FloatDistribution
    return kind(one.low, one.high, log=one.log)


def own_values(task: Task) -> Values | None:
    """The profile's own values, with which the search begins; nothing if one of them is no number within the bounds."""
    settings = {name: value for name, value in task.grid.fixed.items() if "." in name}
    known = {entry["key"]: entry["value"] for entry in describe_profile(profile_of(task), settings)["values"]}
    found: Values = {}
    for one in task.parameters:
        value = number(known.get(MEMORY.get(one.name, one.name)))
        if value is None or one.values or not one.low <= value <= one.high:
            return None
        found[one.name] = value if one.whole else float(value)
    return found


def status_of(task: Task, measured: Measured, floor: float | None) -> str:
    """Whether a trial counts."""
    if measured.error:
        return FAILED
    return KEPT if task.keep is None or floor is None or measured.means[task.keep.column] >= floor else TOO_LITTLE


def worth(task: Task, trial: Trial, floor: float | None) -> float:
    """What Optuna makes least: the column; above all of it, for trials that keep too little, how much they lack."""
    if trial.status == KEPT:
        return task.sign * trial.measured.means[task.column]
    if trial.status == FAILED or task.keep is None or not floor:
        return REFUSED
    return SHORT * (2 - trial.measured.means[task.keep.column] / floor)
