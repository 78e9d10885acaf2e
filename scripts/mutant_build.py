"""Programs that hold many mutants at once: scripts/mutant_switches.py for a copy of the sources, and cargo.

A mutant that does not compile is taken out. Some are not viable at all, because the types do not have the operator or
the value; others only cannot be switched, such as one in a constant.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutant_list import DEVICE, ROOT, Mutant, offset
from mutant_switches import Change, blamed, switched
from source_copy import copy_sources

COPY = ROOT / "target" / "mutants" / "switched"
# The test of crate `campaign` that runs cases.
CASES = "mutants"
BUILT = ROOT / "target" / "mutants" / "built"
# Errors of the compiler that say the same of a mutant wherever it stands: no such operator, trait, method, name, value.
UNVIABLE = ("E0277", "E0369", "E0368", "E0599", "E0600", "E0433", "E0308", "E0061", "E0423", "E0425")
# The choice. `reached` is written, a number a line, for the numbers that are asked for while none is chosen.
SWITCH = """
/// Whether a mutant was chosen (scripts/mutant_build.py).
#[inline(always)]
pub(crate) fn mutant(number: u32) -> bool {
    use std::sync::atomic::Ordering::Relaxed;
    let chosen = switch::CHOSEN.load(Relaxed);
    chosen == number || (chosen >= switch::RECORD && switch::first_asked(number))
}

mod switch {
    use std::io::Write;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

    pub static CHOSEN: AtomicU32 = AtomicU32::new(UNREAD);
    static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
    const UNREAD: u32 = u32::MAX;
    pub const RECORD: u32 = u32::MAX - 1;

    #[cold]
    pub fn first_asked(number: u32) -> bool {
        if CHOSEN.load(SeqCst) == UNREAD {
            let chosen = std::env::var("UFSIM_MUTANT").map_or(0, |text| text.parse().expect("a number"));
            let record = std::env::var("UFSIM_MUTANTS_REACHED").is_ok();
            CHOSEN.store(if record { RECORD } else { chosen }, SeqCst);
            return super::mutant(number);
        }
        if CHOSEN.load(SeqCst) == RECORD && !REACHED[number as usize].swap(true, SeqCst) {
            let path = std::env::var("UFSIM_MUTANTS_REACHED").expect("asked before");
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).expect("a file");
            file.write_all(format!("{number}\\n").as_bytes()).expect("written");
        }
        false
    }
}
"""


@dataclass
class Build:
    """What came of a list of mutants. Mutant N of the switch is number N of the list, from 1."""

    mutants: list[Mutant]
    # Of the cases and of the tests of crate `device`, by the names of their sources.
    programs: dict[str, Path] = field(default_factory=dict)
    # Numbers of mutants that do not compile at all, and of those that cannot be switched.
    unviable: set[int] = field(default_factory=set)
    unswitched: set[int] = field(default_factory=set)

    def switched(self) -> list[int]:
        """Numbers of the mutants that the programs hold."""
        return [n for n in range(1, len(self.mutants) + 1) if n not in self.unviable | self.unswitched]


def build(mutants: list[Mutant]) -> Build:
    """Programs with all mutants that compile behind a switch."""
    made = Build(mutants)
    while True:
        texts = write(made)
        errors, _ = cargo("check", "--lib", "--package", "ufsim-device")
        if not errors:
            break
        before = len(made.switched())
        for error in errors:
            blame(made, texts, error)
        print(f"mutants: {before} behind switches, {before - len(made.switched())} of them do not compile", flush=True)
        if len(made.switched()) == before:
            sys.exit("mutants: the copy does not compile:\n" + "\n".join(one["rendered"] for one in errors[:5]))
    names = [CASES, *(path.stem for path in sorted((ROOT / "crates" / "device" / "tests").glob("*.rs")))]
    tests = [argument for name in names for argument in ("--test", name)]
    errors, made.programs = cargo(
        "test", "--no-run", "--package", "ufsim-device", "--package", "ufsim-campaign", "--lib", *tests
    )
    if errors:
        sys.exit("mutants: the tests do not compile:\n" + "\n".join(one["rendered"] for one in errors[:5]))
    return made


def write(made: Build) -> dict[str, bytes]:
    """Writes the copy; the texts of the files that hold switches."""
    held = set(made.switched())
    files: dict[str, list[Change]] = {}
    for number, mutant in enumerate(made.mutants, 1):
        source = (ROOT / mutant.file).read_bytes()
        if number in held:
            change = Change(number, mutant.genre, offset(source, mutant), mutant.replacement)
            files.setdefault(mutant.file, []).append(change)
    texts = {}
    for file, changes in files.items():
        texts[file], unswitched, unviable = switched((ROOT / file).read_bytes(), changes)
        made.unswitched |= unswitched
        made.unviable |= unviable
    library = f"{DEVICE}/lib.rs"
    text = texts.get(library, (ROOT / library).read_bytes())
    texts[library] = text + SWITCH.replace("COUNT", str(len(made.mutants) + 1)).encode()
    copy_sources(COPY, {file: text.decode() for file, text in texts.items()})
    return texts


def blame(made: Build, texts: dict[str, bytes], error: dict[str, Any]) -> None:
    """Takes out the mutants for which an error stands."""
    for span in spans(error):
        numbers, alone = blamed(texts.get(span["file_name"], b""), span["byte_start"])
        if not numbers:
            continue
        code = (error["code"] or {}).get("code")
        opaque = any("impl " in made.mutants[number - 1].returns for number in numbers)
        if alone and code in UNVIABLE and not opaque:
            made.unviable |= numbers
        else:
            made.unswitched |= numbers
        return


def spans(error: dict[str, Any]) -> list[dict[str, Any]]:
    """The places of an error, the likely ones first."""
    return sorted(error["spans"], key=lambda span: not span["is_primary"])


def cargo(subcommand: str, *arguments: str) -> tuple[list[dict[str, Any]], dict[str, Path]]:
    """Runs cargo on the copy: errors, and the test programs by the name of their crate or file."""
    command = ["cargo", subcommand, *arguments, "--locked", "--profile", "switches", "--message-format", "json"]
    environment = {**os.environ, "RUSTFLAGS": "--cap-lints allow", "CARGO_TARGET_DIR": str(BUILT)}
    ended = subprocess.run(command, cwd=COPY, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    messages = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    told = [one["message"] for one in messages if one["reason"] == "compiler-message"]
    errors = [one for one in told if one["level"].startswith("error") and one["spans"]]
    if ended.returncode and not errors:
        sys.exit("mutants: cargo failed")
    programs = {one["target"]["name"]: Path(one["executable"]) for one in messages if one.get("executable")}
    programs.pop("ufsim_campaign", None)
    return errors, programs
