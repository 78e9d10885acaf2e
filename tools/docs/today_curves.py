"""Curves of a device of today over the points that are published of such devices, for the page on devices of today.

`python -m tools docs curves` measures them (two minutes), and keeps them in docs/data/today-curves.json.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from matplotlib.axes import Axes

from tools.docs.today_loads import AT_A_TIME, PROFILE, SEEDS, all_rounds
from tools.docs.today_sheet import IN_128_MB, IN_512_MB, LARGE_READS, WITH_CACHE, WITHOUT_CACHE
from tools.project import ROOT
from tools.records import kept, origin
from ufsim.results.chance import over
from ufsim_papers import draw
from ufsim_papers.figure import as_svg

RECORD = ROOT / "docs" / "data" / "today-curves.json"
#: Sizes of random reads.
SIZES_KIB = (4, 8, 16, 24, 32, 64, 128, 256, 512)
#: Below this size phones are bound by the number of requests (Ripple, arXiv 2410.19274, Fig. 4).
KNEE_KIB = 24
#: Sizes of the range that is read at random, in MiB.
RANGES_MIB = (64, 128, 256, 512, 1024, 2048, 4096)
#: More than the cache in SLC mode holds.
WRITTEN_GIB = 32
WRITES = {"with the cache": {}, "without": {"slc.superblocks": 0}}
#: By name: how many requests the host has outstanding in the fragmentation loop.
DEPTHS = {"32 outstanding": "", "one outstanding": "depth = 1"}
#: How many reads of 512 KiB are outstanding.
OUTSTANDING = (1, 2, 3, 4, 6, 8, 16, 32)
ORDERS = {"sequential": "read", "random": "randread"}
#: Sequential reads of 512 KiB, in MB/s, on the phone whose random ones LARGE_READS has.
SEQUENTIAL_READS = 4000


def measured() -> dict[str, Any]:
    """The record."""
    import ufsim

    def run(job: str, seeds: int, settings: Mapping[str, int] | None = None) -> Any:
        return ufsim.run(job, "ufs", profile=PROFILE, seeds=seeds, settings=dict(settings or {}))

    def reads(kib: int, mib: int) -> list[float]:
        job = f"rw=randread bs={kib}k size={mib}m iodepth=32 number_ios=100000"
        return [one.iops for one in run(job, SEEDS).each_seed]

    def large_reads(order: str, outstanding: int) -> list[float]:
        result = run(f"rw={order} bs=512k size=8g iodepth={outstanding}", SEEDS)
        return [one.throughput_mib_per_s * 1.048576 for one in result.each_seed]

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        loops = dict(zip(DEPTHS, pool.map(rounds, DEPTHS.values()), strict=True))
    return {
        **origin(ufsim.__version__),
        "ranges": [reads(4, mib) for mib in RANGES_MIB],
        "sizes": [reads(kib, 128) for kib in SIZES_KIB],
        "writes": {
            name: by_volume(run(f"rw=write bs=1m size={WRITTEN_GIB}g iodepth=32", 1, settings))
            for name, settings in WRITES.items()
        },
        "loops": loops,
        "depths": {name: [large_reads(rw, number) for number in OUTSTANDING] for name, rw in ORDERS.items()},
    }


def by_volume(result: Any) -> list[float]:
    """Throughput of each GiB that was written, in MB/s."""
    series = result.time_series()
    ends_gib = (series["mib_per_s"] * series["interval_s"]).cumsum() / 1024
    whole = series.groupby(ends_gib.floordiv(1).astype(int))["mib_per_s"].median()
    return [round(float(mib) * 1.048576, 1) for mib in whole[:WRITTEN_GIB]]


def rounds(lines: str) -> list[list[float]]:
    """Writes and reads of the large file in each round of the fragmentation loop, in MB/s."""
    found = all_rounds("ufs", lines)
    return [[round(float(one[f"{kind}_mb_per_s"]), 1) for kind in ("write", "read")] for one in found]


def picture() -> str:
    """The curves, with what is published."""
    record = kept(RECORD)
    figure, panels = draw.canvas(columns=3, rows=2, width=3.7, height=2.9)
    ranges, sizes, depths, writes, loop_writes, loop_reads = panels
    by_range(ranges, record["ranges"])
    by_size(sizes, record["sizes"])
    by_depth(depths, record["depths"])
    for name, own in record["writes"].items():
        writes.plot(range(1, len(own) + 1), own, label=name)
    titled(writes, "writes of 1 MiB", "written (GiB)", "MB/s")
    published(writes, [WRITTEN_GIB / 4] * 2, [WITH_CACHE.published, WITHOUT_CACHE.published])
    for name, own in record["loops"].items():
        numbers = range(1, len(own) + 1)
        loop_writes.plot(numbers, [write for write, _ in own], label=name)
        loop_reads.plot(numbers, [read / own[0][1] * 100 for _, read in own], label=name)
    titled(loop_writes, "fragmentation loop: writes", "round", "MB/s")
    titled(loop_reads, "fragmentation loop: reads", "round", "% of the first round")
    published(loop_writes, [90], [100])
    published(loop_reads, [90], [65])
    return as_svg(figure, "today/curves")


def by_range(axes: Axes, seeds: Sequence[Sequence[float]]) -> None:
    """Random reads of 4 KiB by the range that is read."""
    with_band(axes, RANGES_MIB, [[one / 1000 for one in own] for own in seeds])
    axes.set_xscale("log", base=2)
    axes.set_xticks(RANGES_MIB, [f"{mib / 1024:g}" if mib >= 1024 else f"1/{1024 // mib}" for mib in RANGES_MIB])
    titled(axes, "random reads of 4 KiB", "range (GiB)", "thousand IOPS")
    published(axes, [128, 512], [IN_128_MB.published / 1000, IN_512_MB.published / 1000])


def by_size(axes: Axes, seeds: Sequence[Sequence[float]]) -> None:
    """Random reads by their size."""
    speeds = [[one * kib * 1024 / 1e6 for one in own] for kib, own in zip(SIZES_KIB, seeds, strict=True)]
    with_band(axes, SIZES_KIB, speeds)
    axes.set_xscale("log", base=2)
    axes.set_xticks(SIZES_KIB, ["" if kib == KNEE_KIB else str(kib) for kib in SIZES_KIB])
    axes.axvline(KNEE_KIB, color=draw.PAPER_COLOUR, lw=1, ls=":", label="published: below it bound by number")
    titled(axes, "random reads in 128 MiB", "size (KiB)", "MB/s")
    published(axes, [4, 512], [IN_128_MB.published * 4096 / 1e6, LARGE_READS.published])


def by_depth(axes: Axes, orders: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """Reads of 512 KiB by how many are outstanding; for which number the published ones are, nobody has told."""
    for name, seeds in orders.items():
        with_band(axes, OUTSTANDING, seeds, name)
    axes.set_xscale("log", base=2)
    axes.set_xticks(OUTSTANDING, [str(number) for number in OUTSTANDING])
    axes.axhline(SEQUENTIAL_READS, color=draw.PAPER_COLOUR, lw=1, ls="--", label="published: sequential")
    axes.axhline(LARGE_READS.published, color=draw.PAPER_COLOUR, lw=1, ls=":", label="published: random")
    titled(axes, "reads of 512 KiB", "outstanding", "MB/s")
    axes.legend(fontsize=7, frameon=False)


def with_band(axes: Axes, places: Sequence[float], seeds: Sequence[Sequence[float]], name: str = "simulated") -> None:
    """Means over the seeds, with their intervals."""
    found = [over(own) for own in seeds]
    means, halves = [one.mean for one in found if one], [one.half or 0.0 for one in found if one]
    axes.errorbar(places, means, halves, marker="o", ms=3, capsize=2, label=name)


def titled(axes: Axes, title: str, across: str, up: str) -> None:
    """Words of a panel."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.set_ylim(bottom=0)


def published(axes: Axes, places: Sequence[float], values: Sequence[float]) -> None:
    """The points that are published."""
    draw.paper_points(axes, places, values, "published")
    axes.legend(fontsize=7, frameon=False)
