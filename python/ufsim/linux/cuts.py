"""Power cuts of a guest: it loses power at one of its turns, and the next one looks at what is left."""

import hashlib
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ufsim import _core, inputs
from ufsim.answers import Answers
from ufsim.linux import cpio
from ufsim.linux.forks import forks
from ufsim.linux.session import CHECKS, Device, Job, after_cut, manifest
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


@dataclass(frozen=True)
class Cutting:
    """A job on a device whose power is cut, and the script that looks at what is left."""

    job: Job
    spec: Spec
    check: Path | None = None

    def __post_init__(self) -> None:
        if self.job.fs not in CHECKS:
            raise _core.ConfigError(f'fs = "{self.job.fs}": power cuts need a file system: {", ".join(CHECKS)}')

    def turns(self) -> range:
        """The job's turns: those before it make the file system, and the few after it are left out with them."""
        whole = Device(self.spec).boot(self.job)
        if whole.status != 0:
            how = "without a status" if whole.status is None else f"with status {whole.status}"
            raise _core.ConfigError(f"the job ends {how} without any cut: {whole.stderr.strip()}")
        idle = Device(self.spec).boot(replace(self.job, command=("true",), script=None))
        turns = range(idle.turns, whole.turns)
        if not turns:
            raise _core.ConfigError("the job has no exchange with the disk, so there is nothing to cut")
        return turns

    def cuts(
        self, turns: Sequence[int], tried: Callable[[int], None], jobs: int = 1, kept: Path | None = None
    ) -> list[Cut]:
        """Cuts at each of some turns, `jobs` at a time; `tried` is told how many are done.

        With a file, those that stand in it are taken from there, and the others are added.
        """
        answers = Answers(kept, self._identity())
        missing = sorted({turn for turn in turns if (turn,) not in answers.known})
        done = len(turns) - len(missing)
        tried(done)

        def found(cut: list[Any]) -> None:
            nonlocal done
            turn, *answer = cut
            answers.add((turn,), answer)
            done += 1
            tried(done)

        if missing:
            self._session(missing, None, found, jobs)
        if unreached := [turn for turn in turns if (turn,) not in answers.known]:
            raise _core.ConfigError(f"cut = {unreached[0]}: the session has ended before that turn")
        return [Cut(turn, *answers.known[turn,]) for turn in turns]

    def cut_at(self, ns: int) -> Cut:
        """A cut at the first turn at or after a time on the guest's clock."""
        cuts: list[Cut] = []
        self._session([], ns, lambda cut: cuts.append(Cut(*cut)), 1)
        if not cuts:
            raise _core.ConfigError(f"cut = {ns} ns: the session has ended before that")
        return cuts[0]

    def _session(self, turns: Sequence[int], at_ns: int | None, found: Callable[[list[Any]], None], jobs: int) -> None:
        """One session. At each of the places this process is copied, and in the copy power is lost.

        A session comes to a place in the same state every time, so this is the same as a session for each place.
        """
        moment = (0, 0, "")
        with forks(jobs, found) as copies:

            def at(turn: int, now_ns: int, console: str) -> bool:
                nonlocal moment
                moment = turn, now_ns, console
                return copies.fork()

            device = Device(self.spec)
            device.stop(self.job, turns, at_ns, at)
            copies.end(lambda: self._looked_at(device, *moment))

    def _looked_at(self, device: Device, turn: int, now_ns: int, console: str) -> list[Any]:
        device.power_cut(now_ns)
        return [turn, now_ns, *self._found(device, console)]

    def _found(self, device: Device, console: str) -> tuple[str, str]:
        begun = BEGINS in console
        try:
            after = device.boot(after_cut(self.job, self.check, console), kept=True)
        except _core.GuestError as error:
            return ("lost", str(error)) if begun else ("early", "")
        if not begun:
            return "early", ""
        if after.status is None:
            return "lost", "the check has no end: the guest has halted before"
        return ("lost", after.stdout + after.stderr) if after.status else ("whole", "")

    def _identity(self) -> str:
        """What all cuts of this session have in common, and no other has."""
        parts = {
            "version": _core.__version__,
            "device": inputs.of_spec(replace(self.spec, workload="")),
            "guest": hashlib.sha256(cpio.archive(self.job.entries(self.job.fs))).hexdigest(),
            "folders": [inputs.file_digest(str(folder)) for folder in self.job.folders],
            "host": [self.job.memory_mib, self.job.cpu_cost, manifest()["digests"]],
            "check": self.check and self.check.read_text(errors="surrogateescape"),
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def drawn(count: int, turns: Sequence[int], seed: int) -> list[int]:
    """So many of some turns, in order; all of them if there are not more."""
    return sorted(random.Random(seed).sample(turns, min(count, len(turns))))
