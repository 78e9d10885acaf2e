"""HP-UFS (MSST 2024): SQLite, the library itself, as the authors' Mobibench runs it, with and without GC."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ufsim import Spec
from ufsim_papers import draw, maps
from ufsim_papers.claims import Measured, Option, claim_of
from ufsim_papers.figure import Label, Run, Setting, Value, cell, figure
from ufsim_papers.folders import FOLDERS, job
from ufsim_papers.hp_ufs import dummy_files, hpb
from ufsim_papers.hp_ufs.points import ALL, COLD, LIMIT, LIMITED, START, WARM, joint_ends
from ufsim_papers.hp_ufs.writes import CACHE, OF_PAPER

TAIL, MEAN_GC, TAIL_GC, SELECT = (
    f"hp-ufs.f8.{name}" for name in ("insert-tail-nogc", "insert-avg-gc", "insert-tail-gc", "select-neutral")
)
OPERATIONS = ("insert", "update", "delete", "select")
STATISTICS = {"mean": "average", "p999": "99.9th percentile"}
JUDGED = ("hpb", "hp-ufs")
# The conditions of the claims' maps. Those of the second line say how a run's numbers are read, and not what is run.
JOURNAL, MOUNT, HOST_US, AGE = (f"hp-ufs.sqlite-{name}" for name in ("journal", "mount", "host-us", "age"))
CLOCK, PERCENTILE = "hp-ufs.sqlite-clock", "percentile"
# Options that are not the default.
ROLLBACK, BARRIERS, RANDOM = "rollback journals with a super-journal", "barriers", "random overwrites"
HARNESS, TOGETHER = "harness", "of ten runs together"
# HP-UFS that searches the valid pages of a victim on flash, as HPB does: the foil of the claims with GC.
SEARCHES = "searches flash"


@dataclass(frozen=True)
class Setup:
    """Where a run lies on the maps; no ageing without GC."""

    journal: str = "WAL"
    mount: str = "nobarrier"
    host_us: float = 200
    age: str = ""
    start: str = COLD
    limit: str = ""

    @property
    def labels(self) -> dict[str, Label]:
        """The same as labels of a run."""
        return {"state": "GC" if self.age else "no GC", **self.__dict__}


# Why a tail is not cut; shown only beside a miss.
ERASES = (
    "a program of 5000 INSERT fills 20 superblocks, and each begins with an erase, for which programs wait 5 ms: so "
    "four transactions of a thousand find the write buffer full, under every scheme, and the 99.9th percentile is one "
    "of these. With erases that take no time it is 0.9 ms with HPB and 0.7 ms with HP-UFS; with 0.5 ms of processor "
    "time the buffer does not fill"
)
NO_GC = (
    "the files fill 6500 of 9472 superblocks, and GC begins when fewer than 2400 are free: ten programs of INSERT end "
    "with some 2860"
)
# Where the artefact places the paper's set-up, but for what it says nothing about; and the aged devices that are drawn.
DEFAULT = Setup()
AGES = ("files", RANDOM)
UNDER_GC = Setup(age=RANDOM, limit=LIMITED)
FOIL_GC = Setup(age="files", start=WARM, limit=LIMITED)
# What stands in the job for options that are not the default.
JOB = {
    ROLLBACK: ("journal_mode", '"persist"'),
    BARRIERS: ("barriers", "true"),
}


def setup_of(at: Mapping[str, Option]) -> Setup:
    """Where the runs of a point lie."""
    return Setup(
        journal=str(at[JOURNAL]),
        mount=str(at[MOUNT]),
        host_us=float(at[HOST_US]),
        age=str(at.get(AGE, "")),
        start=str(at.get(START, COLD)),
        limit=str(at.get(LIMIT, "")),
    )


def workload(setup: Setup, changed: Mapping[str, object] | None = None) -> str:
    """The job of the authors' Mobibench, with other values of some keys."""
    text = (FOLDERS / "hp-ufs" / "jobs" / "f8-sqlite.toml").read_text(encoding="utf-8")
    values: dict[str, object] = dict(JOB[own] for own in (setup.journal, setup.mount) if own in JOB)
    values |= {"transaction_cpu_ns": round(setup.host_us * 1000), **(changed or {})}
    if setup.age:
        # The claims with GC are about INSERT, which comes first.
        values = {"operations": '["insert"]', **values}
    for key, value in values.items():
        text, count = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
        assert count == 1, key
    return text


