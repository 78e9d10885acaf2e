"""Does host memory for the mapping pay on a device of today? Recorded applications, and a language model."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ufsim import Spec
from ufsim.student import half_width
from ufsim_papers import draw
from ufsim_papers.figure import Run, Setting, Value, figure

SEEDS = 3
SCHEMES = ("ufs", "ufs-compressed", "hpb", "hp-ufs", "ideal")
# Those that have memory of the host.
HOSTED = ("hpb", "hp-ufs")
COMPARED = SCHEMES[1:]
AS_IT_IS = "in use"
PHONE = "pixel4-used"
# So that GC is at work: a device that is 85% full has free superblocks for all that the workloads write.
NEARLY_FULL = "95% full, 10% overwritten"
# Per cent that are drawn in the fullest colour.
LARGE = 40


@dataclass(frozen=True)
class Condition:
    """What differs from the device in use."""

    profile: str = "ufs-3.1-256"
    age: str | None = "85% full, 2% overwritten"
    settings: Mapping[str, Value] = field(default_factory=dict)
    schemes: tuple[str, ...] = SCHEMES
    repeat: int = 1
    # What is written before the measured part. Nothing: data that ageing has written are read where they lie.
    precondition: Literal["none", "footprint", "touched"] = "none"


CONDITIONS = {
    AS_IT_IS: Condition(),
    # Host memory is empty when a recording begins for the first time, and not when it begins again.
    "twice in a row": Condition(repeat=2),
    "10 MiB of host memory": Condition(settings={"host.memory_mib": 10}, schemes=HOSTED),
    "host memory for all": Condition(settings={"host.memory_mib": "unlimited"}, schemes=HOSTED),
    "no SLC cache": Condition(settings={"slc.superblocks": 0}),
    "WriteBooster": Condition(settings={"slc.write_booster": True}),
    # On a new device what is read has to be written first.
    "new": Condition(age=None, precondition="touched"),
    PHONE: Condition(profile=PHONE),
    "pixel4-used, what is read is new": Condition(profile=PHONE, precondition="footprint"),
    "pixel4-used, what is used is new": Condition(profile=PHONE, precondition="touched"),
    "ufs-4.0-512": Condition(profile="ufs-4.0-512"),
    "nearly full": Condition(age=NEARLY_FULL),
    "nearly full, GC as in the papers": Condition(
        age=NEARLY_FULL,
        settings={"gc.runs": "alone", "gc.idle_after_ms": "never"},
        schemes=("ufs", "hp-ufs", "ideal"),
    ),
}
# The aged phone, whatever is written before it is measured.
OF_PHONE = tuple(name for name, condition in CONDITIONS.items() if condition.profile == PHONE)
# Recordings: their directory, its files by application, and what is cleaned.
RECORDED = {
    "pixel4-hpufs": ({name: name for name in ("twitter", "chrome", "facebook", "camera-picture", "genshinimpact")}, ()),
    "pixel6a-technion": (
        {name: f"{name}_exec.csv.xz" for name in ("telegram", "pubg", "genshin_impact")},
        ("duplicates", "gaps"),
    ),
}
MODEL, TOKEN = "language model", "op_token_mean_ns"
# Half of Mistral 7B's bundles, in pieces of mostly 4 to 16 KiB.
MODEL_TEXT = """
[llm]
bundles = 7_168
memory_percent = 0
other_mib = 0
tokens = 3
layout = "aged"
"""
APPLICATIONS = "all applications"
WORKLOADS = (*(name for files, _ in RECORDED.values() for name in files), MODEL)
QUICK = ("twitter", MODEL)
# What is compared, by what is drawn: columns of applications, and of the model.
READS, WRITES = "read_mean_ns", "write_mean_ns"
# By condition, workload and scheme: the mean gain in per cent, and half of its 95% interval.
Gains = dict[tuple[str, str, str], tuple[float, float | None]]


def workloads(setting: Setting, repeat: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What is run, by name, as options of a run. The model's reads do not come at recorded times, and not again."""
    for folder, (files, clean) in RECORDED.items():
        for name, file in files.items():
            if not setting.quick or name in QUICK:
                path = str(setting.trace(folder, file))
                yield name, {"workload": path, "replay": "timed", "clean": list(clean), "fold": True, "repeat": repeat}
    if repeat == 1:
        yield MODEL, {"workload": MODEL_TEXT}


def spec(condition: Condition, scheme: str, seed: int, options: Mapping[str, Any]) -> Spec:
    """A run."""
    return Spec(
        scheme=scheme,
        profile=condition.profile,
        age=condition.age,
        precondition=condition.precondition,
        settings=dict(condition.settings),
        seed=seed,
        **options,
    )


