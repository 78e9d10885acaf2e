"""What a search is asked for: parameters with bounds, an aim, a budget. Nothing is simulated here.

What is wrong with it raises `ConfigError`, which names the field and what is allowed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ufsim.bundled import located
from ufsim.columns import FRAMES
from ufsim.names import check_choice, check_range, did_you_mean, plain
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
class Task:
    """A search: the least of a column (`sign` 1) or the most (-1), over parameters, with so many runs.

    `grid` has what all runs have in common. Each trial is run with each of `seeds`; `seed` is that of the search.
    """

    grid: Grid
    parameters: tuple[Range, ...]
    column: str
    sign: int
    keep: Keep | None
    runs: int
    seeds: tuple[int, ...]
    seed: int

    @property
    def trials(self) -> int:
        """How many trials the budget allows."""
        return self.runs // len(self.seeds)

    def __str__(self) -> str:
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
    grid = grid_of({"fixed": table(tables, "fixed", source)}, folder, source)
    parameters = parameters_of(table(tables, "bounds", source), grid)
    for name in grid.fixed:
        if "*" in name:
            wrong(source, f"fixed has '{name}', which no profile can have", "the key of one scheme")
    column, sign, keep = aim_of(table(tables, "aim", source), source)
    search = table(tables, "search", source)
    for name in search:
        check_choice(f"{source}: search", name, ("runs", "seeds", "seed"))
    budget = check_range(f"{source}: search.runs", search.get("runs", 100) if runs is None else runs, 1, MOST_RUNS)
    given = search.get("seeds", [1])
    if not isinstance(given, list) or not given:
        wrong(source, f"search.seeds is {given!r}", "a list of whole numbers")
    seeds = tuple(check_range(f"{source}: search.seeds", seed, 0, 2**63 - 1) for seed in given)
    if budget < len(seeds):
        wrong(source, f"search.runs is {budget}", f"at least one for each of the {len(seeds)} seeds")
    own = check_range(f"{source}: search.seed", search.get("seed", 1), 0, 2**32 - 1)
    return Task(grid, parameters, column, sign, keep, budget, seeds, own)


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


def aim_of(fields: Fields, source: str) -> tuple[str, int, Keep | None]:
    """The column that is to be least or most, its sign, and what has to be kept."""
    for name in fields:
        check_choice(f"{source}: aim", name, ("minimise", "maximise", "keep"))
    named = [name for name in ("minimise", "maximise") if name in fields]
    if len(named) != 1:
        wrong(source, f"aim has {' and '.join(named) or 'no column'}", "one of minimise and maximise")
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
