"""A figure: what is run for it, how it is drawn, and which claims it measures."""

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from statistics import median
from typing import Any, Literal

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim import Result, Spec
from ufsim_papers.claims import Measured, Sample
from ufsim_papers.folders import FOLDERS, TRACES

Label = str | int | float
# What a key of a profile is set to, and how a trace is replayed, as `ufsim.RunOptions` has them.
Value = str | int | float | bool
Replay = Literal["timed", "queued", "closed"]
# What another seed changes: what is drawn by chance; nothing; or nothing by itself, for the figure's points have seeds
# of their own, which it pools (`Measured.interval`).
Chance = Literal["seed", "none", "own"]


class Missing(Exception):
    """Data that a figure needs and that is not part of the project; the message says where to get it."""


@dataclass(frozen=True)
class Setting:
    """How a book is made. `quick` asks for less: fewer points, the same claims where they can be measured.

    With `verify` every run ends with a read-back of all that its device holds; the book is the same. Claims with chance
    in them are measured with so many `seeds`, from `seed` on; drawings show the first.
    """

    quick: bool = False
    seed: int = 1
    seeds: int = 1
    traces: Path | None = None
    verify: bool = False

    def trace(self, *parts: str) -> Path:
        """A directory of traces that the project does not contain."""
        if self.traces is None:
            raise Missing(
                f"needs {TRACES[parts[0]]}: name the directory that holds {parts[0]} with --traces or UFSIM_TRACES"
            )
        path = self.traces.joinpath(*parts)
        if not path.exists():
            raise Missing(f"{path} is not there: --traces must name the directory that holds {parts[0]}")
        return path


@dataclass(frozen=True)
class Run:
    """One point of a figure: what it is labelled with, and what is simulated."""

    labels: Mapping[str, Label]
    spec: Spec


@dataclass(frozen=True)
class Point:
    """A point that no ordinary run gives: `measure` returns its columns, which hang on nothing but `inputs`.

    Without `inputs` it is quick, and never kept.
    """

    labels: Mapping[str, Label]
    measure: Callable[[], dict[str, Any]]
    inputs: Mapping[str, Any] | None = None


# The points of a figure.
Runs = Callable[[Setting], Sequence[Run | Point]]


@dataclass(frozen=True)
class Figure:
    """A figure of a paper; `figure` makes one of what its folder tells and of its program.

    `caption` tells the mechanism in a sentence or two; `paper_shows` what the paper's own figure says. `runs` gives the
    points; `draw` and `measure` get them as a data frame with one row for each, the labels first. `chance` says what
    another seed changes. Of a further seed only `judged` is run, if a figure draws more than its claims need.
    `further` gives the points that are still needed after those in the frame, which has the rows of all seeds, told
    apart by the column `of_seed`; it is asked until there are none.
    `where_placed` gives what some claims need of a seed beyond those that all get (`growing`), if that is less than
    `judged`: the point where the paper's set-up is placed. `table` gives numbers that readers want beside the drawing;
    report, scorecard and docs have them.
    """

    id: str
    title: str
    caption: str
    paper_shows: str
    runs: Runs
    draw: Callable[[pd.DataFrame], Drawing]
    measure: Callable[[pd.DataFrame], list[Measured]] = lambda frame: []
    claims: tuple[str, ...] = ()
    chance: Chance = "seed"
    judged: Runs | None = None
    further: Callable[[Setting, pd.DataFrame], Sequence[Run | Point]] | None = None
    where_placed: Callable[[Setting, Collection[str]], Sequence[Run | Point]] | None = None
    table: Callable[[pd.DataFrame], pd.DataFrame] | None = None

    @property
    def paper(self) -> str:
        """The paper's name."""
        return self.id.split("/")[0]


def figure(
    name: str,
    *,
    runs: Runs,
    draw: Callable[[pd.DataFrame], Drawing],
    measure: Callable[[pd.DataFrame], list[Measured]] = lambda frame: [],
    judged: Runs | None = None,
    further: Callable[[Setting, pd.DataFrame], Sequence[Run | Point]] | None = None,
    where_placed: Callable[[Setting, Collection[str]], Sequence[Run | Point]] | None = None,
    table: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
) -> Figure:
    """A figure by its name, such as hpb/f6: what `figures.toml` tells of it, and what runs, draws and measures it."""
    paper, _, own = name.partition("/")
    data = told(paper)
    entry = data[own]
    caption = entry["caption"].replace("{legend}", data.get("legend", ""))
    return Figure(
        id=name,
        title=entry["title"],
        caption=one_line(caption),
        paper_shows=one_line(entry["paper_shows"]),
        claims=tuple(entry.get("claims", ())),
        chance=entry.get("chance", "seed"),
        runs=runs,
        draw=draw,
        measure=measure,
        judged=judged,
        further=further,
        where_placed=where_placed,
        table=table,
    )


