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
    """The last parts of workloads' paths, as many as tell them apart, without options that all of them have."""
    parts = [Path(workload).resolve().parts for workload in workloads]
    for length in range(1, max(map(len, parts), default=1)):
        names = ["/".join(path[-length:]) for path in parts]
        if len(set(names)) == len(names):
            return without_shared_words(names)
    return list(workloads)


def without_shared_words(names: Sequence[str]) -> list[str]:
    """Names of several words without those that all of them have, if the others tell them apart."""
    shared = set.intersection(*(set(name.split()) for name in names)) if names else set()
    short = [" ".join(word for word in name.split() if word not in shared) for name in names]
    return short if all(short) and len(set(short)) == len(short) else list(names)


def number(value: float, half: float | None = None) -> str:
    """Three significant digits, without an exponent; with half of the interval around it as far as these show it."""
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    return around(value, half, digits)


def around(value: float, half: float | None, digits: int) -> str:
    """A value with half of the interval around it, unless that is not known, or nothing in so many digits."""
    told = f"{value:,.{digits}f}"
    return f"{told} ± {half:,.{digits}f}" if half and round(half, digits) else told


def count(value: float, half: float | None = None) -> str:
    """A number of things; a mean of several numbers with three digits."""
    return number(value, half) if half else f"{value:,.0f}"


def plural(number: int, thing: str) -> str:
    """So many things, or one: the plural has an s."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def ratio(value: float, half: float | None = None) -> str:
    """Two digits behind the point."""
    return around(value, half, 2)


def share(value: float, half: float | None = None) -> str:
    """A share of 0 to 1 in per cent."""
    return f"{around(value * 100, half and half * 100, 1)} %"


def percent_change(value: float, half: float | None = None) -> str:
    """A signed percentage; what rounds to nothing has no sign."""
    rounded = round(value, 1)
    sign = "+" if rounded > 0 else ""
    # A negative zero would have one.
    return f"{sign}{around(value if rounded else 0.0, half, 1)} %"


def duration(nanoseconds: float | None, half: float | None = None) -> str:
    """A time with a unit that suits its size."""
    if nanoseconds is None:
        return "–"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{number(nanoseconds / size, half and half / size)} {unit}"
    return f"{around(nanoseconds, half, 0)} ns"
