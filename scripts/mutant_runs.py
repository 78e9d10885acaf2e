"""Runs of the programs of scripts/mutant_build.py: which tests ask for which mutant, and whether they catch it.

A test is a case of the power-cut campaign (its number) or a test of crate `device` (its name). One that never asks for
a mutant cannot catch it, so a mutant is tried with those that do, until one fails: some cases, then the quick tests of
`device`, then the other cases, then the slow tests. A mutant that does not end in ten times the time is caught.
"""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutant_build import CASES, COPY, Build
from mutant_list import output

# Cases of the campaign that are tried first, and then at a time.
FIRST_CASES = 5
MORE_CASES = 50
# A test of `device` that takes longer is tried last.
QUICK_S = 0.5
SLACK_S = 5.0
TIMES = 10
# A mutant may ask for memory without end. Programs inherit the limit.
MEMORY_BYTES = 6 << 30


@dataclass(frozen=True)
class Test:
    """What one test does without a mutant."""

    program: str
    name: str
    seconds: float
    reached: frozenset[int]

    def is_case(self) -> bool:
        return self.program == CASES


def measured(build: Build, cases: int, jobs: int) -> list[Test]:
    """All tests, run without a mutant. Ends the script if one fails."""
    tests = [(CASES, str(case)) for case in range(cases)]
    for program in build.programs.keys() - {CASES}:
        lines = output(str(build.programs[program]), "--list", "--format", "terse").splitlines()
        tests += [(program, line.removesuffix(": test")) for line in lines if line.endswith(": test")]
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda test: measure(build, *test), tests))


def measure(build: Build, program: str, name: str) -> Test:
    with tempfile.TemporaryDirectory() as folder:
        reached = Path(folder) / "reached"
        reached.touch()
        begun = time.monotonic()
        if not passes(build, program, [name], {"UFSIM_MUTANTS_REACHED": str(reached)}, 600):
            sys.exit(f"mutants: fails without a mutant: {program} {name}")
        seconds = time.monotonic() - begun
        return Test(program, name, seconds, frozenset(int(number) for number in reached.read_text().split()))


def passes(build: Build, program: str, names: list[str], variables: dict[str, str], seconds: float) -> bool:
    """Whether tests of a program pass within some time. The first failure counts."""
    environment = {
        **os.environ,
        **variables,
        "RUST_BACKTRACE": "0",
        "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
        "PROPTEST_MAX_SHRINK_ITERS": "0",
    }
    command = [str(build.programs[program])]
    if program == CASES:
        environment["UFSIM_MUTANT_CASES"] = ",".join(names)
    else:
        command += ["--exact", "--test-threads", "1", *names]
    with subprocess.Popen(
        command,
        cwd=COPY / "crates" / ("campaign" if program == CASES else "device"),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        return verdict(process, seconds)


def verdict(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    """Reads what the tests print until one fails, the time is over, or all have passed."""
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    deadline = time.monotonic() + seconds
    wait = 0.002
    while True:
        told = process.stdout.read() or b""
        if b"FAILED" in told or time.monotonic() > deadline:
            os.killpg(process.pid, signal.SIGKILL)
            return False
        if process.poll() is not None:
            return process.returncode == 0
        time.sleep(wait)
        wait = min(2 * wait, 0.05)


def batches(tests: list[Test]) -> Iterator[list[Test]]:
    """In which order tests are tried, and how many at a time: the quick ones of a kind first."""
    ordered = sorted(tests, key=lambda test: test.seconds)
    cases = [test for test in ordered if test.is_case()]
    yield cases[:FIRST_CASES]
    for program in sorted({test.program for test in tests} - {CASES}):
        yield [test for test in ordered if test.program == program and test.seconds <= QUICK_S]
    for first in range(FIRST_CASES, len(cases), MORE_CASES):
        yield cases[first : first + MORE_CASES]
    yield from ([test] for test in ordered if not test.is_case() and test.seconds > QUICK_S)


def is_caught(build: Build, number: int, tests: list[Test]) -> bool:
    """Whether a test notices a mutant."""
    for batch in batches([test for test in tests if number in test.reached]):
        allowed = SLACK_S + TIMES * sum(test.seconds for test in batch)
        names, variables = [test.name for test in batch], {"UFSIM_MUTANT": str(number)}
        if batch and not passes(build, batch[0].program, names, variables, allowed):
            return True
    return False


def verdicts(build: Build, numbers: list[int], tests: list[Test], jobs: int) -> Iterator[tuple[int, bool]]:
    """Tries mutants, some at once; yields each with whether it was caught, in the order of the numbers."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, before[1]))
    pool = ThreadPoolExecutor(jobs)
    try:
        yield from pool.map(lambda number: (number, is_caught(build, number, tests)), numbers)
    finally:
        pool.shutdown(cancel_futures=True)
        resource.setrlimit(resource.RLIMIT_AS, before)
