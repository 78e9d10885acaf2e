"""Runs points on the workers of a Dask cluster. They give the bytes that this machine would give.

A worker that dies costs its points another try, as many as the scheduler allows (three, unless it is configured
otherwise). A scheduler that dies costs what was under way: the sweep waits for it to come back, and sends the points
again that have no result. Results are kept here, as soon as they arrive.
"""

import asyncio
import concurrent.futures
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ufsim import _core, inputs
from ufsim.kept import RunStore
from ufsim.sweeps import work
from ufsim.sweeps.execute import Progress
from ufsim.sweeps.failures import Failure
from ufsim.sweeps.points import Point

# How long a scheduler may take to answer at first, and to come back.
ANSWER_SECONDS = 10.0
RETURN_SECONDS = 300.0
# So many times a scheduler may be lost without a single result in between.
MOST_LOSSES = 5

# What becomes of a finished point whose result is fetched while the scheduler dies.
GONE = (OSError, TimeoutError, asyncio.CancelledError, concurrent.futures.CancelledError)

log = logging.getLogger("ufsim")


@dataclass(frozen=True)
class Cluster:
    """The address of a scheduler, and what its workers share with this machine.

    `states` is the directory of aged states if they share paths; with `None` files and states are sent.
    """

    address: str
    states: Path | None


class Lost(Exception):
    """The scheduler has forgotten points that were sent."""


def execute_on(
    cluster: Cluster, points: Sequence[Point], store: RunStore, progress: Progress | None = None
) -> list[Failure]:
    """Runs points on a cluster and keeps their results; returns those that failed. As `execute.execute` does."""
    left = {point.name: point for point in points}
    failures: dict[str, Failure] = {}
    losses, before = 0, len(left)
    while left:
        patience = ANSWER_SECONDS if not losses else RETURN_SECONDS
        try:
            with connected(cluster.address, patience) as client:
                for name, outcome in outcomes(client, cluster, list(left.values())):
                    point = left.pop(name)
                    if outcome.error:
                        failures[name] = Failure(point, outcome.error)
                    else:
                        store.write(name, point.document(outcome.report, outcome.paths))
                    if progress is not None:
                        progress(len(points) - len(left), len(points))
        except Lost as error:
            losses = losses + 1 if len(left) == before else 1
            before = len(left)
            if losses > MOST_LOSSES:
                raise _core.ConfigError(f"dask '{cluster.address}': {error}, {MOST_LOSSES} times in a row") from error
            log.warning("%s; %d points are sent again as soon as it is back", error, len(left))
    return [failures[point.name] for point in points if point.name in failures]


def library() -> Any:
    """Dask, which is optional and has no types."""
    try:
        return import_module("distributed")
    except ImportError as error:
        raise _core.ConfigError("--dask needs the package distributed: pip install 'ufsim[dask]'") from error


@contextmanager
def connected(address: str, patience: float) -> Iterator[Any]:
    """A client of the scheduler, which may take so many seconds to answer."""
    distributed = library()
    deadline = time.monotonic() + patience
    while True:
        try:
            client = distributed.Client(address, timeout=5, set_as_default=False, name="ufsim")
            break
        except (OSError, TimeoutError) as error:
            if time.monotonic() > deadline:
                raise _core.ConfigError(f"dask '{address}': no scheduler answers within {patience:.0f} s") from error
        except ValueError as error:
            raise _core.ConfigError(f"dask is '{address}': {error}; allowed: tcp://HOST:PORT") from error
    try:
        if not client.scheduler_info()["workers"]:
            log.info("the scheduler has no workers yet: waiting for the first")
        yield client
    finally:
        client.close(timeout=2)


def outcomes(client: Any, cluster: Cluster, points: Sequence[Point]) -> Iterator[tuple[str, work.Outcome]]:
    """What becomes of points, in the order in which that is known; raises `Lost` if some of it never will be."""
    distributed = library()
    futures = sent(client, cluster, points)
    names = {future.key: name for name, future in futures.items()}
    lost = 0
    for future in distributed.as_completed(list(futures.values()), loop=client.loop):
        name = names[future.key]
        if future.status == "finished":
            try:
                outcome = future.result()
            except GONE:
                lost += 1
                continue
            yield name, outcome
        elif future.status == "error":
            error = future.exception()
            if not isinstance(error, distributed.KilledWorker):
                raise error
            yield name, work.Outcome(error=f"every worker that had it has died: {error.last_worker}")
        else:
            lost += 1
    if lost:
        raise Lost(f"the scheduler at {cluster.address} was lost")


def sent(client: Any, cluster: Cluster, points: Sequence[Point]) -> dict[str, Any]:
    """Sends points, and what they need once: files that are not shared, and orders to make aged states."""
    files: dict[tuple[str, str], Any] = {}
    known = inputs.Known()
    states: dict[str, Any] = {}
    futures: dict[str, Any] = {}
    for point in points:
        own = files_of(point)
        order = order_of(point, cluster, list(own), known)
        needed = [file_sent(client, cluster, file, files) for file in own.items()]
        state = point.state
        if state is not None and state not in states:
            states[state] = client.submit(work.age, order, *needed, key=f"ufsim-state-{state}", pure=False)
        begun = None if state is None else states[state]
        futures[point.name] = client.submit(
            work.simulate, order, begun, *needed, key=f"ufsim-point-{point.name}", pure=False
        )
    return futures


def files_of(point: Point) -> dict[str, str]:
    """Files of a point, by option, under whole paths. Those that come with ufsim are where the worker has ufsim."""
    return {name: str(Path(path).absolute()) for name, path in inputs.files_of(asdict(point.spec)).items()}


def order_of(point: Point, cluster: Cluster, files: list[str], known: inputs.Known) -> work.Order:
    """A point as it is sent; `known` has digests of files."""
    states = None if cluster.states is None else str(cluster.states.absolute())
    return work.Order(_core.__version__, asdict(point.spec), files, inputs.of_spec(point.spec, known), states)


def file_sent(client: Any, cluster: Cluster, file: tuple[str, str], files: dict[tuple[str, str], Any]) -> Any:
    """The path of an option's file, if it is shared, or the file on its way."""
    if cluster.states is not None:
        return file[1]
    if file not in files:
        key = f"ufsim-file-{Path(file[1]).name}-{inputs.content(*file)}"
        files[file] = client.submit(work.carry, work.parcel_of(*file), key=key, pure=False)
    return files[file]
