"""What a log of requests costs: `scripts/log_cost.py [--pairs 5] [--long 50000000] [--record docs/data/log-cost.json]`.

Runs each case without and with `--log` in turns, in processes of their own, and prints the medians of the times, of
their ratio and of the peak of memory. `--long` also writes one log of so many requests, for its memory. Wants a quiet
machine with two processors, because a thread of its own writes the file.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import bench
import ufsim

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "-c", "import sys; from ufsim_start import main; sys.exit(main())", "run"]
# Name, arguments.
CASES = {
    "random reads": ["rw=randread bs=4k iodepth=8 size=16g io_size=32g", "--precondition", "footprint"],
    "random writes": ["rw=randwrite bs=4k iodepth=8 size=16g io_size=32g"],
    "random writes under GC": ["rw=randwrite bs=4k iodepth=16 size=106g io_size=16g", "--precondition", "touched"],
}
SCHEMES = ("ufs", "hp-ufs")
LONG = "rw=randread bs=4k iodepth=8 size=16g io_size={}k"


@dataclass(frozen=True)
class Ran:
    """A run in a process of its own."""

    # From its start to its end, preconditioning and the rest of the log included.
    seconds: float
    peak_mib: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--pairs", type=int, default=5)
    options.add_argument("--long", type=int, default=50_000_000, help="requests of one more log; 0 = none")
    options.add_argument("--record", type=Path, help="file for all numbers")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.parquet"
        found = [cost(name, scheme, file, chosen.pairs) for name in CASES for scheme in SCHEMES]
        long = long_log(chosen.long, file) if chosen.long else None
    if chosen.record:
        today = datetime.date.today().isoformat()
        record = {
            "version": ufsim.__version__,
            "date": today,
            "machine": {"processor": bench.processor(), "cpus": os.cpu_count()},
            "pairs": chosen.pairs,
        }
        text = json.dumps({**record, "cases": found, "long": long}, indent=1)
        chosen.record.write_text(text + "\n", encoding="utf-8")


def cost(name: str, scheme: str, file: Path, pairs: int) -> dict[str, object]:
    """Times of a case without and with a log, and their ratio, by the medians of pairs."""
    made = []
    for turn in range(pairs):
        order = (False, True) if turn % 2 == 0 else (True, False)
        runs = {logged: run(CASES[name], scheme, file if logged else None) for logged in order}
        made.append((runs[False], runs[True]))
    found = {
        "case": name,
        "scheme": scheme,
        "seconds": round(median(plain.seconds for plain, _ in made), 3),
        "logged_seconds": round(median(logged.seconds for _, logged in made), 3),
        "ratio": round(median(logged.seconds / plain.seconds for plain, logged in made), 3),
        "peak_mib": round(median(plain.peak_mib for plain, _ in made)),
        "logged_peak_mib": round(median(logged.peak_mib for _, logged in made)),
    }
    print(
        f"{name}, {scheme}: {found['seconds']} s, with a log {found['logged_seconds']} s ({found['ratio']})", flush=True
    )
    return found


def long_log(requests: int, file: Path) -> dict[str, object]:
    """A log of so many requests."""
    ran = run([LONG.format(4 * requests), "--precondition", "footprint"], "hp-ufs", file)
    gib = round(file.stat().st_size / (1 << 30), 2)
    print(f"{requests:,} requests: {ran.seconds:.0f} s, at most {ran.peak_mib:.0f} MiB of memory, {gib} GiB of file")
    return {"requests": requests, "seconds": round(ran.seconds, 1), "peak_mib": round(ran.peak_mib), "file_gib": gib}


def run(arguments: list[str], scheme: str, log: Path | None) -> Ran:
    """One run."""
    command = [*COMMAND, *arguments, "--scheme", scheme, "--profile", "hp-ufs", "--json"]
    command += ["--log", str(log)] if log else []
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"log_cost.py: failed: {' '.join(command)}")
    return Ran(time.monotonic() - began, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
