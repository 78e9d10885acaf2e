"""Measures points: each once, whoever needs it, several at a time; what a store has is not measured again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from ufsim import _core
from ufsim.documents import Document, parse
from ufsim.kept import RunStore
from ufsim.reproduce.figure import Point, Run, columns
from ufsim.reproduce.store import name_of
from ufsim.results import Result
from ufsim.states import StateCache, simulated

# runs done, runs in all
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Means:
    """With what points are measured: how many at a time, where aged states and results are kept, who is told."""

    jobs: int
    cache: StateCache | None = None
    store: RunStore | None = None
    progress: Progress | None = None


def key(point: Run | Point) -> str:
    """Equal for points that give the same result, so that figures share them."""
    if isinstance(point, Run):
        return point.spec.to_json()
    return f"{point.measure} {sorted(point.labels.items())}"


def measured(points: Iterable[Run | Point], means: Means) -> dict[str, dict[str, Any]]:
    """The columns of every point, by key; the first failure, or an interrupt, stops all of them."""
    unique = in_order({key(point): point for point in points})
    done: dict[str, dict[str, Any]] = {}
    cancelled, guard = threading.Event(), threading.Lock()

    def watch(*_: object) -> None:
        if cancelled.is_set():
            raise KeyboardInterrupt

    def one(name: str, point: Run | Point) -> None:
        if cancelled.is_set():
            return
        row = columns_of(point, means, watch)
        with guard:
            done[name] = row
            if means.progress is not None:
                means.progress(len(done), len(unique))

    with ThreadPoolExecutor(max_workers=means.jobs, thread_name_prefix="ufsim") as pool:
        futures = [pool.submit(one, name, point) for name, point in unique.items()]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            cancelled.set()
    for future in futures:
        error = future.exception()
        if error is not None and not isinstance(error, KeyboardInterrupt):
            raise error
    return done


def in_order(points: dict[str, Run | Point]) -> dict[str, Run | Point]:
    """Points that begin with the same aged state one after another: a cache of states need not hold those of all."""
    places: dict[str, int] = {}

    def place(entry: tuple[str, Run | Point]) -> int:
        name, point = entry
        if isinstance(point, Run) and point.spec.age is not None:
            name = _core.age_key(point.spec.to_json())
        return places.setdefault(name, len(places))

    return dict(sorted(points.items(), key=place))


def columns_of(point: Run | Point, means: Means, watch: Callable[..., None]) -> dict[str, Any]:
    """The columns of a point, from the store or measured now."""
    name = name_of(point) if means.store is not None else None
    document = means.store.read(name) if means.store is not None and name is not None else None
    if document is None:
        document = made(point, means.cache, watch)
        if means.store is not None and name is not None:
            means.store.write(name, document)
    return columns(Result(document)) if isinstance(point, Run) else document


def made(point: Run | Point, cache: StateCache | None, watch: Callable[..., None]) -> Document:
    """Measures a point: the report of a run, or the columns of another point."""
    if isinstance(point, Point):
        return point.measure()
    point.spec.check()
    return parse(simulated(cache, point.spec, watch, lambda begun: _core.simulate(begun.to_json(), watch)))
