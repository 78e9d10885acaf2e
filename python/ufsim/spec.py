"""What to run: the options of one simulation, checked as far as Python can, as the JSON that the core reads."""

import json
import os
from dataclasses import asdict, dataclass, fields

from ufsim import _core
from ufsim._options import Options, Precondition, Replay, Setting

__all__ = [
    "DEFAULT_SCHEME",
    "DEFAULT_SCHEMES",
    "Precondition",
    "Replay",
    "Setting",
    "Spec",
    "check_choice",
    "check_range",
    "profile_text",
    "profiles",
    "schemes",
]

DEFAULT_SCHEME = "hp-ufs"
DEFAULT_SCHEMES = ("ufs", "hpb", "hp-ufs", "ideal")


def schemes() -> list[dict[str, str]]:
    """The presets: name, scheduler, booster, mapping and a one-line summary of each."""
    return _core.schemes()


def profiles() -> list[str]:
    """Names of the built-in device profiles."""
    return _core.profiles()


def profile_text(name: str) -> str:
    """The TOML text of a built-in profile, with the source of every number, or of a profile's file."""
    return _core.profile_text(name)


def check_choice(field_name: str, value: str, allowed: list[str] | tuple[str, ...]) -> None:
    """Raises `ConfigError` unless `value` is one of `allowed`."""
    if value not in allowed:
        raise _core.ConfigError(f"{field_name} is '{value}'; allowed: {', '.join(allowed)}")


@dataclass(frozen=True, kw_only=True)
class Spec(Options):
    """One simulation: the options that docs/run.md lists."""

    def check(self) -> None:
        """Raises `ConfigError` or `FileNotFoundError` for what would be found too late or told badly by the core.

        The core checks everything else, which knows the ranges of profiles, job files and traces.
        """
        self.check_system()
        if self.from_state is not None and not os.path.exists(self.from_state):
            raise FileNotFoundError(f"aged state '{self.from_state}': no such file")
        if not os.path.exists(self.workload) and not _core.is_inline_job(self.workload):
            raise FileNotFoundError(f"workload '{self.workload}': no such file or directory")
        _core.check(self.to_json())

    def check_system(self) -> None:
        """The same for what concerns no workload."""
        check_choice("scheme", self.scheme, [scheme["name"] for scheme in schemes()])
        for option in fields(self):
            if "range" in option.metadata and getattr(self, option.name) is not None:
                check_range(option.name, getattr(self, option.name), *option.metadata["range"])

    def to_json(self) -> str:
        """The form that `_core.simulate` takes."""
        return json.dumps(asdict(self))


def check_range(field_name: str, value: int, low: int, high: int) -> None:
    """Raises `ConfigError` unless `value` is an integer from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _core.ConfigError(f"{field_name} is {value!r}; allowed: an integer from {low} to {high}")
