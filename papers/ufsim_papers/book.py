"""Makes a book: runs what the figures need, each run once, and lets every figure draw and measure its share."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

import ufsim
from ufsim import LeftOn, RunStore, StateCache, outputs
from ufsim_papers.claims import LEAST_SEEDS, Sample
from ufsim_papers.figure import Drawn, Figure, Missing, Point, Run, Setting
from ufsim_papers.growing import MOST_SEEDS, doubled, undecided
from ufsim_papers.judged import Outcome, outcomes
from ufsim_papers.latex import latex
from ufsim_papers.measuring import Means, Progress, key, measured
from ufsim_papers.registry import select

# What drawings and their data are written as, beside Parquet.
FORMATS = ("png", "pdf", "csv", "tex")
# Columns of a figure without a table of its own that are printed.
PRINTED = ("throughput_mib_per_s", "read_mean_ns", "read_p99_ns", "write_mean_ns", "write_p99_ns", "waf_total")
# The columns of points, by their keys.
Rows = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Book:
    """Figures in the order of the registry, and what became of the claims."""

    figures: list[Drawn]
    setting: Setting

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """Every claim of the five papers."""
        samples = [sample for drawn in self.figures for sample in drawn.samples]
        missing = {name: drawn.missing for drawn in self.figures for name in drawn.figure.claims if drawn.missing}
        return outcomes(samples, missing)

    def outcomes_of(self, figure: Figure) -> list[Outcome]:
        """The claims that a figure measures."""
        return [outcome for outcome in self.outcomes if outcome.claim.id in figure.claims]

    def to_dict(self) -> dict[str, Any]:
        """The scorecard for programs."""
        missing = {drawn.figure.id: drawn.missing for drawn in self.figures if drawn.missing}
        return {
            "ufsim": ufsim.__version__,
            "quick": self.setting.quick,
            "seed": self.setting.seed,
            "seeds": self.setting.seeds,
            "figures": [drawn.figure.id for drawn in self.figures],
            "missing": missing,
            "claims": [outcome.to_dict() for outcome in self.outcomes],
            "tables": {
                drawn.figure.id: drawn.table.to_dict("index") for drawn in self.figures if drawn.table is not None
            },
        }

    def to_json(self) -> str:
        """The scorecard as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def write(self, directory: Path, formats: Sequence[str] = FORMATS[:1]) -> Path:
        """Writes the scorecard, the report, and data and drawing of each figure; returns the report's path.

        Drawings are written as `png` or `pdf`, their data also as `csv`, and as a table of LaTeX (`tex`).

        Raises `ufsim.outputs.Unwritten` if some of them cannot be written, after the others.
        """
        from ufsim_papers.report import report_html

        report = outputs.ready(directory) / "report.html"
        steps: list[outputs.Step] = [
            (directory / "scorecard.json", outputs.text(self.to_json() + "\n")),
            (report, outputs.text(report_html(self))),
        ]
        for drawn in self.figures:
            if drawn.frame is None or drawn.drawing is None:
                continue
            stem = directory / drawn.figure.id.replace("/", "-")
            steps.append((stem.with_suffix(".parquet"), outputs.parquet(drawn.frame)))
            steps += [step for name in formats for step in as_format(drawn, stem, name)]
        failures = outputs.write(steps)
        if failures:
            raise outputs.Unwritten(failures)
        return report


def as_format(drawn: Drawn, stem: Path, name: str) -> list[outputs.Step]:
    """What writes a figure in one of `FORMATS`."""
    path = stem.with_suffix(f".{name}")
    if name in ("png", "pdf"):
        return [(path, outputs.picture(drawn.drawing, dpi=130))] if drawn.drawing is not None else []
    if name == "csv":
        return [(path, outputs.csv(drawn.frame))] if drawn.frame is not None else []
    shown = printed(drawn)
    return [(path, outputs.text(latex(shown)))] if shown is not None else []


def printed(drawn: Drawn) -> pd.DataFrame | None:
    """What a figure shows as a table for print: its own, or what its points are called with their main numbers."""
    if drawn.table is not None or drawn.frame is None:
        return drawn.table
    known = [name for name in (*drawn.labels, *PRINTED) if name in drawn.frame]
    return drawn.frame[known].dropna(axis="columns", how="all")


@dataclass(frozen=True)
class Plan:
    """What is run for a figure: points for each seed, or why there are none."""

    figure: Figure
    points: dict[int, Sequence[Run | Point]]
    missing: str = ""


def reproduce(
    wish: str | Sequence[str] | None = None,
    setting: Setting | None = None,
    *,
    jobs: int | None = None,
    cache: StateCache | None = None,
    store: RunStore | None = None,
    progress: Progress | None = None,
) -> Book:
    """Reproduces all figures, those of papers ("hpb"), or some ("hpb/f6"), `jobs` runs at a time.

    The book is the same for every number of jobs, and whether or not some results are in the `store` already. Figures
    that need data which is not there say so and are left out.
    """
    setting = setting or Setting()
    jobs = os.cpu_count() or 1 if jobs is None else jobs
    for name, value, most in (("jobs", jobs, 1024), ("seeds", setting.seeds, 1000)):
        if not 1 <= value <= most:
            raise ufsim.ConfigError(f"{name} is {value}; allowed: 1 to {most}")
    plans = [planned(figure, setting) for figure in select(wish)]
    points = [point for plan in plans for own in plan.points.values() for point in own]
    with LeftOn(jobs) as left_on:
        means = Means(jobs, cache, store, progress, left_on)
        rows = measured(points, means)
        plans = reseeded(grown(plans, rows, setting, means), rows, setting, means)
        # The joint ends of maps are those of the medians over all seeds.
        plans = grown(plans, rows, setting, means)
    return Book([_drawn(plan, rows) for plan in plans], setting)


