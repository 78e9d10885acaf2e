"""Where the project is, and how its programs are run."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
# The command line, of this project's sources.
UFSIM = (sys.executable, "-c", "import sys; from ufsim_start import main; sys.exit(main())")
MIB = 1 << 20

Word = str | Path


def failed(told: str) -> NoReturn:
    """Ends the tool."""
    sys.exit(f"tools: {told}")


def output(*command: Word, cwd: Path = ROOT, environment: Mapping[str, str] | None = None) -> str:
    """What a command prints. One that fails ends everything."""
    merged = {**os.environ, **(environment or {})}
    done = subprocess.run(command, cwd=cwd, env=merged, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        failed(f"failed: {' '.join(map(str, command))}")
    return done.stdout


def run(
    *command: Word,
    cwd: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    inherit: bool = True,
    quiet: bool = False,
) -> None:
    """Runs a command. One that fails ends everything; if it was to be quiet, with what it has printed.

    `environment` is added to that of the tool, or stands alone without `inherit`.
    """
    merged = ({**os.environ} if inherit else {}) | dict(environment or {})
    shown = subprocess.PIPE if quiet else None
    done = subprocess.run(command, cwd=cwd, env=merged, stdout=shown, stderr=shown, text=True, check=False)
    if done.returncode:
        failed(f"failed in {cwd}: {' '.join(map(str, command))}\n{done.stdout or ''}{done.stderr or ''}")


def cargo_tool(name: str, version: str) -> str:
    """A PATH on which a tool of cargo is found; the tool is fetched and compiled if it is not there yet."""
    folder = ROOT / "target" / "tools"
    program = folder / "bin" / name
    if not program.exists() or version not in output(program, name.removeprefix("cargo-"), "--version").split():
        run("cargo", "install", name, "--version", version, "--locked", "--root", folder)
    return f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"


@dataclass(frozen=True)
class Usage:
    """What a process has printed, and what it took."""

    printed: str
    seconds: float
    # Of the whole process. Other load on the machine hardly changes it.
    cpu_seconds: float
    peak_mib: float


def measured(command: Sequence[Word], environment: Mapping[str, str] | None = None) -> Usage:
    """Runs a command in a process of its own. One that fails ends everything."""
    merged = {**os.environ, **(environment or {})}
    began = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, env=merged, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        failed(f"failed: {' '.join(map(str, command))}")
    cpu = usage.ru_utime + usage.ru_stime
    return Usage(printed, time.monotonic() - began, round(cpu, 3), usage.ru_maxrss / 1024)