def spec(setup: Setup, scheme: str, setting: Setting, settings: Mapping[str, Value] | None = None) -> Spec:
    """Mobibench on a new device, or on one that was aged for GC."""
    ages = {"": None, RANDOM: job("hp-ufs/age-full")}
    return Spec(
        workload=workload(setup, {"programs": 2} if setting.quick else None),
        scheme=scheme,
        precondition="none",
        host_memory_mib="unlimited" if setup.limit == ALL else CACHE,
        stay_on=setup.age != "" and setup.start == WARM,
        settings={**hpb.settings(scheme), **(settings or {})},
        seed=setting.seed,
        age=ages[setup.age] if setup.age in ages else str(dummy_files.trace(setting.seed)),
    )


def run(setup: Setup, scheme: str, setting: Setting, what_if: str = "") -> Run:
    """A run with its labels; `what_if` names work that takes no time, or what HP-UFS does as HPB does."""
    settings: dict[str, Value] = {}
    if what_if == SEARCHES:
        settings = {"scheme.hp-ufs.searches_flash": True} if scheme == "hp-ufs" else {}
    elif what_if:
        settings = {"what_if.free": what_if}
    labels: dict[str, Label] = {**setup.labels, "scheme": scheme, "what_if": what_if or "nothing"}
    return Run(labels, spec(setup, scheme, setting, settings))


def setups(claims: Iterable[str]) -> list[Setup]:
    """What has to be run for some claims; runs of one journal in a row, as they share a recording of SQLite."""
    own = {setup_of(claim.at(place)): None for claim in map(claim_of, claims) for place in maps.needed(claim)}
    return sorted(own, key=lambda setup: (setup.age, setup.journal))


def _judged(setting: Setting) -> list[Run]:
    found = [run(setup, scheme, setting) for setup in setups((TAIL, SELECT)) for scheme in JUDGED]
    found += [run(DEFAULT, "ufs", setting)]
    found += [run(DEFAULT, scheme, setting, "mapping") for scheme in JUDGED]
    return found


def _judged_gc(setting: Setting) -> list[Run]:
    found = [run(setup, scheme, setting) for setup in setups((MEAN_GC, TAIL_GC)) for scheme in JUDGED]
    return [*found, *(run(FOIL_GC, scheme, setting, SEARCHES) for scheme in JUDGED)]


def _further_gc(setting: Setting, frame: pd.DataFrame) -> list[Run]:
    """The joint ends of the maps. Without GC every set-up is run."""
    ends = [] if setting.quick else [at for claim in (MEAN_GC, TAIL_GC) for at in joint_ends(claim, _measure_gc, frame)]
    return [run(setup, scheme, setting) for setup in dict.fromkeys(map(setup_of, ends)) for scheme in JUDGED]


def _runs(setting: Setting) -> list[Run]:
    drawn = [run(DEFAULT, scheme, setting) for scheme in OF_PAPER]
    return drawn if setting.quick else [*drawn, *_judged(setting)]


def _runs_gc(setting: Setting) -> list[Run]:
    drawn = [run(Setup(age=age, limit=LIMITED), scheme, setting) for age in AGES for scheme in OF_PAPER]
    return drawn[: len(OF_PAPER)] if setting.quick else [*drawn, *_judged_gc(setting)]


