"""What the figures of a comparison rest on, where that is little: each doubt is a sentence with its numbers.

- GC at its reserve: times hang on how full the device is, and a little more or less changes them much
- few events behind a percentile: victims of GC, flushes of the mapping, requests
- recorded times of a device that was much faster or slower than this one
- a queue that grows as long as the run goes on
- one seed of a run that draws at random
- an aged device on which the workload's data were written anew, in order
- tails that are shorter than those of `ideal`
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ufsim.results.chance import gain, over
from ufsim.results.formats import count, duration
from ufsim.results.result import Result, latency_value

# Of GC's steps, from which share of urgent ones on it is at its reserve.
URGENT = 0.5
# Events that a percentile rests on at least.
FEW_EVENTS = 30
# Requests of which a percentile has ten beyond it.
ENOUGH = {"p99": 1_000, "p999": 10_000}
# By which factor the medians of two devices differ that are not the same.
OTHER_DEVICE = 2.0
# Share of the run's length that requests wait at its end, if the queue grows without end.
ENDLESS = 0.05
# Per cent by which a tail is shorter than ideal's to be worth a word.
LEAST_GAIN = 1.0
EVENTS = {"gc_victims": "GC victims", "map_flushes": "map flushes"}
KINDS = ("read", "write")


def doubts(results: Sequence[Result]) -> list[str]:
    """The doubts about these results, without full stops."""
    found = (at_reserve, few_events, few_requests, other_device, endless_queue, one_seed, laid_out_anew, beaten_bound)
    return [text for doubt in found if (text := doubt(results)) is not None]


def counter(result: Result, name: str) -> float:
    """A counter of the device, as a mean over seeds."""
    found = over(one.counters["device"].get(name, 0) for one in result.each_seed)
    return found.mean if found else 0.0


def by_scheme(results: Sequence[Result], words: Callable[[Result], str | None]) -> str | None:
    """What is told of each scheme, if anything is."""
    said = {result.scheme: text for result in results if (text := words(result)) is not None}
    if len(set(said.values())) == 1 and len(said) == len(results):
        return next(iter(said.values()))
    return ", ".join(f"{scheme} {text}" for scheme, text in said.items()) or None


def at_reserve(results: Sequence[Result]) -> str | None:
    """GC has room for what is being written, and no more."""

    def words(result: Result) -> str | None:
        steps, urgent = counter(result, "gc_steps"), counter(result, "gc_urgent_steps")
        return f"{count(urgent)} of {count(steps)}" if urgent and urgent >= URGENT * steps else None

    told = by_scheme(results, words)
    return told and f"GC was at its reserve (urgent steps: {told}): latencies hang on how full the device is"


def few_events(results: Sequence[Result]) -> str | None:
    """A percentile hangs on a handful of events."""
    told = []
    for name, label in EVENTS.items():

        def words(result: Result, name: str = name) -> str | None:
            events = counter(result, name)
            return count(events) if 0 < events < FEW_EVENTS else None

        if some := by_scheme(results, words):
            told.append(f"{label}: {some}")
    return f"percentiles rest on few events ({'; '.join(told)}): a longer run says more" if told else None


def few_requests(results: Sequence[Result]) -> str | None:
    """Too few requests for p99.9, or also for p99."""
    of: dict[str, list[str]] = {}
    for kind in KINDS:
        if few := [statistic for statistic in ENOUGH if rests_on_few(results[0], kind, statistic)]:
            named = " and ".join(few).replace("p999", "p99.9")
            of.setdefault(named, []).append(f"{latency_value(results[0], kind, 'count'):,.0f} {kind}s")
    told = ", ".join(f"{named} of {' and '.join(counts)}" for named, counts in of.items())
    return f"{told} rest{'s' if told.count('p99') == 1 else ''} on fewer than ten requests" if of else None


def rests_on_few(result: Result, kind: str, statistic: str) -> bool:
    """Whether fewer than ten requests lie beyond a percentile; a mean rests on all."""
    return 0 < (latency_value(result, kind, "count") or 0) < ENOUGH.get(statistic, 0)


def other_device(results: Sequence[Result]) -> str | None:
    """Recorded times hold the waits of the recorded device."""
    if results[0].data.get("replay") != "timed" or not (recorded := results[0].on_recorded_device()):
        return None
    told = []
    for kind in KINDS:
        there, here = (latency_value(one, kind, "p50") for one in (recorded, results[0]))
        if there and here and not 1 / OTHER_DEVICE <= here / there <= OTHER_DEVICE:
            told.append(f"{kind} p50 {duration(there)} there, {duration(here)} here")
    if not told:
        return None
    return f"the recorded times are of another device ({'; '.join(told)}): --replay closed goes at this one's speed"


def endless_queue(results: Sequence[Result]) -> str | None:
    """Requests come faster than they are done."""

    def words(result: Result) -> str | None:
        waits = last_latency_s(result.data.get("over_time") or {})
        return duration(waits * 1e9) if waits > ENDLESS * result.sim_seconds else None

    if results[0].data.get("replay") not in ("timed", "queued"):
        return None
    told = by_scheme(results, words)
    grew = "the queue grew as long as the run went on (mean latency of the last quarter:"
    return told and f"{grew} {told}): latencies say how long the run was"


def last_latency_s(over_time: Mapping[str, Any]) -> float:
    """Mean latency of what completed in the last quarter of the intervals, in seconds."""
    requests, latency = 0, 0
    for column in over_time.get("kinds", {}).values():
        last = len(column["requests"]) * 3 // 4
        requests += sum(column["requests"][last:])
        latency += sum(column["latency_sum_ns"][last:])
    return latency / requests / 1e9 if requests else 0.0


def one_seed(results: Sequence[Result]) -> str | None:
    """Another seed gives other figures, and nobody has looked."""
    if results[0].repeats:
        return None
    drawn = list(dict.fromkeys(part for result in results for part in result.data.get("drawn", [])))
    # A phone, and a guest of `ufsim linux`, are run with one seed at a time.
    how = "another --seed" if results[0].data.get("replay") in ("phone", "generated") else "--seeds 5"
    return f"one seed ({', '.join(drawn)} drawn at random): {how} says how far chance goes" if drawn else None


def laid_out_anew(results: Sequence[Result]) -> str | None:
    """What the workload reads lies together again, whatever ageing has done to it."""
    first = results[0]
    writes = first.data.get("unmeasured")
    if not first.data.get("age") or not writes:
        return None
    return (
        f"{count(writes)} writes laid the workload's data out in order after ageing: "
        "--precondition none leaves the device as it was aged"
    )


def beaten_bound(results: Sequence[Result]) -> str | None:
    """A scheme has shorter tails than `ideal`, which bounds the work for the mapping and nothing else."""
    ideal = next((result for result in results if result.scheme == "ideal"), None)
    if ideal is None:
        return None
    shorter = []
    for result in results:
        for kind in KINDS:
            if rests_on_few(ideal, kind, "p99"):
                continue
            found = gain(ideal, result, partial(latency_value, kind=kind, statistic="p99"), shorter=True)
            if found and found.differs and found.mean >= LEAST_GAIN:
                shorter.append(f"{kind} p99 of {result.scheme}")
    if not shorter:
        return None
    why = "the moments of GC may fall worse for it"
    return f"ideal is a bound of the work for the mapping, not of tails: {why} (shorter: {', '.join(shorter)})"
