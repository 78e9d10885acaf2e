"""Which of two builds is faster."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

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


def bench(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tools", "bench", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("rate", "peak_mib", "status", "told"),
    [
        (981, 81, 0, "1 cases, 0 slower by more than 2%"),
        (979, 80, 1, "1 cases, 1 slower by more than 2%"),
        (1000, 82, 1, "more memory by over 2%: randwrite-16g-ufs (1.025)"),
    ],
)
def test_pairs(tmp_path: Path, rate: int, peak_mib: int, status: int, told: str) -> None:
    before = program(tmp_path, "before", 1000)
    after = program(tmp_path, "after", rate, peak_mib, more="\nrandread-16g-ufs")
    done = bench("pairs", before, after, "--pairs", 3, "--record", tmp_path / "pairs.json")
    assert done.returncode == status, done.stderr
    assert told in done.stdout
    assert f"not in {before}: randread-16g-ufs" in done.stdout
    assert json.loads((tmp_path / "pairs.json").read_text())["ratios"] == {"randwrite-16g-ufs": [rate / 1000] * 3}


def test_a_case_that_is_not_there_is_refused(tmp_path: Path) -> None:
    one = program(tmp_path, "one", 1000)
    done = bench("pairs", one, one, "no-such-case")
    assert done.returncode == 1 and "there are randwrite-16g-ufs" in done.stderr


def test_records(tmp_path: Path) -> None:
    for name, rates in (("before", {"a": 100, "b": 100, "gone": 1}), ("after", {"a": 99, "b": 97, "new": 1})):
        cases = {
            case: {"median_requests_per_second": rate, "median_cpu_seconds": 100 / rate} for case, rate in rates.items()
        }
        record = {"commit": "0", "date": "2026-01-01", "machine": {"processor": "p"}, "cases": cases}
        (tmp_path / name).write_text(json.dumps(record))
    files = (tmp_path / "before", tmp_path / "after")
    done = bench("compare", *files)
    assert done.returncode == 1 and "2 cases, 1 slower by more than 2%" in done.stdout
    assert bench("compare", *files, "--threshold", 5).returncode == 0
    assert bench("compare", *files, "--cpu").returncode == 1
