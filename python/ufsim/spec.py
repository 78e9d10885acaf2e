"""What to run: the options of one simulation, checked as far as Python can, as the JSON that the core reads."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from os import PathLike
from typing import Any, get_args

from ufsim import _core
from ufsim._options import Options, Precondition, Replay, RunOptions, Setting
from ufsim.bundled import located
from ufsim.documents import for_core, parse_list
from ufsim.names import check_choice, check_profile, check_range, did_you_mean, nearest_key, plain

__all__ = [
    "DEFAULT_SCHEME",
    "DEFAULT_SCHEMES",
    "Precondition",
    "Replay",
    "RunOptions",
    "Setting",
    "Spec",
    "Workload",
    "check_choice",
    "check_range",
    "profile_text",
    "profiles",
    "schemes",
    "specs_of",
]

# A trace, job, database or scenario.
Workload = str | PathLike[str]

# The age of a device that nothing has happened to.
FRESH = "fresh"
DEFAULT_SCHEME = "hp-ufs"
DEFAULT_SCHEMES = ("ufs", "hpb", "hp-ufs", "ideal")


def schemes() -> list[dict[str, str]]:
    """The presets: a dictionary with `name`, `scheduler`, `booster`, `mapping` and a one-line `summary` for each."""
    return _core.schemes()


def profiles() -> list[str]:
    """Names of the built-in device profiles."""
    return _core.profiles()


def profile_text(name: str | PathLike[str]) -> str:
    """The TOML text of a built-in profile, with the source of every number, or of a profile's file."""
    return _core.profile_text(os.fspath(name))


def profile_keys() -> list[dict[str, Any]]:
    """The keys of profiles: for each a dictionary with `key`, `unit`, `default`, `allowed` and more."""
    return parse_list(_core.profile_keys())


@cache
def key_names() -> tuple[str, ...]:
    """The keys of profiles, as `settings` names them. `scheme.*.KEY` stands for every scheme that has the key."""
    keys = [entry["key"] for entry in profile_keys()]
    every = dict.fromkeys(f"scheme.*.{key.split('.')[2]}" for key in keys if key.startswith("scheme."))
    return (*keys, *every)


@dataclass(frozen=True, kw_only=True)
class Spec(Options):
    """One simulation: the options that docs/run.md lists. Scalars of numpy, and paths, become plain values."""

    def __post_init__(self) -> None:
        for option in fields(self):
            value = plain(getattr(self, option.name))
            if option.name == "clean":
                value = [value] if isinstance(value, str) else [str(rule) for rule in value]
            if option.name == "age" and value == FRESH:
                value = None
            object.__setattr__(self, option.name, value)

    def check(self) -> None:
        """Raises `ConfigError` or `FileNotFoundError` for what would be found too late or told badly by the core.

        The core checks everything else, which knows the ranges of profiles, job files and traces.
        """
        self.check_system()
        if self.from_state is not None and not os.path.exists(self.from_state):
            raise FileNotFoundError(f"aged state '{self.from_state}': no such file")
        if not os.path.exists(located(self.workload)) and not _core.is_inline_job(self.workload):
            raise FileNotFoundError(f"workload '{self.workload}': no such file or directory")
        _core.check(self.to_json())

    def check_system(self) -> None:
        """The same for what concerns no workload."""
        check_choice("scheme", self.scheme, [scheme["name"] for scheme in schemes()])
        for part, names in _core.parts().items():
            if getattr(self, part) is not None:
                check_choice(part, getattr(self, part), names)
        if self.replay is not None:
            check_choice("replay", self.replay, get_args(Replay))
        check_choice("precondition", self.precondition, get_args(Precondition))
        self._check_profile()
        for option in fields(self):
            if "range" in option.metadata and getattr(self, option.name) is not None:
                check_range(option.name, getattr(self, option.name), *option.metadata["range"])

    def _check_profile(self) -> None:
        """Names that are nearly those of a profile or of its keys; others the core refuses with what is allowed."""
        check_profile(self.profile)
        if not isinstance(self.settings, dict):
            raise _core.ConfigError(f"settings is {self.settings!r}; allowed: values by key, {{'nand.planes': 2}}")
        for key in self.settings:
            meant = None if key in key_names() else nearest_key(key, key_names())
            if meant is not None:
                raise _core.ConfigError(f"settings has no key '{key}'; did you mean '{meant}'?")

    def to_json(self) -> str:
        """The form that `_core.simulate` takes."""
        age = None if self.age is None else located(self.age)
        found = {"workload": located(self.workload), "profile": located(self.profile), "age": age}
        return for_core(asdict(self) | found)


def specs_of(
    function: str,
    workload: Workload | Sequence[Workload],
    schemes: str | Iterable[str],
    options: Mapping[str, Any],
) -> list[Spec]:
    """A checked specification for each workload and scheme; `function` is what the user has called, for the messages.

    Raises `TypeError` for an option that does not exist, as Python does, and otherwise as `Spec.check`.
    """
    known = RunOptions.__annotations__
    for name in options:
        if name not in known:
            raise TypeError(f"{function}() has no option '{name}'{did_you_mean(name, known)}")
    names = scheme_names(schemes)
    workloads = [workload] if isinstance(workload, str | PathLike) else workload
    specs = [
        Spec(workload=path, scheme=name, **options)
        for path in named_once("workload", [os.fspath(path) for path in workloads])
        for name in names
    ]
    for spec in specs:
        spec.check()
    return specs


def scheme_names(names: str | Iterable[str]) -> list[str]:
    """The schemes asked for: one name, several, or "all"."""
    listed = named_once("schemes", [names] if isinstance(names, str) else map(str, names))
    return [preset["name"] for preset in schemes()] if listed == ["all"] else listed


def named_once(field_name: str, names: Iterable[str]) -> list[str]:
    """The names as a list; raises `ConfigError` if there is none, or one twice."""
    listed = list(names)
    if not listed:
        raise _core.ConfigError(f"{field_name} is empty; at least one is needed")
    for name in listed:
        if listed.count(name) > 1:
            raise _core.ConfigError(f"{field_name} names '{name}' twice; each may be named once")
    return listed
