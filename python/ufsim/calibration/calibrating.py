"""`ufsim.calibrate`: fits parameters of a profile to recorded latencies, or scores a profile against them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import SupportsIndex, Unpack

import numpy as np

from ufsim import _core, inputs
from ufsim.answers import Answers
from ufsim.calibration import determined
from ufsim.calibration.calibration import Calibration, Fold
from ufsim.calibration.determined import Fitted
from ufsim.calibration.loss import LEAST_CELL, TAIL, WEIGHTS, Loss
from ufsim.calibration.parameters import Bounds, Parameter, from_file, parameters_of
from ufsim.calibration.recording import names_of, opened
from ufsim.calibration.score import Score, scores
from ufsim.calibration.search import EVALUATIONS_EACH, Fit, Objective, Values, mapped, search
from ufsim.names import check_range
from ufsim.runner import jobs_of
from ufsim.spec import RunOptions, Spec, Workload, specs_of

# Without a booster: hardly any phone has one.
SCHEME = "ufs"
SEEDS = 5
# Evaluations so far, in all, and the least loss so far; infinite before there is one.
Progress = Callable[[int, int, float], None]


def calibrate(
    traces: Workload | Sequence[Workload],
    *,
    fit: Mapping[str, Bounds | None] | Sequence[str] | PathLike[str] = (),
    scheme: str = SCHEME,
    seeds: SupportsIndex = SEEDS,
    leave_one_out: bool = False,
    evaluations: SupportsIndex | None = None,
    keep: str | PathLike[str] | None = None,
    jobs: SupportsIndex | None = None,
    progress: Progress | None = None,
    **options: Unpack[RunOptions],
) -> Calibration:
    """Fits parameters of a profile to what traced devices took, and scores how well the profile predicts it.

    `traces` have recorded latencies and are replayed at their times. `fit` names keys of the profile with bounds,
    `{"power.hibern8_exit_us": (100, 2000)}`; with `None`, or in a list of keys, they are a quarter and four times the
    profile's value; a path is that of a file with bounds. Without `fit` the profile is only scored.

    The profile is `profile`, other `options` are those of `ufsim.run` for traces. Scores are of so many `seeds`, from
    `seed` on. With `leave_one_out` each trace is scored under a fit to the others. A fit ends when it gains nothing any
    more, or after so many `evaluations` of all traces (default: 80 for each parameter). With a file `keep`, what was
    evaluated is kept there, and a fit that was stopped goes on. `jobs` runs go on at a time (default: one for each
    processor); the result does not depend on it.

    Raises `ConfigError` for a wrong key or bound, a trace without recorded latencies, and as `ufsim.run`.
    """
    wish = wished(fit)
    specs = checked(specs_of("calibrate", traces, scheme, options), leave_one_out, wish)
    asked = check_range("seeds", seeds, 1, 1000)
    parameters = parameters_of(specs[0].profile, specs[0].settings, wish)
    most = (
        EVALUATIONS_EACH * len(parameters) if evaluations is None else check_range("evaluations", evaluations, 1, 10**6)
    )
    names = names_of([spec.workload for spec in specs])
    recorded = [opened(spec, name) for spec, name in zip(specs, names, strict=True)]
    answers = Answers(None if keep is None else Path(keep), about(specs[0], parameters))
    losses = [Loss(one.recording) for one in recorded]
    objective = Objective(specs[0], parameters, recorded, losses, answers, jobs_of(jobs))
    work = Work(objective, most, specs[0].seed, asked, progress, folds=len(specs) if leave_one_out else 0)
    return work.done()


def wished(fit: Mapping[str, Bounds | None] | Sequence[str] | PathLike[str]) -> dict[str, Bounds | None]:
    """Bounds by key."""
    if isinstance(fit, Mapping):
        return dict(fit)
    if isinstance(fit, Sequence):
        return dict.fromkeys([fit] if isinstance(fit, str) else fit)
    return from_file(str(fit))


def checked(specs: list[Spec], leave_one_out: bool, fit: Mapping[str, Bounds | None]) -> list[Spec]:
    """Refuses what a calibration can not do."""
    first = specs[0]
    if first.replay == "closed":
        raise _core.OptionError(
            "replay is 'closed': recorded latencies are of the recorded times; allowed: timed, queued"
        )
    if first.repeat not in (None, 1):
        raise _core.OptionError("repeat has no effect on a calibration: a trace was recorded once")
    if leave_one_out and (len(specs) < 2 or not fit):
        raise _core.ConfigError("leave_one_out needs two traces or more, and something to fit")
    return specs


def about(spec: Spec, parameters: Sequence[Parameter]) -> str:
    """What answers of a search depend on besides values and trace."""
    keys = [one.key for one in parameters]
    loss = f"{sorted(WEIGHTS.items())} {LEAST_CELL} {TAIL}"
    return f"{_core.__version__} {keys} {json.dumps(inputs.of_spec(replace(spec, workload='')))} {loss}"


class Work:
    """A calibration that is under way."""

    def __init__(
        self, objective: Objective, evaluations: int, seed: int, seeds: int, progress: Progress | None, *, folds: int
    ) -> None:
        self._objective, self._most, self._seed, self._seeds = objective, evaluations, seed, seeds
        self._progress, self._folds, self._fits, self._loss = progress, folds, 0, float("inf")
        # Evaluations of fits, and runs of scores: one of each trace makes an evaluation.
        self._evaluated, self._runs = 0, 0

    def done(self) -> Calibration:
        """Fits, or does not, and scores."""
        objective = self._objective
        everything = range(len(objective.recorded))
        fit = self._fit(list(everything)) if objective.parameters else None
        folds = [self._fold(place) for place in everything] if self._folds else []
        parameters = self._judged(fit) if fit else []
        values = tuple(one.value for one in parameters)
        judged = [self._scores(place, folds[place][1] if folds else values) for place in everything]
        runs = mapped(lambda place: objective.run(place, values, self._seed), everything, objective.jobs, self._scored)
        losses = [objective.losses[place](runs[place]) for place in everything]
        spec = objective.spec
        return Calibration(
            profile=spec.profile,
            scheme=spec.scheme,
            settings=spec.settings,
            seed=self._seed,
            seeds=self._seeds,
            recordings=[one.recording for one in objective.recorded],
            runs=runs,
            losses={one.recording.name: loss for one, loss in zip(objective.recorded, losses, strict=True)},
            first_loss=fit.first_loss if fit else float(np.mean(losses)),
            fit=fit,
            parameters=parameters,
            folds=[fold for fold, _ in folds],
            scores=[score for scores_of in judged for score in scores_of],
        )

    def _fit(self, places: list[int]) -> Fit:
        before = self._fits * self._most
        self._fits += 1
        return search(
            self._objective, places, self._most, self._seed, lambda done, _, loss: self._tell(before + done, loss)
        )

    def _judged(self, fit: Fit) -> list[Fitted]:
        """What the data says of the fitted values."""
        before = self._fits * self._most
        return determined.fitted(
            self._objective, fit.values, self._seed, lambda done: self._tell(before + done, fit.loss)
        )

    def _tell(self, done: int, loss: float) -> None:
        """Tells how many evaluations of about how many were made, and the least loss."""
        self._evaluated, self._loss = done, loss
        if self._progress is not None:
            parameters = len(self._objective.parameters)
            fits = (1 + self._folds) * self._most + determined.EVALUATIONS_EACH * parameters if parameters else 0
            # A fit that ended early made fewer than it was given, and scores come after all fits.
            done = fits if self._runs else min(done, fits)
            total = fits + self._seeds + 1
            self._progress(done + self._runs // len(self._objective.recorded), total, loss)

    def _scored(self) -> None:
        self._runs += 1
        self._tell(self._evaluated, self._loss)

    def _fold(self, left_out: int) -> tuple[Fold, Values]:
        """A fit without one of the recordings."""
        objective = self._objective
        fit = self._fit([place for place in range(len(objective.recorded)) if place != left_out])
        values = {one.key: value for one, value in zip(objective.parameters, fit.values, strict=True)}
        name = objective.recorded[left_out].recording.name
        return Fold(name, values, fit.loss, objective.of([fit.values], [left_out], [self._seed])[0]), fit.values

    def _scores(self, place: int, values: Values) -> list[Score]:
        """The scores of one recording, from runs with all seeds."""
        objective = self._objective
        seeds = range(self._seed, self._seed + self._seeds)
        runs = mapped(lambda seed: objective.run(place, values, seed), seeds, objective.jobs, self._scored)
        return scores(objective.recorded[place].recording, runs, self._seed)
