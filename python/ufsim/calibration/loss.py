"""How far a run is from a recording: one number, made so that a search sees every mechanism.

The simulated latencies are of the same requests as the recorded ones. So a group of n requests has n values on either
side, and its distance is the mean absolute difference of their sorted logarithms: the mean absolute log error over all
quantiles. (It is the Wasserstein distance of order one of the logarithms.) A factor of two counts the same at 60 us as
at 12 ms, and requests that are in the wrong one of two modes count by their number, so that no quantile that lies
between the modes can jump. Order within a group does not count, for a trace does not tell who waited for whom.

A recording is looked at in three ways, and their shares are WEIGHTS:

- cells: kind x state before (idle time or depth) x size x flags. They tell mechanisms apart: the wake of a link shows
  only after its idle time.
- whole: all requests of a kind, which is what a user sees.
- tail: the slowest twentieth of a kind, whose quantiles would otherwise count one twentieth.

Cells, and kinds, count by the square root of their number of requests: by how well they are known, and so that the
many requests that come in bursts do not drown the few after idle time. Every trace counts the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ufsim.calibration.recording import Floats, Integers, Recording
from ufsim.results.columns import KINDS

WEIGHTS = {"cells": 0.5, "whole": 0.25, "tail": 0.25}
# Cells with fewer requests are put together with others.
LEAST_CELL = 20
# Kinds with fewer requests are left out.
LEAST_KIND = 20
TAIL = 0.05

IDLE_EDGES_MS = 10 ** np.arange(-1, 3.34, 1 / 3)
DEPTH_EDGES = np.array([1, 2, 4, 8, 16, 32, 64])
SIZE_EDGES = np.array([4096, 16384, 65536])


@dataclass(frozen=True)
class Group:
    """Requests that are compared with each other: their places, what they count, and the share of the slowest of
    either side that is looked at."""

    places: Integers
    weight: float
    slowest: float = 1.0

    def between(self, simulated: Floats, recorded: Floats) -> float:
        """Mean absolute difference of logarithms that are sorted."""
        first = len(simulated) - max(1, round(self.slowest * len(simulated)))
        return float(np.abs(simulated[first:] - recorded[first:]).mean())


class Loss:
    """The distance between one recording and runs of it."""

    def __init__(self, recording: Recording) -> None:
        self._recorded = np.log(recording.latency_ns)
        self._groups = groups(recording)
        self._sorted = [np.sort(self._recorded[group.places]) for group in self._groups]

    def __call__(self, simulated_ns: Floats) -> float:
        """The loss of a run; 0 for one that is like the recording in every group."""
        simulated = np.log(np.maximum(simulated_ns, 1.0))
        return sum(
            group.weight * group.between(np.sort(simulated[group.places]), recorded)
            for group, recorded in zip(self._groups, self._sorted, strict=True)
        )

    def resampled(self, simulated_ns: Floats, resamplings: Sequence[Integers]) -> Floats:
        """The loss over each of some resamplings, which say how often each request occurs."""
        simulated = np.log(np.maximum(simulated_ns, 1.0))
        total, weight = np.zeros(len(resamplings)), np.zeros(len(resamplings))
        for group in self._groups:
            # Sorted once: a resampling repeats values, and leaves them in their order.
            sides = [(values[group.places], np.argsort(values[group.places])) for values in (simulated, self._recorded)]
            ordered = [(values[order], group.places[order]) for values, order in sides]
            for number, times in enumerate(resamplings):
                drawn = [np.repeat(values, times[places]) for values, places in ordered]
                if len(drawn[0]):
                    total[number] += group.weight * group.between(*drawn)
                    weight[number] += group.weight
        return total / weight


def groups(recording: Recording) -> list[Group]:
    """All groups of a recording; their weights add up to 1."""
    made: list[Group] = []
    counts = {kind: int(recording.is_kind(kind).sum()) for kind in KINDS}
    shares = {kind: count**0.5 for kind, count in counts.items() if count >= LEAST_KIND} or {
        kind: count**0.5 for kind, count in counts.items() if count
    }
    for kind, share in shares.items():
        places = np.flatnonzero(recording.is_kind(kind))
        share /= sum(shares.values())
        made.append(Group(places, share * WEIGHTS["whole"]))
        made.append(Group(places, share * WEIGHTS["tail"], slowest=TAIL))
        found = cells(recording, places)
        roots = sum(len(cell) ** 0.5 for cell in found)
        made += [Group(cell, share * WEIGHTS["cells"] * len(cell) ** 0.5 / roots) for cell in found]
    return made


def cells(recording: Recording, places: Integers) -> list[Integers]:
    """Requests of one kind by state before, size and flags.

    Of cells with few requests flags count no more, then sizes; what is left is one cell.
    """
    state, size, flags = states(recording)[places], sizes(recording)[places], flag_classes(recording)[places]
    made: list[Integers] = []
    left = np.arange(len(places))
    for label in ((state * 8 + size) * 8 + flags, state * 8 + size, state):
        _, inverse, counts = np.unique(label[left], return_inverse=True, return_counts=True)
        large = counts[inverse] >= LEAST_CELL
        made += [places[left[inverse == cell]] for cell in np.flatnonzero(counts >= LEAST_CELL)]
        left = left[~large]
    return [*made, places[left]] if len(left) else made


def states(recording: Recording) -> Integers:
    """What each request found: a class of idle time, or of depth."""
    idle = recording.idle_ns
    by_idle = np.searchsorted(IDLE_EDGES_MS * 1e6, np.nan_to_num(idle, nan=0.0), side="right")
    by_depth = 100 + np.searchsorted(DEPTH_EDGES, recording.depth, side="right")
    return np.where(np.isnan(idle), by_depth, by_idle)


def sizes(recording: Recording) -> Integers:
    """A class of size."""
    return np.searchsorted(SIZE_EDGES, recording.bytes, side="left")


def flag_classes(recording: Recording) -> Integers:
    """0 for requests that nobody waits for, 1 for others, 2 for durable ones, 3 for what is read ahead."""
    durable = recording.has("fua") | recording.has("preflush")
    return np.select([durable, recording.has("readahead"), recording.has("sync")], [2, 3, 1], 0)
