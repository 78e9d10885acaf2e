"""Mutation testing of what promises to survive a power cut: `make mutants`, or `scripts/mutants.py [GROUP...]`.

cargo-mutants changes one expression or function at a time. A mutant is caught if a unit test of crate `device` fails,
or one of 300 cases of the power-cut campaign (crates/campaign/tests/mutants.rs). The files are divided into groups, and
groups into shards of about twenty mutants. What a shard has found is kept in out/mutants; a run that was interrupted
goes on with the first shard that is missing. Another version of the sources begins anew.

Mutants that nothing catches stand in mutants.toml with the reason. One that does not stand there, or a group that
catches less than its share, ends the run with 1. The counts are written to docs/data/mutants.json.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from source_copy import copy_sources

ROOT = Path(__file__).parents[1]
OUT = ROOT / "out" / "mutants"
TOOLS = ROOT / "target" / "mutants" / "tools"
SUMMARY = ROOT / "docs" / "data" / "mutants.json"
VERSION = "27.1.0"
# cargo-mutants finds modules by their declarations, and does not look into macros. So it gets a copy of the sources in
# which the modules of registered schemes are declared once more, behind a condition that never holds.
COPY = ROOT / "target" / "mutants" / "sources"
DEVICE = "crates/device/src"
# Cases of the campaign that a mutant has to survive.
CASES = 300
SHARD = 20
# A mutant that loops for ever. The tests take about a minute.
TIMEOUT_S = 400

# Files of each group, and the share of its viable mutants that must be caught, in per cent.
GROUPS: dict[str, tuple[list[str], int]] = {
    "recovery": (["engine/recover.rs", "engine/recover/**", "engine/power.rs"], 95),
    "records": (["records.rs"], 95),
    "journal": (["trims.rs", "trimmed.rs"], 95),
    "directory": (["directory.rs", "meta.rs", "knowledge/pages.rs"], 95),
    "publishing": (["publish.rs"], 90),
    "collection": (["engine/collect.rs", "gc.rs", "validity.rs"], 90),
    "schemes": (["mapping/**"], 90),
}
# What a mutant is called in outcomes.json, by how it ended.
CAUGHT = ("CaughtMutant", "Timeout")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; all if none is named")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants that are tried at once")
    options.add_argument("--minutes", type=float, help="end after the shard that is under way then")
    chosen = options.parse_args()
    unknown = [group for group in chosen.groups if group not in GROUPS]
    if unknown:
        options.error(f"unknown group {unknown[0]}: must be one of {', '.join(GROUPS)}")
    groups = chosen.groups or list(GROUPS)

    install()
    forget_other_sources()
    copy_sources(COPY, {f"{DEVICE}/mapping/mod.rs": declared()})
    deadline = time.monotonic() + 60 * chosen.minutes if chosen.minutes else float("inf")
    complete = all(try_group(group, chosen.jobs, deadline) for group in groups)
    if not complete:
        sys.exit("mutants: not finished; the same command goes on")
    sys.exit(judge(groups))


def install() -> None:
    """Fetches the tool, unless it is there."""
    program = TOOLS / "bin" / "cargo-mutants"
    if program.exists() and VERSION in output(str(program), "mutants", "--version"):
        return
    command = ["cargo", "install", "cargo-mutants", "--locked", "--version", VERSION, "--root", str(TOOLS)]
    subprocess.run(command, cwd=ROOT, check=True)


def declared() -> str:
    """The registration of schemes with declarations of their modules that cargo-mutants sees."""
    text = (ROOT / DEVICE / "mapping" / "mod.rs").read_text(encoding="utf-8")
    return text + "".join(f"#[cfg(any())]\nmod {name};\n" for name in re.findall(r", in (\w+);", text))


def output(*command: str, at: Path = ROOT) -> str:
    return subprocess.run(command, cwd=at, stdout=subprocess.PIPE, text=True, check=True).stdout


def mutants(*arguments: str) -> list[str]:
    return [str(TOOLS / "bin" / "cargo-mutants"), "mutants", *arguments]


def selection(group: str) -> list[str]:
    """The arguments that choose a group's mutants."""
    files = [argument for pattern in GROUPS[group][0] for argument in ("--file", f"{DEVICE}/{pattern}")]
    return ["--package", "ufsim-device", *files, "--exclude", "**/tests.rs", "--exclude", "**/*_tests.rs"]


