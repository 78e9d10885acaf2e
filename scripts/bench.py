"""Measures the simulator's speed: `scripts/bench.py [--repeats 9] [--json benchmarks/NAME.json] [CASE...]`.

Prints the median of each case. The JSON has every value, the version and the machine, and is meant to be committed;
`scripts/bench_compare.py` compares two such files.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import tomllib
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import bench_run
from bench_run import ROOT, Measurement


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("cases", nargs="*", help="words; cases whose names contain one of them are run")
    options.add_argument("--repeats", type=int, default=1, help="runs of each case")
    options.add_argument("--json", type=Path, help="file for all values")
    chosen = options.parse_args()

    program = bench_run.build()
    names = bench_run.cases(program, chosen.cases)
    values: dict[str, list[Measurement]] = {name: [] for name in names}
    # Round by round, so that a slow minute of the machine does not fall on one case alone.
    for turn in range(chosen.repeats):
        for name in names:
            values[name].append(bench_run.measure(program, name))
            if turn == chosen.repeats - 1:
                print_row(name, values[name])
    if chosen.json:
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(document(values), indent=1) + "\n", encoding="utf-8")


def print_row(name: str, values: list[Measurement]) -> None:
    rate = median(value.requests_per_second for value in values)
    cpu = median(value.cpu_seconds for value in values)
    peak = max(value.peak_mib or 0 for value in values)
    print(f"{name:<22} {rate:>12,.0f} requests/s {cpu:>8.2f} s CPU {peak:>7,} MiB", flush=True)


def document(values: dict[str, list[Measurement]]) -> dict[str, Any]:
    """Everything that was measured, and where."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    return {
        "version": version,
        "commit": output("git", "describe", "--always", "--dirty"),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {"processor": processor(), "cpus": os.cpu_count(), "system": platform.platform()},
        "rustc": output("rustc", "--version"),
        "cases": {
            name: {
                "median_requests_per_second": median(value.requests_per_second for value in runs),
                "median_cpu_seconds": median(value.cpu_seconds for value in runs),
                "runs": [asdict(value) for value in runs],
            }
            for name, runs in values.items()
        },
    }


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
