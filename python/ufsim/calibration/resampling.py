"""How well a recording knows its own statistics: it is resampled in blocks of ten seconds.

Requests near each other belong together: a burst, an app's start. So whole blocks are drawn, with replacement, as many
as there are, and each statistic is taken of what that gives. The middle 80% of its values are its interval.
"""

from collections.abc import Callable, Iterator

import numpy as np

from ufsim.calibration.recording import Floats, Integers, Recording

RESAMPLINGS = 500
# Ends of the interval of 80%.
ENDS = (0.1, 0.9)

Statistic = Callable[[Floats], float]


def draws(blocks: int, times: int, seed: list[int]) -> Iterator[Integers]:
    """How often each block occurs, in so many resamplings."""
    random = np.random.default_rng(seed)
    for _ in range(times):
        yield np.bincount(random.integers(0, blocks, blocks), minlength=blocks)


def intervals(
    recording: Recording, latency_ns: Floats, statistics: dict[str, Statistic], seed: int, times: int = RESAMPLINGS
) -> dict[str, tuple[float, float]]:
    """The interval of 80% of each statistic of these latencies of a recording's requests."""
    found: dict[str, list[float]] = {name: [] for name in statistics}
    for drawn in draws(recording.blocks, times, [seed]):
        sample = np.repeat(latency_ns, drawn[recording.block])
        if len(sample):
            for name, statistic in statistics.items():
                found[name].append(statistic(sample))
    return {name: ends(values) for name, values in found.items()}


def ends(values: list[float]) -> tuple[float, float]:
    """The middle 80% of some values."""
    low, high = np.quantile(values, ENDS)
    return float(low), float(high)


def quantile(at: float) -> Statistic:
    """A quantile that is one of the values, as a histogram's is."""
    return lambda values: float(np.quantile(values, at, method="inverted_cdf"))


def share_over(limit_ns: float) -> Statistic:
    """The share of values above a limit."""
    return lambda values: float((values > limit_ns).mean())
