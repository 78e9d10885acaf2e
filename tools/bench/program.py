"""Builds and runs the benchmark program (crates/lab/benches/throughput.rs) and reads what it prints."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from tools.project import failed, measured, output

# Name, requests, requests/s, flash operations/s, wall seconds, simulated seconds, peak MiB.
ROW = re.compile(r"^(\S+) +(\d+) +(\d+) +(\d+) +([\d.]+) +([\d.]+) s +(\d+|\?)$", re.MULTILINE)


@dataclass(frozen=True)
class Measurement:
    """One run of a case."""

    requests: int
    requests_per_second: int
    flash_ops_per_second: int
    simulated_seconds: float
    peak_mib: int | None
    # Preconditioning included.
    cpu_seconds: float


def build(package: str = "ufsim-lab", name: str = "throughput") -> Path:
    """Compiles a benchmark program of this tree and tells where it is."""
    command = ["cargo", "bench", "--locked", "-p", package, "--bench", name, "--no-run", "--message-format=json"]
    messages = [json.loads(line) for line in output(*command).splitlines()]
    found = [message["executable"] for message in messages if message.get("target", {}).get("name") == name]
    return Path(found[-1])


def cases(program: Path, words: list[str]) -> list[str]:
    """The names of the program's cases that contain one of the words, or all if there is none."""
    names = output(program, "--list").split()
    chosen = [name for name in names if not words or any(word in name for word in words)]
    if not chosen:
        failed(f"no case matches {' '.join(words)}; there are {', '.join(names)}")
    return chosen


def measure(program: Path, case: str) -> Measurement:
    """Runs one case in a process of its own."""
    done = measured([program, "--case", case])
    rows = [row for row in ROW.findall(done.printed) if row[0] == case]
    if len(rows) != 1:
        failed(f"no row of case {case} in what the program has printed:\n{done.printed}")
    _, requests, rate, flash, _, simulated, peak = rows[0]
    peak_mib = None if peak == "?" else int(peak)
    return Measurement(int(requests), int(rate), int(flash), float(simulated), peak_mib, done.cpu_seconds)
