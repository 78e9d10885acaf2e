"""Makes a book: runs what the figures need, each run once, and lets every figure draw and measure its share."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from ufsim import _core, outputs
from ufsim.documents import parse
from ufsim.reproduce.claims import Outcome, Unlisted, outcomes
from ufsim.reproduce.figure import Drawn, Figure, Missing, Point, Run, Setting, columns
from ufsim.reproduce.registry import FIGURES, select
from ufsim.results import Result
from ufsim.spec import check_range
from ufsim.states import StateCache, simulated

# runs done, runs in all
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Book:
    """Figures in the order of the registry, and what became of the claims."""

    figures: list[Drawn]
    setting: Setting

    @cached_property
    def outcomes(self) -> list[Outcome]:
        """Every claim of the five papers."""
        judged = [p for drawn in self.figures for p in drawn.measured if p.claim not in drawn.figure.unlisted]
        return outcomes(judged)

    @cached_property
    def unlisted(self) -> list[Unlisted]:
        """What was measured of claims that the data does not list."""
        return [value for drawn in self.figures for value in self.unlisted_of(drawn)]

    def unlisted_of(self, drawn: Drawn) -> list[Unlisted]:
        """The same of one figure."""
        units = drawn.figure.unlisted
        return [Unlisted(part, units[part.claim]) for part in drawn.measured if part.claim in units]

    def outcomes_of(self, figure: Figure) -> list[Outcome]:
        """The claims that a figure measures."""
        return [outcome for outcome in self.outcomes if outcome.claim.id in figure.claims]

    def to_dict(self) -> dict[str, Any]:
        """The scorecard for programs."""
        missing = {drawn.figure.id: drawn.missing for drawn in self.figures if drawn.missing}
        return {
            "ufsim": _core.__version__,
            "quick": self.setting.quick,
            "seed": self.setting.seed,
            "missing": missing,
            "claims": [outcome.to_dict() for outcome in self.outcomes],
            "unlisted": [value.to_dict() for value in self.unlisted],
        }

    def to_json(self) -> str:
        """The scorecard as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def write(self, directory: Path) -> Path:
        """Writes the scorecard, the report, and data and drawing of each figure; returns the report's path.

        Raises `ufsim.outputs.Unwritten` if some of them cannot be written, after the others.
        """
        from ufsim.reproduce.report import report_html

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
            steps.append((stem.with_suffix(".png"), partial(drawn.drawing.savefig, dpi=130)))
        failures = outputs.write(steps)
        if failures:
            raise outputs.Unwritten(failures)
        return report


def reproduce(
    wish: str | None = None,
    setting: Setting | None = None,
    *,
    jobs: int | None = None,
    cache: StateCache | None = None,
    progress: Progress | None = None,
) -> Book:
    """Reproduces all figures, those of a paper ("hpb"), or one ("hpb/f6"), `jobs` runs at a time.

    The book is the same for every number of jobs. Figures that need data which is not there say so and are left out.
    """
    setting = setting or Setting()
    jobs = os.cpu_count() or 1 if jobs is None else jobs
    check_range("jobs", jobs, 1, 1024)
    plans: list[tuple[Figure, Sequence[Run | Point], str]] = []
    for figure in select(wish):
        try:
            plans.append((figure, [_verified(point, setting) for point in figure.runs(setting)], ""))
        except Missing as missing:
            plans.append((figure, [], str(missing)))
    points = _measure_all([point for _, points, _ in plans for point in points], jobs, cache, progress)
    return Book([_drawn(figure, ours, points, why) for figure, ours, why in plans], setting)


def _drawn(figure: Figure, ours: Sequence[Run | Point], columns_of: dict[str, dict[str, Any]], missing: str) -> Drawn:
    import pandas as pd

    if missing:
        return Drawn(figure, missing)
    frame = pd.DataFrame([{**point.labels, **columns_of[_key(point)]} for point in ours])
    labels = tuple(ours[0].labels)
    return Drawn(figure, frame=frame, labels=labels, drawing=figure.draw(frame), measured=figure.measure(frame))


def _verified(point: Run | Point, setting: Setting) -> Run | Point:
    """A run that ends with a read-back, if the setting asks for it; other points see to it by themselves."""
    if isinstance(point, Point) or not setting.verify:
        return point
    return replace(point, spec=replace(point.spec, verify=True))


def _key(point: Run | Point) -> str:
    """Equal for runs that give the same result, so that figures share them."""
    if isinstance(point, Run):
        return point.spec.to_json()
    return f"{point.measure} {sorted(point.labels.items())}"


def _measure_all(
    points: list[Run | Point], jobs: int, cache: StateCache | None, progress: Progress | None
) -> dict[str, dict[str, Any]]:
    """The columns of every point, by key; the first failure, or an interrupt, stops all of them."""
    unique = {_key(point): point for point in points}
    done: dict[str, dict[str, Any]] = {}
    cancelled, guard = threading.Event(), threading.Lock()

    def watch(*_: object) -> None:
        if cancelled.is_set():
            raise KeyboardInterrupt

    def measure(key: str, point: Run | Point) -> None:
        if cancelled.is_set():
            return
        if isinstance(point, Run):
            point.spec.check()
            document = simulated(cache, point.spec, watch, lambda begun: _core.simulate(begun.to_json(), watch))
            row = columns(Result(parse(document)))
        else:
            row = point.measure()
        with guard:
            done[key] = row
            if progress is not None:
                progress(len(done), len(unique))

    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="ufsim") as pool:
        futures = [pool.submit(measure, key, point) for key, point in unique.items()]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            cancelled.set()
    for future in futures:
        error = future.exception()
        if error is not None and not isinstance(error, KeyboardInterrupt):
            raise error
    return done


__all__ = ["FIGURES", "Book", "reproduce"]
