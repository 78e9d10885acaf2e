"""Searches: values of a profile's keys that serve an aim best, within bounds and a budget of runs.

- A **parameter** is a key of the profile, or `host_memory_mib`, with bounds.
- The **aim** is a column of results that is to be least or most, perhaps while another one is kept.
- A **trial** is a value for each parameter, run with each seed (`evaluate.py`). Optuna proposes them (`search.py`).
- What is found is a **profile** that extends the one before, with its evidence (`tuned.py`).

Runs are points as those of sweeps: made once, kept as soon as they are done, here or on a cluster.
"""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, SupportsIndex

from ufsim import outputs
from ufsim.bundled import located
from ufsim.kept import RunStore
from ufsim.names import plain
from ufsim.runner import Cache, jobs_of
from ufsim.sweeps.means import Means
from ufsim.tuning.evaluate import Bench, files_of
from ufsim.tuning.search import Progress, search
from ufsim.tuning.task import Task, read_task, task_of
from ufsim.tuning.tuned import WRITTEN, Tuned, finished

__all__ = ["Task", "Tuned", "tune"]


def tune(
    task: str | PathLike[str] | Mapping[str, Any],
    out: str | PathLike[str],
    *,
    runs: SupportsIndex | None = None,
    jobs: SupportsIndex | None = None,
    cache: Cache = True,
    dask: str | None = None,
    ship: bool = False,
    progress: Progress | None = None,
) -> Tuned:
    """Searches values of parameters, and writes what it has found to `out/tuned.toml` and `out/trials.parquet`.

    `task` is a TOML file, or a dictionary with the same tables: docs/sweep.md. `runs` replaces its budget. A search
    that was stopped goes on with the same call. The same seed finds the same values. `jobs`, `cache`, `dask` and `ship`
    are those of `ufsim.sweep`.

    Raises `ConfigError` for a task that is wrong, and if no trial keeps what the aim wants kept.
    """
    budget = None if runs is None else int(plain(runs))
    read = task_of(task, runs=budget) if isinstance(task, Mapping) else read_task(task, budget)
    means = Means(jobs_of(jobs), cache, dask, ship)
    inputs = [*files_of(read), *([] if isinstance(task, Mapping) else [located(task)])]
    outputs.apart([Path(out) / name for name in WRITTEN], inputs)
    directory = outputs.ready(Path(out), WRITTEN)
    store = RunStore(directory / "points", keys=("scheme", "latency_ns", "digest"))
    with means.states(directory) as states:
        bench = Bench(read, means, store, states)
        return finished(bench, search(bench, progress), directory)
