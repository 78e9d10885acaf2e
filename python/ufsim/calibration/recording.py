"""What a traced device did, request by request, and under which circumstances."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ufsim import _core, inputs
from ufsim.results.columns import KINDS
from ufsim.results.formats import workload_names
from ufsim.results.request_log import FLAGS, Columns, arrays
from ufsim.spec import Spec

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

# Blocks in which recordings are resampled, in seconds.
BLOCK_SECONDS = 10.0
# Events of a file are numbered below this.
LINES = 1 << 46


@dataclass(frozen=True)
class Recording:
    """The requests of a trace that have a recorded latency, in the order of their arrival.

    `kind` is a place in `KINDS`, `flags` has the bits of `FLAGS`, `key` tells a request apart from all others.
    """

    name: str
    path: str
    arrival_ns: Floats
    latency_ns: Floats
    kind: Integers
    bytes: Integers
    flags: Integers
    key: Integers
    without: int

    def __len__(self) -> int:
        return len(self.arrival_ns)

    def has(self, flag: str) -> Mask:
        """Which requests have a flag."""
        return (self.flags >> FLAGS.index(flag) & 1).astype(bool)

    def is_kind(self, kind: str) -> Mask:
        """Which requests are of a kind."""
        mask: Mask = self.kind == KINDS.index(kind)
        return mask

    @cached_property
    def depth(self) -> Integers:
        """Requests that were outstanding when each arrived."""
        ended = np.sort(self.arrival_ns + self.latency_ns)
        return np.arange(len(self)) - np.searchsorted(ended, self.arrival_ns, side="right")

    @cached_property
    def idle_ns(self) -> Floats:
        """Time since the last completion before each, with nothing outstanding; NaN where something was.

        The first request comes after an idleness of unknown length: infinite.
        """
        ended = np.maximum.accumulate(self.arrival_ns + self.latency_ns)
        last = np.concatenate([[-np.inf], ended[:-1]])
        return np.where(self.depth <= 0, np.maximum(self.arrival_ns - last, 0.0), np.nan)

    @cached_property
    def block(self) -> Integers:
        """The block of ten seconds in which each arrived, from 0."""
        return (self.arrival_ns / (BLOCK_SECONDS * 1e9)).astype(np.int64)

    @property
    def blocks(self) -> int:
        """Blocks of the whole recording, those without requests among them."""
        return int(self.block[-1]) + 1

    def only(self, chosen: Mask) -> "Recording":
        """Some of the requests. Depth and idleness are those of the whole."""
        part = replace(
            self,
            **{
                name: getattr(self, name)[chosen]
                for name in ("arrival_ns", "latency_ns", "kind", "bytes", "flags", "key")
            },
        )
        part.__dict__.update(depth=self.depth[chosen], idle_ns=self.idle_ns[chosen], block=self.block[chosen])
        return part


@dataclass(frozen=True)
class Recorded:
    """A trace that is held in memory to be run again and again, its recording, and a digest of its file."""

    opened: _core.OpenedTrace
    recording: Recording
    digest: str

    def simulated(self, spec: Spec) -> Floats:
        """Latencies of the recording's requests in a run, in nanoseconds, in their order."""
        _, part = self.opened.simulate(spec.to_json(), 1 << 32)
        log = arrays(part.columns())
        known = ~np.isnan(log["recorded_ns"])
        key = keys(log)[known]
        latency = log["latency_ns"][known].astype(np.float64)
        found = np.argsort(key, kind="stable")
        place = np.argsort(self.recording.key, kind="stable")
        ordered = np.empty(len(self.recording))
        ordered[place] = latency[found]
        return ordered


def opened(spec: Spec, name: str) -> Recorded:
    """Reads the trace of a specification; raises `ConfigError` if no request of it has a recorded latency."""
    held = _core.OpenedTrace(spec.to_json())
    recording = recording_of(held.columns(), name, spec.workload)
    if not len(recording):
        raise _core.ConfigError(f"{spec.workload}: no request has a recorded latency: there is nothing to compare with")
    return Recorded(held, recording, inputs.of_spec(spec)["workload"])


def recording_of(columns: Columns, name: str, path: str) -> Recording:
    """A recording from the core's columns of a trace."""
    trace = arrays(columns)
    known = ~np.isnan(trace["recorded_ns"])
    # A device never takes no time; clocks of recordings are as coarse as a microsecond or worse.
    latency = np.maximum(trace["recorded_ns"][known], 1.0)
    key = keys(trace)[known]
    if len(np.unique(key)) != len(key):
        raise _core.ConfigError(f"{path}: several of its requests stand at the same place of their file")
    return Recording(
        name=name,
        path=path,
        arrival_ns=trace["arrival_ns"][known].astype(np.float64),
        latency_ns=latency,
        kind=trace["kind"][known].astype(np.int64),
        bytes=trace["bytes"][known].astype(np.int64),
        flags=np.stack([trace[flag][known] for flag in FLAGS]).T @ (1 << np.arange(len(FLAGS))),
        key=key,
        without=int((~known).sum()),
    )


def keys(columns: dict[str, NDArray[Any]]) -> Integers:
    """A number for each request by file and line."""
    return columns["file"].astype(np.int64) * LINES + columns["line"].astype(np.int64)


def names_of(paths: list[str]) -> list[str]:
    """Names of recordings as short as they can be told apart."""
    return workload_names(paths)
