"""Runs the benchmark program (crates/lab/benches/throughput.rs) and reads what it prints, for the scripts beside."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

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
    # Of the whole process, preconditioning included. Other load on the machine hardly changes it.
    cpu_seconds: float


def build(package: str = "ufsim-lab", name: str = "throughput") -> Path:
    """Compiles a benchmark program of this tree and tells where it is."""
    command = ["cargo", "bench", "--locked", "-p", package, "--bench", name, "--no-run"]
    built = subprocess.run([*command, "--message-format=json"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    found = [message["executable"] for message in messages if message.get("target", {}).get("name") == name]
    return Path(found[-1])


def cases(program: Path, words: list[str]) -> list[str]:
    """The names of the program's cases that contain one of the words, or all if there is none.

    A program from before `--list` prints none; then the words are the names.
    """
    listed = subprocess.run([program, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
    names = [name for name in listed if name and " " not in name]
    if not names:
        return words
    chosen = [name for name in names if not words or any(word in name for word in words)]
    if not chosen:
        sys.exit(f"no case matches {' '.join(words)}; there are {', '.join(names)}")
    return chosen


def measure(program: Path, case: str) -> Measurement:
    """Runs one case in a process of its own."""
    with subprocess.Popen([program, "--case", case], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{program} --case {case} has failed")
    return parse(printed, case, usage.ru_utime + usage.ru_stime)


def parse(printed: str, case: str, cpu_seconds: float) -> Measurement:
    """What the program has printed about one case."""
    rows = [row for row in ROW.findall(printed) if row[0] == case]
    if len(rows) != 1:
        sys.exit(f"no row of case {case} in what the program has printed:\n{printed}")
    _, requests, rate, flash, _, simulated, peak = rows[0]
    peak_mib = None if peak == "?" else int(peak)
    return Measurement(int(requests), int(rate), int(flash), float(simulated), peak_mib, round(cpu_seconds, 3))


def verdict(ratios: dict[str, float], threshold: float) -> int:
    """Prints each case's speed over that of the version before; 1 if one is slower by more than the threshold."""
    limit = 1 - threshold / 100
    for case, ratio in ratios.items():
        print(f"{case:<22} {ratio:6.3f}{'' if ratio >= limit else '   slower'}")
    slower = [case for case, ratio in ratios.items() if ratio < limit]
    print(f"{len(ratios)} cases, {len(slower)} slower by more than {threshold:g}%")
    return 1 if slower else 0
