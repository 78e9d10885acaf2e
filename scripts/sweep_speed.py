"""How much faster a sweep is on two processors: `scripts/sweep_speed.py [--turns 2] [--record FILE]`.

Runs the 200 points of jobs/sweep-host-memory.toml one at a time and two at a time, in turns, each from nothing: no
result and no aged state is kept. All tables have to be the same bytes. Wants a quiet machine with two processors.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import bench
import ufsim

ROOT = Path(__file__).parents[1]
GRID = "jobs/sweep-host-memory.toml"
COMMAND = [sys.executable, "-c", "import sys; from ufsim_start import main; sys.exit(main())", "sweep"]
JOBS = (1, 2)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--turns", type=int, default=2)
    options.add_argument("--record", type=Path, help="file for all numbers")
    chosen = options.parse_args()
    seconds: dict[int, list[float]] = {jobs: [] for jobs in JOBS}
    tables = set()
    for turn in range(chosen.turns):
        for jobs in JOBS if turn % 2 == 0 else reversed(JOBS):
            took, table = sweep(jobs)
            print(f"{jobs} at a time: {took:.1f} s", flush=True)
            seconds[jobs].append(took)
            tables.add(table)
    if len(tables) > 1:
        sys.exit("sweep_speed.py: the tables differ")
    ratio = median(one / two for one, two in zip(seconds[1], seconds[2], strict=True))
    print(f"two at a time are {ratio:.2f} times as fast")
    if chosen.record:
        record = {
            "version": ufsim.__version__,
            "date": datetime.date.today().isoformat(),
            "machine": {"processor": bench.processor(), "cpus": os.cpu_count()},
            "turns": chosen.turns,
            "seconds": {str(jobs): round(median(took), 1) for jobs, took in seconds.items()},
            "ratio": round(ratio, 3),
        }
        chosen.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def sweep(jobs: int) -> tuple[float, bytes]:
    """Its seconds and its table."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*COMMAND, GRID, "--out", f"{folder}/out", "--jobs", str(jobs)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "UFSIM_CACHE": f"{folder}/states"}
        began = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        took = time.monotonic() - began
        if done.returncode:
            sys.exit(f"sweep_speed.py: failed: {' '.join(command)}\n{done.stderr}")
        return took, (Path(folder) / "out/results.parquet").read_bytes()


if __name__ == "__main__":
    main()
