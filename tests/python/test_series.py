"""Time series at a chosen step: `ufsim run --series`."""

import json
import re
from pathlib import Path

import pandas as pd
import pyarrow.parquet as parquet
import pytest

import ufsim as package
from conftest import Command
from ufsim.results.columns import FILES, columns

JOB = "rw=randrw rwmixread=50 bs=16k iodepth=8 size=112m io_size={size}"
UNITS = ["data_units_programmed", "map_units_programmed", "gc_units_programmed"]


Ran = tuple[package.Result, pd.DataFrame]


def run(path: Path, scheme: str = "hp-ufs", size: str = "96m", **options: object) -> Ran:
    """A run on the tiny device, and its series."""
    given: dict[str, object] = {"profile": "tiny", "series": path, **options}
    result = package.run(JOB.format(size=size), scheme, **given)  # type: ignore[arg-type]
    return result, pd.read_parquet(path)


@pytest.mark.parametrize("scheme", ["ufs", "hpb", "hp-ufs", "dftl"])
def test_intervals_add_up_to_what_the_run_reports(tmp_path: Path, scheme: str) -> None:
    result, rows = run(tmp_path / "s.parquet", scheme, step="3ms", log=tmp_path / "log.parquet")
    assert result.digest == package.run(JOB.format(size="96m"), scheme, profile="tiny").digest
    for kind in ("read", "write"):
        assert rows[f"{kind}s"].sum() == result.latency_ns[kind]["count"]
        assert rows[f"{kind}_bytes"].sum() == result.bytes[kind]
        assert rows[f"{kind}_max_ns"].max() == result.latency_ns[kind]["max"]
    assert rows["requests"].sum() == result.completed and (rows["flushes"] + rows["trims"] == 0).all()
    written = rows["host_units_written"].sum()
    assert rows[UNITS].sum().sum() / written == pytest.approx(result.waf["total"], rel=1e-12)
    assert rows["gc_units_programmed"].sum() / written == pytest.approx(result.waf["gc"], rel=1e-12)
    length = (rows["interval_ns"].sum() - 1e9 * result.sim_seconds) / 1e9
    assert abs(length) < 1e-9 and (rows["interval_ns"][:-1] == 3_000_000).all()
    assert (rows["at_ns"].diff()[1:] == 3_000_000).all()
    last = rows.iloc[-1]
    assert last["free_superblocks"] == result.counters["device"]["free_superblocks"]
    assert last["host_cache_bytes"] == result.host_dram_bytes
    log = parquet.read_table(tmp_path / "log.parquet").to_pandas()
    outcomes = log["outcome"].value_counts()
    for column, outcome in {"host_hits": "host", "sram_hits": "sram", "map_misses": "map"}.items():
        assert rows[column].sum() == outcomes.get(outcome, 0)


