"""Runs simulations: each on a thread of its own, because the core releases the interpreter's lock."""

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from ufsim import _core
from ufsim.documents import parse
from ufsim.results import Comparison, Result
from ufsim.spec import DEFAULT_SCHEME, DEFAULT_SCHEMES, Spec, check_range
from ufsim.states import StateCache

# scheme, phase ("age", "precondition" or "run"), bytes completed, bytes in all if known, simulated nanoseconds
Progress = Callable[[str, str, int, int | None, int], None]


class Cancelled(Exception):
    """Raised inside a progress call to stop a simulation whose result nobody wants any more."""


def run(
    workload: str | Path,
    scheme: str = DEFAULT_SCHEME,
    *,
    progress: Progress | None = None,
    cache: StateCache | None = None,
    **options: Any,
) -> Result:
    """Simulates one scheme.

    `workload` is a trace directory, a trace file or a fio job file; `options` are the fields of `ufsim.spec.Spec`
    (`profile`, `settings`, `replay`, `depth`, `seed`, `precondition`, `host_memory_mib`, ...). `progress` is called a
    few times per second from another thread. Raises `ConfigError`, `FileNotFoundError` or `SimulationBug`.
    """
    return compare(workload, [scheme], jobs=1, progress=progress, cache=cache, **options).results[0]


def compare(
    workload: str | Path,
    schemes: Iterable[str] = DEFAULT_SCHEMES,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: StateCache | None = None,
    **options: Any,
) -> Comparison:
    """Simulates several schemes under the same workload, `jobs` at a time (default: one for each processor).

    The results come in the order of `schemes` and are the same for every number of jobs, and the same whether or not a
    `cache` keeps the states of aged devices. Otherwise as `run`.
    """
    names = [schemes] if isinstance(schemes, str) else list(schemes)
    if not names:
        raise _core.ConfigError("schemes is empty; at least one is needed")
    if len(set(names)) != len(names):
        raise _core.ConfigError(f"schemes is '{','.join(names)}'; each scheme may be named once")
    if jobs is None:
        jobs = os.cpu_count() or 1
    check_range("jobs", jobs, 1, 1024)
    specs = [Spec(workload=str(workload), scheme=name, **options) for name in names]
    for spec in specs:
        spec.check()
    return Comparison(workload=str(workload), results=run_all(specs, jobs, progress, cache))


def run_all(
    specs: list[Spec], jobs: int, progress: Progress | None = None, cache: StateCache | None = None
) -> list[Result]:
    """Runs `specs` in threads; the first failure, or an interrupt, stops all of them."""

    def simulate(spec: Spec, report: Callable[..., None]) -> Result:
        aged = spec if cache is None else cache.aged(spec, report)
        return Result(parse(_core.simulate(aged.to_json(), report)))

    return run_threads(specs, jobs, simulate, progress)


def run_threads(
    specs: list[Spec],
    jobs: int,
    simulate: Callable[[Spec, Callable[..., None]], Result],
    progress: Progress | None = None,
) -> list[Result]:
    """Calls `simulate` with each of `specs` and what it has to report to, in threads; the first failure stops all."""
    cancelled = threading.Event()

    def one(spec: Spec) -> Result:
        def report(done: int, total: int | None, sim_ns: int, phase: str = "run") -> None:
            if cancelled.is_set():
                raise Cancelled
            if progress is not None:
                progress(spec.scheme, phase, done, total, sim_ns)

        if cancelled.is_set():
            raise Cancelled
        return simulate(spec, report)

    with ThreadPoolExecutor(max_workers=min(jobs, len(specs)), thread_name_prefix="ufsim") as pool:
        futures = [pool.submit(one, spec) for spec in specs]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            cancelled.set()
    failures = [error for error in (future.exception() for future in futures) if error is not None]
    for error in failures:
        if not isinstance(error, Cancelled):
            raise error
    return [future.result() for future in futures]
