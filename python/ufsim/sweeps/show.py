"""A sweep in the terminal: means with their intervals, and what each axis explains."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ufsim.cli.screen import Screen
from ufsim.plots import axis_name, drawn_unit
from ufsim.results.formats import number
from ufsim.results.layout import empty
from ufsim.results.layout import heading as broken
from ufsim.sweeps.finished import Sweep
from ufsim.sweeps.statistics import SEED

if TYPE_CHECKING:
    import pandas as pd

    # Values of the axes as text, and the row of the frame.
    Row = tuple[list[str], pd.Series[Any]]

# Beside the column that is asked for.
BESIDE = ("throughput_mib_per_s", "read_p99_ns", "write_p99_ns", "waf_total", "host_dram_bytes")
MIB = 1 << 20
# In place of the values of an axis on which nothing depends.
ANY = "any"


def print_sweep(console: Screen, sweep: Sweep, y: str | None) -> None:
    """Prints the tables of a sweep, with as many columns as fit the terminal."""
    column = sweep.measure(y)
    columns = [name for name in dict.fromkeys((column, *BESIDE)) if sweep.frame[name].notna().any()]
    endless = console.options.update(width=10_000)
    while len(columns) > 1 and console.measure(means_table(sweep, columns), options=endless).maximum > console.width:
        columns.pop()
    console.print(means_table(sweep, columns))
    console.print(shares_table(column, sweep.sensitivity(column)))


def means_table(sweep: Sweep, columns: Sequence[str]) -> Table:
    """A row for each combination of axes, with means over seeds and half of their 95% confidence intervals."""
    frame = sweep.means()
    axes = [axis for axis in sweep.axes if axis != SEED]
    seeds = sorted(set(frame["seeds"]))
    told = f"mean ± 95% over {' or '.join(map(str, seeds))} seeds" if seeds[-1] > 1 else "one seed"
    table = empty(f"{len(sweep.frame)} of {sweep.points} points, {told}")
    for axis in axes:
        table.add_column(axis)
    for name in columns:
        table.add_column("\n".join(broken(heading(name))), justify="right", vertical="bottom")
    for named, row in listed(frame, axes, sweep.columns):
        table.add_row(*named, *[cell(row, name) for name in columns])
    return table


def listed(
    frame: "pd.DataFrame", axes: Sequence[str], columns: Sequence[str]
) -> "list[tuple[list[str], pd.Series[Any]]]":
    """Rows with their values of the axes, as text. Those that an axis changes nothing of are one: it is `any` there.

    So host memory stands once for a scheme that uses none, however many sizes of it the grid has.
    """
    rows = [([str(row[axis]) for axis in axes], row) for _, row in frame.iterrows()]
    every = {axis: frame[axis].astype(str).nunique() for axis in axes}
    for place, axis in enumerate(axes):
        alike: dict[tuple[str, ...], list[int]] = {}
        for nth, (named, _) in enumerate(rows):
            alike.setdefault((*named[:place], *named[place + 1 :]), []).append(nth)
        gone: set[int] = set()
        for own in alike.values():
            first = rows[own[0]][1][list(columns)]
            if 1 < len(own) == every[axis] and all(first.equals(rows[one][1][list(columns)]) for one in own):
                rows[own[0]][0][place] = ANY
                gone.update(own[1:])
        rows = [row for nth, row in enumerate(rows) if nth not in gone]
    return rows


def heading(column: str) -> str:
    """The name of a column with the unit in which it is shown."""
    return "host DRAM (MiB)" if column == "host_dram_bytes" else axis_name(column, drawn_unit(column)[0])


def cell(row: "pd.Series[Any]", column: str) -> str:
    """A mean with half of its interval."""
    factor = 1 / MIB if column == "host_dram_bytes" else drawn_unit(column)[1]
    mean, half = float(row[column]) * factor, float(row[f"{column}_ci95"]) * factor
    if math.isnan(mean):
        return "–"
    return number(mean) if math.isnan(half) else f"{number(mean)} ± {number(half)}"


def shares_table(y: str, shares: Mapping[str, float]) -> Table:
    """Which share of the variance each axis explains alone."""
    table = empty(f"share of the variance of {axis_name(y, '')}")
    table.add_column("axis")
    table.add_column("alone", justify="right")
    for axis, share in shares.items():
        table.add_row(axis, f"{share:.1%}")
    table.add_row("together, and chance", f"{max(0.0, 1 - sum(shares.values())):.1%}")
    return table


def document(sweep: Sweep, y: str | None) -> dict[str, Any]:
    """What `--json` prints: axes, means by combination, shares of the variance."""
    column = sweep.measure(y)
    rows = [
        {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
        for row in sweep.means().to_dict(orient="records")
    ]
    shares = {"column": column, "first_order": sweep.sensitivity(column)}
    return {"axes": sweep.axes, "points": sweep.points, "done": len(sweep.frame), "means": rows, "variance": shares}