def forget_other_sources() -> None:
    """Removes what was found with other sources of the crates that the tests are about."""
    names = output("git", "ls-files", "crates", "Cargo.lock").split()
    digest = hashlib.sha256()
    for name in sorted(name for name in names if name.endswith((".rs", ".toml", ".lock"))):
        digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    stamp = OUT / "sources"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != digest.hexdigest():
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir(parents=True)
        stamp.write_text(digest.hexdigest(), encoding="utf-8")


def try_group(group: str, jobs: int, deadline: float) -> bool:
    """Tries the shards that are missing. True if none is missing any more."""
    count = len(json.loads(output(*mutants("--list", "--json", *selection(group)), at=COPY)))
    shards = max(1, -(-count // SHARD))
    print(f"{group}: {count} mutants in {shards} shards", flush=True)
    for shard in range(shards):
        kept = OUT / group / f"{shard}.json"
        if kept.exists():
            continue
        if time.monotonic() > deadline:
            return False
        begun = time.monotonic()
        found = try_shard(group, shard, shards, jobs)
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(".part")
        partial.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        partial.rename(kept)
        counts = Counter(found.values())
        told = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items()))
        print(f"{group} {shard + 1}/{shards}: {told}; {time.monotonic() - begun:.0f} s", flush=True)
    return True


def try_shard(group: str, shard: int, shards: int, jobs: int) -> dict[str, str]:
    """How each mutant of a shard ended, by the mutant's name."""
    work = OUT / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    command = mutants(
        *selection(group),
        *(
            "--test-package",
            "ufsim-device,ufsim-campaign",
            "--profile",
            "mutants",
            "--no-shuffle",
            "--baseline",
            "skip",
        ),
        *("--timeout", str(TIMEOUT_S), "--build-timeout", str(TIMEOUT_S), "--jobs", str(jobs)),
        *("--shard", f"{shard}/{shards}", "--output", str(work), "--colors", "never", "--gitignore", "false"),
    )
    environment = {**os.environ, "UFSIM_MUTANT_CASES": str(CASES)}
    environment.pop("CARGO_TARGET_DIR", None)
    ended = subprocess.run(command, cwd=COPY, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    # 2 and 3 tell of mutants that were missed or took too long.
    if ended.returncode not in (0, 2, 3):
        sys.exit(f"mutants: cargo-mutants ended with {ended.returncode}:\n{ended.stdout[-2000:]}")
    outcomes = json.loads((work / "mutants.out" / "outcomes.json").read_text(encoding="utf-8"))["outcomes"]
    return {name_of(one["scenario"]): one["summary"] for one in outcomes if one["scenario"] != "Baseline"}


def name_of(scenario: dict[str, Any]) -> str:
    """A name that a change elsewhere in the file leaves as it is: file, function, what was put in place of what."""
    name: str = scenario["Mutant"]["name"]
    place, _, change = name.partition(": ")
    return f"{place.partition(':')[0]}: {change}"


def judge(groups: list[str]) -> int:
    """Writes the summary and tells what is not as it should be. Returns the exit status."""
    reasons = tomllib.loads((ROOT / "mutants.toml").read_text(encoding="utf-8"))["survivors"]
    summary: dict[str, Any] = json.loads(SUMMARY.read_text(encoding="utf-8")) if SUMMARY.exists() else {}
    wrong = 0
    for group in groups:
        found = [json.loads(file.read_text(encoding="utf-8")) for file in sorted((OUT / group).glob("*.json"))]
        ends = Counter(end for shard in found for end in shard.values())
        viable = sum(n for end, n in ends.items() if end != "Unviable")
        caught = sum(ends[end] for end in CAUGHT)
        share, least = 100 * caught / max(1, viable), GROUPS[group][1]
        print(f"{group:<12} {caught:>5} of {viable:>5} caught, {share:5.1f}% (at least {least}%)")
        wrong += share < least
        survivors = sorted(name for shard in found for name, end in shard.items() if end == "MissedMutant")
        for name in survivors:
            if name not in reasons:
                print(f"  no reason in mutants.toml: {name}")
                wrong += 1
        summary[group] = {"viable": viable, "caught": caught, "least_percent": least, "survivors": survivors}
    SUMMARY.write_text(json.dumps(summary, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return int(wrong > 0)


if __name__ == "__main__":
    main()
