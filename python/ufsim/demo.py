"""The demo: a recorded trace on a phone in use, under four schemes, and a sentence on what to look at.

What a phone in use is, by assumption (at four fifths full instead of nine tenths, GC has little to do and the schemes
lie within 2 per cent of each other):

- the size of the disk on which the sample was recorded, 64 GiB, with the flash of profile `hp-ufs`
- nine tenths full, and a year of small overwrites: `jobs/used-phone.fio` says how much, and why
- the requests of the sample as fast as the device answers eight at a time, so that a slow device shows
"""

from ufsim.formats import percent_change
from ufsim.results import Comparison, latency_value
from ufsim.runner import Cache, Progress, compare

TRACE = "samples/app-mix"
PROFILE = "samples/phone-64gib.toml"
AGEING = "jobs/used-phone.fio"
SCHEMES = ("ufs", "hpb", "hp-ufs", "ideal")
DEPTH = 8


def demo(*, jobs: int | None = None, progress: Progress | None = None, cache: Cache = True) -> Comparison:
    """Runs the demo; with a `cache` the aged devices are made once."""
    return compare(
        TRACE,
        SCHEMES,
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


def what_to_look_at(comparison: Comparison) -> str:
    """A few sentences with the numbers of this run, those that speak against a scheme as well."""
    by_name = {result.scheme: result for result in comparison.results}
    base = by_name["ufs"]

    def longer(scheme: str, kind: str, statistic: str) -> float:
        own, first = (latency_value(by_name[one], kind, statistic) or 0 for one in (scheme, "ufs"))
        return (own - first) / first * 100 if first else 0.0

    def against_ufs(scheme: str) -> str:
        throughput = percent_change(comparison.gain_percent(by_name[scheme]))
        return f"throughput {throughput}, mean write latency {percent_change(longer(scheme, 'write', 'mean'))}"

    told = [
        f"What to look at: this phone is nine tenths full and GC is at work. ufs spends "
        f"{base.mapping_share * 100:.0f} % of its flash time on the mapping table (row 'NAND time for mapping').",
        f"hp-ufs keeps the table in the phone's memory: {against_ufs('hp-ufs')}.",
        f"ideal has DRAM for the whole table and shows what there is to gain: {against_ufs('ideal')}.",
    ]
    tail = longer("hp-ufs", "read", "p99")
    if tail > 0:
        told.append(f"Not everything gains: read p99 of hp-ufs is {percent_change(tail)} against ufs.")
    return " ".join(told)
