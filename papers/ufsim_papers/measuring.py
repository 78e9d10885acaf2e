"""Measures points: each once, whoever needs it, several at a time; what a store has is not measured again.

A result is kept under the name of its inputs: options of the run and contents of its files, or what a point says that
it hangs on. So figures that share a run share its result, whatever order they are made in.
"""

import inspect
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import ufsim
import ufsim_papers
from ufsim import LeftOn, Result, RunStore, Spec, StateCache
from ufsim_papers.figure import Point, Run, columns

# runs done, runs in all
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Means:
    """With what points are measured: how many at a time, where aged states and results are kept, who is told."""

    jobs: int
    cache: StateCache | None = None
    store: RunStore | None = None
    progress: Progress | None = None
    left_on: LeftOn | None = None


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
    """Points whose devices are aged alike one after another: a cache of states need not hold those of all."""
    places: dict[Any, int] = {}

    def place(entry: tuple[str, Run | Point]) -> int:
        name: Any = entry[0]
        spec = entry[1].spec if isinstance(entry[1], Run) else None
        if spec is not None and spec.stay_on:
            name = LeftOn.machine(spec)
        elif spec is not None and spec.age is not None:
            name = (spec.age, spec.profile, spec.scheme, spec.seed)
        return places.setdefault(name, len(places))

    return dict(sorted(points.items(), key=place))


def columns_of(point: Run | Point, means: Means, watch: Callable[..., None]) -> dict[str, Any]:
    """The columns of a point, from the store or measured now."""
    if isinstance(point, Run):
        options, make = asdict(point.spec), partial(report, point.spec, means, watch)
        return columns(Result(make() if means.store is None else means.store.kept(options, make)))
    if means.store is None or point.inputs is None:
        return point.measure()
    # Columns of a point are made in Python, so that these sources are inputs, too.
    return means.store.kept({**point.inputs, "module": source(point.measure), "python": sources()}, point.measure)


def report(spec: Spec, means: Means, watch: Callable[..., None]) -> dict[str, Any]:
    """The report of a run."""
    if spec.stay_on and means.left_on is not None:
        watch()
        return means.left_on.simulated(spec)
    result = ufsim.run(**asdict(spec), seeds=1, cache=means.cache, progress=watch)
    assert isinstance(result, Result)
    return dict(result.data)


def source(measure: Callable[[], Any]) -> str:
    """The sources of the module that measures a point."""
    code = measure.func if isinstance(measure, partial) else measure
    module = inspect.getmodule(code if inspect.isfunction(code) else type(code))
    return "" if module is None else inspect.getsource(module)


@cache
def sources() -> str:
    """A digest of all modules of ufsim and of this package."""
    return digest_of(Path(ufsim.__file__).parent, Path(ufsim_papers.__file__).parent)


def digest_of(*packages: Path) -> str:
    """A digest of packages: names and texts of their modules, those in rooms, too."""
    found = sha256()
    for package in packages:
        for file in sorted(package.rglob("*.py")):
            found.update(f"{package.name}/{file.relative_to(package)}\n".encode())
            found.update(sha256(file.read_bytes()).digest())
    return found.hexdigest()
