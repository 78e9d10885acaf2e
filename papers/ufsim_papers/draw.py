"""What the drawings of several figures have in common."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from ufsim.plots import CAUSES, number, scheme_colours

PAPER_COLOUR = "#b2182b"
NAMES = {
    "ufs": "UFS",
    "hpb": "HPB",
    "ufs-tuned": "UFS tuned",
    "hpb-tuned": "HPB tuned",
    "hp-ufs": "HP-UFS",
    "ideal": "Ideal",
}


def canvas(columns: int = 1, rows: int = 1, width: float = 7.5, height: float = 3.6) -> tuple[Figure, list[Axes]]:
    """An empty drawing with axes, row by row."""
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.grid(axis="y", alpha=0.25)
        each.set_axisbelow(True)
    return figure, axes


def grouped_bars(
    axes: Axes, table: pd.DataFrame, *, labels: bool = True, colours: dict[str, str] | None = None
) -> None:
    """Bars in groups: a group for each row of `table`, a bar for each column."""
    colours = colours or scheme_colours(list(table.columns))
    width = 0.84 / len(table.columns)
    for index, name in enumerate(table.columns):
        places = [group + (index - (len(table.columns) - 1) / 2) * width for group in range(len(table))]
        bars = axes.bar(places, table[name], width=width * 0.94, color=colours[name], label=NAMES.get(name, name))
        if labels:
            axes.bar_label(bars, [number(value) for value in table[name]], fontsize=6.5, padding=2, rotation=90)
    axes.set_xticks(range(len(table)), [str(label) for label in table.index])
    axes.margins(y=0.14 if labels else 0.05)


def lines(axes: Axes, table: pd.DataFrame, colours: dict[str, str] | None = None) -> None:
    """A line for each column of `table` over its index, whose values stand at equal distances."""
    colours = colours or scheme_colours(list(table.columns))
    for name in table.columns:
        # UFS and HPB often lie on each other: a thicker line shows beneath the other.
        width = 4.0 if name in ("ufs", "ufs-tuned") else 1.6
        colour, label = colours[name], NAMES.get(name, name)
        axes.plot(range(len(table)), table[name], marker="o", ms=4, lw=width, color=colour, label=label)
    axes.set_xticks(range(len(table)), [str(label) for label in table.index])
    axes.set_ylim(bottom=0)


def paper_band(axes: Axes, low: float, high: float, label: str) -> None:
    """Marks what the paper says as a band across the axes."""
    axes.axhspan(low, high, color=PAPER_COLOUR, alpha=0.13, lw=0, label=label)


def paper_points(axes: Axes, places: Sequence[float], values: Sequence[float], label: str = "paper") -> None:
    """Marks values that the paper names."""
    axes.scatter(places, values, marker="_", s=260, lw=2, color=PAPER_COLOUR, zorder=5, label=label)
    axes.set_ylim(top=max(axes.get_ylim()[1], max(values) * 1.05))


def stacked(
    axes: Axes, table: pd.DataFrame, parts: Mapping[Any, tuple[str, str]], *, width: float = 0.7
) -> list[BarContainer]:
    """A stacked bar for each row of `table`; `parts` gives label and colour of each column, from below."""
    bars = []
    for at, (column, (label, colour)) in enumerate(parts.items()):
        below = table[list(parts)[:at]].sum(axis=1)
        bars.append(axes.bar(range(len(table)), table[column], bottom=below, color=colour, label=label, width=width))
    axes.set_xticks(range(len(table)), [str(name) for name in table.index])
    return bars


def stacked_causes(axes: Axes, table: pd.DataFrame) -> None:
    """A stacked bar of NAND time by cause for each row of `table`, whose columns are `nand_<cause>_ns`."""
    parts = {f"nand_{cause}_ns": look for cause, look in CAUSES.items()}
    stacked(axes, table, {column: look for column, look in parts.items() if table.get(column, pd.Series(0)).any()})
    axes.set_ylim(0, table.sum(axis=1).max() * 1.05)


def legend(axes: Axes, *, outside: bool = False) -> None:
    """A legend without a frame, beside the axes if there is no room inside."""
    if outside:
        axes.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        axes.legend(fontsize=8, frameon=False, ncols=2)
