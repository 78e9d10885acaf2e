"""Power cuts: the campaign, many seeded cases, some at a time; and how long HP-UFS's recovery takes."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from ufsim import _core
from ufsim._core import ConfigError
from ufsim.documents import Document, parse
from ufsim.spec import check_range


@dataclass
class SchemeReport:
    """What the cases of one scheme have gone through."""

    cases: int = 0
    cuts: int = 0
    longest_recovery_ms: float = 0.0

    def add(self, other: "SchemeReport") -> None:
        """Adds other cases."""
        self.cases += other.cases
        self.cuts += other.cuts
        self.longest_recovery_ms = max(self.longest_recovery_ms, other.longest_recovery_ms)


@dataclass
class Campaign:
    """What all cases have gone through, and those that broke a promise."""

    runs: int
    steps: int = 0
    """Of the simulation of the whole, as `requests` and `checked_units` are."""
    requests: int = 0
    """Requests that clients had answered."""
    checked_units: int = 0
    """Units that clients read and compared."""
    moments: dict[str, int] = field(default_factory=dict)
    circumstances: dict[str, int] = field(default_factory=dict)
    schemes: dict[str, SchemeReport] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)

    @property
    def cuts(self) -> int:
        """Power cuts in all cases that kept their promises."""
        return sum(scheme.cuts for scheme in self.schemes.values())

    def add(self, case: dict[str, Any]) -> None:
        """Adds the report of a case."""
        scheme = self.schemes.setdefault(case["scheme"], SchemeReport())
        if "what" in case:
            scheme.add(SchemeReport(cases=1))
            self.failures.append(case)
            return
        self.steps += case.get("steps", 0)
        self.requests += case.get("requests", 0)
        self.checked_units += case.get("checked_units", 0)
        scheme.add(SchemeReport(1, case["cuts"], case["longest_recovery_ns"] / 1e6))
        add_counts(self.moments, case["moments"])
        add_counts(self.circumstances, case["circumstances"])

    def join(self, other: "Campaign") -> None:
        """Adds the cases of another campaign."""
        self.runs += other.runs
        self.steps += other.steps
        self.requests += other.requests
        self.checked_units += other.checked_units
        add_counts(self.moments, other.moments)
        add_counts(self.circumstances, other.circumstances)
        for name, scheme in other.schemes.items():
            self.schemes.setdefault(name, SchemeReport()).add(scheme)
        self.failures += other.failures

    def document(self) -> dict[str, Any]:
        """The campaign for programs."""
        return {
            "runs": self.runs,
            "cuts": self.cuts,
            "steps": self.steps,
            "requests": self.requests,
            "checked_units": self.checked_units,
            "moments": self.moments,
            "circumstances": self.circumstances,
            "schemes": {name: asdict(scheme) for name, scheme in sorted(self.schemes.items())},
            "failures": self.failures,
        }

    @classmethod
    def of_document(cls, document: dict[str, Any]) -> "Campaign":
        """The campaign that [document][ufsim.crash.Campaign.document] was made of."""
        return cls(
            document["runs"],
            document["steps"],
            document["requests"],
            document["checked_units"],
            document["moments"],
            document["circumstances"],
            {name: SchemeReport(**scheme) for name, scheme in document["schemes"].items()},
            document["failures"],
        )


def add_counts(counts: dict[str, int], more: dict[str, int]) -> None:
    """Adds counts by name."""
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count


def crash(
    runs: int = 200,
    *,
    seed: int = 0,
    case: str | None = None,
    sabotage: str | None = None,
    jobs: int = 1,
    whole: bool = False,
    progress: Callable[[int], None] | None = None,
    smaller: Callable[[str, int], None] | None = None,
) -> Campaign:
    """Goes through the cases of the seeds from `seed` on, `jobs` at a time; the report does not depend on `jobs`.

    With `case`, as a failure names it, goes through that case instead. `sabotage` makes the devices break a promise.
    With `whole`, server, clients, disk and device are simulated together. `progress` is called with the number of cases
    done; `smaller`, from any thread, with a failed case and how many smaller ones have been tried instead of it.
    """
    check_range("runs", runs, 1, 10_000_000)
    check_range("seed", seed, 0, 2**63)
    check_range("jobs", jobs, 1, 1024)
    if case is not None:
        if (seed, sabotage) != (0, None):
            raise ConfigError("case says which seed and sabotage it has; leave these out")
        cases = [case]
    else:
        suffix = "" if sabotage is None else f"/break={sabotage}"
        cases = [f"{one}{suffix}" for one in range(seed, seed + runs)]

    def go(case: str) -> str:
        return _core.crash_case(case, whole, None if smaller is None else partial(smaller, case))

    result = Campaign(len(cases))
    for done, report in enumerate(_reports(cases, jobs, go), 1):
        result.add(report)
        if progress is not None:
            progress(done)
    return result


def _reports(cases: Sequence[str], jobs: int, go: Callable[[str], str]) -> Iterator[dict[str, Any]]:
    """The reports in the order of the cases. If the caller stops, the cases not begun are dropped."""
    stopped = threading.Event()

    def report(case: str) -> dict[str, Any] | None:
        return None if stopped.is_set() else parse(go(case))

    with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="ufsim") as pool:
        try:
            for told in pool.map(report, cases):
                assert told is not None
                yield told
        finally:
            stopped.set()


# A case with more acts than this is not told act by act.
FEW_ACTS = 40


def recovery(segments: int, pages: int, segment_kib: int | None = None) -> Document:
    """A recovery under scheme `hp-ufs`: `recovered_segments`, `scanned_pages`, `total_ms` and its parts.

    The device's log blocks hold `pages` (up to 32768) pages of `segments` segments. With `segment_kib` (1, 2 or 4)
    these are written to flash in parts of that size, and tables lie beside the SRAM pool.
    """
    return parse(_core.recovery(segments, pages, segment_kib))


def worst_recovery(*, unlimited_memory: bool = False) -> Document:
    """The longest recovery of 16 cuts in a run under the limits of profile `hp-ufs`, as `recovery` gives one.

    The run writes every page to another segment; `writes` is the number of these before the cut. With
    `unlimited_memory` the host may cache all segments.
    """
    return parse(_core.worst_recovery(unlimited_memory))


def failure_lines(failure: dict[str, Any], *, whole: bool = False) -> list[str]:
    """What a failed case was, and the command that repeats it."""
    acts = failure["acts"]
    told = acts if len(acts) <= FEW_ACTS else [*acts[:3], f"{len(acts) - 6} more acts", *acts[-3:]]
    lines = [f"{failure['scheme']}: {failure['what']}", *(f"    {act}" for act in told)]
    return [*lines, f"  repeat with: ufsim crash{' --whole' if whole else ''} --case {failure['case']}"]
