"""Speed and memory of each case of the benchmark."""

import tomllib
from dataclasses import asdict
from pathlib import Path
from statistics import median

from tools.bench.program import Measurement, build, cases, measure
from tools.project import ROOT, output
from tools.records import keep, origin


def measure_cases(words: list[str], repeats: int, record: Path | None) -> None:
    """Prints the median of each case, and keeps every value."""
    program = build()
    names = cases(program, words)
    values: dict[str, list[Measurement]] = {name: [] for name in names}
    # Round by round, so that a slow minute of the machine does not fall on one case alone.
    for turn in range(repeats):
        for name in names:
            values[name].append(measure(program, name))
            if turn == repeats - 1:
                print_row(name, values[name])
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    document = {
        **origin(version),
        "commit": output("git", "describe", "--always", "--dirty").strip(),
        "rustc": output("rustc", "--version").strip(),
        "cases": {
            name: {
                "median_requests_per_second": median(value.requests_per_second for value in runs),
                "median_cpu_seconds": median(value.cpu_seconds for value in runs),
                "runs": [asdict(value) for value in runs],
            }
            for name, runs in values.items()
        },
    }
    keep(record, document)


def print_row(name: str, values: list[Measurement]) -> None:
    rate = median(value.requests_per_second for value in values)
    cpu = median(value.cpu_seconds for value in values)
    peak = max(value.peak_mib or 0 for value in values)
    print(f"{name:<22} {rate:>12,.0f} requests/s {cpu:>8.2f} s CPU {peak:>7,} MiB", flush=True)
