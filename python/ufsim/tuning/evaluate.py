"""Evaluates values of parameters: runs with every seed, and their means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ufsim import _core
from ufsim._options import Setting
from ufsim.devices import describe_profile
from ufsim.inputs import FILES, files_read
from ufsim.kept import RunStore
from ufsim.results.frames import table_row
from ufsim.results.result import Result
from ufsim.results.suite import mean_operation
from ufsim.spec import DEFAULT_SCHEME, Spec, profile_keys
from ufsim.states import StateCache
from ufsim.student import half_width
from ufsim.sweeps.failures import Failure
from ufsim.sweeps.grid import Axis, Fields
from ufsim.sweeps.means import Means
from ufsim.sweeps.points import Point, found, points_of
from ufsim.tuning.task import MEMORY, MISFIT, Task

Values = dict[str, Setting]


@dataclass(frozen=True)
class Measured:
    """What values of parameters gave: means over seeds by column, half of their 95% intervals, or why there is none."""

    means: dict[str, float]
    halves: dict[str, float | None]
    error: str = ""


@dataclass(frozen=True)
class Bench:
    """Where runs are made and kept."""

    task: Task
    means: Means
    store: RunStore
    states: StateCache

    def measured(self, batch: Sequence[Fields]) -> list[Measured]:
        """What each of these fields of a run gives, beside those that all have in common."""
        asked: list[list[Point] | str] = [self._points(fields) for fields in batch]
        points = [point for own in asked if not isinstance(own, str) for point in own]
        failures = self.means.run(self.means.left(points, self.store), self.store, self.states)
        return [Measured({}, {}, own) if isinstance(own, str) else self._of(own, failures) for own in asked]

    def _points(self, fields: Fields) -> list[Point] | str:
        """A point for each seed, or why the device refuses these values."""
        grid = replace(self.task.grid, axes=(Axis("seed", self.task.seeds),))
        wanted = [target.fields for target in self.task.targets] or [{}]
        try:
            each = [replace(grid, fixed={**grid.fixed, **own, **fields}) for own in wanted]
            return [point for one in each for point in points_of(one)]
        except _core.ConfigError as error:
            return str(error).removeprefix(f"{grid.source}: ")

    def _of(self, points: Sequence[Point], failures: Sequence[Failure]) -> Measured:
        failed = {failure.point.name: failure for failure in failures}
        rows = []
        for point in points:
            if point.name in failed:
                return Measured({}, {}, failed[point.name].error)
            document = self.store.read(point.name)
            if document is None:
                raise _core.ConfigError(f"{self.store.path(point.name)}: it has been removed meanwhile")
            result = Result(document)
            rows.append({**table_row(result, result), "operation_mean_ns": mean_operation(result)})
        if self.task.targets:
            return self._misfits(rows)
        wanted = [self.task.column, *([self.task.keep.column] if self.task.keep else [])]
        columns = {name: [row[name] for row in rows] for name in dict.fromkeys((*wanted, *BESIDE))}
        known = {name: [float(value) for value in own] for name, own in columns.items() if None not in own}
        for name in wanted:
            if name not in known:
                return Measured({}, {}, f"the runs have no {name}")
        return Measured(
            {name: sum(own) / len(own) for name, own in known.items()},
            {name: half_width(own) for name, own in known.items()},
        )

    def _misfits(self, rows: "Sequence[Mapping[str, Any]]") -> Measured:
        """Means of the targets' columns, as `target_1` and so on, and the largest misfit.

        The rows are those of the first target, one for each seed, then those of the next.
        """
        seeds = len(self.task.seeds)
        means, halves, misfits = {}, {}, []
        for place, target in enumerate(self.task.targets):
            own = [row[target.column] for row in rows[place * seeds : (place + 1) * seeds]]
            if None in own:
                return Measured({}, {}, f"the runs have no {target.column}: {target}")
            name = target_name(place)
            means[name], halves[name] = sum(own) / len(own), half_width(own)
            misfits.append(target.misfit(means[name]))
        return Measured({**means, MISFIT: max(misfits)}, {**halves, MISFIT: None})


def target_name(place: int) -> str:
    """The column of a target in the frame of trials."""
    return f"target_{place + 1}"


# Told of every trial, whatever the aim.
BESIDE = ("throughput_mib_per_s", "read_p99_ns", "write_p99_ns", "waf_total", "host_dram_bytes")


def own_settings(task: Task) -> dict[str, Any]:
    """What the profile has for each parameter before the search."""
    settings = {name: value for name, value in task.grid.fixed.items() if "." in name}
    known = {entry["key"]: entry["default"] for entry in profile_keys()}
    known |= {entry["key"]: entry["value"] for entry in describe_profile(profile_of(task), settings)["values"]}
    return {one.name: known[MEMORY.get(one.name, one.name)] for one in task.parameters}


def files_of(task: Task) -> list[str]:
    """Paths of the files that runs of a task read."""
    each = [{**task.grid.fixed, **target.fields} for target in task.targets] or [task.grid.fixed]
    specs = []
    for fields in each:
        named: dict[str, Any] = {"workload": "", "scheme": DEFAULT_SCHEME}
        named |= {name: found(str(fields[name]), task.grid.folder) for name in FILES if name in fields}
        specs.append(Spec(**named))
    return [file for spec in specs for file in files_read(spec)]


def without_profile(fields: Fields) -> Fields:
    """Fields of a run without the profile and its keys."""
    return {name: value for name, value in fields.items() if name != "profile" and "." not in name}


def profile_of(task: Task) -> str:
    """The profile that a search begins with: its name, or the path of its file."""
    name = str(task.grid.fixed.get("profile", "hp-ufs"))
    beside = None if task.grid.folder is None else Path(task.grid.folder) / name
    return str(beside) if beside is not None and beside.exists() else name
