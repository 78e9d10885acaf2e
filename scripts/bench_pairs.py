"""Compares two builds in turns: `scripts/bench_pairs.py BEFORE AFTER [--pairs 9] [--threshold 2] [--cpu] [CASE...]`.

BEFORE and AFTER are benchmark programs, as `cargo bench -p ufsim-lab --bench throughput --no-run` names them. Each pair
runs one after the other, so that what slows the machine down slows both; every second pair runs the other way round.
Prints each case's medians of AFTER's speed over BEFORE's and of AFTER's peak memory over BEFORE's. Exits with 1 if one
is slower, or takes more memory, by more than the threshold. Cases that only AFTER has are left out. With `--cpu` the
ratio of speed is that of processor time, which is steadier where the machine has other work, but counts
preconditioning, too.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import median

import bench_run
from bench_run import Measurement, verdict


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("before", type=Path)
    options.add_argument("after", type=Path)
    options.add_argument("cases", nargs="*", help="words; cases whose names contain one of them are run")
    options.add_argument("--pairs", type=int, default=9)
    options.add_argument("--threshold", type=float, default=2.0, help="per cent that a case may be slower or larger")
    options.add_argument("--cpu", action="store_true", help="compare processor time instead of requests per second")
    options.add_argument("--json", type=Path, help="file for all ratios")
    chosen = options.parse_intermixed_args()

    speed: dict[str, float] = {}
    memory: dict[str, float] = {}
    ratios: dict[str, list[float]] = {}
    for case in cases_of_both(chosen.before, chosen.after, chosen.cases):
        pairs = [pair(chosen.before, chosen.after, case, turn) for turn in range(chosen.pairs)]
        ratios[case] = sorted(faster(*both, cpu=chosen.cpu) for both in pairs)
        speed[case], memory[case] = median(ratios[case]), median(larger(*both) for both in pairs)
        shown = " ".join(f"{ratio:.3f}" for ratio in ratios[case])
        print(f"{case:<22} {speed[case]:6.3f}   of {shown}   memory {memory[case]:.3f}", flush=True)
    if chosen.json:
        document = {"cpu": chosen.cpu, "ratios": ratios, "memory": memory}
        chosen.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print()
    greedy = [f"{case} ({ratio:.3f})" for case, ratio in memory.items() if ratio > 1 + chosen.threshold / 100]
    if greedy:
        print(f"more memory by over {chosen.threshold:g}%: {', '.join(greedy)}")
    sys.exit(max(verdict(speed, chosen.threshold), 1 if greedy else 0))


def cases_of_both(before: Path, after: Path, words: list[str]) -> list[str]:
    """The cases to compare: those of `after` that the words choose and that `before` has."""
    known = bench_run.cases(before, [])
    chosen = bench_run.cases(after, words)
    # A program from before `--list` tells nothing.
    both = [case for case in chosen if case in known] if known else chosen
    if len(both) < len(chosen):
        print(f"not in {before}: {', '.join(case for case in chosen if case not in both)}")
    if not both:
        sys.exit("the programs have none of these cases in common")
    return both


def pair(before: Path, after: Path, case: str, turn: int) -> tuple[Measurement, Measurement]:
    """What `before` and `after` measured, each run once."""
    if turn % 2 == 0:
        first, second = bench_run.measure(before, case), bench_run.measure(after, case)
    else:
        second, first = bench_run.measure(after, case), bench_run.measure(before, case)
    return first, second


def faster(before: Measurement, after: Measurement, *, cpu: bool) -> float:
    """Speed over speed."""
    if cpu:
        return before.cpu_seconds / after.cpu_seconds
    return after.requests_per_second / before.requests_per_second


def larger(before: Measurement, after: Measurement) -> float:
    """Peak memory over peak memory; 1 where the machine does not tell it."""
    return after.peak_mib / before.peak_mib if after.peak_mib and before.peak_mib else 1.0


if __name__ == "__main__":
    main()
