"""The mutants of crate `device` as cargo-mutants lists them, and how it tries them itself, one build for each."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mutant_switches import of_sabotage
from source_copy import copy_sources

ROOT = Path(__file__).parents[1]
OUT = ROOT / "out" / "mutants"
TOOLS = ROOT / "target" / "mutants" / "tools"
VERSION = "27.1.0"
# cargo-mutants finds modules by their declarations, and does not look into macros. So it gets a copy of the sources in
# which the modules of registered schemes are declared once more, behind a condition that never holds.
COPY = ROOT / "target" / "mutants" / "sources"
DEVICE = "crates/device/src"
# A mutant that loops for ever. The tests take about a minute.
TIMEOUT_S = 400


@dataclass(frozen=True)
class Mutant:
    """A change of one place of a file."""

    # File, function and what was put in place of what, with a number if that is said more than once; without the line,
    # so that a change elsewhere in the file leaves the name as it is.
    name: str
    # What cargo-mutants calls it, with the line.
    full_name: str
    file: str
    genre: str
    replacement: str
    returns: str
    # Where it begins: line and column, both from 1.
    line: int
    column: int


def install() -> None:
    """Fetches the tool, unless it is there."""
    program = TOOLS / "bin" / "cargo-mutants"
    if program.exists() and VERSION in output(str(program), "mutants", "--version"):
        return
    command = ["cargo", "install", "cargo-mutants", "--locked", "--version", VERSION, "--root", str(TOOLS)]
    subprocess.run(command, cwd=ROOT, check=True)


def output(*command: str, at: Path = ROOT) -> str:
    return subprocess.run(command, cwd=at, stdout=subprocess.PIPE, text=True, check=True).stdout


def command(files: list[str], *arguments: str) -> list[str]:
    """cargo-mutants for some files of crate `device`."""
    chosen = [argument for pattern in files for argument in ("--file", f"{DEVICE}/{pattern}")]
    without = ["--exclude", "**/tests.rs", "--exclude", "**/*_tests.rs"]
    return [str(TOOLS / "bin" / "cargo-mutants"), "mutants", "--package", "ufsim-device", *chosen, *without, *arguments]


def listed(files: list[str]) -> list[Mutant]:
    """The mutants of some files, without those of planted defects."""
    copy_sources(COPY, {f"{DEVICE}/mapping/mod.rs": declared()})
    seen: Counter[str] = Counter()
    mutants = []
    for one in json.loads(output(*command(files, "--list", "--json"), at=COPY)):
        place, _, change = one["name"].partition(": ")
        name = f"{place.partition(':')[0].removeprefix(DEVICE + '/')}: {change}"
        seen[name] += 1
        start, function = one["span"]["start"], one["function"] or {}
        mutants.append(
            Mutant(
                name=name if seen[name] == 1 else f"{name} ({seen[name]})",
                full_name=one["name"],
                file=one["file"],
                genre=one["genre"],
                replacement=one["replacement"],
                returns=function.get("return_type", ""),
                line=start["line"],
                column=start["column"],
            )
        )
    return [one for file in sorted({one.file for one in mutants}) for one in without_sabotage(file, mutants)]


def without_sabotage(file: str, mutants: list[Mutant]) -> Iterator[Mutant]:
    """The mutants of one of the files that a device without planted defects can meet."""
    source = (COPY / file).read_bytes()
    here = [one for one in mutants if one.file == file]
    planted = of_sabotage(source, [(offset(source, one), one.genre) for one in here])
    return (one for one, only_planted in zip(here, planted, strict=True) if not only_planted)


def offset(source: bytes, one: Mutant) -> int:
    """Where it begins, in bytes of its file."""
    lines = source.splitlines(keepends=True)
    return sum(map(len, lines[: one.line - 1])) + len(lines[one.line - 1].decode()[: one.column - 1].encode())


def declared() -> str:
    """The registration of schemes with declarations of their modules that cargo-mutants sees."""
    text = (ROOT / DEVICE / "mapping" / "mod.rs").read_text(encoding="utf-8")
    return text + "".join(f"#[cfg(any())]\nmod {name};\n" for name in re.findall(r", in (\w+);", text))


def tried_alone(files: list[str], mutants: list[Mutant], cases: str, jobs: int) -> dict[str, str]:
    """How each mutant ended when cargo-mutants built it: `caught`, `missed` or `unviable`, by its name."""
    work = OUT / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    wanted = "|".join(re.escape(one.full_name).replace("\\ ", " ") for one in mutants)
    arguments = command(
        files,
        *("--re", f"^({wanted})$"),
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
        *("--output", str(work), "--colors", "never", "--gitignore", "false"),
    )
    environment = {**os.environ, "UFSIM_MUTANT_CASES": cases}
    environment.pop("CARGO_TARGET_DIR", None)
    ended = subprocess.run(arguments, cwd=COPY, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    # 2 and 3 tell of mutants that were missed or took too long.
    if ended.returncode not in (0, 2, 3):
        sys.exit(f"mutants: cargo-mutants ended with {ended.returncode}:\n{ended.stdout[-2000:]}")
    outcomes = json.loads((work / "mutants.out" / "outcomes.json").read_text(encoding="utf-8"))["outcomes"]
    ends = {"CaughtMutant": "caught", "Timeout": "caught", "MissedMutant": "missed", "Unviable": "unviable"}
    names = {one.full_name: one.name for one in mutants}
    tried = {one["scenario"]["Mutant"]["name"]: one["summary"] for one in outcomes if one["scenario"] != "Baseline"}
    # cargo-mutants tries more than it was asked for: `--re` does not concern deleted fields.
    return {names[name]: ends[summary] for name, summary in tried.items() if name in names}
