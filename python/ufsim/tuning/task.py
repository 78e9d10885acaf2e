"""What a search is asked for: parameters with bounds, an aim, a budget. Nothing is simulated here.

What is wrong with it raises `ConfigError`, which names the field and what is allowed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields as fields_of
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ufsim._options import Options
from ufsim.bundled import located
from ufsim.names import check_choice, check_range, did_you_mean, plain
from ufsim.results.columns import FRAMES
from ufsim.spec import key_names
from ufsim.sweeps.grid import Fields, Grid, flat, grid_of, range_of, table, wrong
from ufsim.sweeps.latin import Range
from ufsim.toml_files import toml_tables

TABLES = ("fixed", "bounds", "aim", "search")
COLUMNS = (*(column.name for column in FRAMES["table"] if column.dtype in ("int64", "float64")), "operation_mean_ns")
# The option that is a key of the profile as well.
MEMORY = {"host_memory_mib": "host.memory_mib"}
UNLIMITED, OWN = "unlimited", "profile"
MOST_RUNS = 100_000
# What a search with targets makes least, and a misfit of which only the order counts.
MISFIT, MOST_MISFIT = "misfit", 1e6
TARGET = frozenset({"workload", "column", "value", "tolerance_percent"})
OPTION_NAMES = tuple(option.name for option in fields_of(Options) if option.name not in ("settings", "seed"))


@dataclass(frozen=True)
class Keep:
    """What has to be kept: `percent` of a column where more is better, of what another run gives.

    `of` is "unlimited", the profile's own values with unlimited host memory, or "profile", these values as they are.
    """

    column: str
    percent: float
    of: str

    def __str__(self) -> str:
        return f"{self.column} at {self.percent:g}% of {self.of}"


@dataclass(frozen=True)
class Target:
    """A figure of a data sheet: what a column has to be under a workload, to within a tolerance.

    `fields` are the workload and other options of its runs.
    """

    fields: Mapping[str, Any]
    column: str
    value: float
    tolerance_percent: float

    def misfit(self, found: float) -> float:
        """How far a figure is from the target, in tolerances: 1 is the end of what is allowed."""
        if found <= 0:
            return MOST_MISFIT
        return min(abs(math.log(found / self.value)) / math.log1p(self.tolerance_percent / 100), MOST_MISFIT)

    def __str__(self) -> str:
        return f"{self.column} {self.value:g} (+- {self.tolerance_percent:g}%) of {self.fields['workload']}"


@dataclass(frozen=True)
class Task:
    """A search: the least of a column (`sign` 1) or the most (-1), over parameters, with so many runs.

    With `targets` the column is `misfit`: the largest misfit of one. `grid` has what all runs have in common. Each
    trial is run with each of `seeds`; `seed` is that of the search.
    """

    grid: Grid
    parameters: tuple[Range, ...]
    column: str
    sign: int
    keep: Keep | None
    runs: int
    seeds: tuple[int, ...]
    seed: int
    targets: tuple[Target, ...] = ()

    @property
    def trials(self) -> int:
        """How many trials the budget allows."""
        return self.runs // self.runs_of_a_trial

    @property
    def runs_of_a_trial(self) -> int:
        """Each target is run with each seed."""
        return len(self.seeds) * max(1, len(self.targets))

    def __str__(self) -> str:
        if self.targets:
            return "; ".join(map(str, self.targets))
        aim = f"{'least' if self.sign > 0 else 'most'} {self.column}"
        return f"{aim}, keeping {self.keep}" if self.keep else aim


def read_task(path: str | PathLike[str], runs: int | None = None) -> Task:
    """The search of a TOML file; `runs` replaces its budget."""
    place = Path(located(path))
    return task_of(toml_tables(place, fspath(path)), place.parent, fspath(path), runs)


def task_of(
    tables: Mapping[str, Any], folder: Path | None = None, source: str = "task", runs: int | None = None
) -> Task:
    """The search that tables describe: `fixed`, `bounds`, `aim`, `search`."""
    tables = plain(tables)
    for name in tables:
        if name not in TABLES:
            wrong(source, f"[{name}] is no table of a search", f"{', '.join(TABLES)}{did_you_mean(name, TABLES)}")
    fixed, aim = table(tables, "fixed", source), table(tables, "aim", source)
    targets = targets_of(aim, fixed, source) if "targets" in aim else ()
    # Each target brings a workload of its own; that of the first stands for them where one has to be there.
    fixed = {**targets[0].fields, **fixed} if targets else fixed
    grid = grid_of({"fixed": fixed}, folder, source)
    parameters = parameters_of(table(tables, "bounds", source), grid)
    for name in grid.fixed:
        if "*" in name:
            wrong(source, f"fixed has '{name}', which no profile can have", "the key of one scheme")
    column, sign, keep = (MISFIT, 1, None) if targets else aim_of(aim, source)
    search = table(tables, "search", source)
    for name in search:
        check_choice(f"{source}: search", name, ("runs", "seeds", "seed"))
    budget = check_range(f"{source}: search.runs", search.get("runs", 100) if runs is None else runs, 1, MOST_RUNS)
    given = search.get("seeds", [1])
    if not isinstance(given, list) or not given:
        wrong(source, f"search.seeds is {given!r}", "a list of whole numbers")
    seeds = tuple(check_range(f"{source}: search.seeds", seed, 0, 2**63 - 1) for seed in given)
    if again := [seed for seed in seeds if seeds.count(seed) > 1]:
        wrong(source, f"search.seeds has {again[0]} twice", "each seed once")
    own = check_range(f"{source}: search.seed", search.get("seed", 1), 0, 2**32 - 1)
    task = Task(grid, parameters, column, sign, keep, budget, seeds, own, targets)
    if task.trials < 1:
        of_targets = f" and {len(targets)} targets" if targets else ""
        wrong(source, f"search.runs is {budget}", f"at least one for each of the {len(seeds)} seeds{of_targets}")
    return task


def parameters_of(fields: Fields, grid: Grid) -> tuple[Range, ...]:
    """The parameters with their bounds."""
    found = []
    for name, given in flat(fields):
        if (name not in key_names() and name not in MEMORY) or "*" in name:
            allowed = (*MEMORY, *(key for key in key_names() if "*" not in key))
            told = f"keys of a profile, and {', '.join(MEMORY)}{did_you_mean(name, allowed)}"
            wrong(grid.source, f"bounds.{name} is no parameter", told)
        if name in grid.fixed or MEMORY.get(name, name) in grid.fixed:
            wrong(grid.source, f"'{name}' stands twice", "each name once, in fixed or bounds")
        found.append(range_of(name, given, f"{grid.source}: bounds"))
    if not found:
        wrong(grid.source, "no bounds", "[bounds] with a range for each parameter, such as [1, 64]")
    return tuple(found)


def targets_of(aim: Fields, fixed: Fields, source: str) -> tuple[Target, ...]:
    """The figures that are wanted."""
    told = '[[aim.targets]] with workload, column, value and tolerance_percent, such as "iops", 100_000 and 5'
    if set(aim) != {"targets"}:
        wrong(source, f"aim has targets beside {', '.join(sorted(set(aim) - {'targets'}))}", "nothing beside targets")
    if not isinstance(aim["targets"], list) or not aim["targets"]:
        wrong(source, f"aim.targets is {aim['targets']!r}", told)
    if "workload" in fixed:
        wrong(source, "fixed has a workload beside aim.targets", "a workload in each target")
    return tuple(target_of(one, f"{source}: aim.targets[{place}]", told) for place, one in enumerate(aim["targets"]))


def target_of(given: Any, source: str, told: str) -> Target:
    """One of them."""
    if not isinstance(given, dict) or not TARGET.issubset(given):
        missing = sorted(TARGET - set(given)) if isinstance(given, dict) else sorted(TARGET)
        wrong(source, f"{', '.join(missing)} is missing", told)
    check_choice(f"{source}.column", given["column"], COLUMNS)
    numbers = {}
    for name in ("value", "tolerance_percent"):
        number = given[name]
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < math.inf:
            wrong(source, f"{name} is {number!r}", "a number above 0")
        numbers[name] = float(number)
    fields = {name: value for name, value in given.items() if name not in TARGET or name == "workload"}
    for name in fields:
        check_choice(source, name, (*TARGET, *OPTION_NAMES))
    return Target(fields, given["column"], **numbers)


def aim_of(fields: Fields, source: str) -> tuple[str, int, Keep | None]:
    """The column that is to be least or most, its sign, and what has to be kept."""
    for name in fields:
        check_choice(f"{source}: aim", name, ("minimise", "maximise", "keep", "targets"))
    named = [name for name in ("minimise", "maximise") if name in fields]
    if len(named) != 1:
        wrong(source, f"aim has {' and '.join(named) or 'no column'}", "one of minimise and maximise, or targets")
    check_choice(f"{source}: aim.{named[0]}", fields[named[0]], COLUMNS)
    return fields[named[0]], 1 if named[0] == "minimise" else -1, keep_of(fields.get("keep"), source)


def keep_of(given: Any, source: str) -> Keep | None:
    """What has to be kept, if anything."""
    if given is None:
        return None
    told = '{ column = "throughput_mib_per_s", percent = 95, of = "unlimited" }'
    if not isinstance(given, dict) or set(given) != {"column", "percent", "of"}:
        wrong(source, f"aim.keep is {given!r}", told)
    check_choice(f"{source}: aim.keep.column", given["column"], COLUMNS)
    check_choice(f"{source}: aim.keep.of", given["of"], (UNLIMITED, OWN))
    percent = given["percent"]
    if isinstance(percent, bool) or not isinstance(percent, int | float) or not percent > 0:
        wrong(source, f"aim.keep.percent is {percent!r}", "a number above 0")
    return Keep(given["column"], float(percent), given["of"])
