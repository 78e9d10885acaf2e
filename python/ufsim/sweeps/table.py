"""The rows of a sweep: `results.parquet`, one for each point."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ufsim import _core, outputs
from ufsim.documents import Document
from ufsim.results import frames
from ufsim.results.columns import CI95, FRAMES, MEANS, text_type, typed
from ufsim.results.result import Result
from ufsim.results.suite import mean_operation
from ufsim.sweeps.grid import Grid
from ufsim.sweeps.points import Point

if TYPE_CHECKING:
    import pandas as pd

WHOLE = "results.parquet"
# What is there of a sweep some of whose points have failed.
PARTIAL = "results.partial.parquet"
# Columns of a comparison that say nothing of a single run.
LEFT_OUT = ("gain_percent", "latency_gain_percent", "wall_seconds", "seeds", *(f"{name}{CI95}" for name in MEANS))
# Under this name a frame keeps what it is of.
NOTE = "sweep"


def frame_of(grid: Grid, points: Sequence[Point], documents: Mapping[str, Document]) -> "pd.DataFrame":
    """A row for each point that has a result.

    Columns: `point` (name of its result), the axes of the grid, then those of `Comparison.table` that are about one
    run, and `operation_mean_ns` (ns; missing unless the workload is a program, such as a database). `attrs` has the
    axes.
    """
    done = [point for point in points if point.name in documents]
    results = [Result(documents[point.name]) for point in done]
    frame = typed("table", [frames.table_means(result, result) for result in results]).drop(columns=list(LEFT_OUT))
    frame["operation_mean_ns"] = [mean_operation(result) for result in results]
    frame = frame.astype({"operation_mean_ns": "float64"})
    axes = {name: axis_column([point.labels[name] for point in done]) for name in grid.names}
    for name in axes:
        if name in frame:
            del frame[name]
    for place, (name, column) in enumerate(axes.items()):
        frame.insert(place, name, column)
    frame.insert(0, "point", [point.name for point in done])
    frame = frame.astype({"point": text_type()})
    about = {"axes": grid.names, "drawn": grid.sampled, "points": len(points), "version": _core.__version__}
    frame.attrs = {NOTE: json.dumps(about)}
    return frame


def axis_column(values: list[Any]) -> "pd.Series[Any]":
    """The values of an axis in one type: numbers, truths, or texts if they are of different kinds."""
    import pandas as pd

    kinds = {type(value) for value in values}
    if len(kinds) == 1 and str not in kinds:
        if kinds == {int} and max(values, default=0) >= 1 << 63:
            return pd.Series(values, dtype="uint64")
        return pd.Series(values, dtype={bool: "bool", int: "int64", float: "float64"}[kinds.pop()])
    if kinds == {int, float}:
        return pd.Series(values, dtype="float64")
    return pd.Series([str(value) for value in values], dtype=text_type())


def numeric(frame: "pd.DataFrame") -> list[str]:
    """The columns with numbers that a run gives."""
    declared = [column.name for column in FRAMES["table"] if column.dtype in ("int64", "float64")]
    return [name for name in (*declared, "operation_mean_ns") if name in frame and name not in about(frame)["axes"]]


def about(frame: "pd.DataFrame") -> dict[str, Any]:
    """What a frame is of: `axes`, `drawn`, `points`, `version`."""
    if NOTE not in frame.attrs:
        raise _core.ConfigError("the frame is not of a sweep: it does not say which columns are axes")
    note: dict[str, Any] = json.loads(frame.attrs[NOTE])
    return note


def write(frame: "pd.DataFrame", directory: Path, *, whole: bool) -> Path:
    """Writes the rows; a frame that lacks points never stands where a whole one is expected."""
    path, other = (directory / name for name in ((WHOLE, PARTIAL) if whole else (PARTIAL, WHOLE)))
    other.unlink(missing_ok=True)
    if failures := outputs.write([(path, outputs.parquet(frame))]):
        raise outputs.Unwritten(failures)
    return path


def place(directory: Path) -> Path:
    """The file with the rows of a directory, whole or not. Raises `ConfigError` if there is none."""
    for name in (WHOLE, PARTIAL):
        if (directory / name).is_file():
            return directory / name
    raise _core.ConfigError(
        f"{directory}: no {WHOLE} in it; `ufsim sweep GRID --out {directory}` makes it, or goes on where it was stopped"
    )


def read(path: Path) -> "pd.DataFrame":
    """The rows of a file."""
    import pandas as pd

    return pd.read_parquet(path, engine="pyarrow")
