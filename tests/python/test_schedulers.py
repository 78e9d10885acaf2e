"""Schedulers from the command line, and the worked examples of MAP+."""

import json

import pytest

from ufsim import _core
from ufsim.cli import main

JOB = "[reads]\nrw=randread\nbs=4k\niodepth=64\nsize=64m\nio_size=4m\n"


@pytest.fixture
def job(tmp_path) -> str:
    path = tmp_path / "reads.fio"
    path.write_text(JOB)
    return str(path)


def test_a_comparison_takes_a_scheduler(job, capsys) -> None:
    options = ["--schemes", "ufs,ideal", "--scheduler", "map-plus", "--profile", "tiny", "--json"]
    with pytest.raises(SystemExit) as stop:
        main(["compare", job, *options, "--set", "scheme.*.cache_knowledge=poll", "--set", "scheme.*.poll_requests=50"])
    assert stop.value.code == 0
    for result in json.loads(capsys.readouterr().out)["results"]:
        host = result["counters"]["host"]
        assert result["scheduler"] == "map-plus"
        assert host["sched_prioritised"] > 0
        assert host["sched_polls"] > 0


def test_the_examples_are_those_of_the_paper() -> None:
    examples = {(e["name"], e["scheduler"]): e for e in json.loads(_core.map_plus_examples())}
    prioritised = [examples["Table I", name]["prioritised"] for name in ("noop", "hp", "map")]
    assert prioritised == [0, 6, 9]
    assert [examples["Fig. 6", name]["mean_waiting"] for name in ("noop", "hp")] == [20, 15]
    assert [examples["Table II", name]["mean_latency"] for name in ("rb", "map-plus")] == [6.6, 5.6]
