"""MAP+ (TCAD 2018): the worked examples, Tables I and II and Fig. 6, as the driver and its schedulers do them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, partial
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ufsim_papers import draw
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Point, Setting, figure
from ufsim_papers.folders import FOLDERS
from ufsim_papers.map_plus.loads import PAPER_NAMES

HITS = (5, 8, 9, 10, 11, 12)
# Table I: sequence and prioritised requests.
SEQUENCES: dict[str, tuple[list[int], tuple[int, ...]]] = {
    "noop": (list(range(1, 13)), ()),
    "hp": ([5, 8, 9, 10, 11, 12, 1, 2, 3, 4, 6, 7], HITS),
    "map": ([5, 8, 9, 10, 11, 12, 1, 4, 2, 3, 6, 7], (*HITS, 4, 3, 7)),
}


@cache
def examples() -> list[dict[str, Any]]:
    """What the schedulers did; crates/host/tests/map_plus_examples.rs does it again in every test."""
    found: list[dict[str, Any]] = json.loads((FOLDERS / "map-plus/examples.json").read_text(encoding="utf-8"))
    return found


def example(name: str, scheduler: str) -> dict[str, Any]:
    """The columns of one example under one scheduler."""
    (found,) = [one for one in examples() if (one["name"], one["scheduler"]) == (name, scheduler)]
    return {column: value for column, value in found.items() if column not in ("name", "scheduler")}


@dataclass(frozen=True)
class Row:
    """One example under one scheduler, as a row of the data frame."""

    scheduler: str
    sequence: list[int]
    prioritised: int
    waiting: list[float]
    access: list[float]
    mean_waiting: float
    mean_latency: float


def rows(frame: pd.DataFrame) -> list[Row]:
    """The rows of the data frame."""
    names = [field.name for field in fields(Row)]
    return [Row(*values) for values in frame[names].itertuples(index=False, name=None)]


def points(name: str, schedulers: tuple[str, ...]) -> Callable[[Setting], list[Point]]:
    """An example under several schedulers."""

    def runs(_setting: Setting) -> list[Point]:
        return [
            Point({"example": name, "scheduler": scheduler}, partial(example, name, scheduler))
            for scheduler in schedulers
        ]

    return runs


def _t1_draw(frame: pd.DataFrame) -> Drawing:
    figure, (axes,) = draw.canvas(width=7.5, height=2.2)
    for y, row in enumerate(rows(frame)):
        prioritised = SEQUENCES[row.scheduler][1]
        for x, request in enumerate(row.sequence):
            colour = "#0072b2" if request in prioritised else "#dfe4ea"
            axes.barh(y, 0.92, left=x, height=0.7, color=colour)
            ink = "white" if request in prioritised else "black"
            axes.text(x + 0.46, y, str(request), ha="center", va="center", color=ink, fontsize=9)
        axes.text(12.2, y, f"{row.prioritised} prioritised", va="center", fontsize=9)
    axes.set_yticks(range(len(frame)), [PAPER_NAMES[name] for name in frame["scheduler"]])
    axes.invert_yaxis()
    axes.set_xlim(0, 14.2)
    axes.set_xticks([])
    axes.spines[["bottom", "left"]].set_visible(False)
    axes.grid(False)
    axes.set_xlabel("order of dispatch", loc="left")
    return figure


def _t1_measure(frame: pd.DataFrame) -> list[Measured]:
    return [
        Measured(
            "map-plus.t1.sequences",
            bool(
                list(row.sequence) == SEQUENCES[row.scheduler][0]
                and row.prioritised == len(SEQUENCES[row.scheduler][1])
            ),
            told=f"{','.join(map(str, row.sequence))}; {row.prioritised} prioritised",
            case=PAPER_NAMES[row.scheduler],
        )
        for row in rows(frame)
    ]


T1 = figure("map-plus/t1", runs=points("Table I", ("noop", "hp", "map")), draw=_t1_draw, measure=_t1_measure)


def waiting_bars(axes: Axes, row: Row, *, access: bool) -> None:
    """Bars of waiting time, and of access time above it, for each request."""
    places = range(len(row.waiting))
    axes.bar(places, row.waiting, color="#c6cdd8", width=0.65, label="waiting")
    if access:
        axes.bar(places, row.access, bottom=row.waiting, color="#0072b2", width=0.65, label="access")
    axes.set_xticks(places, [f"Req. {number + 1}" for number in places])
    mean = row.mean_latency if access else row.mean_waiting
    axes.axhline(mean, color=draw.PAPER_COLOUR, lw=1.2, label=f"mean {mean:g}, as in the paper")
    axes.set_title(PAPER_NAMES[row.scheduler], fontsize=10)
    axes.set_ylabel("units of time")
    axes.margins(y=0.3)
    draw.legend(axes)


def _pair_draw(frame: pd.DataFrame, *, access: bool) -> Drawing:
    figure, sides = draw.canvas(columns=2, width=4.2, height=3.0)
    for axes, row in zip(sides, rows(frame), strict=True):
        waiting_bars(axes, row, access=access)
    top = max(axes.get_ylim()[1] for axes in sides)
    for axes in sides:
        axes.set_ylim(0, top)
    return figure


def _exact(frame: pd.DataFrame, claim: str, column: str, parts: dict[str, str]) -> list[Measured]:
    """The values of the paper's own scheduler, which is the claim, and of another one, which is a part of it."""
    values = frame.set_index("scheduler")[column]
    return [Measured(claim, float(values[name]), part) for name, part in parts.items()]


T2 = figure(
    "map-plus/t2",
    runs=points("Table II", ("rb", "map-plus")),
    draw=lambda frame: _pair_draw(frame, access=True),
    measure=lambda frame: _exact(frame, "map-plus.t2.rb-vs-bs", "mean_latency", {"map-plus": "", "rb": "RB"}),
)


F6 = figure(
    "map-plus/f6",
    runs=points("Fig. 6", ("noop", "hp")),
    draw=lambda frame: _pair_draw(frame, access=False),
    measure=lambda frame: _exact(frame, "map-plus.f6.waiting", "mean_waiting", {"hp": "", "noop": "without HP"}),
)

FIGURES = (T1, T2, F6)
