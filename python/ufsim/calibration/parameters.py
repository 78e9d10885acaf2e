"""The parameters of a fit: keys of a profile, each with bounds, on a scale from 0 to 1."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ufsim import _core
from ufsim._options import Setting
from ufsim.devices import describe_profile
from ufsim.names import did_you_mean
from ufsim.spec import profile_keys
from ufsim.toml_files import toml_tables

# Left out, bounds are so many times below and above the profile's value.
REACH = 4
# Bounds at least so far apart are searched on a logarithmic scale.
LOGARITHMIC = 8
# If the lower bound is 0: below this part of the upper one values are equally spaced again.
FROM_ZERO = 256
NUMBERS = ("count", "count_or", "counts")

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Parameter:
    """A key that is fitted: whole numbers from `low` to `high`, searched from `start` on.

    `is_own` says that the search begins with the profile's value; it lies beyond the bounds otherwise.
    """

    key: str
    unit: str
    low: int
    high: int
    start: int
    is_own: bool

    @property
    def offset(self) -> float | None:
        """What is added to values whose logarithms are equally spaced; nothing where the values themselves are."""
        if self.high < LOGARITHMIC * self.low:
            return None
        return 0.0 if self.low else self.high / FROM_ZERO

    def value(self, place: float) -> int:
        """The value at a place from 0, `low`, to 1, `high`; beyond, the nearer of these."""
        place = min(max(place, 0.0), 1.0)
        offset = self.offset
        if offset is None:
            return round(self.low + (self.high - self.low) * place)
        low = self.low + offset
        return round(low * math.exp(place * math.log((self.high + offset) / low)) - offset)

    def place(self, value: float) -> float:
        """Where a value lies between the bounds, from 0 to 1."""
        value = min(max(value, self.low), self.high)
        offset = self.offset
        if offset is None:
            return (value - self.low) / (self.high - self.low)
        low = self.low + offset
        return math.log((value + offset) / low) / math.log((self.high + offset) / low)


def parameters_of(
    profile: str, settings: Mapping[str, Setting], fit: Mapping[str, Sequence[float] | None]
) -> list[Parameter]:
    """The parameters that are asked for, each checked against the profile; raises `ConfigError` for a wrong one."""
    keys = {entry["key"]: entry for entry in profile_keys()}
    values = {entry["key"]: entry["value"] for entry in describe_profile(profile, settings)["values"]}
    made = []
    for key, bounds in fit.items():
        if key not in keys:
            raise _core.ConfigError(f"fit names '{key}', which is no key of a profile{did_you_mean(key, keys)}")
        if keys[key]["kind"] not in NUMBERS:
            raise _core.ConfigError(f"fit names '{key}', which is no number; allowed: {keys[key]['allowed']}")
        if key in settings:
            raise _core.ConfigError(f"fit and settings both name '{key}'")
        # What a profile's file leaves out has its default.
        own = values.get(key, keys[key]["default"])
        low, high = checked(key, bounds, own)
        for end in (low, high):
            describe_profile(profile, {**settings, key: end})
        start = number(own)
        middle = round(math.sqrt(low * high)) if low > 0 else (low + high) // 2
        is_own = start is not None and low <= start <= high
        begun = start if start is not None and is_own else middle
        made.append(Parameter(key, keys[key].get("unit") or "", low, high, begun, is_own))
    return made


def checked(key: str, bounds: Sequence[float] | None, value: object) -> tuple[int, int]:
    """Bounds as whole numbers; those around the profile's value if none are given."""
    if bounds is None:
        known = number(value)
        if not known:
            raise _core.ConfigError(f"fit of '{key}' needs bounds, KEY=LOW..HIGH: the profile has {value!r}")
        return max(1, known // REACH), known * REACH
    low, high = bounds
    if low != int(low) or high != int(high) or not 0 <= low < high:
        told = "two whole numbers from 0 on, the smaller one first"
        raise _core.ConfigError(f"fit of '{key}' has the bounds {low:g}..{high:g}; allowed: {told}")
    return int(low), int(high)


def number(value: object) -> int | None:
    """A number of a profile; nothing for a word or a truth."""
    if isinstance(value, str):
        try:
            value = int(value.replace("_", ""))
        except ValueError:
            return None
    return None if isinstance(value, bool) or not isinstance(value, int) else value


def asked(texts: Iterable[str]) -> dict[str, Bounds | None]:
    """What arguments of `--fit` ask for: keys, keys with bounds, and files of bounds; each key may be named once."""
    wish: dict[str, Bounds | None] = {}
    for text in texts:
        found = from_file(text) if text.endswith(".toml") else dict([parsed(text)])
        for key, bounds in found.items():
            if key in wish:
                raise _core.ConfigError(f"--fit names '{key}' twice")
            wish[key] = bounds
    return wish


def from_file(path: str) -> dict[str, Bounds | None]:
    """Bounds by key from a file that is like a profile, with `KEY = [LOW, HIGH]` in its tables."""
    tables = toml_tables(Path(path), path)
    found: dict[str, Bounds | None] = {}
    left = list(tables.items())
    for key, value in left:
        if isinstance(value, dict):
            left += [(f"{key}.{name}", inner) for name, inner in value.items()]
        elif isinstance(value, list) and len(value) == 2 and all(type(end) is int for end in value):
            found[key] = (value[0], value[1])
        else:
            raise _core.ConfigError(f"{path}: {key} is {value!r}; allowed: [LOW, HIGH], with whole numbers")
    if not found:
        raise _core.ConfigError(f"{path}: has no bounds: tables with KEY = [LOW, HIGH]")
    return found


def parsed(text: str) -> tuple[str, Bounds | None]:
    """What `KEY` or `KEY=LOW..HIGH` asks for; raises `ConfigError` for another form."""
    key, separator, rest = text.partition("=")
    if not separator:
        return key.strip(), None
    found = re.fullmatch(r"\s*([0-9_]+)\s*\.\.\s*([0-9_]+)\s*", rest)
    if not found:
        raise _core.ConfigError(f"--fit is '{text}'; allowed: KEY, KEY=LOW..HIGH with whole numbers, or a FILE.toml")
    low, high = (int(end.replace("_", "") or 0) for end in found.groups())
    return key.strip(), (low, high)
