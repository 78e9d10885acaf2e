"""Data frames: types, columns and units are those that are declared, whatever is in a result."""

import inspect
import re
from pathlib import Path

import pandas as pd
import pytest

import ufsim
from conftest import ROOT, result
from ufsim import Comparison, Result, Study
from ufsim.results.columns import FRAMES, PROVENANCE, text_type

SMALL = ROOT / "samples" / "phone" / "small.toml"
RUN = [column.name for column in PROVENANCE]


@pytest.fixture(scope="module")
def study() -> Study:
    return ufsim.phone(SMALL, ["ufs", "hpbvalve"], profile="tiny", log=True, jobs=1)


def flat(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.reset_index() if any(frame.index.names) else frame


def frames_of(comparison: Comparison, study: Study) -> dict[str, list[pd.DataFrame]]:
    """Every declared frame, of different sources."""
    first = comparison.results[0]
    return {
        "table": [comparison.table()],
        "latency": [first.latency(), comparison.latency()],
        "cdf": [first.cdf(), comparison.cdf(), study.cdf()],
        "time_series": [first.time_series(), comparison.time_series(), study.time_series()],
        "power_states": [first.power_states(), comparison.power_states(), study.power_states()],
        # A comparison of traces has no uses: the frame is empty, and of the same types.
        "uses": [first.uses(), comparison.uses(), study.results[0].uses(), study.uses()],
        **{name: [getattr(study, name)()] for name in ("kills", "timeline", "apps", "summary", "energy")},
    }


def test_every_frame_has_the_declared_columns_and_types(comparison: Comparison, study: Study) -> None:
    found = frames_of(comparison, study)
    assert set(found) == set(FRAMES)
    for name, frames in found.items():
        for frame in map(flat, frames):
            types = {column.name: column.dtype.replace("text", text_type()) for column in FRAMES[name]}
            assert {key: str(dtype) for key, dtype in frame.dtypes.items()} == types, name


def test_no_column_holds_python_objects(comparison: Comparison, study: Study) -> None:
    every = [frame for frames in frames_of(comparison, study).values() for frame in frames]
    every += [study.reads(), study.recorded_kills(), comparison.nand_time()]
    for frame in every:
        together = pd.concat([flat(frame), flat(frame)], ignore_index=True)
        assert not [name for name, dtype in together.dtypes.items() if pd.api.types.is_object_dtype(dtype)]


def test_every_row_says_what_was_run(comparison: Comparison, study: Study) -> None:
    for name, frames in frames_of(comparison, study).items():
        for frame in frames:
            assert list(frame.columns)[-5:] == RUN, name
    row = comparison.results[0].latency().iloc[0]
    assert (row.workload, row.profile, row.seed, row.version) == ("traces/example", "profiles/phone.toml", 7, "0.1.0")
    assert row.settings == "host.memory_mib=20 nand.planes=2"
    reads = study.reads()
    assert set(RUN) < set(reads.columns)
    assert list(reads.profile.unique()) == ["tiny"] and list(reads.scheme.unique()) == ["ufs", "hpbvalve"]


def test_files_have_the_same_types_and_say_what_was_run(comparison: Comparison, tmp_path: Path) -> None:
    comparison.to_parquet(tmp_path / "x.parquet")
    read = pd.read_parquet(tmp_path / "x.parquet")
    assert set(RUN) < set(read.columns)
    assert str(read.seed.dtype) == "uint64"
    assert not [name for name, dtype in read.dtypes.items() if pd.api.types.is_object_dtype(dtype)]


def test_a_distribution_ends_with_all_requests(comparison: Comparison) -> None:
    cdf = comparison.cdf().set_index(["scheme", "kind"])
    reads = cdf.loc[("ufs", "read")]
    assert reads.latency_ns.tolist() == [80_000, 160_000, 3_200_000]
    assert reads.requests.tolist() == [150, 270, 300]
    assert reads.share.tolist() == [0.5, 0.9, 1.0]
    assert set(cdf.loc["ufs"].index) == {"read", "write", "all"}


def test_a_time_series_has_rates_and_latencies(comparison: Comparison) -> None:
    series = comparison["ufs"].time_series()
    reads = series[series.kind == "read"]
    assert reads.at_s.tolist() == [0.0, 0.5, 1.0]
    assert reads.iops.tolist() == [300.0, 0.0, 300.0]
    assert reads.mib_per_s.tolist() == [300 * 4096 / 2**20, 0.0, 300 * 4096 / 2**20]
    assert reads.mean_ns.tolist()[::2] == [100_000.0, 100_000.0]
    assert reads[["mean_ns", "max_ns"]].iloc[1].isna().all()


def test_operations_of_a_database_are_kinds(comparison: Comparison) -> None:
    first = comparison.results[0]
    mean = {"count": 4, "mean": 2.0, "stddev": 1.0, "min": 1, "p50": 2, "p90": 3, "p99": 3, "p999": 3, "max": 3}
    first.data["operations"].append({"name": "insert", "latency_ns": mean, "latency_within": [(2, 3), (4, 4)]})
    assert comparison.latency().loc[("ufs", "insert"), "max"] == 3
    assert comparison.cdf().query("kind == 'insert'").share.tolist() == [0.75, 1.0]


def test_a_real_run_adds_up(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[j]\nrw=randrw\nbs=4k\niodepth=4\nsize=40m\nio_size=8m\n")
    ran = ufsim.run(job, "hp-ufs", profile="tiny", settings={"host.max_transfer_kib": 256})
    latency, cdf, series = ran.latency().set_index("kind"), ran.cdf(), ran.time_series()
    counts = latency["count"]
    assert counts["read"] + counts["write"] == counts["all"] == ran.completed == 2048
    assert cdf.groupby("kind").requests.max().to_dict() == {kind: counts[kind] for kind in ("read", "write", "all")}
    # Half of the requests are within the median, up to the steps of the distribution.
    reads = cdf[cdf.kind == "read"]
    median = latency.p50["read"]
    assert reads[reads.latency_ns <= median / 1.13].share.max() <= 0.5 <= reads[reads.latency_ns >= median].share.min()
    assert series.groupby("kind").requests.sum().to_dict() == {kind: counts[kind] for kind in ("read", "write")}
    assert (series.mib_per_s * series.interval_s).sum() == pytest.approx(8)
    assert series.at_s.max() <= ran.sim_seconds < series.at_s.max() + series.interval_s.iloc[0]
    weighted = (series.mean_ns * series.requests).groupby(series.kind).sum() / series.groupby("kind").requests.sum()
    assert weighted["read"] == pytest.approx(latency["mean"]["read"], rel=1e-3)
    assert series[series.kind == "read"].max_ns.max() == pytest.approx(latency["max"]["read"], rel=1e-3)
    assert set(series.settings) == {"host.max_transfer_kib=256"}


def test_seeds_up_to_the_largest_are_kept() -> None:
    data = result("ufs", 1.0, 0) | {"seed": 2**64 - 1}
    assert Result(data).latency().seed.iloc[0] == 2**64 - 1


def test_docstrings_name_every_column_that_is_declared() -> None:
    owners = {"table": Comparison, "latency": Result, "cdf": Result, "time_series": Result}
    owners |= {"uses": Result, "power_states": Result}
    for name, declared in FRAMES.items():
        told = inspect.getdoc(getattr(owners.get(name, Study), name)) or ""
        for column in declared:
            if column in PROVENANCE or column.name == "scheme":
                continue
            # `write_` stands for a row of columns, and so do `map_tenth_1` to the last.
            first = re.sub(r"tenth_\d+", "tenth_1", column.name)
            first = re.sub(r".*_ci95", "iops_ci95", first)
            stems = (first, column.name.split("_", 1)[-1], column.name.split("_")[0] + "_")
            assert any(f"`{stem}`" in told for stem in stems), f"{name}: {column.name}"


def test_columns_are_told_with_units() -> None:
    told = ufsim.columns("latency")
    assert told.loc["p99", "unit"] == "ns" and told.loc["count", "unit"] == "requests"
    with pytest.raises(ufsim.ConfigError, match="did you mean 'latency'"):
        ufsim.columns("latencies")
