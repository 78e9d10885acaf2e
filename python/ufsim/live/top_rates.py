"""What a live device has done between two looks at it: rates and ratios from two documents of `stats`.

**Look**: what `Control.stats` gives, with the moment at which it came.
**Interval**: the time between two looks, on the wall and simulated. On the free clock they differ, and with `--speed`.
**Since attached**: requests and power cuts are counted from the start of the server.
**Since power-on**: flash operations and counters of driver and firmware begin again at 0 with a power cut. The firmware
begins with the cut; the driver is replaced when the device has recovered.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ufsim.live import punctual

# What the causes of flash operations are for, in the order in which it is shown.
GROUPS = {
    "host": ("host_read", "host_write"),
    "map": ("map_read", "map_write"),
    "GC": ("gc_read", "gc_write", "valid_page_search", "erase"),
    "recovery": ("recovery",),
}
GROUP_OF = {cause: group for group, causes in GROUPS.items() for cause in causes}
# Leading binary digits that the latencies of a class have in common: see `latency_classes` of stats.
CLASS_DIGITS = 6
# Units of what is programmed, by what they hold.
PROGRAMMED = {
    "data": "data_units_programmed",
    "padding": "padding_units",
    "map": "map_units_programmed",
    "gc": "gc_units_programmed",
}

Stats = Mapping[str, Any]


@dataclass(frozen=True)
class Look:
    """The exports of a server at a moment."""

    # Seconds of a clock that never goes back.
    at_s: float
    exports: Mapping[str, Stats]


@dataclass(frozen=True)
class KindRate:
    """Requests of one kind that have ended in an interval. Rates are per second on the wall."""

    iops: float
    mib_per_s: float
    failed: int
    # Mean of simulated latencies; none if no request has ended well.
    mean_ns: float | None
    # Percentiles of simulated latencies, to about 2%; none if no request has ended well.
    p50_ns: float | None
    p99_ns: float | None
    # True if there have ever been such requests.
    ever: bool


@dataclass(frozen=True)
class Now:
    """A ratio in an interval, and since power-on; none where there is nothing to divide by."""

    interval: float | None
    since_power_on: float | None


@dataclass(frozen=True)
class Rates:
    """What an export has done in an interval."""

    # Simulated seconds in a second on the wall.
    pace: float
    ready: bool
    under_way: int
    kinds: Mapping[str, KindRate]
    # Parts of reads whose mapping the host had, of all that looked for it.
    hit_ratio: Now
    # Flash units programmed for a unit that the host has written.
    waf: Now
    # What cached mappings take of host DRAM, and may take; without what a driver keeps beside its cache.
    cache_bytes: int
    # None without a cache in the host.
    cache_limit_bytes: int | None
    # Flash operations per second on the wall, by cause and kind (`gc_read.read`); none that are 0.
    flash_per_s: Mapping[str, float]
    # Parts of the time of all dies that flash operations took, by what they are for. It is simulated time: nothing if
    # none has passed. An operation counts when it ends, so more than the whole may end in a short interval.
    busy_shares: Mapping[str, float]
    # Replies leave so late that clients see other times (`ufsim.punctual`).
    late: bool
    cuts: int
    # None without a power cut.
    last_recovery_ns: int | None

    def gc_per_s(self) -> dict[str, float]:
        """Flash operations of garbage collection per second, by kind: those with a cause of its group, and erases."""
        found: dict[str, float] = {}
        for name, rate in self.flash_per_s.items():
            cause, kind = name.split(".")
            if GROUP_OF[cause] == "GC":
                found[kind] = found.get(kind, 0.0) + rate
        return found


def rates(before: Look, after: Look) -> dict[str, Rates]:
    """What every export of `after` has done since `before`, which has the same exports."""
    wall_s = after.at_s - before.at_s
    return {name: rates_of(before.exports[name], now, wall_s) for name, now in after.exports.items()}


def rates_of(before: Stats, after: Stats, wall_s: float) -> Rates:
    """What an export has done in `wall_s` seconds, which are more than none."""
    cut = after["cuts"] != before["cuts"]
    host = grown(before["host"], after["host"], new=after["ready"] and (cut or not before["ready"]))
    device = grown(before["device"], after["device"], new=cut)
    flash = grown(before["flash"], after["flash"], new=cut)
    hits, misses = host["booster_hits"], host["booster_misses"]
    sim_ns = after["sim_ns"] - before["sim_ns"]
    busy_ns = grown(before["flash_busy_ns"], after["flash_busy_ns"], new=cut)
    programmed = sum(device[counter] for counter in PROGRAMMED.values())
    return Rates(
        pace=sim_ns / 1e9 / wall_s,
        ready=after["ready"],
        under_way=after["outstanding"],
        kinds={kind: kind_rate(before["requests"][kind], now, wall_s) for kind, now in after["requests"].items()},
        hit_ratio=Now(ratio(hits, hits + misses), after["hit_ratio"]),
        waf=Now(ratio(programmed, device["host_units_written"]), after["waf"]),
        cache_bytes=after["host"]["dram_bytes_used"],
        cache_limit_bytes=cache_limit(after),
        flash_per_s={name: count / wall_s for name, count in flash.items() if count},
        busy_shares=busy_shares(busy_ns, sim_ns * after["dies"]),
        late=punctual.warning(after) is not None,
        cuts=after["cuts"],
        last_recovery_ns=after["last_recovery_ns"] if after["cuts"] else None,
    )


def kind_rate(before: Stats, after: Stats, wall_s: float) -> KindRate:
    """Requests of a kind. The sum of their latencies follows from mean and number."""
    done = after["done"] - before["done"]
    latency_ns = total_ns(after) - total_ns(before)
    classes = grown(before["latency_classes"], after["latency_classes"], new=False)
    counts = {int(end): count for end, count in classes.items() if count}
    return KindRate(
        iops=done / wall_s,
        mib_per_s=(after["bytes"] - before["bytes"]) / (1 << 20) / wall_s,
        failed=after["failed"] - before["failed"],
        mean_ns=ratio(latency_ns, done),
        p50_ns=percentile(counts, 0.5),
        p99_ns=percentile(counts, 0.99),
        ever=after["done"] + after["failed"] > 0,
    )


def percentile(counts: Mapping[int, int], share: float) -> float | None:
    """The latency that a share of requests does not exceed, from their number in each class by its longest.

    Within a class they are taken to lie evenly. None of nothing.
    """
    rank, seen = share * sum(counts.values()), 0
    for end in sorted(counts):
        if seen + counts[end] >= rank:
            first = first_of_class(end)
            return first + (end - first) * (rank - seen) / counts[end]
        seen += counts[end]
    return None


def first_of_class(end: int) -> int:
    """The shortest latency of the class that ends with another: only their leading binary digits agree."""
    free = max(end.bit_length() - CLASS_DIGITS, 0)
    return end >> free << free


def busy_shares(busy_ns: Mapping[str, int], of_all_ns: int) -> dict[str, float]:
    """Parts of the time of all dies, by what they are for."""
    shares = dict.fromkeys(GROUPS, 0.0)
    for cause, busy in busy_ns.items():
        shares[GROUP_OF[cause]] += busy / of_all_ns if of_all_ns else 0.0
    return shares


def total_ns(kind: Stats) -> float:
    """The sum of the latencies of all requests of a kind that have ended well."""
    return float(kind["latency"]["mean_ns"] * kind["done"])


def cache_limit(stats: Stats) -> int | None:
    """The bytes of host DRAM that cached mappings may take; none where the host caches nothing."""
    return int(stats["host"]["dram_bytes_limit"]) or None


def grown(before: Mapping[str, int], after: Mapping[str, int], *, new: bool) -> dict[str, int]:
    """By how much counters have grown. Those that are `new`, or less than before, have begun at 0 since.

    What they had counted between the first look and the cut is not known, so it is left out.
    """
    return {name: less(value, 0 if new else before.get(name, 0)) for name, value in after.items()}


def less(value: int, before: int) -> int:
    """The growth of one counter."""
    return value - before if value >= before else value


def ratio(part: float, whole: float) -> float | None:
    """A ratio; none of nothing."""
    return part / whole if whole else None
