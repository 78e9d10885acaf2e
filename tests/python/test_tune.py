"""Searches: what is found serves the aim, is the same again, and stands in a profile that gives what it says."""

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ufsim as lab
from conftest import Command
from test_sweep import AGE, written
from ufsim.cli.tune import values_table

FIXED = {"workload": "rw=randwrite bs=4k iodepth=4 size=32m io_size=1m", "profile": "tiny", "scheme": "ufs"}
FAST = {"fixed": FIXED, "bounds": {"nand.tlc_program_us": [200, 900]}, "aim": {"minimise": "write_mean_ns"}}


def searched(runs: int, **tables: Any) -> dict[str, Any]:
    return {**FAST, "search": {"runs": runs}, **tables}


def test_the_search_goes_where_programs_are_short(tmp_path: Path) -> None:
    tuned = lab.tune(searched(24), tmp_path, jobs=2)
    # Writes wait for programs, so the least is at the lower bound; the profile's own 550 us were tried first.
    assert tuned.frame["nand.tlc_program_us"][0] == 550
    told = [next(iter(column.cells)) for column in values_table(tuned).columns]
    assert told[:2] == ["nand.tlc_program_us", "550"] and told[2] == str(tuned.values["nand.tlc_program_us"])
    assert tuned.values["nand.tlc_program_us"] < 300
    best = tuned.frame.write_mean_ns.min()
    assert tuned.best.means["write_mean_ns"] == best < tuned.own.means["write_mean_ns"]
    assert tuned.confirmed.means == tuned.best.means, "nothing is aged here, so the file gives the same"


def test_the_profile_has_its_evidence_and_gives_what_it_says(tmp_path: Path) -> None:
    aged = {**FIXED, "age": AGE, "precondition": "none", "gc.units_per_step": 32}
    tuned = lab.tune(searched(8, fixed=aged, search={"runs": 8, "seeds": [1, 2]}), tmp_path)
    text = tuned.path.read_text()
    for told in ("# Aim: least write_mean_ns.", "Trials: 4 with seed 1", "seeds (1, 2)", "# This file as the profile:"):
        assert told in text
    assert lab.__version__ in text
    profile = tomllib.loads(text)
    assert profile["nand"]["tlc_program_us"] == tuned.values["nand.tlc_program_us"]
    assert profile["gc"]["units_per_step"] == 32
    assert "ufsim tune" in profile["sources"]["nand.tlc_program_us"]
    runs = [
        lab.run(FIXED["workload"], "ufs", profile=tuned.path, age=AGE, precondition="none", seed=seed, cache=False)
        for seed in (1, 2)
    ]
    means = [run.latency_ns["write"]["mean"] for run in runs]
    assert tuned.confirmed.means["write_mean_ns"] == pytest.approx(sum(means) / 2)
    frame = pd.read_parquet(tmp_path / "trials.parquet")
    assert list(frame.columns[:4]) == ["trial", "nand.tlc_program_us", "status", "error"]
    assert len(frame) == 4


def test_what_has_to_be_kept_bounds_what_is_found(tmp_path: Path) -> None:
    # Slow writes keep less of the throughput: the aim and what is kept pull apart.
    keep = {"column": "throughput_mib_per_s", "percent": 90, "of": "profile"}
    tuned = lab.tune(searched(16, aim={"maximise": "write_mean_ns", "keep": keep}), tmp_path)
    floor = 0.9 * lab.run(FIXED["workload"], "ufs", profile="tiny").throughput_mib_per_s
    kept, short = (tuned.frame[tuned.frame.status == status] for status in ("kept", "too little"))
    assert len(kept) and len(short) and len(kept) + len(short) == 16
    assert (kept.throughput_mib_per_s >= floor).all()
    assert (short.throughput_mib_per_s < floor).all()
    assert tuned.best.means["write_mean_ns"] == kept.write_mean_ns.max()
    assert 550 <= tuned.values["nand.tlc_program_us"] < short["nand.tlc_program_us"].min()


def test_host_memory_is_written_as_a_key_of_the_profile(tmp_path: Path) -> None:
    keep = {"column": "throughput_mib_per_s", "percent": 95, "of": "unlimited"}
    fixed = {**FIXED, "scheme": "hp-ufs"}
    aim = {"minimise": "host_dram_bytes", "keep": keep}
    tuned = lab.tune(searched(4, fixed=fixed, bounds={"host_memory_mib": [1, 4]}, aim=aim), tmp_path)
    assert tomllib.loads(tuned.path.read_text())["host"]["memory_mib"] == tuned.values["host_memory_mib"]
    unlimited = lab.run(FIXED["workload"], "hp-ufs", profile="tiny", host_memory_mib="unlimited")
    assert f"which is {0.95 * unlimited.throughput_mib_per_s:.6g}." in tuned.path.read_text()


def test_jobs_and_a_kill_change_nothing(tmp_path: Path, ufsim: Command) -> None:
    fixed = {**FIXED, "workload": FIXED["workload"].replace("io_size=1m", "io_size=24m")}
    task, out, here = written(searched(12, fixed=fixed), tmp_path / "task.toml"), tmp_path / "out", tmp_path / "here"
    program = Path(sys.executable).with_name("ufsim")
    command = [str(program), "tune", str(task), "--out", str(out), "--jobs", "1"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ)
    deadline = time.monotonic() + 120
    while len(list(out.glob("points/[!.]*.json"))) < 4:
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("points/[!.]*.json")}
    assert not (out / "tuned.toml").exists()
    done = ufsim(*command[1:])
    assert done.returncode == 0, done.stderr
    assert f"profile: {out}/tuned.toml" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    lab.tune(task, here, jobs=3)
    for name in ("tuned.toml", "trials.parquet"):
        assert (out / name).read_bytes() == (here / name).read_bytes(), name


