"""The demo: a recorded trace on a phone in use, under four schemes, and a sentence on what to look at.

What a phone in use is was decided before any scheme was run on it:

- the size of the disk on which the sample was recorded, 64 GiB, with the flash of profile `hp-ufs`: half of its
  superblocks, and thresholds of GC that are half as high
- nine tenths full, and a year of small overwrites: `jobs/used-phone.fio` says how much, and why
- the requests of the sample as fast as the device answers eight at a time, so that a slow device shows
"""

import os
from pathlib import Path

from ufsim.formats import percent_change
from ufsim.results import Comparison, latency_value
from ufsim.runner import Progress, compare
from ufsim.spec import Setting
from ufsim.states import StateCache

HERE = Path(__file__).parent
TRACE = HERE / "samples" / "app-mix"
AGEING = HERE / "jobs" / "used-phone.fio"
SCHEMES = ("ufs", "hpb", "hp-ufs", "ideal")
HALF_THE_DEVICE: dict[str, Setting] = {
    "device.capacity_mib": 65_536,
    "nand.data_superblocks": 4_736,
    "nand.meta_superblocks": 64,
    "gc.start_superblocks": 1_200,
    "gc.relaxed_superblocks": 900,
    "gc.hurried_superblocks": 300,
}
DEPTH = 8


def demo(*, jobs: int | None = None, progress: Progress | None = None, cache: StateCache | None = None) -> Comparison:
    """Runs the demo; with a `cache` the aged devices are made once."""
    return compare(
        shown(TRACE),
        SCHEMES,
        jobs=jobs,
        progress=progress,
        cache=cache,
        settings=HALF_THE_DEVICE,
        age=shown(AGEING),
        replay="closed",
        depth=DEPTH,
        # All that the trace reads lies in the files of the ageing job.
        precondition="none",
    )


def shown(path: Path) -> str:
    """A path as short as it can be said here."""
    beside = os.path.relpath(path)
    return beside if len(beside) < len(str(path)) else str(path)


def what_to_look_at(comparison: Comparison) -> str:
    """Two sentences with the numbers of this run."""
    by_name = {result.scheme: result for result in comparison.results}
    base = by_name["ufs"]

    def against_base(scheme: str) -> str:
        result = by_name[scheme]
        own, first = (latency_value(one, "write", "mean") or 0 for one in (result, base))
        change = percent_change((own - first) / first * 100 if first else 0.0)
        return f"throughput {percent_change(comparison.gain_percent(result))}, mean write latency {change}"

    return (
        f"What to look at: on this phone, nine tenths full and with GC at work, ufs spends "
        f"{base.mapping_share * 100:.0f} % of its flash time on the mapping table (the row 'NAND time for mapping'). "
        f"hp-ufs keeps the table in the phone's memory: {against_base('hp-ufs')}. "
        f"ideal has DRAM for the whole table and shows what there is to gain: {against_base('ideal')}."
    )
