"""A long campaign of power cuts, or of the simulation of the whole.

The cases are those of the seeds from 0 on, in blocks. A block that is finished is kept in the state file, so a soak
that was stopped, whatever stopped it, goes on without it. The soak ends with the first block at which all blocks up to
it have as many cuts or steps as asked for; so what it tells does not depend on when it was stopped, nor on the number
of jobs.
"""

import json
import os
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ufsim
from tools.records import keep, origin
from ufsim import _core
from ufsim.cli.exits import Exit
from ufsim.cli.progress import clock
from ufsim.crash import Campaign, failure_lines
from ufsim.documents import parse

# Of a block: some seconds of work.
CASES_OF_A_SCHEME = 5
# Seconds between two lines about how far it is.
TELL_EVERY = 10.0


class OtherVersion(Exception):
    """The state file is of another version."""


@dataclass
class State:
    """What has been done."""

    version: str
    block: int
    """Cases of a block."""
    blocks: int = 0
    """Blocks in `total`: all up to the first one that is not finished."""
    seconds: float = 0.0
    """Time that it took so far."""
    total: Campaign = field(default_factory=lambda: Campaign(0))
    ahead: dict[int, Campaign] = field(default_factory=dict)
    """Finished blocks behind one that is not finished."""
    whole: bool = False
    """It is a soak of the whole, which is as long as its steps; others are as long as their cuts."""

    def length(self, campaign: Campaign) -> int:
        """Cuts or steps of a campaign."""
        return campaign.steps if self.whole else campaign.cuts

    @property
    def done(self) -> int:
        """Cuts or steps in all finished blocks."""
        return self.length(self.total) + sum(self.length(block) for block in self.ahead.values())

    @property
    def unit(self) -> str:
        """What its length is counted in."""
        return "steps" if self.whole else "power cuts"

    def add(self, block: int, campaign: Campaign, wanted: int) -> None:
        """Adds a finished block. `total` does not grow any more when it is as long as wanted."""
        self.ahead[block] = campaign
        while self.length(self.total) < wanted and self.blocks in self.ahead:
            self.total.join(self.ahead.pop(self.blocks))
            self.blocks += 1

    def save(self, path: Path) -> None:
        """Writes it as a whole or not at all."""
        document = {
            "version": self.version,
            "block": self.block,
            "blocks": self.blocks,
            "seconds": round(self.seconds, 1),
            "total": self.total.document(),
            "ahead": {str(block): campaign.document() for block, campaign in sorted(self.ahead.items())},
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + ".part")
        with beside.open("w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)

    @classmethod
    def load(cls, path: Path, version: str, block: int, *, whole: bool = False) -> "State":
        """The state in a file, or a new one if there is none."""
        if not path.exists():
            return cls(version, block, whole=whole)
        document = json.loads(path.read_text(encoding="utf-8"))
        if (document["version"], document["block"]) != (version, block):
            of = document["version"]
            raise OtherVersion(f"{path} is of version {of}, this is {version}: remove it to begin anew")
        ahead = {int(block): Campaign.of_document(one) for block, one in document["ahead"].items()}
        total = Campaign.of_document(document["total"])
        return cls(version, block, document["blocks"], document["seconds"], total, ahead, whole)

    def record(self) -> dict[str, Any]:
        """What a finished soak tells."""
        return {
            **origin(self.version),
            "seconds": round(self.seconds),
            "first_seed": 0,
            "last_seed": self.blocks * self.block - 1,
            **self.total.document(),
        }


class Soak:
    """A soak under way."""

    def __init__(self, state: State, path: Path, wanted: int) -> None:
        self.state, self._path, self._wanted = state, path, wanted
        self._stopped = threading.Event()
        self._begun, self._before = time.monotonic(), (state.seconds, state.done)
        self._told = 0.0

    def run(self, jobs: int) -> None:
        """Goes on until it is long enough."""
        with ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="ufsim") as pool:
            under_way: dict[Future[Campaign | None], int] = {}
            following = self.state.blocks
            try:
                while self.state.length(self.state.total) < self._wanted:
                    while len(under_way) < jobs:
                        if following not in self.state.ahead:
                            under_way[pool.submit(self._block, following)] = following
                        following += 1
                    for done in wait(under_way, timeout=1, return_when=FIRST_COMPLETED).done:
                        self._finished(under_way.pop(done), done.result())
                    self._tell()
            finally:
                self._stopped.set()

    def _block(self, block: int) -> Campaign | None:
        """Goes through a block; `None` if the soak was stopped meanwhile."""
        campaign = Campaign(self.state.block)
        for seed in range(block * self.state.block, (block + 1) * self.state.block):
            if self._stopped.is_set():
                return None
            campaign.add(parse(_core.crash_case(str(seed), self.state.whole)))
        return campaign

    def _finished(self, block: int, campaign: Campaign | None) -> None:
        assert campaign is not None, "a block ends early only when the soak ends"
        for failure in campaign.failures:
            print("\n".join(failure_lines(failure, whole=self.state.whole)), flush=True)
        self.state.seconds = self._before[0] + time.monotonic() - self._begun
        self.state.add(block, campaign, self._wanted)
        self.state.save(self._path)

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._told < TELL_EVERY:
            return
        self._told = now
        done = self.state.done
        rate = (done - self._before[1]) / (now - self._begun)
        left = f", {clock(max(self._wanted - done, 0) / rate)} left" if rate else ""
        failures = f", {len(self.state.total.failures)} failures" if self.state.total.failures else ""
        print(f"{done:,} of {self._wanted:,} {self.state.unit}, {rate:,.0f}/s{left}{failures}", flush=True)


def soak_cases(wanted: int, jobs: int, path: Path, record: Path | None, *, whole: bool) -> int:
    """Goes on with the soak whose state is in a file, until it is so long; its exit status."""
    block = CASES_OF_A_SCHEME * len(ufsim.schemes())
    try:
        state = State.load(path, ufsim.__version__, block, whole=whole)
    except OtherVersion as error:
        print(error, file=sys.stderr)
        return Exit.INPUT
    try:
        if state.blocks or state.ahead:
            print(f"goes on: {state.done:,} {state.unit} are done", flush=True)
        Soak(state, path, wanted).run(jobs)
    except KeyboardInterrupt:
        print(f"stopped at {state.done:,} {state.unit}; the same command goes on", flush=True)
        return Exit.INTERRUPTED
    return finish(state, record)


def finish(state: State, path: Path | None) -> int:
    """Tells the outcome and writes the record."""
    record = state.record()
    keep(path, record)
    print(json.dumps(record, indent=1))
    missed = [name for kind in ("moments", "circumstances") for name, count in record[kind].items() if count == 0]
    if missed:
        print(f"no power cut met: {', '.join(missed)}")
    failures = len(record["failures"])
    print(f"{state.length(state.total):,} {state.unit}, {failures} failures, in {clock(state.seconds)}")
    return Exit.BROKEN_PROMISE if failures else Exit.OK
