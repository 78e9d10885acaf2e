"""`ufsim linux --cuts`: sessions that lose power."""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from ufsim import inputs, outputs
from ufsim.cli.exits import Exit
from ufsim.cli.options import UsageError
from ufsim.cli.progress import CountDisplay
from ufsim.cli.screen import say
from ufsim.linux.cuts import Cut, Cutting, drawn
from ufsim.linux.session import Job
from ufsim.results.formats import plural
from ufsim.runner import jobs_of
from ufsim.spec import Spec

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
# Turns and nanoseconds of a session: more than any has.
MOST = 10**18
PLACE = re.compile(r"\d+(\.\d+)?(ns|us|ms|s)?")


@dataclass(frozen=True)
class Wish:
    """Which cuts are asked for."""

    cuts: int | None
    cut_at: str | None
    every_cut: bool
    check: Path | None
    record: Path | None
    jobs: int | None

    def asked(self) -> bool:
        """Whether there are any. Raises `UsageError` for what does not go together."""
        given = sum([self.cuts is not None, self.cut_at is not None, self.every_cut])
        if given > 1:
            raise UsageError("--cuts, --cut-at and --every-cut exclude each other")
        for name in ("check", "record", "jobs"):
            if getattr(self, name) is not None and not given:
                raise UsageError(f"--{name} has no effect without --cuts, --cut-at or --every-cut")
        if self.cuts is not None and self.cuts < 1:
            raise UsageError(f"--cuts is {self.cuts}; allowed: at least 1")
        if self.cut_at is not None and place(self.cut_at)[1] is not None:
            for name in ("record", "jobs"):
                if getattr(self, name) is not None:
                    raise UsageError(f"--{name} has no effect with a time as --cut-at")
        return given > 0

    def cut(self, session: Cutting) -> list[Cut]:
        """The cuts of a session."""
        turn, ns = (None, None) if self.cut_at is None else place(self.cut_at)
        if ns is not None:
            return [session.cut_at(ns)]
        with CountDisplay(f"power cuts, {session.spec.scheme}") as display:
            turns = [turn] if turn is not None else list(session.turns())
            turns = turns if self.cuts is None else drawn(self.cuts, turns, session.spec.seed)
            display(0, len(turns))
            return session.cuts(turns, display, jobs_of(self.jobs), self.record)


def place(text: str) -> tuple[int | None, int | None]:
    """A turn, or a time in ns."""
    found = PLACE.fullmatch(text)
    if found and not found[2] and not found[1] and 1 <= int(text) <= MOST:
        return int(text), None
    if found and found[2] and (ns := round(float(text[: -len(found[2])]) * UNITS[found[2]])) <= MOST:
        return None, ns
    raise UsageError(
        f"--cut-at is '{text}'; allowed: TURN from 1 on, such as 120, or a time in ns, us, ms or s, such as 1.5s"
    )


def cut_sessions(job: Job, schemes: list[str], options: dict[str, Any], wish: Wish, *, as_json: bool) -> None:
    """Cuts the power of sessions under each scheme; ends with a status of its own if something was lost."""
    job.check()
    found: dict[str, list[Cut]] = {}
    for scheme in schemes:
        spec = Spec(workload="linux", scheme=scheme, **options)
        spec.check_system()
        if wish.record is not None:
            outputs.apart(
                [wish.record], [*inputs.files_read(spec), *(path for path in (job.script, wish.check) if path)]
            )
        found[scheme] = wish.cut(Cutting(job, spec, wish.check))
    if as_json:
        print(json.dumps({name: [one.to_json() for one in them] for name, them in found.items()}, indent=2))
    else:
        for name, them in found.items():
            say(f"{name}: {told(them)}")
    lost = [one for them in found.values() for one in them if one.found == "lost"]
    for one in lost:
        print(f"ufsim: turn {one.turn} ({one.at_ns} ns): {one.told.strip()}", file=sys.stderr)
    if lost:
        raise typer.Exit(Exit.BROKEN_PROMISE)


def told(cuts: list[Cut]) -> str:
    """Counts of what was found."""
    count = {found: sum(one.found == found for one in cuts) for found in ("whole", "early", "lost")}
    cut = plural(len(cuts), "power cut")
    return f"{cut}: {count['whole']} whole, {count['early']} before the job, {count['lost']} lost"
