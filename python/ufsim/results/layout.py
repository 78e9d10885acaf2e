"""Tables that fit the terminal: figures as rows and runs as columns, or the other way round when runs are many."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

# Characters between two columns, and those of the edges.
GAP = 2
EDGES = 2
# A heading of a figure is broken into lines of this many characters where figures are columns.
HEADING_WIDTH = 12


@dataclass(frozen=True)
class Row:
    """A figure with its value for each run. `ends` marks the last one of a group.

    `of` is the label of a row above without which this one means nothing, as a gain without what it is a gain of.
    """

    label: str
    cells: list[str]
    ends: bool = False
    of: str = ""


def tables(title: str, names: Sequence[str], rows: Sequence[Row], width: int) -> list[Table]:
    """Runs as columns if that fits; otherwise runs as rows, in as many tables as the figures need.

    A table is never cut: one with a single figure that is still too wide is left to the terminal.
    """
    labels = max((len(row.label) for row in rows), default=0)
    columns = [max([len(name), *(len(row.cells[place]) for row in rows)]) for place, name in enumerate(names)]
    if EDGES + labels + sum(size + GAP for size in columns) <= width:
        return [upright(title, names, rows)]
    return turned(title, names, rows, width)


def upright(title: str, names: Sequence[str], rows: Sequence[Row]) -> Table:
    """A column for each run."""
    table = empty(title)
    table.add_column("", no_wrap=True)
    for name in names:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(Text(row.label), *map(Text, row.cells), end_section=row.ends)
    return table


def turned(title: str, names: Sequence[str], rows: Sequence[Row], width: int) -> list[Table]:
    """A row for each run, a column for each figure, and as few tables as fit the width."""
    made = blocks(names, rows, width)
    return [side(title if place == 0 else "", names, some) for place, some in enumerate(made)]


def blocks(names: Sequence[str], rows: Sequence[Row], width: int) -> list[list[Row]]:
    """The figures of each of these tables."""
    label = EDGES + max(map(len, names), default=0)
    made = []
    taken: list[Row] = []
    used = label
    for some in together(rows):
        size = sum(GAP + max([*(len(line) for line in heading(row.label)), *map(len, row.cells)]) for row in some)
        if taken and used + size > width:
            made.append(taken)
            taken, used = [], label
        taken += some
        used += size
    return [*made, taken]


def together(rows: Sequence[Row]) -> list[list[Row]]:
    """Each row with those that mean nothing without it behind it."""
    made: list[list[Row]] = []
    for row in rows:
        if row.of:
            next(own for own in reversed(made) if own[0].label == row.of).append(row)
        else:
            made.append([row])
    return made


def side(title: str, names: Sequence[str], rows: Sequence[Row]) -> Table:
    """One of the tables of `turned`."""
    table = empty(title)
    table.add_column("", no_wrap=True)
    for row in rows:
        table.add_column(Text("\n".join(heading(row.label))), justify="right", no_wrap=True, vertical="bottom")
    for place, name in enumerate(names):
        table.add_row(Text(name), *[Text(row.cells[place]) for row in rows])
    return table


def heading(label: str) -> list[str]:
    """A label in short lines."""
    return textwrap.wrap(label.strip(), HEADING_WIDTH, break_long_words=False) or [""]


def empty(title: str) -> Table:
    """A table without columns."""
    return Table(
        box=box.SIMPLE_HEAVY,
        title=Text(title) if title else None,
        title_justify="left",
        pad_edge=False,
        padding=(0, 0, 0, 1),
    )