@cache
def told(paper: str) -> dict[str, Any]:
    """What the folder of a paper tells of its figures."""
    return tomllib.loads((FOLDERS / paper / "figures.toml").read_text(encoding="utf-8"))


def one_line(text: str) -> str:
    """A paragraph without its breaks."""
    return " ".join(text.split())


@dataclass
class Drawn:
    """A figure of a book: its data with the first seed, its drawing, what was measured; or why there is none."""

    figure: Figure
    missing: str = ""
    frame: pd.DataFrame | None = None
    labels: tuple[str, ...] = ()
    drawing: Drawing | None = None
    samples: list[Sample] = field(default_factory=list)

    @cached_property
    def table(self) -> pd.DataFrame | None:
        """The figure's numbers for readers, with the first seed."""
        return self.figure.table(self.frame) if self.figure.table and self.frame is not None else None

    @cached_property
    def svg(self) -> str:
        """The drawing as SVG."""
        return "" if self.drawing is None else as_svg(self.drawing, self.figure.id)


def as_svg(drawing: Drawing, name: str) -> str:
    """A drawing as an SVG element. Two of the same data and name are the same."""
    import io

    from matplotlib import rc_context

    text = io.StringIO()
    # Names inside the file would otherwise be random.
    with rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        drawing.savefig(text, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    found = text.getvalue()
    return found[found.index("<svg") :]


def columns(result: Result) -> dict[str, Any]:
    """What a figure may need of a result, as columns of a data frame."""
    row: dict[str, Any] = {
        name: result.data[name]
        for name in ("submitted", "completed", "failed", "merged", "sim_seconds", "iops", "throughput_mib_per_s")
    }
    for kind in ("read", "write", "all"):
        latency = result.data["latency_ns"].get(kind) or {}  # there may be no request of a kind
        row |= {f"{kind}_{name}_ns": latency.get(name) for name in ("mean", "stddev", "p50", "p99", "p999", "max")}
        row[f"{kind}_count"] = latency.get("count", 0)
        for part in ("waiting", "access"):
            row[f"{kind}_{part}_ns"] = result.data[f"{part}_ns"][kind]
    row["within"] = result.latency_within
    row |= {f"nand_{cause}_ns": time for cause, time in result.nand_time_ns.items()}
    row |= {f"waf_{part}": value for part, value in result.waf.items()}
    row |= {f"{name}_bytes": value for name, value in result.host_dram.items()}
    row |= {f"group_{group['name']}_mib_per_s": write_throughput(group) for group in result.groups}
    for operation in result.operations:
        row |= {f"op_{operation['name']}_{name}": value for name, value in of_operation(operation).items()}
    row |= {f"device_{name}": value for name, value in result.counters["device"].items()}
    row |= {f"host_{name}": value for name, value in result.counters["host"].items()}
    row["map_mib"] = result.counters["device"]["map_units_programmed"] / 256
    return row | {"digest": result.digest}


def of_operation(operation: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of the operations of a program: latency, also by a harness that leaves out the seconds of its clock.

    Of several programs, one after another, `program` has the median of what each gives.
    """
    right, harness = operation["latency_ns"], operation["harness_ns"]
    found: dict[str, Any] = {f"{name}_ns": right[name] for name in ("mean", "p50", "p99", "p999", "max")}
    found |= {f"harness_{name}_ns": harness[name] for name in ("mean", "p999")}
    programs = operation["programs"] or [operation]
    for name in ("mean", "p999"):
        found[f"program_{name}_ns"] = median(own["latency_ns"][name] for own in programs)
        found[f"harness_program_{name}_ns"] = median(own["harness_ns"][name] for own in programs)
    return found | {name: operation[name] for name in ("across_seconds", "duration_ns")} | {"count": right["count"]}


def write_throughput(group: Mapping[str, Any]) -> float:
    """MiB/s of a group's writes."""
    writes = group["kinds"].get("write")
    return writes["bytes"] / (1 << 20) / (writes["runtime_ns"] / 1e9) if writes and writes["runtime_ns"] else 0.0


def cell(table: pd.DataFrame, row: str | int, column: str) -> float:
    """The number in a row and column of a table."""
    return float(table[column].loc[row])
