"""The sentence under a table: who gains, who does not, and what speaks against the winner."""

from ufsim.results import conditions, doubts
from ufsim.results.chance import Estimate
from ufsim.results.formats import around, count
from ufsim.results.result import Comparison, Result
from ufsim.results.suite import OPERATION, THROUGHPUT, Measure, latency_measure

ALL_MEAN = latency_measure("all", "mean")
# By what leads: what a comparison is judged by, and its name in a sentence.
JUDGED_BY = {
    "throughput": (THROUGHPUT, "throughput"),
    "latency": (ALL_MEAN, "mean latency"),
    "operations": (OPERATION, "mean transaction time"),
}
# What may speak against a scheme that gains.
OTHERS = [(kind, statistic) for kind in ("read", "write") for statistic in ("mean", "p99", "p999")]
# Per cent of loss from which on it is worth a word, and how many words a sentence bears.
LEAST_LOSS = 1.0
MOST_LOSSES = 2
MIB = 1024 * 1024


def conclusion(comparison: Comparison) -> str | None:
    """What the comparison shows, in a sentence or two; nothing where a single scheme ran."""
    base, *others = comparison.results
    measure, name = JUDGED_BY[conditions.leads_with(comparison.results)]
    found = [(result, gain) for result in others if (gain := measure.gain(base, result)) is not None]
    if not found:
        return None
    verdicts = ", ".join(f"{result.scheme} {verdict(gain, measure)}" for result, gain in found)
    told = [f"{name.capitalize()} against {base.scheme}: {verdicts}."]
    winners = [result for result, gain in found if gain.differs and gain.mean > 0]
    against = [f"{result.scheme}: {', '.join(words)}" for result in winners if (words := losses(base, result))]
    if against:
        told.append(f"What speaks against {'; '.join(against)}.")
    return " ".join(told)


def verdict(gain: Estimate, measure: Measure) -> str:
    """A gain or a loss in words; a difference that may be chance is none."""
    if not gain.differs and gain.half:
        return f"no difference seen (at most {gain.most:.1f} %)"
    if round(gain.mean, 1) == 0:
        return "the same"
    better, worse = ("shorter", "longer") if measure.shorter else ("more", "less")
    return f"{size(gain)} {better if gain.mean > 0 else worse}"


def size(gain: Estimate) -> str:
    """How large a change is, without its sign."""
    return f"{around(abs(gain.mean), gain.half, 1)} %"


def losses(base: Result, result: Result) -> list[str]:
    """What is worse than under the base, more than by chance: the worst first; then the memory that it takes.

    Nothing is said of a percentile that rests on few requests, as a note beside it says.
    """
    measures = [latency_measure(*one) for one in OTHERS if not doubts.rests_on_few(base, *one)]
    found = [(gain, measure) for measure in measures if (gain := measure.gain(base, result)) is not None]
    worse = [(gain, measure) for gain, measure in found if gain.differs and gain.mean <= -LEAST_LOSS]
    worse.sort(key=lambda one: one[0].mean)
    words = [f"{measure.label} {size(gain)} longer" for gain, measure in worse[:MOST_LOSSES]]
    memory = result.host_dram_bytes - base.host_dram_bytes
    return words + ([f"{count(memory / MIB)} MiB of host memory"] if memory >= MIB else [])
