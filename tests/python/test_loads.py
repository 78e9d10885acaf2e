"""A language model and a fragmentation loop wherever a workload goes: Python, the command line, logs, grids."""

import json
import subprocess
from pathlib import Path

import pytest

import ufsim as lab
from conftest import ROOT, Command
from ufsim.sweeps import grid as grids
from ufsim.sweeps.points import points_of

MODEL = "[llm]\nlayers = 4\nbundles = 1024\nother_mib = 4\ncompute_us = 500\ntokens = 5\n"
LOOP = "[fragmentation]\nfiles = 64\nlarge_mib = 4\nleast_free_segments = 16\nrounds = 12\n"


def test_a_model_is_judged_by_its_tokens(ufsim: Command, tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(MODEL)
    run = ufsim("compare", path, "--schemes", "ufs,ideal", "--profile", "tiny", "--out", tmp_path / "made")
    assert run.returncode == 0, run.stderr
    for row in ("token mean", "tokens/s", "waited for reads", "MiB per token", "mean run, bundles"):
        assert row in run.stdout
    assert "gain over ufs" in run.stdout
    assert "a language model" in run.stdout
    # The text itself is the same workload.
    inline, from_file = (lab.run(workload, "ufs", profile="tiny") for workload in (MODEL, path))
    assert inline.digest == from_file.digest
    assert inline.llm["tokens"] == 5
    assert inline.llm["tokens_per_s"] == pytest.approx(5e9 / inline.operations[0]["duration_ns"])
    assert "token" in set(inline.latency()["kind"])


def test_every_read_of_a_model_is_in_the_log(tmp_path: Path) -> None:
    result = lab.run(MODEL, "ufs", profile="tiny", log=True)
    frame = result.requests()
    decoded = frame[frame["measured"]]
    assert len(decoded) == result.completed == result.llm["reads_per_token"] * 5
    assert decoded["bytes"].sum() == result.llm["bytes_per_token"] * 5
    # Loading is sequential, in the largest requests.
    loaded = frame[~frame["measured"]].sort_values("arrival_s").tail(24)
    assert loaded["bytes"].sum() == result.llm["load_bytes"]


def test_a_loop_is_judged_by_its_large_files(ufsim: Command) -> None:
    run = ufsim("run", LOOP, "--scheme", "ufs", "--profile", "tiny")
    assert run.returncode == 0, run.stderr
    for row in ("large write mean", "write MB/s, first round", "read MB/s, last round", "pieces in the last round"):
        assert row in run.stdout
    rounds = lab.run(LOOP, "ufs", profile="tiny").fragmentation
    assert [one["pieces"] for one in rounds[:3]] == [1, 1, 1]
    assert rounds[-1]["pieces"] >= 16


def test_wrong_descriptions_are_one_line(ufsim: Command) -> None:
    run: subprocess.CompletedProcess[str] = ufsim("run", "[llm]\ntokens = 0\n", "--scheme", "ufs")
    assert run.returncode == 1
    assert run.stderr == "ufsim: error: options: llm.tokens = 0: must be 1..=1000000\n"


def test_the_grid_of_the_page_has_its_points() -> None:
    points = points_of(grids.read_grid(ROOT / "jobs/sweep-llm.toml"))
    assert len(points) == 84
    texts = {json.loads(point.spec.to_json())["workload"] for point in points}
    assert len(texts) == 4
    assert all("[llm]" in text and "{" not in text for text in texts)