def test_values_that_a_device_refuses_are_trials_that_failed(tmp_path: Path) -> None:
    bounds = {"gc.start_superblocks": [13, 40], "gc.relaxed_superblocks": [13, 40]}
    tuned = lab.tune(searched(12, bounds=bounds), tmp_path)
    failed = tuned.frame[tuned.frame.status == "failed"]
    assert 0 < len(failed) < 12
    assert failed.error.str.contains("gc.").all()
    assert tuned.values["gc.start_superblocks"] > tuned.values["gc.relaxed_superblocks"]


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"bound": {}}, r"\[bound\] is no table of a search.*did you mean 'bounds'"),
        ({"bounds": {}}, "no bounds"),
        ({"bounds": {"nand.tlc_program": [1, 2]}}, "bounds.nand.tlc_program is no parameter.*'nand.tlc_program_us'"),
        ({"bounds": {"scheme.*.segment_kib": [1, 2]}}, r"bounds.scheme.\*.segment_kib is no parameter"),
        ({"bounds": {"nand.tlc_read_us": 5}}, r"nand.tlc_read_us is 5; allowed: \[LOW, HIGH\]"),
        ({"aim": {}}, "aim has no column; allowed: one of minimise and maximise"),
        ({"aim": {"minimise": "write_p9"}}, "aim.minimise is 'write_p9'; allowed: .*did you mean 'write_p99_ns'"),
        ({"aim": {"minimise": "iops", "keep": {"column": "iops"}}}, "aim.keep is"),
        ({"search": {"runs": 1, "seeds": [1, 2]}}, "search.runs is 1; allowed: at least one for each of the 2 seeds"),
        ({"search": {"seeds": [3, 1, 3]}}, "search.seeds has 3 twice; allowed: each seed once"),
        ({"search": {"budget": 1}}, "search is 'budget'; allowed: runs, seeds, seed"),
        ({"fixed": {**FIXED, "nand.tlc_program_us": 5}}, "'nand.tlc_program_us' stands twice"),
        ({"fixed": {**FIXED, "nand.planes": 0}}, "before the search: at seed=1: .*nand.planes"),
    ],
)
def test_a_wrong_task_is_refused(tables: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(lab.ConfigError, match=told):
        lab.tune({**FAST, **tables}, tmp_path / "out")
    assert not (tmp_path / "out/trials.parquet").exists()


def test_an_aim_that_nothing_serves_is_told(tmp_path: Path) -> None:
    aim = {"minimise": "write_mean_ns", "keep": {"column": "iops", "percent": 1000, "of": "profile"}}
    with pytest.raises(lab.ConfigError, match="none of 4 trials keeps iops at 1000% of profile; allowed: wider bounds"):
        lab.tune(searched(4, aim=aim), tmp_path)
    assert (tmp_path / "trials.parquet").exists()
    assert not (tmp_path / "tuned.toml").exists()


TARGETS = [
    {"workload": "rw=randread bs=4k iodepth=1 size=16m io_size=1m", "column": "read_mean_ns", "tolerance_percent": 2},
    {"workload": "rw=randwrite bs=4k iodepth=32 size=32m io_size=4m", "column": "iops", "tolerance_percent": 5},
]


def test_figures_of_a_data_sheet_are_aimed_at_together(tmp_path: Path) -> None:
    """The figures are those of times that nobody tells the search."""
    secret = {"nand.tlc_read_us": 83, "nand.tlc_program_us": 410}
    fixed = {"scheme": "ufs", "profile": "tiny"}
    runs = [lab.run(one["workload"], "ufs", profile="tiny", settings=secret) for one in TARGETS]
    values = [runs[0].latency_ns["read"]["mean"], runs[1].iops]
    task = {
        "fixed": fixed,
        "bounds": {"nand.tlc_read_us": [20, 200], "nand.tlc_program_us": [200, 900]},
        "aim": {"targets": [{**one, "value": value} for one, value in zip(TARGETS, values, strict=True)]},
        "search": {"runs": 300},
    }
    tuned = lab.tune(task, tmp_path, jobs=2)
    assert tuned.confirmed.means["misfit"] <= 1 < tuned.own.means["misfit"]
    assert tuned.values["nand.tlc_read_us"] == pytest.approx(83, rel=0.05)
    assert tuned.values["nand.tlc_program_us"] == pytest.approx(410, rel=0.15)
    assert {"target_1", "target_2", "misfit"} <= set(tuned.frame.columns)
    text = tuned.path.read_text()
    assert "# Aim: read_mean_ns" in text and "A misfit of 1 is the end of a tolerance" in text


@pytest.mark.parametrize(
    ("aim", "told"),
    [
        ({"targets": []}, "aim.targets is"),
        ({"targets": [{"column": "iops"}]}, "tolerance_percent, value, workload is missing"),
        ({"targets": [{**TARGETS[0], "value": 0}]}, "value is 0; allowed: a number above 0"),
        ({"targets": [{**TARGETS[0], "value": 5, "colum": 1}]}, "'colum'"),
        ({"targets": [{**TARGETS[0], "value": 5}], "minimise": "iops"}, "aim has targets beside minimise"),
    ],
)
def test_wrong_targets_are_told(aim: dict[str, Any], told: str, tmp_path: Path) -> None:
    task = {"fixed": {"profile": "tiny"}, "bounds": FAST["bounds"], "aim": aim}
    with pytest.raises(lab.ConfigError, match=re.escape(told)):
        lab.tune(task, tmp_path)
