"""Runs points on this machine: several at a time, each aged state made once, what is kept not run again."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from ufsim import _core
from ufsim.kept import RunStore
from ufsim.runner import Cancelled
from ufsim.states import StateCache
from ufsim.sweeps.failures import FAILURES, Failure, told
from ufsim.sweeps.points import Point

# points done, points in all: those that were not there before
Progress = Callable[[int, int], None]


class Turns:
    """Hands out points, those that begin with the same aged state one after another.

    As long as there are states to be made, one of several workers makes one, so that none waits for the last of them.
    """

    def __init__(self, points: Sequence[Point], workers: int) -> None:
        self._alone = workers == 1
        self._ready = deque[Point]()
        self._waiting = dict[str, deque[Point]]()
        for point in points:
            state = point.state
            (self._ready if state is None else self._waiting.setdefault(state, deque())).append(point)
        self._unmade = deque(self._waiting)
        self._making = set[str]()
        self._changed = threading.Condition()

    def next(self) -> tuple[Point, str | None] | None:
        """A point, and the name of its state if it is to be made first; nothing when all are handed out."""
        with self._changed:
            while True:
                if self._unmade and not (self._ready and (self._alone or self._making)):
                    state = self._unmade.popleft()
                    self._making.add(state)
                    return self._waiting[state].popleft(), state
                if self._ready:
                    return self._ready.popleft(), None
                if not any(self._waiting.values()):
                    return None
                self._changed.wait()

    def made(self, state: str) -> None:
        """Lets the points of this state go; those of one that could not be made find that out themselves."""
        with self._changed:
            self._making.discard(state)
            self._ready.extend(self._waiting.pop(state, ()))
            self._changed.notify_all()

    def stop(self) -> None:
        """Hands out no more."""
        with self._changed:
            for left in (self._ready, self._waiting, self._unmade):
                left.clear()
            self._changed.notify_all()


def execute(
    points: Sequence[Point], store: RunStore, cache: StateCache, jobs: int, progress: Progress | None = None
) -> list[Failure]:
    """Runs points that have no result yet and keeps each result as soon as it is there; returns those that failed.

    Raises `Unwritten` if results can not be kept; that, and an interrupt, stops all of them.
    """
    workers = max(1, min(jobs, len(points)))
    turns, failures = Turns(points, workers), list[Failure]()
    cancelled, guard = threading.Event(), threading.Lock()
    done = 0

    def report(*_: object) -> None:
        if cancelled.is_set():
            raise Cancelled

    def one(point: Point, state: str | None) -> None:
        nonlocal done
        failure = None
        try:
            try:
                if state is not None:
                    cache.aged(point.spec, report)
            finally:
                if state is not None:
                    turns.made(state)
            text = cache.simulated(point.spec, report, lambda begun: _core.simulate(begun.to_json(), report))
        except FAILURES as error:
            failure = Failure(point, told(error))
        else:
            store.write(point.name, point.document(text))
        with guard:
            failures.extend([failure] if failure else [])
            done += 1
            if progress is not None:
                progress(done, len(points))

    def work() -> None:
        while (turn := turns.next()) is not None:
            one(*turn)

    with ThreadPoolExecutor(workers, thread_name_prefix="ufsim") as pool:
        futures = [pool.submit(work) for _ in range(workers)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            cancelled.set()
            turns.stop()
    for error in [future.exception() for future in futures]:
        if error is not None and not isinstance(error, Cancelled):
            raise error
    order = {point.name: place for place, point in enumerate(points)}
    return sorted(failures, key=lambda failure: order[failure.point.name])
