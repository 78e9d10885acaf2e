"""Compares two builds in turns: `scripts/bench_pairs.py BEFORE AFTER [--pairs 9] [--threshold 2] [--cpu] [CASE...]`.

BEFORE and AFTER are benchmark programs, as `cargo bench -p ufsim-lab --bench throughput --no-run` names them. Each pair
runs one after the other, so that what slows the machine down slows both; every second pair runs the other way round.
Prints each case's median of AFTER's speed over BEFORE's, and exits with 1 if one is slower by more than the threshold.
With `--cpu` the ratio is that of processor time, which is steadier where the machine has other work, but counts
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
    options.add_argument("--threshold", type=float, default=2.0, help="per cent by which a case may be slower")
    options.add_argument("--cpu", action="store_true", help="compare processor time instead of requests per second")
    options.add_argument("--json", type=Path, help="file for all ratios")
    chosen = options.parse_intermixed_args()

    pairs: dict[str, list[float]] = {}
    for case in bench_run.cases(chosen.after, chosen.cases):
        pairs[case] = [pair(chosen.before, chosen.after, case, turn, cpu=chosen.cpu) for turn in range(chosen.pairs)]
        shown = " ".join(f"{ratio:.3f}" for ratio in sorted(pairs[case]))
        print(f"{case:<22} {median(pairs[case]):6.3f}   of {shown}", flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps({"cpu": chosen.cpu, "ratios": pairs}, indent=1) + "\n", encoding="utf-8")
    print()
    sys.exit(verdict({case: median(ratios) for case, ratios in pairs.items()}, chosen.threshold))


def pair(before: Path, after: Path, case: str, turn: int, *, cpu: bool) -> float:
    """The speed of `after` over that of `before`, each run once."""
    if turn % 2 == 0:
        first, second = bench_run.measure(before, case), bench_run.measure(after, case)
    else:
        second, first = bench_run.measure(after, case), bench_run.measure(before, case)
    return ratio(first, second, cpu=cpu)


def ratio(before: Measurement, after: Measurement, *, cpu: bool) -> float:
    """Speed over speed."""
    if cpu:
        return before.cpu_seconds / after.cpu_seconds
    return after.requests_per_second / before.requests_per_second


if __name__ == "__main__":
    main()
