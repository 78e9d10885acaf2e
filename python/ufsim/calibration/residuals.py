"""Recorded and simulated latencies side by side, by what each request found and was.

Four views: by idle time before (requests of 4 KiB that found nothing outstanding), by size (after less than 0.8 ms of
idleness), by depth (requests outstanding on arrival) and by flag (all requests).
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ufsim.calibration.recording import Floats, Mask, Recording
from ufsim.calibration.score import SLOW_NS

IDLE_MS = (0, 0.05, 0.1, 0.2, 0.5, 0.8, 1, 1.2, 2, 5, 10, 20, 50, 60, 90, 120, 200)
SHORT_IDLE_MS = 0.8
SIZES_KIB = (0, 4, 8, 16, 32, 64, 128, 256, 512)
DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128)
QUANTILES = (("p10", 0.1), ("p25", 0.25), ("p50", 0.5), ("p75", 0.75), ("p90", 0.9))
VIEWS = ("idle", "size", "depth", "flag")

Bin = tuple[str, str, Mask]


def residuals(recordings: Sequence[Recording], runs: Sequence[Floats]) -> list[dict[str, Any]]:
    """A row for each view, kind and bin with requests, over all recordings together."""
    rows = []
    for kind in ("read", "write"):
        split = [list(bins(recording, kind)) for recording in recordings]
        for views in zip(*split, strict=True):
            pairs = [
                (recording.latency_ns[mask], run[mask])
                for recording, run, (_, _, mask) in zip(recordings, runs, views, strict=True)
            ]
            recorded, simulated = (np.concatenate(side) for side in zip(*pairs, strict=True))
            if len(recorded):
                rows.append({"view": views[0][0], "kind": kind, "bin": views[0][1], **told(recorded, simulated)})
    return rows


def told(recorded: Floats, simulated: Floats) -> dict[str, Any]:
    """The statistics of both sides, in nanoseconds, and how far apart they are."""
    row: dict[str, Any] = {"requests": len(recorded)}
    for side, values in (("recorded", recorded), ("simulated", simulated)):
        for name, at in QUANTILES:
            row[f"{side}_{name}_ns"] = float(np.quantile(values, at, method="inverted_cdf"))
        row[f"{side}_over_8ms"] = float((values > SLOW_NS).mean())
    row["log_error"] = float(np.abs(np.log(np.sort(simulated)) - np.log(np.sort(recorded))).mean())
    return row


def bins(recording: Recording, kind: str) -> Iterator[Bin]:
    """The requests of a kind in every bin of every view: view, name of the bin, which they are."""
    own, idle = recording.is_kind(kind), recording.idle_ns
    idle_ms = np.nan_to_num(idle / 1e6, nan=-1.0, posinf=1e9)
    small = own & (recording.bytes <= 4096) & (idle_ms >= 0)
    for low, high in zip(IDLE_MS, [*IDLE_MS[1:], np.inf], strict=True):
        name = f"{low:g} - {high:g} ms" if high < np.inf else f"over {low:g} ms"
        yield "idle", name, small & (idle_ms >= low) & (idle_ms < high)
    soon = own & (idle_ms >= 0) & (idle_ms < SHORT_IDLE_MS)
    for low, high in zip(SIZES_KIB, [*SIZES_KIB[1:], np.inf], strict=True):
        name = f"up to {high} KiB" if high < np.inf else f"over {low} KiB"
        yield "size", name, soon & (recording.bytes > low * 1024) & (recording.bytes <= high * 1024)
    yield "depth", "0", own & (recording.depth <= 0)
    for low, high in zip(DEPTHS, [*DEPTHS[1:], 1 << 40], strict=True):
        name = f"{low}" if high == low + 1 else f"{low} - {high - 1}" if high < 1 << 40 else f"{low} and more"
        yield "depth", name, own & (recording.depth >= low) & (recording.depth < high)
    for name, mask in flag_bins(recording):
        yield "flag", name, own & mask


def flag_bins(recording: Recording) -> Iterator[tuple[str, Mask]]:
    """Classes of flags; those that say more come first, and a request is in one class."""
    left = np.ones(len(recording), dtype=bool)
    classes = {
        "flush or FUA": recording.has("preflush") | recording.has("fua"),
        "read ahead": recording.has("readahead"),
        "sync, metadata": recording.has("sync") & recording.has("meta"),
        "sync": recording.has("sync"),
        "metadata": recording.has("meta"),
    }
    for name, mask in classes.items():
        yield name, left & mask
        left &= ~mask
    yield "no flag", left
