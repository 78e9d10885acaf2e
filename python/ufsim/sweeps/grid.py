"""Grids: which points a sweep has, as a TOML file or a dictionary says it.

Nothing is simulated here. What is wrong with a grid raises `ConfigError`, which names the axis or field and what is
allowed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NoReturn, get_args, get_type_hints

from ufsim import _core
from ufsim._options import Options, RunOptions, Setting
from ufsim.bundled import located
from ufsim.names import check_range, did_you_mean, plain
from ufsim.results.columns import FRAMES
from ufsim.spec import key_names
from ufsim.sweeps.latin import Range
from ufsim.toml_files import toml_tables

# Options of a run that a grid may name; keys of the profile stand beside them, so `settings` is none.
OPTIONS = tuple(name for name in ("workload", "scheme", *RunOptions.__annotations__) if name != "settings")
TYPES = get_type_hints(Options)
# `{range}` in a text stands for the value of the axis `range`. `${range}` is a variable of fio.
PLACE = re.compile(r"(?<!\$)\{([A-Za-z_][A-Za-z0-9_]*)\}")
TABLES = ("fixed", "axes", "zip", "sample")
MOST_POINTS = 1_000_000
# Columns that are in every table of a sweep.
TAKEN = ("point", "seeds", "operation_mean_ns", *(column.name for column in FRAMES["table"]))

Fields = dict[str, Any]


@dataclass(frozen=True)
class Axis:
    """What differs from point to point, and its values in their order."""

    name: str
    values: tuple[Setting, ...]


@dataclass(frozen=True)
class Sample:
    """A Latin hypercube: so many points, and a range for each axis."""

    points: int
    seed: int
    ranges: tuple[Range, ...]


@dataclass(frozen=True)
class Grid:
    """All points: each value of `axes` with each, with each row of every `zips`, with each point of the sample.

    `fixed` has what all points have in common, by option or key of the profile. `folder` is where the files lie that
    the grid names, `source` what messages call it.
    """

    fixed: Fields
    axes: tuple[Axis, ...]
    zips: tuple[tuple[Axis, ...], ...]
    sample: Sample | None
    folder: Path | None
    source: str

    @property
    def names(self) -> list[str]:
        """Names of all axes, in the order of their columns."""
        zipped = [axis.name for rows in self.zips for axis in rows]
        sampled = [one.name for one in self.sample.ranges] if self.sample else []
        return [*(axis.name for axis in self.axes), *zipped, *sampled]

    @property
    def sampled(self) -> list[str]:
        """Names of the axes whose values are drawn."""
        return [one.name for one in self.sample.ranges] if self.sample else []


def read_grid(path: str | PathLike[str]) -> Grid:
    """The grid of a TOML file; what it names lies beside it, or where a command line finds it."""
    place = Path(located(path))
    return grid_of(toml_tables(place, fspath(path)), place.parent, fspath(path))


def grid_of(tables: Mapping[str, Any], folder: Path | None = None, source: str = "grid") -> Grid:
    """The grid that tables describe: `fixed`, `axes`, `zip`, `sample`."""
    tables = plain(tables)
    for name in tables:
        if name not in TABLES:
            wrong(source, f"[{name}] is no table of a grid", f"{', '.join(TABLES)}{did_you_mean(name, TABLES)}")
    fixed = dict(flat(table(tables, "fixed", source)))
    zipped = tables.get("zip", [])
    grid = Grid(
        {key.removeprefix("settings."): value for key, value in fixed.items()},
        axes_of(table(tables, "axes", source), "axes", source),
        tuple(zip_of(rows, source) for rows in (zipped if isinstance(zipped, list) else [zipped])),
        sample_of(tables["sample"], source) if "sample" in tables else None,
        folder,
        source,
    )
    check_names(grid)
    return grid


def wrong(source: str, what: str, allowed: str) -> NoReturn:
    """Refuses a grid."""
    raise _core.ConfigError(f"{source}: {what}; allowed: {allowed}")


def table(tables: Mapping[str, Any], name: str, source: str) -> Fields:
    """A table of a grid; an empty one if it is left out."""
    found = tables.get(name, {})
    if not isinstance(found, dict):
        wrong(source, f"{name} is {found!r}", f"a table, [{name}]")
    return found


def flat(fields: Fields, before: str = "") -> Iterator[tuple[str, Any]]:
    """Fields of tables within tables by their whole names: `gc.pace` needs no quotes. Ranges stay tables."""
    for key, value in fields.items():
        if isinstance(value, dict) and not {"low", "high", "values"} & value.keys():
            yield from flat(value, f"{before}{key}.")
        else:
            yield before + key, value


def axes_of(fields: Fields, where: str, source: str) -> tuple[Axis, ...]:
    """Axes with their values."""
    return tuple(Axis(name, values_of(name, values, where, source)) for name, values in flat(fields))


def values_of(name: str, values: Any, where: str, source: str) -> tuple[Setting, ...]:
    """The values of an axis: a list of texts, numbers or truths, none of them twice."""
    if not isinstance(values, list) or not values:
        wrong(source, f"{where}.{name} is {values!r}", "a list of values, such as [1, 2, 4]")
    for value in values:
        if not isinstance(value, str | int | float | bool):
            wrong(source, f"{where}.{name} has {value!r}", "texts, numbers, true and false")
        if [same(one) for one in values].count(same(value)) > 1:
            wrong(source, f"{where}.{name} has {value!r} twice", "each value once")
    return tuple(values)


def same(value: Setting) -> tuple[bool, Setting]:
    """Equal for values that make the same point: 1 and 1.0 do, 1 and `true` do not."""
    return isinstance(value, bool), value


def zip_of(rows: Any, source: str) -> tuple[Axis, ...]:
    """Axes that go together, value by value."""
    if not isinstance(rows, dict) or not rows:
        wrong(source, f"zip is {rows!r}", "[[zip]] with axes of the same length")
    # A value may stand twice: with another one beside it, it makes another point.
    axes = [Axis(name, tuple(values) if isinstance(values, list) else ()) for name, values in flat(rows)]
    for axis in axes:
        for value in axis.values:
            values_of(axis.name, [value], "zip", source)
        if not axis.values or len(axis.values) != len(axes[0].values):
            told = f"zip.{axis.name} has {len(axis.values)} values, and {axes[0].name} has {len(axes[0].values)}"
            wrong(source, told, "lists of the same length, one value for each point")
    seen = set()
    for row in zip(*(axis.values for axis in axes), strict=True):
        if (known := tuple(map(same, row))) in seen:
            told = ", ".join(f"{axis.name}={value}" for axis, value in zip(axes, row, strict=True))
            wrong(source, f"zip has {told} twice", "each row once")
        seen.add(known)
    return tuple(axes)


def sample_of(fields: Any, source: str) -> Sample:
    """A Latin hypercube: `points`, `seed`, and ranges in `[sample.axes]`."""
    if not isinstance(fields, dict):
        wrong(source, f"sample is {fields!r}", "a table, [sample]")
    for name in fields:
        if name not in ("points", "seed", "axes"):
            wrong(source, f"sample.{name} is no field", "points, seed, axes")
    ranges = tuple(
        range_of(name, given, f"{source}: sample.axes") for name, given in flat(table(fields, "axes", source))
    )
    if not ranges:
        wrong(source, "sample has no axes", "[sample.axes] with a range for each, such as [1, 64]")
    points = check_range(f"{source}: sample.points", fields.get("points"), 1, MOST_POINTS)
    return Sample(points, check_range(f"{source}: sample.seed", fields.get("seed", 1), 0, 2**64 - 1), ranges)


def range_of(name: str, given: Any, where: str) -> Range:
    """`[LOW, HIGH]`, `{ low = .., high = .., scale = "log" }`, or `{ values = [..] }`."""
    if isinstance(given, list):
        given = {"low": given[0], "high": given[1]} if len(given) == 2 else {}
    if isinstance(given, dict) and set(given) == {"values"}:
        return Range(name, values=values_of(name, given["values"], where, where))
    ends = [given.get(end) for end in ("low", "high")] if isinstance(given, dict) else []
    scale = given.get("scale", "linear") if isinstance(given, dict) else ""
    known = isinstance(given, dict) and set(given) <= {"low", "high", "scale"} and scale in ("linear", "log")
    numbers = [end for end in ends if isinstance(end, int | float) and not isinstance(end, bool)]
    if not known or len(numbers) < 2 or not numbers[0] < numbers[1] or (scale == "log" and numbers[0] <= 0):
        told = '[LOW, HIGH], { low = .., high = .., scale = "linear" or "log" }, or { values = [..] }'
        raise _core.ConfigError(f"{where}.{name} is {given!r}; allowed: {told}, the smaller end first")
    return Range(name, numbers[0], numbers[1], scale == "log")


def check_names(grid: Grid) -> None:
    """Raises `ConfigError` for a name that is none, stands twice, or stands for nothing."""
    if "workload" not in (*grid.fixed, *grid.names):
        wrong(grid.source, "no workload", "workload in [fixed], or as an axis")
    places = set(placed(grid))
    for name in (*grid.fixed, *grid.names):
        if name in places and name not in grid.names:
            continue
        if name not in (*OPTIONS, *key_names(), *places) or (name in grid.fixed and name in places):
            known = (*OPTIONS, *key_names())
            told = f"options of a run, keys of a profile, and NAME of a {{NAME}} in a text{did_you_mean(name, known)}"
            wrong(grid.source, f"'{name}' is no axis or field", told)
    for name in grid.names:
        if grid.names.count(name) > 1 or name in grid.fixed:
            wrong(grid.source, f"'{name}' stands twice", "each name once, in fixed, axes, zip or sample")
        if name not in OPTIONS and name in TAKEN:
            wrong(grid.source, f"'{name}' is a column of the results", "another name for this axis")
    for name in sorted(places - set(grid.names)):
        wrong(grid.source, f"{{{name}}} stands in a text", f"axes of this grid: {', '.join(grid.names) or 'none'}")
    check_types(grid)


def placed(grid: Grid) -> Iterator[str]:
    """Names that stand in braces in a text."""
    values = [*grid.fixed.values(), *(value for axis in every_axis(grid) for value in axis.values)]
    for value in values:
        if isinstance(value, str):
            yield from PLACE.findall(value)


def every_axis(grid: Grid) -> Iterator[Axis]:
    """All axes with a list of values."""
    yield from grid.axes
    for rows in grid.zips:
        yield from rows


def allowed(kind: Any) -> str:
    """What a value of a type is in a grid, in words."""
    words = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
    choices = get_args(kind)
    return words.get(kind) or (f"one of {', '.join(map(str, choices))}" if choices else "a table or a list")


def check_types(grid: Grid) -> None:
    """Raises `ConfigError` for a value that an option can not have."""
    given = [(name, value) for name, value in grid.fixed.items()]
    given += [(axis.name, value) for axis in every_axis(grid) for value in axis.values]
    for name, value in given:
        if name not in OPTIONS:
            if not isinstance(value, str | int | float | bool):
                wrong(grid.source, f"{name} is {value!r}", "a text, a number, true or false")
            continue
        kinds = [kind for kind in (get_args(TYPES[name]) or (TYPES[name],)) if kind is not type(None)]
        fits = any(
            isinstance(value, kind) if isinstance(kind, type) else value in (get_args(kind) or (value,))
            for kind in kinds
        )
        if name == "clean":
            fits = isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value))
        if not fits or (isinstance(value, bool) and bool not in kinds):
            wrong(grid.source, f"{name} is {value!r}", f"{' or '.join(allowed(kind) for kind in kinds)}")
