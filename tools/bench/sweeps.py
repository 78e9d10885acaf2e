"""The 200 points of jobs/sweep-host-memory.toml, one at a time and two at a time, each time from nothing."""

import tempfile
from functools import partial
from pathlib import Path
from statistics import median

import ufsim
from tools.project import UFSIM, failed, measured
from tools.records import keep, origin
from tools.turns import in_turns

GRID = "jobs/sweep-host-memory.toml"


def measure_sweep(turns: int, record: Path | None) -> None:
    """Measures both, in turns. All tables have to be the same bytes."""
    made = list(in_turns([partial(sweep, jobs) for jobs in (1, 2)], turns))
    if len({table for turn in made for _, table in turn}) > 1:
        failed("the tables differ")
    one, two = ([turn[at][0] for turn in made] for at in (0, 1))
    ratio = median(before / after for before, after in zip(one, two, strict=True))
    print(f"two at a time are {ratio:.2f} times as fast")
    seconds = {"1": round(median(one), 1), "2": round(median(two), 1)}
    keep(record, {**origin(ufsim.__version__), "turns": turns, "seconds": seconds, "ratio": round(ratio, 3)})


def sweep(jobs: int) -> tuple[float, bytes]:
    """Its seconds and its table. No result and no aged state of an earlier one is there."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*UFSIM, "sweep", GRID, "--out", f"{folder}/out", "--jobs", str(jobs)]
        done = measured(command, {"UFSIM_CACHE": f"{folder}/states"})
        print(f"{jobs} at a time: {done.seconds:.1f} s", flush=True)
        return done.seconds, (Path(folder) / "out/results.parquet").read_bytes()
