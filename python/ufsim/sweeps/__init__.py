"""Sweeps: many runs that differ along axes, on all processors or on a cluster, and what they say together.

- An **axis** is what differs: an option of a run, a key of the profile, or a name in braces in a text of the grid.
- A **grid** says which values of axes are combined: each with each, row by row, or drawn (`grid.py`, `latin.py`).
- A **point** is one run of a grid; its **labels** are its values by axis, its **name** a digest of its inputs
  (`points.py`). Points that differ in their seed only are repetitions.
- The **store** is a folder with a file for each point that is done (`ufsim.kept`). A sweep that was stopped, however
  roughly, goes on with the points that have none.
- The **table** is `results.parquet`: a row for each point (`table.py`).

    >>> import ufsim
    >>> sweep = ufsim.sweep("grid.toml", "out/sweep")  # doctest: +SKIP
    >>> sweep.means()[["scheme", "throughput_mib_per_s", "throughput_mib_per_s_ci95"]]  # doctest: +SKIP
"""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, SupportsIndex

from ufsim import outputs
from ufsim.kept import RunStore
from ufsim.runner import Cache, jobs_of
from ufsim.sweeps import table
from ufsim.sweeps.execute import Progress
from ufsim.sweeps.failures import Failure
from ufsim.sweeps.finished import Sweep
from ufsim.sweeps.grid import Grid, grid_of, read_grid
from ufsim.sweeps.means import Means
from ufsim.sweeps.points import points_of

__all__ = ["Failure", "Grid", "Progress", "Sweep", "sweep"]


def sweep(
    grid: str | PathLike[str] | Mapping[str, Any],
    out: str | PathLike[str],
    *,
    jobs: SupportsIndex | None = None,
    cache: Cache = True,
    dask: str | None = None,
    ship: bool = False,
    progress: Progress | None = None,
) -> Sweep:
    """Runs every point of a grid, and writes `out/results.parquet` when all are done.

    `grid` is a TOML file, or a dictionary with the same tables: docs/sweep.md. `jobs` points are run at a time
    (default: one for each processor). Each point's result is kept in `out/points`, so that the same call goes on where
    the last one was stopped. Aged states are made once, and kept as `ufsim.run` keeps them: where `cache` says; with
    `cache=False` only as long as the sweep goes on.

    `dask` is the address of a Dask scheduler, `tcp://HOST:PORT`, on whose workers the points are run instead. These
    find files and aged states under the same paths as this machine, unless `ship` sends them.

    A point that fails stops no other: `Sweep.failures` has it, and `results.partial.parquet` the rows of the others.
    Raises `ConfigError` for a grid that is wrong, before anything is run.
    """
    read = grid_of(grid) if isinstance(grid, Mapping) else read_grid(grid)
    points = points_of(read)
    means = Means(jobs_of(jobs), cache, dask, ship)
    directory = outputs.ready(Path(out))
    for name in (table.WHOLE, table.PARTIAL):
        (directory / name).unlink(missing_ok=True)
    store = RunStore(directory / "points", keys=("scheme", "latency_ns", "digest"))
    left = means.left(points, store)
    with means.states(directory) as states:
        failures = means.run(left, store, states, progress)
    documents = {point.name: found for point in points if (found := store.read(point.name)) is not None}
    frame = table.frame_of(read, points, documents)
    path = table.write(frame, directory, whole=not failures)
    return Sweep(frame, failures, path, len(left))
