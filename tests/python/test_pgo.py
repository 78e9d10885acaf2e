"""Profile-guided optimisation: the workloads run with what was built for that, and their profiles are merged."""

import sys
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import pgo

# Stands for the instrumented package: leaves a profile that says what it was asked to run.
PACKAGE = """
import os, pathlib, sys
def main():
    raw = pathlib.Path(os.environ["LLVM_PROFILE_FILE"].replace("%p", str(os.getpid())).replace("%m", "0"))
    raw.parent.mkdir(parents=True, exist_ok=True)
    raw.write_text(" ".join(sys.argv[1:3]) + "\\n")
    sys.exit(STATUS)
"""
MERGE = '#!/bin/sh\nshift 2\nout=$1\nshift\ncat "$@" > "$out"\n'


def trained(folder: Path, status: int) -> tuple[str, dict[str, str]]:
    tool = folder / "llvm-profdata"
    tool.write_text(MERGE)
    tool.chmod(0o755)
    seen: dict[str, str] = {}

    def build(dist: Path, environment: dict[str, str]) -> Path:
        dist.mkdir(parents=True)
        seen.update(environment)
        with zipfile.ZipFile(dist / "a.whl", "w") as wheel:
            wheel.writestr("ufsim_start.py", PACKAGE.replace("STATUS", str(status)))
        return dist / "a.whl"

    return pgo.flags(tool, folder / "pgo", build), seen


def test_every_workload_is_in_the_profile(tmp_path: Path) -> None:
    flags, seen = trained(tmp_path, 0)
    merged = tmp_path / "pgo" / "merged.profdata"
    assert f"-Cprofile-use={merged}" in flags
    assert f"-Cprofile-generate={tmp_path}" in seen["RUSTFLAGS"]
    assert sorted(merged.read_text().splitlines()) == sorted(f"compare {job}" for job, _ in pgo.WORKLOADS)


def test_a_workload_that_fails_ends_it(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"pgo: failed: .* compare rw=randwrite"):
        trained(tmp_path, 2)
