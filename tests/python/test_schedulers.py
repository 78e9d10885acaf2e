"""Schedulers from the command line."""

import json

import pytest

from ufsim.cli.app import main

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