def _runs(setting: Setting) -> list[Run]:
    conditions = {AS_IT_IS: CONDITIONS[AS_IT_IS], "new": CONDITIONS["new"]} if setting.quick else CONDITIONS
    return [
        Run(
            {"condition": name, "workload": workload, "scheme": scheme, "seed": seed},
            spec(condition, scheme, seed, options),
        )
        for name, condition in conditions.items()
        for scheme in condition.schemes
        for workload, options in workloads(setting, condition.repeat)
        for seed in range(setting.seed, setting.seed + (1 if setting.quick else SEEDS))
    ]


def times(frame: pd.DataFrame, column: str) -> dict[tuple[str, str, str], list[float]]:
    """Mean times in ns of all seeds, by condition, workload and scheme: of requests, or of the model's tokens."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for row in frame.sort_values("seed").to_dict("records"):
        # Of the model there are tokens, which only read.
        name = column if row["workload"] != MODEL else TOKEN if column == READS else None
        if name is not None:
            found.setdefault((row["condition"], row["workload"], row["scheme"]), []).append(row[name])
    return found


def cuts(frame: pd.DataFrame, column: str) -> dict[tuple[str, str, str], list[float]]:
    """By how many per cent a scheme's times are shorter than those of `ufs`, seed by seed.

    What differs in host memory alone is compared with `ufs` on the device in use, which has none.
    """
    known = times(frame, column)
    found = {}
    for (condition, workload, scheme), own in known.items():
        against = AS_IT_IS if CONDITIONS[condition].schemes == HOSTED else condition
        if scheme != "ufs":
            of_ufs = known[against, workload, "ufs"]
            found[condition, workload, scheme] = [(1 - ns / of) * 100 for ns, of in zip(own, of_ufs, strict=True)]
    return found


def gains(frame: pd.DataFrame, column: str) -> Gains:
    """The mean over the seeds, and half of its interval."""
    return {key: (fmean(own), half_width(own)) for key, own in cuts(frame, column).items()}


def of_all(frame: pd.DataFrame, column: str) -> Gains:
    """The same of the mean over the applications: a row for each condition and scheme."""
    seeds: dict[tuple[str, str], list[list[float]]] = {}
    for (condition, workload, scheme), own in cuts(frame, column).items():
        if workload != MODEL:
            seeds.setdefault((condition, scheme), []).append(own)
    means = {key: [fmean(seed) for seed in zip(*own, strict=True)] for key, own in seeds.items()}
    return {
        (condition, APPLICATIONS, scheme): (fmean(own), half_width(own)) for (condition, scheme), own in means.items()
    }


def _panel(axes: Axes, found: Gains, scheme: str, *, named: bool) -> None:
    rows = [name for name in CONDITIONS if any(key[0] == name for key in found)]
    columns = [name for name in WORKLOADS if any(key[1] == name for key in found)]
    means = np.full((len(rows), len(columns)), np.nan)
    for (condition, workload, own), (mean, half) in found.items():
        if own == scheme:
            row, column = rows.index(condition), columns.index(workload)
            means[row, column] = mean
            shade = "black" if half is not None and abs(mean) > half else "#999999"
            axes.text(column, row, str(round(mean)), ha="center", va="center", fontsize=7, color=shade)
    axes.imshow(means, cmap="RdYlGn", vmin=-LARGE, vmax=LARGE, aspect="auto", alpha=0.8)
    axes.set_xticks(range(len(columns)), columns, rotation=40, ha="right", fontsize=7)
    axes.set_yticks(range(len(rows)), rows if named else [""] * len(rows), fontsize=8)
    axes.grid(visible=False)


def drawing(by_kind: Mapping[str, Gains]) -> Drawing:
    """Gains of reads and of writes: a row of panels for each, a panel for each scheme."""
    figure, panels = draw.canvas(columns=len(COMPARED), rows=len(by_kind), width=3.6, height=3.6)
    for row, (kind, found) in enumerate(by_kind.items()):
        for at, scheme in enumerate(COMPARED):
            axes = panels[row * len(COMPARED) + at]
            _panel(axes, found, scheme, named=at == 0)
            axes.set_title(f"{scheme}: {kind}", fontsize=10)
    return figure


def both(frame: pd.DataFrame, of: Callable[[pd.DataFrame, str], Gains] = gains) -> dict[str, Gains]:
    """Gains by kind of request."""
    return {kind: of(frame, column) for kind, column in (("reads", READS), ("writes", WRITES))}


USES = figure("today/uses", runs=_runs, draw=lambda frame: drawing(both(frame)))

FIGURES = (USES,)
