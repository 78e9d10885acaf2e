"""Power cuts of a guest: every session loses power at another turn, and the next one looks at what is left."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ufsim import _core
from ufsim.linux.session import CHECKS, Device, GuestRun, Job, after_cut
from ufsim.spec import Spec

#: What the console says when a job begins: before that there is no file system yet.
BEGINS = "ufsim: the job begins"


@dataclass(frozen=True)
class Cut:
    """A cut, and what was found after it."""

    turn: int
    at_ns: int
    #: "whole", "early" (no file system was there yet), or "lost".
    found: str
    told: str

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"turn": self.turn, "at_ns": self.at_ns, "found": self.found, "told": self.told}


def cut(job: Job, spec: Spec, turn: int, check: Path | None) -> Cut:
    """One cut. The same job on the same device comes to the same turn in the same state, every time."""
    device = Device(spec)
    run = device.boot(job, stop_turn=turn)
    if run.ended != "stopped":
        raise _core.ConfigError(f"cut = {turn}: must be below {run.turns}, the turns of this session")
    device.power_cut(run)
    return Cut(turn, run.at_ns, *_found(device, job, check, run))


def _found(device: Device, job: Job, check: Path | None, before: GuestRun) -> tuple[str, str]:
    begun = BEGINS in before.console
    try:
        after = device.boot(after_cut(job, check, before), kept=True)
    except _core.GuestError as error:
        return ("lost", str(error)) if begun else ("early", "")
    if not begun:
        return "early", ""
    return ("lost", after.stdout + after.stderr) if after.status else ("whole", "")


def turns_of(count: int, turns: range, seed: int) -> list[int]:
    """So many of some turns, in order; all of them if there are not more."""
    return sorted(random.Random(seed).sample(turns, min(count, len(turns))))


def cuts(job: Job, spec: Spec, count: int, check: Path | None, tried: Callable[[int, int], None]) -> Iterable[Cut]:
    """Cuts at random turns of a job, as the seed decides. `tried` is told how many of how many are done."""
    if job.fs not in CHECKS:
        raise _core.ConfigError(f'fs = "{job.fs}": power cuts need a file system: {", ".join(CHECKS)}')
    whole = Device(spec).boot(job)
    if whole.status:
        raise _core.ConfigError(f"the job ends with status {whole.status} without any cut: {whole.stderr.strip()}")
    # Those before the job make the file system; the few after it are left out with them.
    idle = Device(spec).boot(replace(job, command=("true",), script=None))
    turns = range(idle.turns, whole.turns)
    if not turns:
        raise _core.ConfigError("the job has no exchange with the disk, so there is nothing to cut")
    chosen = turns_of(count, turns, spec.seed)
    for done, turn in enumerate(chosen):
        tried(done, len(chosen))
        yield cut(job, spec, turn, check)
