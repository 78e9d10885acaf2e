"""What to run: the options of one simulation, checked as far as Python can, as the JSON that the core reads."""

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Literal

from ufsim import _core

Setting = str | int | float | bool
Replay = Literal["timed", "queued", "closed"]
Precondition = Literal["none", "footprint", "touched"]

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
class Spec:
    """One simulation.

    `scheduler`, `booster` and `mapping` replace a part of the scheme. `settings` overrides profile keys
    (`"host.memory_mib": 5`). `replay` and `depth` concern traces: a trace is replayed at its recorded times
    ("timed"), at these times into a queue of `depth` requests, outside of which others wait uncounted ("queued"), or as
    fast as `depth` outstanding requests allow ("closed"); with `per_cpu_streams` each per-CPU file of a closed replay
    is a stream with that depth of its own. `precondition` is what is written, unmeasured, before: nothing, the
    "footprint" that the workload may read, or all that it may have "touched". `host_memory_mib` (a number or
    "unlimited") limits the memory that a booster may use; `None` leaves it to the profile. `device` (such as "253:5")
    selects a device of a trace that holds several, `format` names a trace's format if it is not to be recognised, and
    `clean` lists cleaning rules for traces.

    A device is new unless `age` or `from_state` is given. `age` writes to it first and switches it off and on: a fio
    job file, or the options of one job ("rw=randwrite bs=4k iodepth=16 size=52g"). `from_state` is a file that
    `ufsim age` has made in this way.
    """

    workload: str
    scheme: str
    scheduler: str | None = None
    booster: str | None = None
    mapping: str | None = None
    profile: str = "hp-ufs"
    settings: dict[str, Setting] = field(default_factory=dict)
    replay: Replay = "timed"
    depth: int = 8
    per_cpu_streams: bool = False
    seed: int = 1
    precondition: Precondition = "footprint"
    host_memory_mib: int | str | None = None
    device: str | None = None
    format: str | None = None
    clean: list[str] = field(default_factory=list)
    age: str | None = None
    from_state: str | None = None

    def check(self) -> None:
        """Raises `ConfigError` or `FileNotFoundError` for what would be found too late or told badly by the core.

        The core checks everything else, which knows the ranges of profiles, job files and traces.
        """
        self.check_system()
        check_range("depth", self.depth, 1, 65536)
        if self.from_state is not None and not os.path.exists(self.from_state):
            raise FileNotFoundError(f"aged state '{self.from_state}': no such file")
        if not os.path.exists(self.workload):
            raise FileNotFoundError(f"workload '{self.workload}': no such file or directory")

    def check_system(self) -> None:
        """The same for what concerns no workload."""
        check_choice("scheme", self.scheme, [scheme["name"] for scheme in schemes()])
        check_range("seed", self.seed, 0, 2**64 - 1)

    def to_json(self) -> str:
        """The form that `_core.simulate` takes."""
        fields = asdict(self)
        fields["set"] = fields.pop("settings")
        fields["from"] = fields.pop("from_state")
        return json.dumps(fields)


def check_range(field_name: str, value: int, low: int, high: int) -> None:
    """Raises `ConfigError` unless `value` is an integer from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _core.ConfigError(f"{field_name} is {value!r}; allowed: an integer from {low} to {high}")
