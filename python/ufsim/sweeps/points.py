"""Points of a grid: each is one run, with its labels, its specification and the name of its result."""

import itertools
import json
import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from ufsim import _core, inputs
from ufsim._options import Options, Setting
from ufsim.bundled import is_there, located
from ufsim.documents import Document, parse
from ufsim.spec import DEFAULT_SCHEME, Spec
from ufsim.sweeps.grid import MOST_POINTS, OPTIONS, PLACE, Axis, Fields, Grid, placed, same, wrong
from ufsim.sweeps.latin import drawn

Labels = dict[str, Setting]

# What differs between two runs of the same point: how fast the machine was.
WALL = ("wall_seconds", "requests_per_wall_second", "flash_ops_per_wall_second")


@dataclass(frozen=True)
class Point:
    """One run: its value on each axis, what to simulate, and the name of its result.

    `said` has workload and profile as the grid names them: where they lie on this machine is no part of a result.
    """

    labels: Labels
    spec: Spec
    name: str
    said: dict[str, str]

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.labels.items()) or "the only point"

    @cached_property
    def state(self) -> str | None:
        """The name of the aged state that the point begins with; nothing if it begins with a new device."""
        return None if self.spec.age is None else _core.age_key(self.spec.to_json())

    def document(self, report: str, paths: Mapping[str, str] | None = None) -> Document:
        """The result that is kept: the same bytes wherever and however fast the run was.

        `paths` has the files by option where the machine that made the run had them, if it was another.
        """
        document = {name: value for name, value in parse(report).items() if name not in WALL}
        for option, said in self.said.items():
            document[option] = said
            there = (paths or {}).get(option) or located(str(getattr(self.spec, option)))
            document["warnings"] = [text.replace(there, said) for text in document["warnings"]]
            document = moved(document, *folders_of(there, said))
        return document

    def command(self) -> str:
        """The command line that repeats the run."""
        words = ["ufsim", "run"]
        for option in fields(Spec):
            value = getattr(self.spec, option.name)
            flag = option.metadata["flag"]
            if option.name == "settings":
                words += [word for key, one in value.items() for word in (flag, f"{key}={toml(one)}")]
            elif isinstance(value, list):
                words += [word for one in value for word in (flag, one)]
            elif not flag:
                words.append(str(value))
            elif value is True:
                words.append(flag)
            elif value is not False and value != option.default:
                words += [flag, str(value)]
        return shlex.join(words)


def folders_of(there: str, said: str) -> tuple[str, str]:
    """The folder where a file lay, and what the grid calls it: both paths without the end that they share.

    Twice nothing if there is no such end: jobs in a text are no paths.
    """
    parts, own = there.split("/"), said.split("/")
    while parts and own and parts[-1] == own[-1]:
        parts.pop()
        own.pop()
    shared = len(parts) < there.count("/") + 1
    return ("".join(f"{part}/" for part in parts), "".join(f"{part}/" for part in own)) if shared else ("", "")


def moved(value: Any, before: str, after: str) -> Any:
    """The same with another folder in place of one, wherever a path in a text begins with it."""
    if isinstance(value, str) and before:
        return re.sub(rf"(?<![\w./-]){re.escape(before)}", lambda _: after, value)
    if isinstance(value, list):
        return [moved(one, before, after) for one in value]
    return {name: moved(one, before, after) for name, one in value.items()} if isinstance(value, dict) else value


def toml(value: Setting) -> str:
    """A value as `--set` takes it."""
    return value if isinstance(value, str) else json.dumps(value)


def points_of(grid: Grid) -> list[Point]:
    """All points in their order: the last axis changes fastest. Raises `ConfigError` for what can not run."""
    count = count_of(grid)
    if count > MOST_POINTS:
        wrong(grid.source, f"the grid has {count:,} points", f"up to {MOST_POINTS:,}")
    made, known = [], inputs.Known()
    for labels in labels_of(grid):
        try:
            made.append(point_of(grid, labels, known))
        except (_core.ConfigError, FileNotFoundError) as error:
            told = ", ".join(f"{name}={value}" for name, value in labels.items())
            raise type(error)(f"{grid.source}: {f'at {told}: ' if told else ''}{error}{twice(grid)}") from error
    return made


def twice(grid: Grid) -> str:
    """What an error adds if an axis is an option of a run as well as part of a text: one of both may not be meant."""
    both = [name for name in placed(grid) if name in OPTIONS]
    return f" ('{both[0]}' is that option as well as {{{both[0]}}} in a text: call the axis otherwise)" if both else ""


def count_of(grid: Grid) -> int:
    """How many points there are at most: of a sample some may be equal."""
    lengths = [*(len(axis.values) for axis in grid.axes), *(len(rows[0].values) for rows in grid.zips)]
    return math.prod(lengths) * (grid.sample.points if grid.sample else 1)


def labels_of(grid: Grid) -> Iterator[Labels]:
    """The labels of all points, by axis in the order of the grid."""
    parts: list[list[Labels]] = [[{axis.name: value} for value in axis.values] for axis in grid.axes]
    parts += [rows_of(rows) for rows in grid.zips]
    if grid.sample:
        rows = drawn(grid.sample.ranges, grid.sample.points, grid.sample.seed)
        # What is drawn again, from few values, is the same point, and no repetition of it.
        parts.append(list({tuple(map(same, row.values())): row for row in rows}.values()))
    for chosen in itertools.product(*parts):
        yield {name: value for part in chosen for name, value in part.items()}


def rows_of(axes: tuple[Axis, ...]) -> list[Labels]:
    """Axes that go together, as rows."""
    return [
        dict(zip((axis.name for axis in axes), row, strict=True))
        for row in zip(*(axis.values for axis in axes), strict=True)
    ]


def point_of(grid: Grid, labels: Labels, known: inputs.Known) -> Point:
    """The point with these labels, checked as far as that goes without a run; `known` has digests of files."""
    values: Fields = {"scheme": DEFAULT_SCHEME, **grid.fixed}
    values |= {name: value for name, value in labels.items() if name in OPTIONS or "." in name}
    values = {name: filled(value, labels) for name, value in values.items()}
    said = {name: str(values.get(name, getattr(Options, name, ""))) for name in ("workload", "profile")}
    options: dict[str, Any] = {name: value for name, value in values.items() if name in OPTIONS}
    options |= {name: found(str(options[name]), grid.folder) for name in inputs.FILES if options.get(name)}
    spec = Spec(settings={name: value for name, value in values.items() if name not in OPTIONS}, **options)
    spec.check()
    return Point(labels, spec, name_of(spec, said, known), said)


def filled(value: Any, labels: Labels) -> Any:
    """A text with values of axes in the places of their names."""
    return PLACE.sub(lambda place: str(labels[place[1]]), value) if isinstance(value, str) else value


def found(path: str, folder: Path | None) -> str:
    """A file beside the grid, if there is one of this name; otherwise the text itself."""
    beside = None if folder is None else str(folder / path)
    return beside if beside is not None and is_there(beside) else path


def name_of(spec: Spec, said: dict[str, str], known: inputs.Known) -> str:
    """A digest of all that decides the result: version, options, contents of files, and what these are called."""
    return inputs.digest({"options": inputs.of_spec(spec, known), "said": said})


def once(points: Iterable[Point]) -> list[Point]:
    """Each run once; those that begin with the same aged state one after another."""
    places: dict[str, int] = {}
    unique = list({point.name: point for point in points}.values())
    return sorted(unique, key=lambda point: places.setdefault(point.state or point.name, len(places)))
