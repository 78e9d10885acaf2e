"""The power-cut campaign: many seeded cases, some at a time."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ufsim import _core
from ufsim.documents import parse
from ufsim.spec import check_range


@dataclass
class SchemeReport:
    """What the cases of one scheme have gone through."""

    cases: int = 0
    cuts: int = 0
    longest_recovery_ms: float = 0.0


@dataclass
class Campaign:
    """What all cases have gone through, and those that broke a promise."""

    runs: int
    moments: dict[str, int] = field(default_factory=dict)
    schemes: dict[str, SchemeReport] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)

    @property
    def cuts(self) -> int:
        """Power cuts in all cases that kept their promises."""
        return sum(scheme.cuts for scheme in self.schemes.values())

    def add(self, case: dict[str, Any]) -> None:
        """Adds the report of a case."""
        scheme = self.schemes.setdefault(case["scheme"], SchemeReport())
        scheme.cases += 1
        if "what" in case:
            self.failures.append(case)
            return
        scheme.cuts += case["cuts"]
        scheme.longest_recovery_ms = max(scheme.longest_recovery_ms, case["longest_recovery_ns"] / 1e6)
        for moment, count in case["moments"].items():
            self.moments[moment] = self.moments.get(moment, 0) + count

    def document(self) -> dict[str, Any]:
        """The campaign for programs."""
        schemes = {name: vars(scheme) for name, scheme in sorted(self.schemes.items())}
        return {
            "runs": self.runs,
            "cuts": self.cuts,
            "moments": self.moments,
            "schemes": schemes,
            "failures": self.failures,
        }


def crash(
    runs: int = 200,
    *,
    seed: int = 0,
    rounds: int | None = None,
    requests: int | None = None,
    sabotage: str | None = None,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Campaign:
    """Goes through the cases of the seeds from `seed` on, `jobs` at a time; the report does not depend on `jobs`.

    `rounds` power cuts with up to `requests` requests before each; the defaults are those of a whole case. `progress`
    is called with the number of cases done.
    """
    check_range("runs", runs, 1, 10_000_000)
    check_range("seed", seed, 0, 2**63)
    check_range("jobs", jobs, 1, 1024)
    for name, value, most in (("rounds", rounds, 100), ("requests", requests, 1_000_000)):
        if value is not None:
            check_range(name, value, 1, most)
    campaign = Campaign(runs)
    for done, case in enumerate(_cases(range(seed, seed + runs), (rounds, requests, sabotage), jobs), 1):
        campaign.add(case)
        if progress is not None:
            progress(done)
    return campaign


def _cases(seeds: range, options: tuple[Any, ...], jobs: int) -> Iterator[dict[str, Any]]:
    """The reports in the order of the seeds. If the caller stops, the cases not begun are dropped."""
    stopped = threading.Event()

    def case(seed: int) -> dict[str, Any] | None:
        return None if stopped.is_set() else parse(_core.crash_case(seed, *options))

    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="ufsim") as pool:
        try:
            for report in pool.map(case, seeds):
                assert report is not None
                yield report
        finally:
            stopped.set()


def replay_command(failure: dict[str, Any], sabotage: str | None) -> str:
    """The command that repeats a case."""
    command = f"ufsim crash --runs 1 --seed {failure['seed']} --rounds {failure['rounds']}"
    command += f" --requests {failure['requests']}"
    return command if sabotage is None else f"{command} --sabotage {sabotage}"
