"""Mutation testing of what promises to survive a power cut: `make mutants`, or `scripts/mutants.py [GROUP...]`.

cargo-mutants lists changes of one expression or function. All of them are compiled into one copy of the tests, each
behind a switch (scripts/mutant_switches.py). Then the tests run once for each, with a variable of the environment that
chooses it. A mutant is caught if a test of crate `device` fails, or one of 300 cases of the power-cut campaign
(crates/campaign/tests/mutants.rs). The few that cannot be switched are built one at a time by cargo-mutants;
`--switched` leaves them out.

What was found is kept in out/mutants, and a run that was interrupted goes on. A mutant that was caught, or that is no
program, is tried again when its own source file has changed; one that was missed, when any source or test of the crates
has. So a verdict `caught` may rest on a test that another change has weakened since: remove out/mutants to begin anew.

Mutants that nothing catches stand in mutants.toml with the reason. One that does not stand there, or a group that
catches less than its share, ends the run with 1. The counts are written to docs/data/mutants.json.
"""

import argparse
import hashlib
import json
import os
import sys
import time
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from mutant_build import build
from mutant_list import OUT, ROOT, VERSION, Mutant, install, listed, output, tried_alone
from mutant_runs import measured, verdicts

SUMMARY = ROOT / "docs" / "data" / "mutants.json"
# Cases of the campaign that a mutant has to survive.
CASES = 300
# Mutants that cargo-mutants tries before what it found is kept.
SHARD = 20

# Files of each group, and the share of its viable mutants that must be caught, in per cent.
GROUPS: dict[str, tuple[list[str], int]] = {
    "recovery": (["engine/recover.rs", "engine/recover/**", "engine/power.rs"], 95),
    "records": (["records.rs"], 95),
    "journal": (["trims.rs", "trimmed.rs"], 95),
    "directory": (["directory.rs", "meta.rs", "knowledge/pages.rs", "knowledge/own_pages.rs"], 95),
    "publishing": (["publish.rs"], 90),
    "collection": (["engine/collect.rs", "gc.rs", "validity.rs"], 90),
    "schemes": (["mapping/**"], 90),
}
# How a mutant ended. One that is only `unswitched` waits for cargo-mutants.
ENDS = ("caught", "missed", "unviable", "unswitched")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; all if none is named")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants that are tried at once")
    options.add_argument("--minutes", type=float, help="end after this time; the same command goes on")
    options.add_argument("--switched", action="store_true", help="leave out the mutants that need a build each")
    chosen = options.parse_args()
    unknown = [group for group in chosen.groups if group not in GROUPS]
    if unknown:
        options.error(f"unknown group {unknown[0]}: must be one of {', '.join(GROUPS)}")

    install()
    deadline = time.monotonic() + 60 * chosen.minutes if chosen.minutes else float("inf")
    found = [Found(group) for group in chosen.groups or GROUPS]
    complete = try_switched(found, chosen.jobs, deadline)
    if complete and not chosen.switched:
        complete = all(try_alone(group, chosen.jobs, deadline) for group in found)
    if not complete:
        print("mutants: not finished; the same command goes on")
    sys.exit(judge(found))


@dataclass
class Found:
    """What is known of the mutants of a group."""

    group: str
    mutants: list[Mutant] = field(init=False)
    # By the name of the mutant: how it ended, whether behind a switch, and digests of its file and of all sources.
    known: dict[str, dict[str, Any]] = field(init=False)
    # What the files were when this began, whatever is done to them meanwhile.
    digests: dict[str, str] = field(init=False)
    sources: str = field(init=False)

    def __post_init__(self) -> None:
        self.mutants = listed(GROUPS[self.group][0])
        kept = OUT / f"{self.group}.json"
        known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        self.digests = {file: digest([file]) for file in {one.file for one in self.mutants}}
        self.sources = all_sources()
        self.known = {one.name: known[one.name] for one in self.mutants if self.holds(known.get(one.name), one)}

    def holds(self, known: dict[str, Any] | None, mutant: Mutant) -> bool:
        """Whether what was found once is still true; the rule is at the head of this file."""
        if known is None or known["file"] != self.digests[mutant.file]:
            return False
        return bool(known["end"] != "missed" or known["sources"] == self.sources)

    def tell(self, mutant: Mutant, end: str, how: str) -> None:
        """Keeps how a mutant ended."""
        assert end in ENDS, end
        told = {"end": end, "how": how, "file": self.digests[mutant.file], "sources": self.sources}
        self.known[mutant.name] = told
        OUT.mkdir(parents=True, exist_ok=True)
        partial = OUT / f"{self.group}.part"
        partial.write_text(json.dumps(self.known, indent=1) + "\n", encoding="utf-8")
        partial.rename(OUT / f"{self.group}.json")

    def end(self, mutant: Mutant) -> str | None:
        known = self.known.get(mutant.name)
        return str(known["end"]) if known else None


