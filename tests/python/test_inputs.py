"""What a run hangs on: whatever it reads tells its result apart from others, wherever that lies."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import ufsim
from ufsim import Spec, inputs, linux
from ufsim.bundled import located
from ufsim.linux import cuts

BASE = 'extends = "tiny"\n[nand]\ntlc_read_us = %d\n[assumed]\n"nand.tlc_read_us" = "a guess"\n'
LOG = "fio version 2 iolog\nf add\nf open\nf read 0 %d\n"
TRACE = "0,0,4096,R\n10,%d,4096,W\n"
APP = '[phone]\napps = ["a"]\n[[app]]\nname = "a"\ntrace = "traces/t.csv"\n'


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


# Files, the option and the file that it names, and what changes beside it.
BESIDE = {
    "profile": ({"mine.toml": 'extends = "lower/b.toml"\n'}, "profile", "mine.toml", ("lower/b.toml", BASE, 60, 61)),
    "include": ({"j.fio": "[j]\ninclude c.inc\n"}, "workload", "j.fio", ("c.inc", "rw=read\nsize=%dm\n", 1, 2)),
    "iolog": ({"a/j.fio": "[j]\nread_iolog=../l\n"}, "workload", "a/j.fio", ("l", LOG, 4096, 8192)),
    "nested": (
        {"j.fio": "[j]\ninclude a/c.inc\n", "a/c.inc": "read_iolog=one:${HERE}\n", "a/one": LOG % 4096},
        *("workload", "j.fio", ("a/l", LOG, 4096, 8192)),
    ),
    "age": ({"j.fio": "[j]\ninclude c.inc\n"}, "age", "j.fio", ("c.inc", "rw=write\nsize=%dm\n", 1, 2)),
    "scenario": ({"s.toml": APP}, "workload", "s.toml", ("traces/t.csv", TRACE, 8, 16)),
    "directory": ({"t/a.csv": TRACE % 8}, "workload", "t", ("t/b.csv", TRACE, 8, 16)),
}


@pytest.mark.parametrize("case", BESIDE)
def test_what_a_file_names_belongs_to_it(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", "l")
    files, option, name, (beside, text, before, after) = BESIDE[case]

    def found(folder: str, number: int) -> object:
        put(tmp_path / folder, files | {beside: text % number})
        return inputs.contents({option: str(tmp_path / folder / name)})

    first = found("here", before)
    assert found("there/deeper", before) == first, "where files lie plays no part"
    assert found("here", after) != first
    assert found("here", before) == first


@pytest.mark.parametrize("in_file", [True, False])
def test_variables_of_a_job_belong_to_it(in_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"j.fio": "[j]\nrw=read\nsize=${SIZE}\n"})
    job = str(tmp_path / "j.fio") if in_file else "rw=read size=${SIZE}"
    found = []
    for size in ("1m", "2m", "1m"):
        monkeypatch.setenv("SIZE", size)
        found.append(inputs.contents({"workload": job})["workload"])
    assert found[0] == found[2] != found[1]


def test_a_bundled_file_is_what_it_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    found = inputs.contents({"workload": "samples/app-mix"})["workload"]
    assert found == inputs.file_digest(located("samples/app-mix"))


def test_a_profile_as_one_file_says_the_same(tmp_path: Path) -> None:
    put(tmp_path, {"base.toml": BASE % 60, "mine.toml": 'extends = "base.toml"\n'})
    text = inputs.resolved_profile(str(tmp_path / "mine.toml"))
    put(tmp_path, {"whole.toml": text})
    assert "tlc_read_us = 60" in text and inputs.resolved_profile(str(tmp_path / "whole.toml")) == text


def test_other_options_and_names_stay_as_they_are() -> None:
    options = {"workload": "rw=read size=1m", "profile": "tiny", "seed": 3, "age": None, "from_state": None}
    assert inputs.contents(options) == options


def test_a_sweep_runs_anew_what_another_file_decides(tmp_path: Path) -> None:
    put(tmp_path, {"base.toml": BASE % 60, "mine.toml": 'extends = "base.toml"\n'})
    grid = {
        "fixed": {"workload": "rw=randread bs=4k size=1m", "profile": str(tmp_path / "mine.toml"), "scheme": "ufs"},
        "axes": {"seed": [1]},
    }
    first = ufsim.sweep(grid, tmp_path / "out")
    assert (first.run, ufsim.sweep(grid, tmp_path / "out").run) == (1, 0)
    put(tmp_path, {"base.toml": BASE % 90})
    second = ufsim.sweep(grid, tmp_path / "out")
    assert second.run == 1
    assert second.frame["read_p50_ns"][0] > first.frame["read_p50_ns"][0]


def test_kept_results_are_of_the_files_as_they_are_now(tmp_path: Path) -> None:
    store, trace, made = ufsim.RunStore(tmp_path / "runs"), tmp_path / "t.csv", list[str]()
    for number in (8, 9, 8):
        trace.write_text(TRACE % number)
        store.kept({"workload": str(trace)}, lambda: {"nth": made.append("") or len(made)})
    assert len(made) == 2


def test_what_if_refuses_files_that_have_changed(tmp_path: Path) -> None:
    put(tmp_path, {"base.toml": BASE % 60, "mine.toml": 'extends = "base.toml"\n'})
    log = tmp_path / "log.parquet"
    ufsim.run("rw=randread bs=4k size=1m", "ufs", profile=tmp_path / "mine.toml", log=log)
    from ufsim.results.explain import Log, if_free

    assert set(if_free(Log(log), tmp_path)) == {"gc", "mapping"}
    put(tmp_path, {"base.toml": BASE % 90})
    with pytest.raises(ufsim.ConfigError, match=r"is of a profile that was another then: .*mine.toml"):
        if_free(Log(log), tmp_path)


def answers_of(keep: Path) -> set[str]:
    return {json.loads(line)[0] for line in keep.read_text().splitlines()}


def test_answers_of_a_calibration_are_of_contents(tmp_path: Path) -> None:
    from test_calibration import TIMERS, synthetic

    trace = synthetic(tmp_path, "one", 1, 200)
    put(tmp_path, {"base.toml": BASE % 60, "mine.toml": 'extends = "base.toml"\n'})
    keep = tmp_path / "kept.jsonl"
    fit = {"power.hibern8_exit_us": (100, 4_000)}

    def lines() -> int:
        shared = {"profile": tmp_path / "mine.toml", "settings": TIMERS, "seeds": 1, "evaluations": 2}
        ufsim.calibrate([trace], fit=fit, keep=keep, jobs=1, **shared)
        return len(keep.read_text().splitlines())

    first = lines()
    assert lines() == first, "nothing is repeated"
    put(tmp_path, {"base.toml": BASE % 90})
    second = lines()
    assert second > first, "another profile"
    text = trace.read_text().splitlines(keepends=True)
    trace.write_text("".join(text[:-1]))
    assert lines() > second, "another trace"


def test_cuts_are_of_contents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "manifest", lambda: {"digests": {"linux": "a kernel"}})
    put(tmp_path, {"base.toml": BASE % 60, "mine.toml": 'extends = "base.toml"\n', "host/data": "1"})
    spec = Spec(workload="linux", scheme="ufs", profile=str(tmp_path / "mine.toml"))
    found = []
    changes: list[Callable[[], None]] = [
        lambda: None,
        lambda: put(tmp_path, {"base.toml": BASE % 90}),
        lambda: put(tmp_path, {"host/data": "2"}),
    ]
    for change in changes:
        change()
        job = linux.Job(command=("true",), folders=(tmp_path / "host",))
        found.append(cuts.Cutting(job, spec)._identity())
    assert len(set(found)) == 3
