"""Aged states: files, the cache, and what the command line says about them."""

import json
from pathlib import Path

import pytest

import ufsim as lab
from conftest import Command
from ufsim.spec import Spec
from ufsim.states import StateCache

AGE = "rw=randwrite bs=4k iodepth=8 size=100m io_size=200m"
JOB = "[j]\nrw=randrw\nbs=4k\niodepth=4\nsize=40m\nio_size=8m\n"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.fio"
    path.write_text(JOB)
    return path


def without_wall(result: lab.Result) -> dict:
    return {key: value for key, value in result.data.items() if "wall" not in key}


def test_a_kept_state_gives_the_result_of_a_device_aged_anew(job: Path, tmp_path: Path) -> None:
    cache = StateCache(tmp_path / "cache")
    options = {"profile": "tiny", "age": AGE}
    anew, made, kept = (lab.run(job, "hp-ufs", cache=use, **options) for use in (None, cache, cache))
    assert without_wall(anew) == without_wall(made) == without_wall(kept)
    assert anew.age.startswith("[age]\nrw=randwrite")
    assert [path.suffix for path in cache.files()] == [".state"]


def test_whatever_decides_a_state_decides_its_name(job: Path, tmp_path: Path) -> None:
    cache = StateCache(tmp_path)
    base = Spec(workload=str(job), scheme="ufs", profile="tiny", age=AGE)
    others = [
        Spec(workload=str(job), scheme="ufs", profile="tiny", age=AGE + " rwmixread=5"),
        Spec(workload=str(job), scheme="hpb", profile="tiny", age=AGE),
        Spec(workload=str(job), scheme="ufs", profile="tiny", age=AGE, seed=2),
        Spec(workload=str(job), scheme="ufs", profile="tiny", age=AGE, settings={"sram.pool_kib": 384}),
    ]
    same = Spec(workload="elsewhere", scheme="ufs", profile="tiny", age=AGE, depth=3)
    assert cache.path(base) == cache.path(same)
    assert len({cache.path(spec) for spec in [base, *others]}) == 5


def test_the_cache_stays_below_its_limit(job: Path, tmp_path: Path) -> None:
    cache = StateCache(tmp_path / "cache")
    lab.run(job, "ufs", cache=cache, profile="tiny", age=AGE)
    size = cache.files()[0].stat().st_size
    small = StateCache(tmp_path / "cache", limit_bytes=size * 3 // 2)
    lab.run(job, "ufs", cache=small, profile="tiny", age=AGE, seed=2)
    assert len(small.files()) == 1, "the older one went"
    assert small.clear() == 1
    assert small.files() == []


def test_the_command_line_ages_shows_and_begins_with_a_state(ufsim: Command, job: Path, tmp_path: Path) -> None:
    state = tmp_path / "s.state"
    made = ufsim("age", AGE, "--scheme", "ufs", "--profile", "tiny", "--out", state)
    assert made.returncode == 0, made.stderr
    header = json.loads(ufsim("age", "--show", state).stdout)
    assert (header["scheme"], header["mapping"], header["seed"]) == ("ufs", "segment-log", 1)
    run = ["run", job, "--scheme", "ufs", "--profile", "tiny", "--json"]
    from_file = json.loads(ufsim(*run, "--from", state).stdout)["results"][0]
    aged_first = json.loads(ufsim(*run, "--age", AGE, "--no-cache").stdout)["results"][0]
    assert from_file["digest"] == aged_first["digest"]
    assert from_file["digest"] != json.loads(ufsim(*run).stdout)["results"][0]["digest"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["age"], "JOB and --out are needed"),
        (["age", "rw=read size=1m", "--profile", "tiny", "--out", "FOLDER/x/y.state"], "x/y.state"),
        (["age", "rw=sideways", "--profile", "tiny", "--out", "FOLDER/s.state"], "sideways"),
        (["age", "--show", "nowhere"], "nowhere"),
        (["run", "FOLDER/job.fio", "--profile", "tiny", "--from", "nowhere"], "aged state 'nowhere': no such file"),
        (["run", "FOLDER/job.fio", "--profile", "tiny", "--from", "FOLDER/job.fio"], 'with "ufsim aged state 1"'),
        (["run", "FOLDER/job.fio", "--from", "FOLDER/job.fio", "--age", "x"], "only one of them"),
    ],
)
def test_wrong_wishes_are_told(ufsim: Command, job: Path, arguments: list[str], told: str) -> None:
    failed = ufsim(*(argument.replace("FOLDER", str(job.parent)) for argument in arguments))
    assert failed.returncode in (1, 2)
    assert told in failed.stderr and failed.stderr.count("\n") == 1, failed.stderr
    assert not (job.parent / "s.state").exists()
