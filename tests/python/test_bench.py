"""The scripts that compare benchmarks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"

# A program that prints as the benchmark does: `rate` requests per second of each of its cases, and its memory.
PROGRAM = """#!/bin/sh
case "$1" in
    --list) echo "randwrite-16g-ufs{more}" ;;
    --case) echo "$2            4194304        {rate}        600000     7.00    52.0 s        {peak_mib}" ;;
esac
"""


def program(folder: Path, name: str, rate: int, peak_mib: int = 80, more: str = "") -> Path:
    path = folder / name
    path.write_text(PROGRAM.format(rate=rate, peak_mib=peak_mib, more=more))
    path.chmod(0o755)
    return path


def call(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPTS / script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=dict(os.environ))


@pytest.mark.parametrize(("after", "status", "word"), [(1000, 0, "1.000"), (981, 0, "0.981"), (979, 1, "slower")])
def test_pairs(tmp_path: Path, after: int, status: int, word: str) -> None:
    programs = program(tmp_path, "before", 1000), program(tmp_path, "after", after)
    done = call("bench_pairs.py", *programs, "--pairs", 3, "--json", tmp_path / "pairs.json")
    assert done.returncode == status, done.stderr
    assert word in done.stdout
    ratios = json.loads((tmp_path / "pairs.json").read_text())["ratios"]
    assert ratios == {"randwrite-16g-ufs": [after / 1000] * 3}


@pytest.mark.parametrize(("peak_mib", "status"), [(81, 0), (82, 1)])
def test_pairs_compares_memory(tmp_path: Path, peak_mib: int, status: int) -> None:
    programs = program(tmp_path, "before", 1000), program(tmp_path, "after", 1000, peak_mib)
    done = call("bench_pairs.py", *programs, "--pairs", 1)
    assert done.returncode == status, done.stderr
    assert ("more memory by over 2%: randwrite-16g-ufs (1.025)" in done.stdout) == (status == 1)


def test_pairs_leaves_out_what_only_one_has(tmp_path: Path) -> None:
    programs = program(tmp_path, "before", 1000), program(tmp_path, "after", 1000, more="\nrandread-16g-ufs")
    done = call("bench_pairs.py", *programs, "--pairs", 1)
    assert done.returncode == 0, done.stderr
    assert "not in" in done.stdout and "1 cases, 0 slower" in done.stdout


def test_pairs_needs_a_case_that_is_there(tmp_path: Path) -> None:
    programs = program(tmp_path, "before", 1000), program(tmp_path, "after", 1000)
    done = call("bench_pairs.py", *programs, "no-such-case")
    assert done.returncode == 1 and "there are randwrite-16g-ufs" in done.stderr


def document(rates: dict[str, float]) -> str:
    cases = {
        name: {"median_requests_per_second": rate, "median_cpu_seconds": 100 / rate, "runs": []}
        for name, rate in rates.items()
    }
    return json.dumps({"commit": "0", "date": "2026-01-01", "machine": {"processor": "p"}, "cases": cases})


def test_compare(tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    before.write_text(document({"a": 100, "b": 100, "gone": 1}))
    after.write_text(document({"a": 99, "b": 97, "new": 1}))
    done = call("bench_compare.py", before, after)
    assert done.returncode == 1 and "2 cases, 1 slower by more than 2%" in done.stdout
    assert call("bench_compare.py", before, after, "--threshold", 5).returncode == 0
    assert call("bench_compare.py", before, after, "--cpu").returncode == 1