def all_sources() -> str:
    names = output("git", "ls-files", "crates", "Cargo.lock").split()
    return digest(sorted(name for name in names if name.endswith((".rs", ".toml", ".lock"))))


def digest(names: list[str]) -> str:
    """What a few files are now."""
    found = hashlib.sha256()
    for name in names:
        found.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return found.hexdigest()[:16]


def try_switched(found: list[Found], jobs: int, deadline: float) -> bool:
    """Tries the mutants of which nothing is known, behind switches. True if none is left."""
    left = [(one, mutant) for one in found for mutant in one.mutants if one.end(mutant) is None]
    if not left:
        return True
    made = build([mutant for _, mutant in left])
    for numbers, end in ((made.unviable, "unviable"), (made.unswitched, "unswitched")):
        for number in sorted(numbers):
            group, mutant = left[number - 1]
            group.tell(mutant, end, "switched")
    tests = measured(made, CASES, jobs)
    seconds = sum(test.seconds for test in tests)
    print(f"mutants: {len(tests)} tests, which take {seconds:.0f} s, pass without a mutant", flush=True)
    begun = time.monotonic()
    held = made.switched()
    for done, (number, caught) in enumerate(verdicts(made, held, tests, jobs), 1):
        group, mutant = left[number - 1]
        group.tell(mutant, "caught" if caught else "missed", "switched")
        if not caught:
            print(f"missed: {mutant.full_name}")
        if done % 20 == 0:
            print(f"mutants: {done} of {len(held)} in {time.monotonic() - begun:.0f} s", flush=True)
        if time.monotonic() > deadline and done < len(held):
            return False
    return True


def try_alone(found: Found, jobs: int, deadline: float) -> bool:
    """Has cargo-mutants try the mutants that cannot be switched. True if none is left."""
    left = [mutant for mutant in found.mutants if found.end(mutant) == "unswitched"]
    for first in range(0, len(left), SHARD):
        if time.monotonic() > deadline:
            return False
        shard = left[first : first + SHARD]
        cases = ",".join(str(case) for case in range(CASES))
        ends = tried_alone(GROUPS[found.group][0], shard, cases, jobs)
        for mutant in shard:
            found.tell(mutant, ends[mutant.name], "alone")
        print(f"{found.group}: {min(first + SHARD, len(left))} of {len(left)} that need a build each", flush=True)
    return True


def judge(found: list[Found]) -> int:
    """Writes the summary and tells what is not as it should be. Returns the exit status."""
    reasons = tomllib.loads((ROOT / "mutants.toml").read_text(encoding="utf-8"))["survivors"]
    summary: dict[str, Any] = json.loads(SUMMARY.read_text(encoding="utf-8")) if SUMMARY.exists() else {}
    wrong = 0
    for one in found:
        ends = Counter(one.end(mutant) for mutant in one.mutants)
        hows = Counter(known["how"] for known in one.known.values() if known["end"] in ("caught", "missed"))
        viable, untried = ends["caught"] + ends["missed"], ends[None] + ends["unswitched"]
        share, least = 100 * ends["caught"] / max(1, viable), GROUPS[one.group][1]
        counts = f"{ends['caught']:>5} of {viable:>5} caught, {share:5.1f}% (at least {least}%)"
        print(f"{one.group:<12} {counts}" + (f"; {untried} not tried" if untried else ""))
        survivors = sorted(mutant.name for mutant in one.mutants if one.end(mutant) == "missed")
        unexplained = [name for name in survivors if name not in reasons]
        for name in unexplained:
            print(f"  no reason in mutants.toml: {name}")
        wrong += (share < least) + untried + len(unexplained)
        summary[one.group] = {
            "version": VERSION,
            "viable": viable,
            "caught": ends["caught"],
            "least_percent": least,
            "switched": hows["switched"],
            "built_alone": hows["alone"],
            "untried": untried,
            "survivors": survivors,
        }
    SUMMARY.write_text(json.dumps(summary, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return int(wrong > 0)


if __name__ == "__main__":
    main()
