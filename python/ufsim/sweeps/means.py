"""With what points are run: processors of this machine, or a cluster; and where aged states are meanwhile."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ufsim.kept import RunStore
from ufsim.runner import Cache, states_of
from ufsim.states import StateCache
from ufsim.sweeps.dask_run import Cluster, execute_on
from ufsim.sweeps.execute import Progress, execute
from ufsim.sweeps.failures import Failure
from ufsim.sweeps.points import Point, once


@dataclass(frozen=True)
class Means:
    """`jobs` runs at a time on this machine, or the workers of the scheduler at `dask`, to which `ship` sends files."""

    jobs: int
    cache: Cache = True
    dask: str | None = None
    ship: bool = False

    def left(self, points: Sequence[Point], store: RunStore) -> list[Point]:
        """The points without a result, each run once."""
        return once(point for point in points if store.read(point.name) is None)

    def run(
        self, points: Sequence[Point], store: RunStore, states: StateCache, progress: Progress | None = None
    ) -> list[Failure]:
        """Runs points and keeps their results; returns those that failed."""
        if self.dask is None:
            return execute(points, store, states, self.jobs, progress)
        return execute_on(Cluster(self.dask, None if self.ship else states.directory), points, store, progress)

    @contextmanager
    def states(self, directory: Path) -> Iterator[StateCache]:
        """Where aged states are kept: where `cache` says, or in a folder that is there only meanwhile."""
        if (own := states_of(self.cache)) is not None:
            yield own
        else:
            with TemporaryDirectory(prefix=".states-", dir=directory) as folder:
                yield StateCache(Path(folder))