def test_each_interval_is_what_the_log_has_in_it(tmp_path: Path) -> None:
    _, rows = run(tmp_path / "s.parquet", "ufs", "16m", step="5ms", log=tmp_path / "log.parquet")
    log = parquet.read_table(tmp_path / "log.parquet").to_pandas()
    begin = log["arrival_ns"].min()
    log["interval"] = ((log["completion_ns"] - begin) // 5_000_000).astype(int)
    assert len(rows) > 10
    for place, row in rows.iterrows():
        own = log[log["interval"] == place]
        assert row["requests"] == len(own)
        if len(own):
            assert row["mean_ns"] == pytest.approx(own["latency_ns"].mean(), rel=1e-3)
            assert row["max_ns"] == pytest.approx(own["latency_ns"].max(), rel=1e-3)
            nearest = own["latency_ns"].quantile(0.5, interpolation="higher"), own["latency_ns"].median()
            assert min(nearest) * 0.998 <= row["p50_ns"] <= max(nearest) * 1.002 or len(own) % 2 == 0
        reads, writes = own[own["kind"] == "read"], own[own["kind"] == "write"]
        assert (row["read_bytes"], row["write_bytes"]) == (reads["bytes"].sum(), writes["bytes"].sum())
        # Requests under way, by their shares of the interval.
        first, last = row["at_ns"] + begin, row["at_ns"] + row["interval_ns"] + begin
        within = log["completion_ns"].clip(first, last) - log["arrival_ns"].clip(first, last)
        assert row["queue_depth"] == pytest.approx(within.sum() / row["interval_ns"], rel=1e-9)
        assert row["queue_depth_max"] == 8


def test_a_step_as_long_as_the_run_gives_the_run(tmp_path: Path) -> None:
    result, rows = run(tmp_path / "s.parquet", "hpb", "16m", step="10min")
    assert len(rows) == 1
    row = rows.iloc[0]
    assert row["iops"] == pytest.approx(result.iops) and row["mib_per_s"] == pytest.approx(result.throughput_mib_per_s)
    assert row["waf"] == pytest.approx(result.waf["total"])
    for kind, prefix in {"read": "read_", "write": "write_", "all": ""}.items():
        for name in ("mean", "p50", "p99", "p999", "max"):
            assert row[f"{prefix}{name}_ns"] == result.latency_ns[kind][name], (kind, name)


def test_a_long_series_comes_in_pieces_and_has_a_row_for_every_interval(tmp_path: Path) -> None:
    job = "rw=randread bs=4k size=1m io_size=64k thinktime=1s"
    package.run(job, "ideal", profile="tiny", series=tmp_path / "s.parquet", step="1ms")
    file = parquet.ParquetFile(tmp_path / "s.parquet")
    assert file.metadata.num_row_groups > 3 and file.metadata.row_group(0).num_rows == 4096
    rows = file.read().to_pandas()
    assert rows["requests"].sum() == 16 and (rows["at_ns"].diff()[1:] == 1_000_000).all()
    empty = rows[rows["requests"] == 0]
    assert (empty["iops"] == 0).all() and empty[["p50_ns", "read_p99_ns", "host_hit_ratio", "waf"]].isna().all().all()


def test_what_comes_before_the_measured_part_is_not_in_it(tmp_path: Path) -> None:
    job = "rw=randwrite bs=4k iodepth=4 size=8m time_based runtime=30ms ramp_time=20ms"
    result = package.run(job, "ufs", profile="tiny", series=tmp_path / "s.parquet", step="2ms")
    rows = pd.read_parquet(tmp_path / "s.parquet")
    assert result.unmeasured > 0 and rows["requests"].sum() == result.completed and rows["at_ns"].iloc[0] == 0


def test_the_file_has_the_declared_columns_and_says_what_was_run(ufsim: Command, tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    done = ufsim(
        "compare", JOB.format(size="1m"), "--schemes", "ufs,ideal", "--profile", "tiny", "--series", path, "--json"
    )
    assert done.returncode == 0, done.stderr
    for scheme in ("ufs", "ideal"):
        schema = parquet.read_schema(tmp_path / f"s-{scheme}.parquet")
        assert schema.names == [column.name for column in FILES["series"]] == list(columns("series").index)
        assert json.loads(schema.metadata[b"ufsim"])["scheme"] == scheme
        assert schema.field("waf").metadata[b"meaning"].startswith(b"units programmed per unit")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"series": "x.csv"}, "series = 'x.csv': must be the path of a file that ends with .parquet"),
        ({"series": "x.parquet", "step": "10"}, 'step = "10": must be a time such as 500us, 10ms, 1s or 2min'),
        ({"step": "1s"}, "--step (step) has no effect without --series (series)"),
    ],
)
def test_what_can_not_be_a_series_is_said_before_anything_runs(given: dict[str, str], told: str) -> None:
    with pytest.raises(package.ConfigError, match=re.escape(told)):
        package.run(JOB.format(size="1m"), "ufs", profile="tiny", **given)  # type: ignore[arg-type]
