"""Runs simulations: each on a thread of its own, because the core releases the interpreter's lock."""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from os import PathLike
from pathlib import Path
from typing import SupportsIndex, Unpack, overload

from ufsim import _core, outputs
from ufsim.documents import parse
from ufsim.names import check_range
from ufsim.observe import Log, Observed, PathText
from ufsim.results import repeats
from ufsim.results.formats import workload_names
from ufsim.results.request_log import RequestLog
from ufsim.results.result import Comparison, Result
from ufsim.results.suite import Suite
from ufsim.spec import DEFAULT_SCHEME, DEFAULT_SCHEMES, RunOptions, Spec, Workload, specs_of
from ufsim.states import StateCache, simulated

# scheme (after the workload, if there are several), phase ("wait", "age", "precondition", "run" or "verify"),
# bytes completed, bytes in all if known, simulated nanoseconds
Progress = Callable[[str, str, int, int | None, int], None]

# States of aged devices: kept in the usual place (True), in a directory, in a cache, or not at all (False).
Cache = StateCache | bool | str | PathLike[str] | None


class Keywords(RunOptions, total=False):
    """What `run` and `compare` may be told besides what they run."""

    seeds: SupportsIndex | None
    progress: Progress | None
    cache: Cache
    log: Log
    timeline: PathText | None
    timeline_window: str | None
    series: PathText | None
    step: str | None
    bins: bool


class Cancelled(Exception):
    """Raised inside a progress call to stop a simulation whose result nobody wants any more."""


# A text is a sequence of texts as well; the first that fits is taken.
@overload
def run(  # type: ignore[overload-overlap]
    workload: Workload,
    scheme: str = DEFAULT_SCHEME,
    **keywords: Unpack[Keywords],
) -> Result: ...


@overload
def run(
    workload: Sequence[Workload],
    scheme: str = DEFAULT_SCHEME,
    **keywords: Unpack[Keywords],
) -> Suite: ...


def run(
    workload: Workload | Sequence[Workload],
    scheme: str = DEFAULT_SCHEME,
    *,
    seeds: SupportsIndex | None = None,
    progress: Progress | None = None,
    cache: Cache = True,
    log: Log = False,
    timeline: PathText | None = None,
    timeline_window: str | None = None,
    series: PathText | None = None,
    step: str | None = None,
    bins: bool = False,
    **options: Unpack[RunOptions],
) -> Result | Suite:
    """Simulates one scheme.

    `workload` is a trace directory, a trace file or a fio job file; a list of them gives a `Suite`. `options` are those
    of `ufsim.RunOptions`, which docs/run.md lists: `profile`, `settings`, `replay`, `depth`, `seed`, `precondition`,
    `host_memory_mib`, ... Numbers may be numpy scalars, files may be paths. `progress` is called a few times per second
    from another thread.

    States of aged devices (`age`) are kept in `$UFSIM_CACHE`, or in `ufsim` in the user's directory for caches, as on
    the command line. `cache` names another directory, or is a `StateCache`; `cache=False` ages anew. The result is the
    same.

    With `log` every request is kept for `Result.requests`: up to a million, or as many as it says. If it is the path of
    a Parquet file, the requests are written there instead, however many, with their stages; `ufsim.columns("log")` says
    what is in it. There is no such file of several workloads.

    `timeline` is the path of a file for the Perfetto UI (.pftrace), with all that dies, channels, link and firmware do;
    `timeline_window` is a part of the run, such as "2s..2.5s". `series` is the path of a Parquet file with a row for
    each interval of a `step`, such as "10ms" (default: 100ms); `ufsim.columns("series")` says what is in it.

    With `bins` the result has fio's fine bins of latencies, which `Result.to_fio_json` writes as `json+` does.

    `seeds` is how often the run is made, with seeds that follow each other; by default five times where ageing, faults,
    host time or the link draw at random, and once otherwise. The result is that of the first seed and knows the others
    as `repeats`; logs, timelines and series are of the first.

    Raises `outputs.Unwritten` if such a file could not be written; its `done` is the result all the same. Raises
    `ConfigError` (`OptionError` for an option that has no effect on such a workload), `FileNotFoundError` or
    `SimulationBug`, and `TypeError` for an option that does not exist.
    """
    specs = specs_of("run", workload, scheme, options)
    observed = Observed(log, timeline, timeline_window, series, step, bins)
    results = run_seeds(specs, seeds, jobs_of(None), progress, states_of(cache), observed)
    done = results[0] if isinstance(workload, str | PathLike) else suite_of(specs, results)
    raise_unwritten(results, done)
    return done


@overload
def compare(  # type: ignore[overload-overlap]
    workload: Workload,
    schemes: str | Iterable[str] = DEFAULT_SCHEMES,
    *,
    jobs: SupportsIndex | None = None,
    **keywords: Unpack[Keywords],
) -> Comparison: ...


@overload
def compare(
    workload: Sequence[Workload],
    schemes: str | Iterable[str] = DEFAULT_SCHEMES,
    *,
    jobs: SupportsIndex | None = None,
    **keywords: Unpack[Keywords],
) -> Suite: ...


