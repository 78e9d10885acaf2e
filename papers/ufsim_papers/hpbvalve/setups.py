"""The phone of HPBvalve's paper, as far as its words, its artefact and recorded phones tell it: points of the maps."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ufsim_papers.claims import Claim, Option, Place
from ufsim_papers.figure import Value
from ufsim_papers.folders import job

# What a read of 4 KiB takes on profile `hpbvalve` besides the cells' response, and a read of its mapping before it.
AROUND_A_READ_US = 11.8
AROUND_A_MAP_READ_US = 2.9


@dataclass(frozen=True)
class Setup:
    """A phone. Fields are the conditions of the claims; `density` counts reads of an app within 2 MiB.

    `reserved` takes HPB's memory from boot on, `cold` ends an app before it is launched again. With `relief` a victim
    lives if memory is not short any more, as the authors' killer has it, which decides anew at its next poll.
    """

    density: float = 2.0
    read_us: float = 110
    register: bool = False
    reserved: bool = True
    system_mib: int = 5738
    fresh_share: float = 0.25
    policy: str = "foam"
    use_s: float = 60
    cold: bool = False
    relief: bool = True

    def scenario(self, name: str) -> str:
        """The text of a scenario with this phone's numbers in it."""
        keys: dict[str, dict[str, object]] = {
            "phone": {"use_s": self.use_s, "cold_starts": self.cold},
            "memory": {"system_mib": self.system_mib},
            "lmkd": {"spares_on_relief": self.relief},
            "io": {
                "nominal_read_us": round(self.read_us),
                "fresh_share": self.fresh_share,
                "launch_reads_per_chunk": self.density,
                "run_reads_per_chunk": self.density,
            },
        }
        text = Path(job(name)).read_text(encoding="utf-8")
        for table, own in keys.items():
            text = with_keys(text, table, own)
        return text

    def settings(self) -> dict[str, Value]:
        """Keys of the profile: a read of the device, and one of its mapping, takes as long as it should."""
        return {
            "nand.tlc_read_us": round(self.read_us - AROUND_A_READ_US),
            "nand.slc_read_us": round(self.read_us - AROUND_A_MAP_READ_US),
            "nand.page_register": self.register,
        }

    def simulated(self, *, gives_back: bool) -> "Setup":
        """The phone without what changes nothing in the run of a scheme that is named, so that equal runs are one.

        Policy and reservation only tell which scheme stands for HPB; relief asks whether something was given back.
        """
        same = replace(self, policy=Setup.policy, reserved=Setup.reserved)
        return same if gives_back else replace(same, relief=Setup.relief)

    def labels(self) -> dict[str, Any]:
        """Columns of a figure's frame."""
        return {f"setup_{name}": value for name, value in asdict(self).items()}


def with_keys(text: str, table: str, keys: Mapping[str, object]) -> str:
    """A TOML text whose table has these keys, in the place of those that it had."""
    said = {name: str(value).lower() if isinstance(value, bool) else f"{value}" for name, value in keys.items()}
    for name in said:
        text = re.sub(rf"(?m)^{name} *=.*\n", "", text)
    lines = "".join(f"{name} = {value}\n" for name, value in said.items())
    head = f"[{table}]\n"
    return text.replace(head, head + lines) if head in text else f"{text}\n{head}{lines}"


# Conditions that are fields of a phone; others are ways of looking at its runs.
FIELDS = {
    "hpbvalve.density": "density",
    "hpbvalve.read-us": "read_us",
    "hpbvalve.page-register": "register",
    "hpbvalve.system-mib": "system_mib",
    "memory of the system": "system_mib",
    "hpbvalve.fresh-share": "fresh_share",
    "length of a use": "use_s",
}
POLICIES = {
    "counts and FOAM's eviction (Sec. 6.1)": "foam",
    "counts and a timer (Android's, Sec. 4.3)": "hpb-linux",
}
RESERVED, RELIEF = "reserved from boot on", "first kill after each event or kill"


def setup_of(at: Mapping[str, Option], base: Setup) -> Setup:
    """The phone at a point of a map."""
    fields: dict[str, Any] = {FIELDS[name]: option for name, option in at.items() if name in FIELDS}
    if "hpbvalve.memory-of-hpb" in at:
        fields["reserved"] = at["hpbvalve.memory-of-hpb"] == RESERVED
    if "hpbvalve.skipped-kill" in at:
        fields["relief"] = at["hpbvalve.skipped-kill"] == RELIEF
    if "hpbvalve.policy" in at:
        fields["policy"] = POLICIES[str(at["hpbvalve.policy"])]
    return replace(base, **fields)


def setups(claim: Claim, places: Iterable[Place], base: Setup) -> list[Setup]:
    """The phones of some points, each once."""
    return list(dict.fromkeys(setup_of(claim.at(place), base) for place in places))
