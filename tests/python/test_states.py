"""Aged states: files, the cache, and what the command line says about them."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import ufsim as lab
from conftest import ROOT, Command
from ufsim import _core
from ufsim.locks import held
from ufsim.results.conditions import described
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
    options = {"profile": "tiny", "age": AGE, "seeds": 1}
    anew, made, kept = (lab.run(job, "hp-ufs", cache=use, **options) for use in (None, cache, cache))
    assert without_wall(anew) == without_wall(made) == without_wall(kept)
    assert anew.age.startswith("[age]\nrw=randwrite")
    assert [path.suffix for path in cache.files()] == [".state"]


def test_whatever_decides_a_state_decides_its_name(job: Path, tmp_path: Path) -> None:
    cache = StateCache(tmp_path)
    base = Spec(workload=str(job), scheme="ufs", profile="tiny", age=AGE)
    others = [
        replace(base, age=AGE + " rwmixread=5"),
        replace(base, scheme="hp-ufs"),
        replace(base, seed=2),
        replace(base, settings={"sram.pool_kib": 384}),
        replace(base, settings={"gc.units_per_step": 32}),
        replace(base, settings={"scheme.segment-log.segment_kib": 1}),
    ]
    assert len({cache.path(spec) for spec in [base, *others]}) == 1 + len(others)


def test_what_is_only_asked_of_a_state_does_not_decide_its_name(job: Path, tmp_path: Path) -> None:
    cache = StateCache(tmp_path)
    base = Spec(workload=str(job), scheme="ufs", profile="tiny", age=AGE)
    same = [
        replace(base, workload="elsewhere", replay="closed", depth=3, precondition="none"),
        replace(base, host_memory_mib=7),
        replace(base, scheduler="row"),
        replace(base, settings={"nand.tlc_read_us": 9, "nand.slc_program_us": 9, "firmware.command_ns": 1}),
        replace(base, settings={"what_if.free": "gc", "link.upiu_ns": 7, "host.tags": 16, "scheme.hpb.eager": True}),
        *(replace(base, scheme=scheme) for scheme in ("hpb", "hpb-linux", "foam", "hpbvalve")),
    ]
    assert {cache.path(spec) for spec in same} == {cache.path(base)}
    for pair in (["hp-ufs", "hpbvalve-hp-ufs"],):
        assert len({cache.path(replace(base, scheme=scheme)) for scheme in pair}) == 1


def test_schemes_with_the_same_layout_share_a_state(job: Path, tmp_path: Path) -> None:
    cache = StateCache(tmp_path / "cache")
    options = {"profile": "tiny", "age": AGE, "settings": {"nand.tlc_program_us": 900}, "jobs": 2, "seeds": 1}
    schemes = ["hpb", "ufs", "foam"]
    kept = lab.compare(job, schemes, cache=cache, **options)
    assert len(cache.files()) == 1
    anew = lab.compare(job, schemes, cache=False, **options)
    assert [without_wall(result) for result in kept.results] == [without_wall(result) for result in anew.results]
    told = [result.aged_with for result in anew.results]
    assert told[1] == {"nand.tlc_program_us": "550"}
    assert told[0] == told[2] == {"nand.tlc_program_us": "550", "booster": "none"}
    assert anew.table().aged_with["hpb"] == "booster=none nand.tlc_program_us=550"
    assert described(anew.results)["ageing"].endswith(" io_size=200m, with nand.tlc_program_us=550")


def test_an_age_in_words_is_relative_to_the_device(job: Path) -> None:
    options = {"profile": "tiny", "cache": False, "seeds": 1}
    aged = {words: lab.run(job, "ufs", age=words, **options) for words in ("fresh", "used", "full", "50% full")}
    assert aged["fresh"].age is None and aged["fresh"].digest == lab.run(job, "ufs", **options).digest
    # The tiny profile has 128 MiB.
    assert "size=111104k\n" in aged["used"].age and "io_size=44440k\n" in aged["used"].age
    assert "size=65536k\n" in aged["50% full"].age
    assert len({result.digest for result in aged.values()}) == 4
    with pytest.raises(lab.ConfigError, match='age = "101% full": must be more than 0% and at most 100% full'):
        lab.run(job, "ufs", age="101% full", **options)
    with pytest.raises(lab.ConfigError, match="or words: fresh, used, full, or such as"):
        lab.run(job, "ufs", age="old", **options)


def test_the_cache_stays_below_its_limit(job: Path, tmp_path: Path) -> None:
    cache = StateCache(tmp_path / "cache")
    lab.run(job, "ufs", cache=cache, profile="tiny", age=AGE, seeds=1)
    size = cache.files()[0].stat().st_size
    small = StateCache(tmp_path / "cache", limit_bytes=size * 3 // 2)
    lab.run(job, "ufs", cache=small, profile="tiny", age=AGE, seed=2, seeds=1)
    assert len(small.files()) == 1, "the older one went"
    assert small.clear() == 1
    assert small.files() == []


def test_the_command_line_ages_shows_and_begins_with_a_state(ufsim: Command, job: Path, tmp_path: Path) -> None:
    state = tmp_path / "s.state"
    made = ufsim("age", AGE, "--scheme", "ufs", "--profile", "tiny", "--out", state)
    assert made.returncode == 0, made.stderr
    header = json.loads(ufsim("age", "--show", state, "--json").stdout)
    assert (header["scheme"], header["mapping"], header["seed"]) == ("ufs", "segment-log", 1)
    shown = ufsim("age", "--show", state).stdout.splitlines()
    assert shown[0] == f"{state}: scheme ufs (noop + none + segment-log), profile tiny, seed 1"
    assert shown[1].startswith("aged by: [age] rw=randwrite bs=4k") and shown[1].endswith("io_size=200m")
    assert len(shown) == 3
    run = ["run", job, "--scheme", "ufs", "--profile", "tiny", "--json"]
    from_file = json.loads(ufsim(*run, "--from", state).stdout)["results"][0]
    aged_first = json.loads(ufsim(*run, "--age", AGE, "--seeds", "1", "--no-cache").stdout)["results"][0]
    assert from_file["digest"] == aged_first["digest"]
    assert from_file["digest"] != json.loads(ufsim(*run).stdout)["results"][0]["digest"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["age"], "JOB and --out are needed"),
        (["age", AGE], "JOB and --out are needed"),
        (["age", "--show", "nowhere", "--out", "FOLDER/s.state"], "--show does nothing else: leave out --out"),
        (["age", AGE, "--show", "nowhere"], "--show does nothing else: leave out JOB"),
        (["age", "--clear-cache", "--out", "FOLDER/s.state"], "--clear-cache does nothing else: leave out --out"),
        (["age", "--clear-cache", "--show", "nowhere"], "--show does nothing else: leave out --clear-cache"),
        (
            ["age", AGE, "--profile", "tiny", "--set", "nand.tlc_read_us=9", "--out", "FOLDER/s.state"],
            "set: nand.tlc_read_us = 9: has no effect on ageing",
        ),
        (["age", "rw=read size=1m", "--profile", "tiny", "--out", "FOLDER/job.fio/y.state"], "there is no directory"),
        (["age", "rw=sideways", "--profile", "tiny", "--out", "FOLDER/s.state"], "sideways"),
        (["age", "--show", "nowhere"], "nowhere"),
        (["run", "FOLDER/job.fio", "--profile", "tiny", "--from", "nowhere"], "aged state 'nowhere': no such file"),
        (["run", "FOLDER/job.fio", "--profile", "tiny", "--from", "FOLDER/job.fio"], 'with "ufsim aged state 1"'),
        (["run", "FOLDER/job.fio", "--from", "FOLDER/job.fio", "--age", "x"], "only one of them"),
    ],
)
def test_wrong_wishes_are_told(ufsim: Command, job: Path, arguments: list[str], told: str) -> None:
    failed = ufsim(*(argument.replace("FOLDER", str(job.parent)) for argument in arguments))
    assert failed.returncode in (1, 2, 4)
    assert told in failed.stderr and failed.stderr.count("\n") == 1, failed.stderr
    assert not (job.parent / "s.state").exists()


def spoiled(state: Path, how: str) -> None:
    whole = state.read_bytes()
    state.unlink()
    if how == "flipped":
        middle = len(whole) // 2
        state.write_bytes(whole[:middle] + bytes([whole[middle] ^ 4]) + whole[middle + 1 :])
    elif how == "cut":
        state.write_bytes(whole[:-100])
    elif how == "empty":
        state.touch()
    elif how == "text":
        state.write_text("hello")


@pytest.mark.parametrize("how", ["flipped", "cut", "empty", "text"])
def test_a_state_that_is_damaged_is_made_again(
    job: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    cache = StateCache(tmp_path / "cache")
    options = {"profile": "tiny", "age": AGE, "seeds": 1}
    first = lab.run(job, "ufs", cache=cache, **options)
    (state,) = cache.files()
    whole = state.read_bytes()
    spoiled(state, how)
    again = lab.run(job, "ufs", cache=cache, **options)
    assert without_wall(first) == without_wall(again)
    assert state.read_bytes() == whole
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.message.startswith(f"{state}: ") and record.message.endswith("; the state is made again")


def test_a_damaged_state_is_told_on_one_line(ufsim: Command, job: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("UFSIM_CACHE", str(tmp_path / "cache"))
    arguments = ["run", job, "--scheme", "ufs", "--profile", "tiny", "--age", AGE, "--seeds", "1", "--json"]
    assert ufsim(*arguments).stderr == ""
    spoiled(StateCache().files()[0], "cut")
    ended = ufsim(*arguments)
    assert ended.returncode == 0 and json.loads(ended.stdout)["results"]
    assert ended.stderr.startswith("ufsim: warning: ") and ended.stderr.count("\n") == 1


def test_a_state_that_cannot_be_removed_is_done_without(job: Path, tmp_path: Path) -> None:
    cache = StateCache(tmp_path / "cache")
    options = {"profile": "tiny", "age": AGE}
    spec = Spec(workload=str(job), scheme="ufs", **options)
    cache.path(spec).mkdir(parents=True)
    kept, anew = (lab.run(job, "ufs", cache=use, **options) for use in (cache, False))
    assert without_wall(kept) == without_wall(anew)


def begun(job: Path, cache: Path, *more: str) -> subprocess.Popen[str]:
    """A process that needs a state."""
    program = Path(sys.executable).with_name("ufsim")
    command = [
        program,
        "run",
        job,
        "--scheme",
        "ufs",
        "--profile",
        "tiny",
        "--age",
        AGE,
        "--seeds",
        "1",
        "--json",
        *more,
    ]
    variables = {**os.environ, "UFSIM_CACHE": str(cache)}
    return subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_second_process_waits_and_uses_the_state_of_the_first(job: Path, tmp_path: Path) -> None:
    cache = StateCache(tmp_path)
    spec = Spec(workload=str(job), scheme="ufs", profile="tiny", age=AGE)
    path = cache.path(spec)
    with held(path.with_name(f".{path.name}.lock"), lambda first: None):
        second = begun(job, tmp_path)
        assert second.stderr is not None
        notice = second.stderr.readline()
        assert notice == f"ufsim: note: waiting for another process that ages the same device: {path}\n"
        _core.age(spec.to_json(), path)
        made = path.stat().st_ino
    out, err = second.communicate(timeout=60)
    assert (second.returncode, err) == (0, "")
    assert path.stat().st_ino == made, "it has not been made a second time"
    assert (
        json.loads(out)["results"][0]["digest"]
        == lab.run(job, "ufs", profile="tiny", age=AGE, cache=False, seeds=1).digest
    )
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_processes_at_a_time_make_one_state(job: Path, tmp_path: Path) -> None:
    processes = [begun(job, tmp_path / "cache") for _ in range(3)]
    outs = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], outs
    digests = {json.loads(out)["results"][0]["digest"] for out, _ in outs}
    assert len(digests) == 1
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".state"]


def test_a_process_that_dies_leaves_no_lock(job: Path, tmp_path: Path) -> None:
    job.write_text(JOB)
    slow = AGE.replace("io_size=200m", "io_size=900g")
    first = begun(job, tmp_path, "--age", slow, "--seeds", "1")
    spec = Spec(workload=str(job), scheme="ufs", profile="tiny", age=slow)
    path = StateCache(tmp_path).path(spec)
    lock = path.with_name(f".{path.name}.lock")
    deadline = time.monotonic() + 60
    while not lock.exists():
        assert time.monotonic() < deadline and first.poll() is None
        time.sleep(0.01)
    time.sleep(0.1)
    (left := path.with_name(f".{path.name}.{first.pid}")).write_text("half a state")
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=30)
    assert lock.exists(), "its name stays, but nobody holds it"

    def waits(_: bool) -> None:
        raise AssertionError("a dead process holds the lock")

    with held(lock, waits):
        pass
    assert not lock.exists() and left.exists()
    StateCache(tmp_path).clear()
    assert not left.exists()