def compare(
    workload: Workload | Sequence[Workload],
    schemes: str | Iterable[str] = DEFAULT_SCHEMES,
    *,
    seeds: SupportsIndex | None = None,
    jobs: SupportsIndex | None = None,
    progress: Progress | None = None,
    cache: Cache = True,
    log: Log = False,
    timeline: PathText | None = None,
    timeline_window: str | None = None,
    series: PathText | None = None,
    step: str | None = None,
    bins: bool = False,
    **options: Unpack[RunOptions],
) -> Comparison | Suite:
    """Simulates several schemes under the same workload, `jobs` at a time (default: one for each processor).

    A list of workloads gives a `Suite` with a comparison for each. `schemes` may be "all". The results come in the
    order of `schemes` and are the same for every number of jobs, and the same whether or not a `cache` keeps the states
    of aged devices. Of several `seeds` each scheme has the same ones, and gains are taken seed by seed. Otherwise as
    `run`.
    """
    specs = specs_of("compare", workload, schemes, options)
    observed = Observed(log, timeline, timeline_window, series, step, bins)
    results = run_seeds(specs, seeds, jobs_of(jobs), progress, states_of(cache), observed)
    suite = suite_of(specs, results)
    done = suite[0] if isinstance(workload, str | PathLike) else suite
    raise_unwritten(results, done)
    return done


def raise_unwritten(results: Iterable[Result], done: Result | Comparison | Suite) -> None:
    """Raises `Unwritten` if logs, timelines or series of these results could not be written."""
    if failures := [line for result in results for line in result.unwritten]:
        raise outputs.Unwritten(failures, done=done)


def suite_of(specs: list[Spec], results: list[Result]) -> Suite:
    """A comparison for each workload, from the results of these specifications."""
    workloads = dict.fromkeys(spec.workload for spec in specs)
    own = {name: [one for spec, one in zip(specs, results, strict=True) if spec.workload == name] for name in workloads}
    return Suite([Comparison(name, found) for name, found in own.items()])


def jobs_of(jobs: SupportsIndex | None) -> int:
    """How many runs there may be at a time; one for each processor unless it is said."""
    return os.cpu_count() or 1 if jobs is None else check_range("jobs", jobs, 1, 1024)


def states_of(cache: Cache) -> StateCache | None:
    """Where states of aged devices are kept, if they are."""
    if isinstance(cache, StateCache):
        return cache
    if isinstance(cache, bool) or cache is None:
        return StateCache() if cache else None
    return StateCache(Path(cache))


def run_seeds(
    specs: list[Spec],
    seeds: SupportsIndex | None,
    jobs: int,
    progress: Progress | None,
    cache: StateCache | None,
    observed: Observed,
) -> list[Result]:
    """Runs `specs` with several seeds each; only the first seeds are observed. A result for each of `specs`."""
    count = repeats.count_of(specs, seeds)
    each = repeats.repeated(specs, count)
    return repeats.together(run_observed(each, jobs, progress, cache, observed, of_first=len(specs)), count)


def run_all(
    specs: list[Spec], jobs: int, progress: Progress | None = None, cache: StateCache | None = None
) -> list[Result]:
    """Runs `specs` in threads; the first failure, or an interrupt, stops all of them."""
    return run_observed(specs, jobs, progress, cache, Observed())


def run_observed(
    specs: list[Spec],
    jobs: int,
    progress: Progress | None,
    cache: StateCache | None,
    observed: Observed,
    *,
    of_first: int | None = None,
) -> list[Result]:
    """Runs `specs` as `run_all`, and keeps what is wanted of them, or of so many first ones, beside their results."""
    observed.check(specs)
    watched = specs[:of_first]

    def simulate(spec: Spec, report: Callable[..., None]) -> Result:
        wanted = observed if spec in watched else Observed()
        ran = None
        with wanted.of(spec, alone=len(watched) == 1) as asked:

            def core(begun: Spec) -> "tuple[str, _core.LogPart | None, str | None]":
                text = begun.to_json()
                if not asked.core:
                    return _core.simulate(text, report), None, None
                return _core.simulate_observed(text, report, **asked.core)

            ran = simulated(cache, spec, report, core)
            asked.ended(ran[2])
        if ran is None:
            raise outputs.Unwritten(asked.unwritten)
        document, log, _ = ran
        kept = RequestLog(log.columns(), log.processes, log.left_out) if log is not None else None
        return Result(parse(document), kept, unwritten=tuple(asked.unwritten))

    return run_threads(specs, jobs, simulate, progress)


def run_labels(specs: list[Spec]) -> list[str]:
    """What runs are called while they go on: their schemes and, if there are several, their workloads and seeds."""
    workloads = list(dict.fromkeys(spec.workload for spec in specs))
    names = dict(zip(workloads, workload_names(workloads), strict=True))
    several = len({spec.seed for spec in specs}) > 1
    labels = [f"{spec.scheme} seed {spec.seed}" if several else spec.scheme for spec in specs]
    if len(workloads) == 1:
        return labels
    return [f"{names[spec.workload]} {label}" for spec, label in zip(specs, labels, strict=True)]


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
