"""The papers' questions asked anew on a phone whose host takes time and whose link sleeps (profile `pixel4`)."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ufsim import Spec, describe_profile, profile_keys
from ufsim_papers import draw
from ufsim_papers.figure import Run, Setting, figure
from ufsim_papers.hp_ufs import hpb
from ufsim_papers.hp_ufs.apps import APPS

PROFILE = "pixel4"
FLASH, HOST, PHONE = "flash alone", "and the host's time", "and sleep: the phone"
CONDITIONS = (FLASH, HOST, PHONE)
COLOURS = {FLASH: "#56b4e9", HOST: "#e69f00", PHONE: "#444444"}
# The phone's time and sleep are partly drawn, so that runs differ by luck.
SEEDS = 5
# Parts of a profile without which nothing sleeps, and without which nothing but storage takes time.
SLEEP = ("power",)
TIME = ("host_time", "write_path")


@dataclass(frozen=True)
class Question:
    """What a paper proposes, and what it is compared with."""

    name: str
    scheme: str
    against: str
    scheduler: str | None = None
    against_scheduler: str | None = None


QUESTIONS = (
    Question("HPB", "hpb", "ufs"),
    Question("HP-UFS", "hp-ufs", "ufs"),
    Question("MSFTL", "msftl", "ufs"),
    Question("MAP+ above DFTL", "dftl", "dftl", "map-plus", "row"),
)


@cache
def defaults() -> dict[str, Any]:
    """What profile keys are unless a profile says otherwise."""
    return {key["key"]: key["default"] for key in profile_keys()}


def without(*sections: str) -> dict[str, Any]:
    """Settings that undo what the phone's profile has in these sections."""
    keys = [value["key"] for value in describe_profile(PROFILE)["values"]]
    return {key: defaults()[key] for key in keys if key.split(".")[0] in sections}


def _runs(setting: Setting) -> list[Run]:
    apps = ("twitter", "genshinimpact") if setting.quick else tuple(APPS)
    systems = {(question.scheme, question.scheduler) for question in QUESTIONS}
    systems |= {(question.against, question.against_scheduler) for question in QUESTIONS}
    settings = {FLASH: without(*SLEEP, *TIME), HOST: without(*SLEEP), PHONE: {}}
    seeds = {FLASH: 1, HOST: SEEDS, PHONE: SEEDS}
    return [
        Run(
            {
                "condition": condition,
                "app": APPS[app],
                "scheme": scheme,
                "scheduler": scheduler or "noop",
                "seed": seed,
            },
            Spec(
                workload=str(setting.trace("pixel4-hpufs", app)),
                profile=PROFILE,
                scheme=scheme,
                scheduler=scheduler,
                precondition="touched",
                replay="timed",
                settings=settings[condition] | hpb.settings(scheme),
                seed=seed,
            ),
        )
        for condition in CONDITIONS
        for app in apps
        for scheme, scheduler in sorted(systems, key=str)
        for seed in range(setting.seed, setting.seed + (1 if setting.quick else seeds[condition]))
    ]


def gains(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """By how many per cent each scheme lowers a value, all applications together: a row for each question, a column for
    each condition. The value is a mean latency; applications count by their requests."""
    counted = frame.assign(total=frame[column] * frame[column.replace("_mean_ns", "_count")].astype(float))
    table = counted.groupby(["scheme", "scheduler", "condition"])["total"].sum()
    rows = {
        question.name: {
            condition: (
                1
                - table[question.scheme, question.scheduler or "noop", condition]
                / table[question.against, question.against_scheduler or "noop", condition]
            )
            * 100
            for condition in CONDITIONS
        }
        for question in QUESTIONS
    }
    return pd.DataFrame.from_dict(rows, orient="index")[list(CONDITIONS)]


def means(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Mean latency under `ufs` in milliseconds: a row for each application, a column for each condition."""
    rows = frame[frame["scheme"] == "ufs"]
    table = rows.groupby(["app", "condition"])[f"{kind}_mean_ns"].mean().unstack("condition")[list(CONDITIONS)] / 1e6
    return table.reindex([app for app in APPS.values() if app in table.index])


def _panel(axes: Axes, table: pd.DataFrame, title: str, unit: str) -> None:
    draw.grouped_bars(axes, table, colours=COLOURS)
    axes.axhline(0, color="black", lw=0.6)
    axes.set_title(title, fontsize=10)
    axes.set_ylabel(unit)


def _draw(frame: pd.DataFrame) -> Drawing:
    figure, panels = draw.canvas(columns=2, rows=2, width=5.6, height=3.4)
    for axes, kind in zip(panels, ("read", "write"), strict=False):
        _panel(axes, means(frame, kind), f"{kind}s under UFS", "mean latency (ms)")
    for axes, kind in zip(panels[2:], ("read", "write"), strict=True):
        _panel(axes, gains(frame, f"{kind}_mean_ns"), f"{kind}s: what the schemes cut", "cut of the mean latency (%)")
    draw.legend(panels[2])
    return figure


GAINS = figure("phone/gains", runs=_runs, draw=_draw)

FIGURES = (GAINS,)