@dataclass(frozen=True)
class Rows:
    """The runs of a set-up by their schemes."""

    by_scheme: pd.DataFrame

    def latency(self, scheme: str, operation: str, statistic: str, at: Mapping[str, Option]) -> float:
        """Latency in ns, by the clock of a point: the median of the programs, or of all of them together."""
        clock = "harness_" if at.get(CLOCK) == HARNESS else ""
        each = "" if at.get(PERCENTILE) == TOGETHER else "program_"
        return cell(self.by_scheme, scheme, f"op_{operation}_{clock}{each}{statistic}_ns")

    def cut(self, operation: str, statistic: str, at: Mapping[str, Option], than: str = "hpb") -> float:
        """By how much HP-UFS's latency is below another scheme's, in per cent."""
        ours, theirs = (self.latency(scheme, operation, statistic, at) for scheme in ("hp-ufs", than))
        return (1 - ours / theirs) * 100

    def cuts(self, statistic: str, at: Mapping[str, Option], than: str = "hpb") -> dict[str, float]:
        """The same of every operation."""
        return {operation: self.cut(operation, statistic, at, than) for operation in OPERATIONS}

    def told(self) -> str:
        """Transactions per second, and the share of samples that cross a full second."""
        parts = []
        for scheme in JUDGED:
            count, across, ns = (
                cell(self.by_scheme, scheme, f"op_insert_{name}") for name in ("count", "across_seconds", "duration_ns")
            )
            parts.append(
                f"{scheme}: {count / ns * 1e9:,.0f} INSERT a second, {across / count * 100:.3f}% across a second"
            )
        return "; ".join(parts)


def by_setup(frame: pd.DataFrame, what_if: str = "nothing") -> dict[Setup, Rows]:
    """The runs of each set-up at which both judged schemes were run."""
    found: dict[Setup, Rows] = {}
    values: Any
    for values, rows in frame[frame["what_if"] == what_if].groupby(list(DEFAULT.labels), sort=False):
        own = rows.drop_duplicates("scheme").set_index("scheme")
        if set(JUDGED) <= set(own.index):
            found[Setup(*values[1:])] = Rows(own)
    return found


def rows_of(frame: pd.DataFrame, setup: Setup, what_if: str = "nothing") -> Rows | None:
    """The runs of a set-up; none unless both judged schemes were run there."""
    return by_setup(frame, what_if).get(setup)


def _named(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name.upper()} {value:.1f}" for name, value in values.items())


def tail_parts(rows: Rows, at: Mapping[str, Option], than: str = "hpb") -> list[Measured]:
    """The cut of INSERT's tail without GC, and whether it is the largest."""
    cuts = rows.cuts("p999", at, than)
    largest = all(cuts["insert"] > cut for operation, cut in cuts.items() if operation != "insert")
    return [
        Measured(TAIL, cuts["insert"], told=rows.told(), reason="" if at.get(JOURNAL) == ROLLBACK else ERASES),
        Measured(TAIL, largest, "INSERT has the largest cut of the four operations", _named(cuts)),
    ]


def select_parts(rows: Rows, at: Mapping[str, Option], than: str = "hpb") -> list[Measured]:
    """The cut of SELECT's mean, and whether those of the operations that write are larger."""
    cuts = rows.cuts("mean", at, than)
    larger = all(cut > cuts["select"] for operation, cut in cuts.items() if operation != "select")
    part = "each of INSERT, UPDATE and DELETE has a larger cut of the mean than SELECT"
    return [Measured(SELECT, cuts["select"]), Measured(SELECT, larger, part, _named(cuts))]


def gc_part(claim: str, statistic: str, rows: Rows, at: Mapping[str, Option]) -> list[Measured]:
    """The cut of INSERT with GC, and how much GC there was."""
    victims = {scheme: cell(rows.by_scheme, scheme, "device_gc_victims") for scheme in JUDGED}
    told = "victims of GC: " + ", ".join(f"{scheme} {count:,.0f}" for scheme, count in victims.items())
    reason = "" if any(victims.values()) else NO_GC
    return [Measured(claim, rows.cut("insert", statistic, at), told=f"{told}; {rows.told()}", reason=reason)]


def over_map(claim: str, frame: pd.DataFrame) -> list[Measured]:
    """What a claim gives at every point of its map that was run."""
    own, runs = claim_of(claim), by_setup(frame)
    found = []
    for place in product(*(axis.options for axis in own.axes)):
        at = own.at(place)
        rows = runs.get(setup_of(at))
        if rows is None:
            continue
        other = {axis.name: at[axis.name] for axis in own.axes if at[axis.name] != axis.options[0]}
        found += [replace(part, at=other) for part in parts_of(claim, rows, at)]
    return found


