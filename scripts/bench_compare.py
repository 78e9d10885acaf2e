"""Compares two files of `scripts/bench.py`: `scripts/bench_compare.py BEFORE.json AFTER.json [--threshold 2] [--cpu]`.

Prints for each case the speed after over the speed before, of the medians. Exits with 1 if a case is slower by more
than the threshold. Files of different machines, or of different days on a noisy one, say little: for a decision about a
change use `scripts/bench_pairs.py`.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench_run import verdict


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("before", type=Path)
    options.add_argument("after", type=Path)
    options.add_argument("--threshold", type=float, default=2.0, help="per cent by which a case may be slower")
    options.add_argument("--cpu", action="store_true", help="compare processor time instead of requests per second")
    chosen = options.parse_args()
    before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (chosen.before, chosen.after))
    for name, document in (("before", before), ("after", after)):
        print(f"{name:<7} {document['commit']}, {document['date']}, {document['machine']['processor']}")
    sys.exit(verdict(ratios(before["cases"], after["cases"], cpu=chosen.cpu), chosen.threshold))


def ratios(before: dict[str, Any], after: dict[str, Any], *, cpu: bool) -> dict[str, float]:
    """Speed after over speed before, for the cases that both have."""
    both = [name for name in after if name in before]
    if not both:
        sys.exit("the files have no case in common")
    if cpu:
        return {name: before[name]["median_cpu_seconds"] / after[name]["median_cpu_seconds"] for name in both}
    key = "median_requests_per_second"
    return {name: after[name][key] / before[name][key] for name in both}


if __name__ == "__main__":
    main()
