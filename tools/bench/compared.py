"""Is one build slower than another, or does it take more memory?"""

from functools import partial
from pathlib import Path
from statistics import median

from tools.bench.program import Measurement, cases, measure
from tools.project import failed
from tools.records import keep, kept
from tools.turns import in_turns


def compare_pairs(
    before: Path, after: Path, words: list[str], pairs: int, threshold: float, *, cpu: bool, record: Path | None
) -> int:
    """Compares two programs; 1 if `after` is worse by more than the threshold in per cent."""
    speed: dict[str, float] = {}
    memory: dict[str, float] = {}
    ratios: dict[str, list[float]] = {}
    for case in cases_of_both(before, after, words):
        ways = [partial(measure, program, case) for program in (before, after)]
        done = list(in_turns(ways, pairs))
        ratios[case] = sorted(faster(*both, cpu=cpu) for both in done)
        speed[case], memory[case] = median(ratios[case]), median(larger(*both) for both in done)
        shown = " ".join(f"{ratio:.3f}" for ratio in ratios[case])
        print(f"{case:<22} {speed[case]:6.3f}   of {shown}   memory {memory[case]:.3f}", flush=True)
    keep(record, {"cpu": cpu, "ratios": ratios, "memory": memory})
    print()
    greedy = [f"{case} ({ratio:.3f})" for case, ratio in memory.items() if ratio > 1 + threshold / 100]
    if greedy:
        print(f"more memory by over {threshold:g}%: {', '.join(greedy)}")
    return max(verdict(speed, threshold), 1 if greedy else 0)


def cases_of_both(before: Path, after: Path, words: list[str]) -> list[str]:
    """The cases to compare: those of `after` that the words choose and that `before` has."""
    known, chosen = cases(before, []), cases(after, words)
    both = [case for case in chosen if case in known]
    if len(both) < len(chosen):
        print(f"not in {before}: {', '.join(case for case in chosen if case not in both)}")
    if not both:
        failed("the programs have none of these cases in common")
    return both


def faster(before: Measurement, after: Measurement, *, cpu: bool) -> float:
    """Speed over speed."""
    if cpu:
        return before.cpu_seconds / after.cpu_seconds
    return after.requests_per_second / before.requests_per_second


def larger(before: Measurement, after: Measurement) -> float:
    """Peak memory over peak memory; 1 where the machine does not tell it."""
    return after.peak_mib / before.peak_mib if after.peak_mib and before.peak_mib else 1.0


def compare_records(before: Path, after: Path, threshold: float, *, cpu: bool) -> int:
    """Compares the medians of two records; 1 if a case of `after` is slower by more than the threshold in per cent."""
    documents = kept(before), kept(after)
    for name, document in zip(("before", "after"), documents, strict=True):
        print(f"{name:<7} {document['commit']}, {document['date']}, {document['machine']['processor']}")
    old, new = (document["cases"] for document in documents)
    both = [name for name in new if name in old]
    if not both:
        failed("the files have no case in common")
    key = "median_cpu_seconds" if cpu else "median_requests_per_second"
    ratios = {name: new[name][key] / old[name][key] for name in both}
    return verdict({name: 1 / ratio for name, ratio in ratios.items()} if cpu else ratios, threshold)


def verdict(ratios: dict[str, float], threshold: float) -> int:
    """Prints each case's speed over that of the version before; 1 if one is slower by more than the threshold."""
    limit = 1 - threshold / 100
    for case, ratio in ratios.items():
        print(f"{case:<22} {ratio:6.3f}{'' if ratio >= limit else '   slower'}")
    slower = [case for case, ratio in ratios.items() if ratio < limit]
    print(f"{len(ratios)} cases, {len(slower)} slower by more than {threshold:g}%")
    return 1 if slower else 0