def parts_of(claim: str, rows: Rows, at: Mapping[str, Option]) -> list[Measured]:
    """What a claim gives from some runs, as a point has them read."""
    if claim == TAIL:
        return tail_parts(rows, at)
    if claim == SELECT:
        return select_parts(rows, at)
    return gc_part(claim, "mean" if claim == MEAN_GC else "p999", rows, at)


def foils(frame: pd.DataFrame) -> list[Measured]:
    """The foils of the claims without GC, where the paper's set-up is placed: by the harness's clock."""
    at: dict[str, Option] = {CLOCK: HARNESS}
    found: list[Measured] = []
    if (free := rows_of(frame, DEFAULT, "mapping")) is not None:
        found += tail_parts(free, at)
    usual = rows_of(frame, DEFAULT)
    if usual is not None and "ufs" in usual.by_scheme.index:
        found += select_parts(usual, at, "ufs")
    return [replace(part, role="foil") for part in found]


def _measure(frame: pd.DataFrame) -> list[Measured]:
    return [*over_map(TAIL, frame), *over_map(SELECT, frame), *foils(frame)]


def _measure_gc(frame: pd.DataFrame) -> list[Measured]:
    claims = (MEAN_GC, TAIL_GC)
    rows = rows_of(frame, FOIL_GC, SEARCHES)
    foil = [part for claim in claims for part in parts_of(claim, rows, {CLOCK: HARNESS})] if rows else []
    points = [part for claim in claims for part in over_map(claim, frame)]
    return [*points, *(replace(part, role="foil") for part in foil)]


def latencies(frame: pd.DataFrame, setup: Setup, statistic: str, operations: Sequence[str]) -> pd.DataFrame:
    """Median latency of the programs in ns: a row for each operation, a column for each scheme of the paper."""
    rows = rows_of(frame, setup)
    assert rows is not None
    table = {
        scheme: {operation.upper(): rows.latency(scheme, operation, statistic, {}) for operation in operations}
        for scheme in OF_PAPER
    }
    return pd.DataFrame(table)


def _draw(frame: pd.DataFrame) -> Drawing:
    drawing, panels = draw.canvas(columns=2, width=5.6, height=3.4)
    for axes, (statistic, title) in zip(panels, STATISTICS.items(), strict=True):
        table = latencies(frame, DEFAULT, statistic, OPERATIONS)
        over_ufs = table.div(table["ufs"], axis=0)
        draw.grouped_bars(axes, over_ufs)
        if statistic == "p999":
            draw.paper_points(axes, [0.1], [cell(over_ufs, "INSERT", "hpb") * (1 - 0.39)], "paper: HPB - 39%")
        _finish(axes, f"without GC, {title}")
    return drawing


def _draw_gc(frame: pd.DataFrame) -> Drawing:
    ages = [age for age in AGES if (frame["age"] == age).any()]
    drawing, panels = draw.canvas(columns=2, width=5.6, height=3.4)
    paper = {"mean": 37, "p999": 88}
    for axes, (statistic, title) in zip(panels, STATISTICS.items(), strict=True):
        tables = {
            age: latencies(frame, Setup(age=age, limit=LIMITED), statistic, ("insert",)).loc["INSERT"] for age in ages
        }
        table = pd.DataFrame(tables).T
        over_ufs = table.div(table["ufs"], axis=0)
        draw.grouped_bars(axes, over_ufs)
        marks = [float(own) * (1 - paper[statistic] / 100) for own in over_ufs["hpb"]]
        places_ = [place + 0.1 for place in range(len(marks))]
        draw.paper_points(axes, places_, marks, f"paper: HPB - {paper[statistic]}%")
        _finish(axes, f"INSERT on an aged device, {title}")
    return drawing


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_ylabel("latency over UFS")
    axes.set_ylim(0, axes.get_ylim()[1] * 1.25)
    draw.legend(axes)


F8 = figure("hp-ufs/f8", runs=_runs, judged=_judged, draw=_draw, measure=_measure)

F8_GC = figure(
    "hp-ufs/f8-gc",
    runs=_runs_gc,
    judged=_judged_gc,
    draw=_draw_gc,
    measure=_measure_gc,
    further=_further_gc,
)

FIGURES = (F8, F8_GC)
