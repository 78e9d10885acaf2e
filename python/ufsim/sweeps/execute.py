"""Runs points on this machine: several at a time, each aged state made once, what is kept not run again."""

import threading
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
    """Hands out points. One whose aged state is just being made is passed over as long as there are others."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._left = [(point, point.state) for point in points]
        self._making: set[str] = set()
        self._made: set[str | None] = {None}
        self._changed = threading.Condition()

    def next(self) -> tuple[Point, str | None] | None:
        """A point, and the name of its state if it is to be made first; nothing when all are handed out."""
        with self._changed:
            while self._left:
                for place, (point, state) in enumerate(self._left):
                    if state is None or state in self._made:
                        del self._left[place]
                        return point, None
                    if state not in self._making:
                        del self._left[place]
                        self._making.add(state)
                        return point, state
                self._changed.wait()
            return None

    def made(self, state: str) -> None:
        """Lets the points of this state go; those of one that could not be made find that out themselves."""
        with self._changed:
            self._made.add(state)
            self._changed.notify_all()

    def stop(self) -> None:
        """Hands out no more."""
        with self._changed:
            self._left.clear()
            self._changed.notify_all()


def execute(
    points: Sequence[Point], store: RunStore, cache: StateCache, jobs: int, progress: Progress | None = None
) -> list[Failure]:
    """Runs points that have no result yet and keeps each result as soon as it is there; returns those that failed.

    Raises `Unwritten` if results can not be kept; that, and an interrupt, stops all of them.
    """
    turns, failures = Turns(points), list[Failure]()
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

    with ThreadPoolExecutor(max_workers=max(1, min(jobs, len(points))), thread_name_prefix="ufsim") as pool:
        futures = [pool.submit(work) for _ in range(min(jobs, len(points)))]
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
