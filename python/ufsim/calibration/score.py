"""How well a profile predicts recordings: each statistic against a band and the recording's own uncertainty."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ufsim.calibration.recording import Floats, Recording
from ufsim.calibration.resampling import Statistic, intervals, quantile, share_over

# Kinds with fewer requests have no row: their quantiles say little.
LEAST_REQUESTS = 1000
SLOW_NS = 8e6


@dataclass(frozen=True)
class Measure:
    """A statistic, and how near to the recorded one a simulated one has to be.

    `near` is relative to the recorded value, or absolute for shares, which are `is_share`.
    """

    name: str
    statistic: Statistic
    near: dict[str, float]
    is_share: bool = False

    def band(self, recorded: float, kind: str) -> tuple[float, float]:
        """The values that are near enough."""
        near = self.near[kind] if self.is_share else self.near[kind] * recorded
        return recorded - near, recorded + near


MEASURES = (
    Measure("p50", quantile(0.5), {"read": 0.2, "write": 0.4}),
    Measure("p99", quantile(0.99), {"read": 0.3, "write": 0.3}),
    Measure("over_8ms", share_over(SLOW_NS), {"read": 0.05, "write": 0.05}, is_share=True),
)


@dataclass(frozen=True)
class Score:
    """One cell of the table: values in nanoseconds, or shares.

    `simulated` is the median over the seeds, `simulated_low` and `simulated_high` are the ends of what they gave;
    `low` and `high` the interval of 80% that resampling the recording gives; `verdict` "hit", "hit by interval" or
    "miss".
    """

    trace: str
    kind: str
    requests: int
    statistic: str
    recorded: float
    low: float
    high: float
    simulated: float
    simulated_low: float
    simulated_high: float
    verdict: str

    @property
    def hits(self) -> bool:
        """Near enough, or as near as the recording knows itself."""
        return self.verdict != "miss"

    def row(self) -> dict[str, Any]:
        """The same as a dictionary."""
        return asdict(self)


def scores(recording: Recording, runs: Sequence[Floats], seed: int) -> list[Score]:
    """The cells of one recording, from the latencies that runs with several seeds gave."""
    made = []
    for kind in ("read", "write"):
        chosen = recording.is_kind(kind)
        if chosen.sum() < LEAST_REQUESTS:
            continue
        part = recording.only(chosen)
        known = intervals(part, part.latency_ns, {one.name: one.statistic for one in MEASURES}, seed)
        for measure in MEASURES:
            recorded = measure.statistic(part.latency_ns)
            simulated = [measure.statistic(run[chosen]) for run in runs]
            made.append(judged(measure, part, kind, recorded, known[measure.name], simulated))
    return made


def judged(
    measure: Measure,
    part: Recording,
    kind: str,
    recorded: float,
    interval: tuple[float, float],
    simulated: Sequence[float],
) -> Score:
    """One cell with its verdict."""
    middle = float(np.median(simulated))
    low, high = measure.band(recorded, kind)
    known = interval[0] <= middle <= interval[1]
    verdict = "hit" if low <= middle <= high else "hit by interval" if known else "miss"
    return Score(
        part.name,
        kind,
        len(part),
        measure.name,
        recorded,
        *interval,
        middle,
        min(simulated),
        max(simulated),
        verdict,
    )
