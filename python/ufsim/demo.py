"""The demo: a recorded trace on an aged device, under four schemes.

What it assumes (at four fifths full instead of nine tenths, GC has little to do and the schemes lie within 2 per cent
of each other):

- the size of the disk on which the sample was recorded, 64 GiB, with the flash of profile `hp-ufs`
- nine tenths full, and a year of small overwrites: `jobs/used-phone.fio` says how much, and why
- the requests of the sample as fast as the device answers eight at a time, so that a slow device shows
"""

from typing import SupportsIndex

from ufsim.results.result import Comparison
from ufsim.runner import Cache, Progress, compare

TRACE = "samples/app-mix"
PROFILE = "samples/phone-64gib.toml"
AGEING = "jobs/used-phone.fio"
SCHEMES = ("ufs", "hpb", "hp-ufs", "ideal")
DEPTH = 8


def demo(
    *,
    seeds: SupportsIndex = 1,
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: Cache = True,
) -> Comparison:
    """Runs the demo; with a `cache` the aged devices are made once, for each of the seeds."""
    return compare(
        TRACE,
        SCHEMES,
        seeds=seeds,
        jobs=jobs,
        progress=progress,
        cache=cache,
        profile=PROFILE,
        age=AGEING,
        replay="closed",
        depth=DEPTH,
        # All that the trace reads lies in the files of the ageing job.
        precondition="none",
    )
