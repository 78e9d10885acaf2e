"""Logs as texts of ftrace and of fio: what was read back is what was run."""

import json
from pathlib import Path

import pandas as pd
import pytest

import ufsim

MIXED = "rw=randrw rwmixread=60 bs=4k size=8m iodepth=8 io_size=4m fsync=16"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same run with a log of each kind."""
    folder = tmp_path_factory.mktemp("logs")
    paths = {ending: folder / f"run.{ending}" for ending in ("parquet", "ftrace", "log")}
    for path in paths.values():
        ufsim.run(MIXED, "hp-ufs", profile="tiny", log=path)
    return paths


def test_the_trace_of_a_run_is_read_as_what_was_run(logs: dict[str, Path], tmp_path: Path) -> None:
    run = pd.read_parquet(logs["parquet"]).sort_values(["arrival_ns", "sector"], kind="stable")
    ufsim.run(str(logs["ftrace"]), "ideal", profile="tiny", replay="timed", log=tmp_path / "again.parquet")
    again = pd.read_parquet(tmp_path / "again.parquet").sort_values(["arrival_ns", "sector"], kind="stable")
    for column in ("kind", "sector", "bytes"):
        assert list(run[column].astype(str)) == list(again[column].astype(str)), column
    assert list(run["arrival_ns"]) == list(again["arrival_ns"] + int(run["arrival_ns"].min()))
    assert list(run["latency_ns"]) == list(again["recorded_ns"].astype(int))


def test_events_are_in_order_and_tags_are_of_one_command_at_a_time(logs: dict[str, Path]) -> None:
    lines = [line for line in logs["ftrace"].read_text().splitlines() if not line.startswith("#")]
    times = [float(line.split("..... ")[1].split(":")[0]) for line in lines]
    assert times == sorted(times)
    under_way = set()
    for line in lines:
        tag = line.partition(" tag: ")[2].partition(",")[0]
        if " send_req: " in line:
            assert tag not in under_way
            under_way.add(tag)
        elif " complete_rsp: " in line:
            under_way.remove(tag)
    assert not under_way


def test_a_log_of_fio_has_its_lines(logs: dict[str, Path]) -> None:
    run = pd.read_parquet(logs["parquet"])
    run = run[run["kind"] != "flush"]
    told = pd.read_csv(logs["log"], header=None, names=["ms", "ns", "direction", "bytes", "priority"])
    assert list(told["ns"]) == list(run["latency_ns"])
    assert list(told["ms"]) == list(run["completion_ns"] // 1_000_000)
    assert list(told["direction"]) == [{"read": 0, "write": 1}[kind] for kind in run["kind"]]


def test_the_fine_bins_of_fio_add_up() -> None:
    result = ufsim.run(MIXED, "ufs", profile="tiny", bins=True)
    (job,) = json.loads(result.to_fio_json())["jobs"]
    for direction in ("read", "write"):
        assert sum(job[direction]["clat_ns"]["bins"].values()) == job[direction]["total_ios"]
    assert "bins" not in json.loads(ufsim.run(MIXED, "ufs", profile="tiny").to_fio_json())["jobs"][0]["read"]["clat_ns"]
