"""Logs of requests in Parquet files: `ufsim run --log`."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pytest

import ufsim as package
from conftest import Command
from ufsim import outputs
from ufsim.results.columns import FILES, KINDS, OUTCOMES, columns
from ufsim.results.table_file import PART

JOB = "rw=randrw rwmixread=50 bs=16k iodepth=8 size=32m io_size={size}"
STAGES = [column.name for column in FILES["log"] if column.name.startswith("stage_")]


def logged(path: Path, scheme: str = "hp-ufs", size: str = "8m") -> package.Result:
    """A run on the tiny device that writes its log to a file."""
    return package.run(JOB.format(size=size), scheme, profile="tiny", log=path)


@pytest.mark.parametrize("scheme", ["ufs", "hp-ufs", "msftl", "tpftl"])
def test_stages_of_every_request_add_up_to_its_latency(tmp_path: Path, scheme: str) -> None:
    result = logged(tmp_path / "log.parquet", scheme)
    frame = parquet.read_table(tmp_path / "log.parquet").to_pandas()
    assert (frame[STAGES].sum(axis=1) == frame["latency_ns"]).all()
    assert (frame["completion_ns"] - frame["arrival_ns"] == frame["latency_ns"]).all()
    assert frame["measured"].sum() == result.completed
    assert (frame[["stage_firmware_ns", "stage_link_down_ns", "stage_link_up_ns"]].sum() > 0).all()
    assert frame["completion_ns"].is_monotonic_increasing
    assert (frame["units"] * 4096 == frame["bytes"]).all()


def test_a_log_has_the_declared_columns_and_says_what_was_run(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    package.run(JOB.format(size="1m"), "ufs", profile="tiny", seed=3, settings={"firmware.command_ns": 700}, log=path)
    schema = parquet.read_schema(path)
    assert schema.names == [column.name for column in FILES["log"]] == list(columns("log").index)
    assert schema.field("latency_ns").metadata == {b"unit": b"ns", b"meaning": b"from arrival to completion"}
    run = json.loads(schema.metadata[b"ufsim"])
    assert (run["scheme"], run["seed"], run["version"]) == ("ufs", 3, package.__version__)
    assert run["settings"] == {"firmware.command_ns": "700"}
    kinds = set(parquet.read_table(path)["kind"].to_pylist())
    assert kinds == {"read", "write"}


def test_a_long_log_comes_in_parts_and_is_the_same_as_in_memory(tmp_path: Path) -> None:
    """A run needs memory for some parts only; here the last part is not full."""
    path, job = tmp_path / "log.parquet", "rw=randread bs=4k iodepth=8 size=1m io_size=600m"
    package.run(job, "ideal", profile="tiny", log=path)
    file = parquet.ParquetFile(path)
    count = 600 << 8
    rows = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
    assert rows == [PART, PART, count - 2 * PART]
    kept = package.run(job, "ideal", profile="tiny", log=count).requests()
    assert np.array_equal(kept["latency_ns"], file.read(["latency_ns"])["latency_ns"])
    # Readers skip groups by these, and know these encodings, all of them.
    chunk = file.metadata.row_group(0).column(file.schema_arrow.names.index("latency_ns"))
    first = kept["latency_ns"][:PART]
    assert (chunk.statistics.min, chunk.statistics.max) == (first.min(), first.max())
    chunks = [file.metadata.row_group(0).column(place) for place in range(len(FILES["log"]))]
    assert {name for chunk in chunks for name in chunk.encodings} <= {"PLAIN", "RLE", "RLE_DICTIONARY"}


@pytest.mark.parametrize("scheme", ["ufs", "hp-ufs", "hpb"])
def test_a_file_has_the_values_of_a_log_in_memory(tmp_path: Path, scheme: str) -> None:
    """On a trace with flags, processes and recorded latencies, some of which are missing."""
    path, trace = tmp_path / "log.parquet", "samples/app-mix"
    package.run(trace, scheme, replay="closed", log=path)
    core = package.run(trace, scheme, replay="closed", log=True).request_log
    assert core is not None
    kept, file = core.arrays(), parquet.read_table(path).to_pandas()
    words = {"kind": KINDS, "outcome": OUTCOMES, "process": core.processes}
    assert len(core.processes) > 1 and file["sync"].nunique() > 1
    for name in file:
        column = file[name]
        if name in words:
            known = [*words[name], None]
            expected = [known[min(place, len(known) - 1)] for place in kept[name]]
            assert column.astype(object).where(column.notna(), None).tolist() == expected, name
        else:
            assert np.array_equal(column, kept[name], equal_nan=column.dtype == float), name


def test_schemes_that_are_compared_have_files_of_their_own(tmp_path: Path) -> None:
    both = [
        package.compare(
            JOB.format(size="2m"), ["ufs", "ideal"], profile="tiny", jobs=jobs, log=tmp_path / f"{jobs}.parquet"
        )
        for jobs in (1, 2)
    ]
    assert both[0]["ufs"].digest == both[1]["ufs"].digest
    found = sorted(path.name for path in tmp_path.iterdir())
    assert found == [f"{jobs}-{scheme}.parquet" for jobs in (1, 2) for scheme in ("ideal", "ufs")]
    for scheme in ("ufs", "ideal"):
        one, two = (tmp_path / f"{jobs}-{scheme}.parquet" for jobs in (1, 2))
        assert one.read_bytes() == two.read_bytes()


def test_the_command_writes_the_file(ufsim: Command, tmp_path: Path) -> None:
    done = ufsim("run", JOB.format(size="1m"), "--scheme", "hpb", "--profile", "tiny", "--log", tmp_path / "l.parquet")
    assert done.returncode == 0, done.stderr
    assert parquet.read_table(tmp_path / "l.parquet").num_rows == 64


@pytest.mark.parametrize(
    ("workloads", "name", "told"),
    [
        (["a"], "log.csv", "must be the path of a file that ends with .parquet"),
        (["a", "b"], "log.parquet", "must be of one workload; there are several"),
    ],
)
def test_what_can_not_be_a_log_is_said_before_anything_runs(
    tmp_path: Path, workloads: list[str], name: str, told: str
) -> None:
    jobs = [f"rw=write bs=4k size=1m name={workload}" for workload in workloads]
    with pytest.raises(package.ConfigError, match=re.escape(told)):
        package.run(jobs, "ufs", profile="tiny", log=tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_run_that_fails_leaves_no_log(tmp_path: Path) -> None:
    with pytest.raises(package.ConfigError):
        package.run("rw=write bs=4k size=100g", "ufs", profile="tiny", log=tmp_path / "log.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", ["8m", "600m"])
def test_a_full_disk_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    """It is full when the file is ended, or already when the first row group is written."""
    monkeypatch.setattr(outputs, "opened", lambda _: Path("/dev/full").open("wb"))  # noqa: SIM115
    with pytest.raises(OSError, match="No space left"):
        package.run(f"rw=read bs=4k size=1m io_size={size}", "ideal", profile="tiny", log=tmp_path / "log.parquet")
    assert not list(tmp_path.iterdir())


def test_firmware_teams_find_their_columns() -> None:
    """Two at once from 0 us on, done at 30 and 50, and one that is sent at 70 and done at 90."""
    log = pd.DataFrame({"completion_ns": [30, 50, 90], "latency_ns": [30, 45, 25]}, dtype="uint64")
    for stage in ("outside", "block", "driver", "fetch"):
        log[f"stage_{stage}_ns"] = pd.Series([0, 0, 5 if stage == "block" else 0], dtype="uint64")
    found = package.dispatch_columns(log)
    assert list(found["dispatch_ns"]) == [0, 5, 70]
    assert list(found["dtoc_ns"]) == [30, 45, 20]
    assert list(found["ctoc_ns"].fillna(-1)) == [-1, 20, 40]
    assert list(found["ctod_ns"].fillna(-1)) == [-1, -1, 20]
    assert list(found["qd"]) == [1, 2, 1]
