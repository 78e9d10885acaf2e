"""Runs programs on a disk that is watched and that fails: simulated_disk.c says how."""

import errno
import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
UNFINISHED = ".unfinished-"

# Length and checksum of each file, by its path below the directory.
Files = dict[str, str]


@dataclass(frozen=True)
class State:
    """What a directory held before a change, which would be left by a kill at this moment."""

    change: str
    files: Files

    @property
    def results(self) -> Files:
        """All files but those that say by their names that they are not complete, and locks, which hold nothing."""
        names = {path: Path(path).name for path in self.files}
        left_out = {path for path, name in names.items() if name.startswith(UNFINISHED) or name.endswith(".lock")}
        return {path: found for path, found in self.files.items() if path not in left_out}


@dataclass(frozen=True)
class Ran:
    """How a program has ended, and the states of the directory, from its beginning to its end."""

    ended: subprocess.CompletedProcess[str]
    states: Sequence[State]

    @property
    def changes(self) -> int:
        """Changes that it has tried."""
        return len(self.states) - 2


def library(folder: Path) -> Path:
    """Compiles the disk."""
    made = folder / "simulated_disk.so"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    subprocess.run([*compiler, "-O2", "-shared", "-fPIC", "-o", made, SOURCE, "-ldl"], check=True)
    return made


def run(
    disk: Path, root: Path, command: Sequence[object], fails: tuple[int, int] | None = None, **variables: str
) -> Ran:
    """Runs a program; `fails` has the number of the change from which on all fail, and their error."""
    log = disk.with_name(f"{root.name}.log")
    log.unlink(missing_ok=True)
    told = {"LD_PRELOAD": str(disk), "DISK_ROOT": str(root), "DISK_LOG": str(log)}
    if fails is not None:
        told |= {"DISK_FROM": str(fails[0]), "DISK_ERROR": str(fails[1])}
    ended = subprocess.run(
        list(map(str, command)), env={**os.environ, **variables, **told}, capture_output=True, text=True, check=False
    )
    states = [state(line) for line in log.read_text().splitlines()]
    assert states[-1].change.endswith(" end"), ended.stderr
    return Ran(ended, states)


def state(line: str) -> State:
    """A line of the disk's log."""
    change, *files = line.split("\t")
    return State(change, dict(file.split(":", 1) for file in files))


def half_written(states: Sequence[State], gone: Sequence[str] = ()) -> list[str]:
    """Files that are neither as before nor as after in some state; those named may also be gone."""
    old, new = states[0].results, states[-1].results
    found = []
    for one in states:
        for path in {**old, **new, **one.results}:
            now = one.results.get(path)
            if now not in (old.get(path), new.get(path)) and not (now is None and path in gone):
                found.append(f"before change {one.change}: {path}")
    return found


def after_failing(ran: Ran, number: int, error: int) -> list[str]:
    """What has become another than it was when the disk began to fail, and what is left where it need not be."""
    before, end = ran.states[number + 1], ran.states[-1]
    changed = {path for path, _ in before.results.items() ^ end.results.items()}
    found = [f"{path} has changed" for path in sorted(changed)]
    if error == errno.ENOSPC:
        found += [f"{path} is left" for path in end.files if path not in end.results]
    return found
