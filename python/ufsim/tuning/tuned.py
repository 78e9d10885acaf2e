"""What a search has found: a profile with its evidence, and all trials."""

import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ufsim import _core, outputs
from ufsim.calibration.written import profile_text
from ufsim.sweeps.table import axis_column
from ufsim.tuning.evaluate import Bench, Measured, Values, profile_of, target_name, without_profile
from ufsim.tuning.search import FAILED, KEPT, Found, Trial
from ufsim.tuning.task import MEMORY, MISFIT, Target, Task

if TYPE_CHECKING:
    import pandas as pd

PROFILE, TRIALS, CANDIDATE = "tuned.toml", "trials.parquet", "candidate.toml"
WRITTEN = (PROFILE, TRIALS, CANDIDATE)


@dataclass(frozen=True)
class Tuned:
    """The result of a search.

    `values` are those of the best trial; `frame` has a row for each trial; `own`, `best` and `confirmed` are what the
    profile's own values, the best trial, and the written profile gave. `path` is the profile's file.
    """

    task: Task
    values: Values
    frame: "pd.DataFrame"
    own: Measured
    best: Measured
    confirmed: Measured
    path: Path

    def __repr__(self) -> str:
        return f"<ufsim.Tuned for {self.task}: {', '.join(f'{name}={value}' for name, value in self.values.items())}>"


def finished(bench: Bench, found: Found, directory: Path) -> Tuned:
    """Writes trials and profile. Raises `ConfigError` if no trial serves."""
    task, frame = bench.task, trials_frame(bench.task, found)
    written([(directory / TRIALS, outputs.parquet(frame))])
    best = found.best(task)
    if best is None:
        raise _core.ConfigError(f"{task.grid.source}: {none_served(task, found)}")
    body = profile(task, best, found, directory)
    # The profile is run as it is, for a device that is aged under it may differ from one that is changed afterwards.
    candidate = directory / CANDIDATE
    written([(candidate, outputs.text(body))])
    try:
        (confirmed,) = bench_of_profile(bench, candidate).measured([{}])
    finally:
        candidate.unlink(missing_ok=True)
    path = directory / PROFILE
    written([(path, outputs.text(evidence(task, found, best, confirmed) + body))])
    return Tuned(task, best.values, frame, found.own, best.measured, confirmed, path)


def written(steps: list[outputs.Step]) -> None:
    """Writes files, or raises `Unwritten`."""
    if failures := outputs.write(steps):
        raise outputs.Unwritten(failures)


def none_served(task: Task, found: Found) -> str:
    """Why there is no result."""
    failed = [trial.measured.error for trial in found.trials if trial.status == FAILED]
    if len(failed) == len(found.trials):
        return f"all {len(failed)} trials have failed, the first because {failed[0]}"
    return f"none of {len(found.trials)} trials keeps {task.keep}; allowed: wider bounds, more runs, or less to keep"


def bench_of_profile(bench: Bench, path: Path) -> Bench:
    """The same runs under a profile's file."""
    fixed = {**without_profile(bench.task.grid.fixed), "profile": str(path.absolute())}
    return replace(bench, task=replace(bench.task, grid=replace(bench.task.grid, fixed=fixed)))


def profile(task: Task, best: Trial, found: Found, folder: Path) -> str:
    """The profile with the values of the best trial, each with its source."""
    aim = f"{len(task.targets)} figures, which the head of this file has" if task.targets else task
    source = f"ufsim tune {_core.__version__}: {aim}; trial {best.number} of {len(found.trials)}"
    settings = {name: value for name, value in task.grid.fixed.items() if "." in name}
    values = {MEMORY.get(name, name): (value, source) for name, value in best.values.items()}
    return profile_text(profile_of(task), settings, values, folder, "tuned")


def evidence(task: Task, found: Found, best: Trial, confirmed: Measured) -> str:
    """What speaks for the values, as comments."""
    statuses = [trial.status for trial in found.trials]
    apart = ("profile", *(task.targets[0].fields if task.targets else ()))
    fixed = {name: value for name, value in task.grid.fixed.items() if name not in apart and "." not in name}
    lines = [
        f"Found by ufsim tune {_core.__version__}.",
        f"Aim: {task}.",
        *(["A misfit of 1 is the end of a tolerance; this is the largest of all targets."] if task.targets else []),
        f"Under: {', '.join(f'{name} = {value}' for name, value in fixed.items())}; seeds {task.seeds}.",
        f"Trials: {len(statuses)} with seed {task.seed}, {statuses.count(KEPT)} of them served,"
        f" {statuses.count(FAILED)} could not run. {TRIALS} has them all.",
        f"Before: {told(task, found.own)}.",
        f"Best trial, {best.number}: {told(task, best.measured)}.",
        f"This file as the profile: {confirmed.error or told(task, confirmed)}.",
        *([f"Wanted: {task.keep}, which is {found.floor:.6g}."] if task.keep else []),
    ]
    return "".join(f"{row}\n" for line in lines for row in comment(line)) + "\n"


def comment(line: str) -> list[str]:
    """A sentence as lines of a comment."""
    flat = " ".join(line.split())
    return textwrap.wrap(flat, 118, initial_indent="# ", subsequent_indent="#   ", break_long_words=False)


def told(task: Task, measured: Measured) -> str:
    """The columns of the aim: means with half of their 95% intervals."""
    if task.targets:
        each = enumerate(task.targets)
        parts = [f"{one.column} {against(one, measured.means[target_name(place)])}" for place, one in each]
        return f"{', '.join(parts)}; misfit {measured.means[MISFIT]:.3g}"
    columns = dict.fromkeys((task.column, *([task.keep.column] if task.keep else [])))
    parts = []
    for name in columns:
        half = measured.halves.get(name)
        parts.append(f"{name} {measured.means[name]:.6g}" + ("" if half is None else f" +- {half:.3g}"))
    return ", ".join(parts)


def against(target: Target, found: float) -> str:
    """A figure and how far it is from its target."""
    return f"{found:.6g} ({(found / target.value - 1) * 100:+.1f}%)"


def trials_frame(task: Task, found: Found) -> "pd.DataFrame":
    """A row for each trial.

    Columns: `trial`, the parameters, `status` (kept, too little, failed), `error`, and means over seeds with half of
    their 95% intervals (`_ci95`): of the columns of the aim, throughput, p99, write amplification and host DRAM.
    """
    import pandas as pd

    frame = pd.DataFrame({"trial": [trial.number for trial in found.trials]})
    for one in task.parameters:
        frame[one.name] = axis_column([trial.values[one.name] for trial in found.trials])
    frame["status"] = axis_column([trial.status for trial in found.trials])
    frame["error"] = axis_column([trial.measured.error for trial in found.trials])
    for name in found.own.means:
        for suffix, place in (("", "means"), ("_ci95", "halves")):
            values = [getattr(trial.measured, place).get(name) for trial in found.trials]
            frame[f"{name}{suffix}"] = pd.Series(values, dtype="float64")
    frame["version"] = axis_column([_core.__version__] * len(frame))
    return frame
