"""Runs simulations: each on a thread of its own, because the core releases the interpreter's lock."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, overload

from ufsim import _core
from ufsim.documents import parse
from ufsim.formats import workload_names
from ufsim.results import Comparison, Result
from ufsim.spec import DEFAULT_SCHEME, DEFAULT_SCHEMES, Spec, check_range
from ufsim.states import StateCache
from ufsim.suite import Suite

# scheme (after the workload, if there are several),
# phase ("age", "precondition" or "run"), bytes completed, bytes in all if known, simulated nanoseconds
Progress = Callable[[str, str, int, int | None, int], None]


class Cancelled(Exception):
    """Raised inside a progress call to stop a simulation whose result nobody wants any more."""


@overload
def run(
    workload: str | Path,
    scheme: str = DEFAULT_SCHEME,
    *,
    progress: Progress | None = None,
    cache: StateCache | None = None,
    **options: Any,
) -> Result: ...


@overload
def run(
    workload: Sequence[str | Path],
    scheme: str = DEFAULT_SCHEME,
    *,
    progress: Progress | None = None,
    cache: StateCache | None = None,
    **options: Any,
) -> Suite: ...


def run(
    workload: str | Path | Sequence[str | Path],
    scheme: str = DEFAULT_SCHEME,
    *,
    progress: Progress | None = None,
    cache: StateCache | None = None,
    **options: Any,
) -> Result | Suite:
    """Simulates one scheme.

    `workload` is a trace directory, a trace file or a fio job file; `options` are the fields of `ufsim.spec.Spec`
    (`profile`, `settings`, `replay`, `depth`, `seed`, `precondition`, `host_memory_mib`, ...). A list of workloads
    gives a `Suite`. `progress` is called a few times per second from another thread. Raises `ConfigError`
    (`OptionError` for an option that has no effect on such a workload), `FileNotFoundError` or `SimulationBug`.
    """
    done = compare(workload, [scheme], jobs=1, progress=progress, cache=cache, **options)
    return done if isinstance(done, Suite) else done.results[0]


@overload
def compare(
    workload: str | Path,
    schemes: Iterable[str] = DEFAULT_SCHEMES,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: StateCache | None = None,
    **options: Any,
) -> Comparison: ...


@overload
def compare(
    workload: Sequence[str | Path],
    schemes: Iterable[str] = DEFAULT_SCHEMES,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: StateCache | None = None,
    **options: Any,
) -> Suite: ...


def compare(
    workload: str | Path | Sequence[str | Path],
    schemes: Iterable[str] = DEFAULT_SCHEMES,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: StateCache | None = None,
    **options: Any,
) -> Comparison | Suite:
    """Simulates several schemes under the same workload, `jobs` at a time (default: one for each processor).

    A list of workloads gives a `Suite` with a comparison for each. `schemes` may be "all". The results come in the
    order of `schemes` and are the same for every number of jobs, and the same whether or not a `cache` keeps the states
    of aged devices. Otherwise as `run`.
    """
    names = scheme_names(schemes)
    if jobs is None:
        jobs = os.cpu_count() or 1
    check_range("jobs", jobs, 1, 1024)
    workloads = [str(workload)] if isinstance(workload, str | Path) else workload_list(workload)
    specs = [Spec(workload=one, scheme=name, **options) for one in workloads for name in names]
    for spec in specs:
        spec.check()
    results = run_all(specs, jobs, progress, cache)
    size = len(names)
    comparisons = [
        Comparison(workload=one, results=results[place * size : (place + 1) * size])
        for place, one in enumerate(workloads)
    ]
    return comparisons[0] if isinstance(workload, str | Path) else Suite(comparisons)


def scheme_names(schemes: Iterable[str]) -> list[str]:
    """The schemes asked for: one name, several, or "all"."""
    names = [schemes] if isinstance(schemes, str) else list(schemes)
    if names == ["all"]:
        return [preset["name"] for preset in _core.schemes()]
    if not names:
        raise _core.ConfigError("schemes is empty; at least one is needed")
    if len(set(names)) != len(names):
        raise _core.ConfigError(f"schemes is '{','.join(names)}'; each scheme may be named once")
    return names


def workload_list(workloads: Iterable[str | Path]) -> list[str]:
    """The workloads of a suite."""
    paths = [str(workload) for workload in workloads]
    if not paths:
        raise _core.ConfigError("workload is an empty list; at least one is needed")
    for path in paths:
        if paths.count(path) > 1:
            raise _core.ConfigError(f"workload '{path}' is named twice; each may be named once")
    return paths


def run_all(
    specs: list[Spec], jobs: int, progress: Progress | None = None, cache: StateCache | None = None
) -> list[Result]:
    """Runs `specs` in threads; the first failure, or an interrupt, stops all of them."""

    def simulate(spec: Spec, report: Callable[..., None]) -> Result:
        aged = spec if cache is None else cache.aged(spec, report)
        return Result(parse(_core.simulate(aged.to_json(), report)))

    return run_threads(specs, jobs, simulate, progress)


def run_labels(specs: list[Spec]) -> list[str]:
    """What runs are called while they go on: their schemes and, if there are several, their workloads."""
    workloads = list(dict.fromkeys(spec.workload for spec in specs))
    if len(workloads) == 1:
        return [spec.scheme for spec in specs]
    names = dict(zip(workloads, workload_names(workloads), strict=True))
    return [f"{names[spec.workload]} {spec.scheme}" for spec in specs]


def run_threads(
    specs: list[Spec],
    jobs: int,
    simulate: Callable[[Spec, Callable[..., None]], Result],
    progress: Progress | None = None,
) -> list[Result]:
    """Calls `simulate` with each of `specs` and what it has to report to, in threads; the first failure stops all."""
    cancelled = threading.Event()
    labels = run_labels(specs)

    def one(place: int) -> Result:
        spec = specs[place]

        def report(done: int, total: int | None, sim_ns: int, phase: str = "run") -> None:
            if cancelled.is_set():
                raise Cancelled
            if progress is not None:
                progress(labels[place], phase, done, total, sim_ns)

        if cancelled.is_set():
            raise Cancelled
        return simulate(spec, report)

    with ThreadPoolExecutor(max_workers=min(jobs, len(specs)), thread_name_prefix="ufsim") as pool:
        futures = [pool.submit(one, place) for place in range(len(specs))]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            cancelled.set()
    failures = [error for error in (future.exception() for future in futures) if error is not None]
    for error in failures:
        if not isinstance(error, Cancelled):
            raise error
    return [future.result() for future in futures]