def planned(figure: Figure, setting: Setting) -> Plan:
    """The points of a figure. Of seeds beyond the first only what its claims need, if chance changes them."""
    try:
        points = {setting.seed: figure.runs(setting)}
        if figure.claims and figure.chance == "seed":
            needed = figure.judged or figure.runs
            others = range(setting.seed + 1, setting.seed + setting.seeds)
            points |= {seed: needed(replace(setting, seed=seed)) for seed in others}
    except Missing as missing:
        return Plan(figure, {}, str(missing))
    return Plan(figure, {seed: [_verified(point, setting) for point in once(own)] for seed, own in points.items()})


def once(points: Sequence[Run | Point]) -> list[Run | Point]:
    """Points without those that are there already: each counts once, whoever asks for it."""
    return list({(key(point), *point.labels.items()): point for point in points}.values())


def grown(plans: list[Plan], rows: Rows, setting: Setting, means: Means) -> list[Plan]:
    """The plans with the points that turn out to be needed, as long as some do. Adds what they give to `rows`."""
    while wanted := {plan.figure.id: more for plan in plans if (more := _further(plan, rows, setting))}:
        rows |= measured([point for own in wanted.values() for one in own.values() for point in one], means)
        plans = [_with(plan, wanted.get(plan.figure.id, {})) for plan in plans]
    return plans


def _further(plan: Plan, rows: Rows, setting: Setting) -> dict[int, list[Run | Point]]:
    """What is asked for after the seeds have been seen, for as many as every point has."""
    if plan.missing or plan.figure.further is None:
        return {}
    frame = pd.concat([_frame(points, rows).assign(of_seed=seed) for seed, points in plan.points.items()])
    seeds = [seed for seed in plan.points if seed < setting.seed + setting.seeds]
    more = {seed: plan.figure.further(replace(setting, seed=seed), frame) for seed in seeds}
    return {seed: [_verified(point, setting) for point in own] for seed, own in more.items() if own}


def _with(plan: Plan, more: dict[int, list[Run | Point]]) -> Plan:
    points = {seed: once([*own, *more[seed]]) if seed in more else own for seed, own in plan.points.items()}
    return replace(plan, points=points)


def reseeded(plans: list[Plan], rows: Rows, setting: Setting, means: Means) -> list[Plan]:
    """The plans with further seeds for claims that these may decide (`growing`). Adds what they give to `rows`."""
    while wanted := {plan.figure.id: more for plan in plans if (more := _seeds(plan, rows, setting))}:
        rows |= measured([point for own in wanted.values() for one in own.values() for point in one], means)
        plans = [replace(plan, points={**plan.points, **wanted.get(plan.figure.id, {})}) for plan in plans]
    return plans


def _seeds(plan: Plan, rows: Rows, setting: Setting) -> dict[int, list[Run | Point]]:
    """The points of further seeds, as soon as there are as many as a class needs: what all claims of the figure need,
    or what it knows to be enough."""
    if setting.quick or len(plan.points) < LEAST_SEEDS:
        return {}
    figure = plan.figure
    where_placed = figure.where_placed or (lambda setting, claims: (figure.judged or figure.runs)(setting))
    own = [outcome for outcome in outcomes(_samples(plan, rows)) if outcome.claim.id in plan.figure.claims]
    claims = {outcome.claim.id for outcome in own if undecided(outcome)}
    seeds = [setting.seed + at for at in doubled(len(plan.points), MOST_SEEDS)] if claims else []
    more = {seed: where_placed(replace(setting, seed=seed), claims) for seed in seeds}
    return {seed: [_verified(point, setting) for point in points] for seed, points in more.items() if points}


def _samples(plan: Plan, rows: Rows) -> list[Sample]:
    """What a figure has measured."""
    return [
        Sample(seed, value, plan.figure.chance != "none")
        for seed, points in plan.points.items()
        for value in plan.figure.measure(_frame(points, rows))
    ]


def _frame(points: Sequence[Run | Point], rows: Rows) -> pd.DataFrame:
    """What points have given: a row for each, the labels first."""
    return pd.DataFrame([{**point.labels, **rows[key(point)]} for point in points])


def _drawn(plan: Plan, rows: Rows) -> Drawn:
    figure = plan.figure
    if plan.missing:
        return Drawn(figure, plan.missing)
    points = next(iter(plan.points.values()))
    frame, labels = _frame(points, rows), tuple(points[0].labels)
    return Drawn(figure, frame=frame, labels=labels, drawing=figure.draw(frame), samples=_samples(plan, rows))


def _verified(point: Run | Point, setting: Setting) -> Run | Point:
    """A run that ends with a read-back, if the setting asks for it; other points see to it by themselves."""
    if isinstance(point, Point) or not setting.verify:
        return point
    return replace(point, spec=replace(point.spec, verify=True))
