"""Names that users type: what is meant by one that does not exist, and values of other libraries as plain ones."""

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import chain
from typing import Any

from ufsim import _core


def nearest(name: str, allowed: Iterable[str], least: float = 0.6) -> str | None:
    """The allowed name that is most like `name`, if any is like it by the `least` of `difflib`'s ratio."""
    spellings = {known.lower().replace("_", "-"): known for known in reversed(list(allowed))}
    found = get_close_matches(name.lower().replace("_", "-"), spellings, n=1, cutoff=least)
    return spellings[found[0]] if found else None


def nearest_key(key: str, allowed: Iterable[str]) -> str | None:
    """The allowed key that `key` may mean: its name in another table, or a name of its own table that is like it."""
    table, _, name = key.rpartition(".")
    tables: dict[str, list[str]] = {}
    for known in allowed:
        tables.setdefault(known.rpartition(".")[0], []).append(known.rpartition(".")[2])
    names, everywhere = tables.get(table), list(chain.from_iterable(tables.values()))
    if name in everywhere:
        own: str | None = name
    elif names is not None:
        holding = [known for known in names if name in known]
        own = nearest(name, names) or (holding[0] if len(holding) == 1 else None)
    else:
        own = nearest(name, everywhere, least=0.8)
    having = [known for known, theirs in tables.items() if own in theirs]
    if own is None:
        return None
    return f"{table if table in having else nearest(table, having) or having[0]}.{own}"


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """The end of a message about a wrong name: "; did you mean 'seed'?", or nothing where no name is like it."""
    found = nearest(name, allowed)
    return "" if found is None else f"; did you mean '{found}'?"


# Names that a message lists at most: processes of a log are hundreds.
MOST_LISTED = 40


def check_choice(field_name: str, value: object, allowed: Iterable[str], also: str = "") -> None:
    """Raises `ConfigError` unless `value` is one of `allowed`; `also` names what else there is."""
    allowed = list(allowed)
    if value not in allowed:
        more = f" and {len(allowed) - MOST_LISTED} more" if len(allowed) > MOST_LISTED else ""
        told = ", ".join(allowed[:MOST_LISTED]) + more + also
        raise _core.ConfigError(f"{field_name} is '{value}'; allowed: {told}{did_you_mean(str(value), allowed)}")


def check_profile(name: str) -> None:
    """Raises `ConfigError` for what is nearly the name of a built-in profile; others the core refuses."""
    if not os.path.exists(name) and nearest(name, _core.profiles()):
        check_choice("profile", name, _core.profiles(), ", or the path of a file")


def check_range(field_name: str, value: object, low: int, high: int) -> int:
    """The integer that `value` is, of numpy or not; raises `ConfigError` unless it lies from `low` to `high`."""
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
        raise _core.ConfigError(f"{field_name} is {number!r}; allowed: an integer from {low} to {high}")
    return number


def plain(value: Any) -> Any:
    """A value as JSON knows it: numpy's scalars become numbers, paths texts, collections lists and dictionaries."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    # Scalars of numpy, without importing it. Its floats and texts are also Python's, but not all of its numbers are.
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        return value.item()
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value
