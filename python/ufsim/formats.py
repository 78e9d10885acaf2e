"""How numbers and names are written, in tables and pictures alike."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ufsim import _core

# Longest name of a file that is made of an inline job.
NAME_LENGTH = 80


def workload_name(workload: str) -> str:
    """The last part of a workload's path; an inline job without what a file's name cannot have."""
    if _core.is_inline_job(workload) and not os.path.exists(workload):
        return re.sub(r"[^A-Za-z0-9._]+", "-", workload).strip("-")[:NAME_LENGTH]
    return Path(workload).resolve().name


def workload_names(workloads: Sequence[str]) -> list[str]:
    """The last parts of workloads' paths, as many as tell them apart."""
    parts = [Path(workload).resolve().parts for workload in workloads]
    for length in range(1, max(map(len, parts), default=1)):
        names = ["/".join(path[-length:]) for path in parts]
        if len(set(names)) == len(names):
            return names
    return list(workloads)


def number(value: float) -> str:
    """Three significant digits, without an exponent."""
    for bound, form in ((10, ".2f"), (100, ".1f")):
        if abs(value) < bound:
            return f"{value:{form}}"
    return f"{value:,.0f}"


def percent_change(value: float) -> str:
    """A signed percentage; what rounds to nothing has no sign."""
    rounded = round(value, 1)
    return f"{rounded:+.1f} %" if rounded else "0.0 %"


def duration(nanoseconds: float | None) -> str:
    """A time with a unit that suits its size."""
    if nanoseconds is None:
        return "–"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{number(nanoseconds / size)} {unit}"
    return f"{nanoseconds:.0f} ns"
