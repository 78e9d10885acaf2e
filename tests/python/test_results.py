import json
import pickle

import pandas as pd
import pytest

from ufsim import ConfigError, Result
from ufsim.results.result import Comparison


def test_the_table_has_a_row_for_each_scheme_in_order(comparison: Comparison) -> None:
    table = comparison.table()
    assert list(table.index) == ["ufs", "mine", "hp-ufs"]
    assert table["throughput_mib_per_s"].tolist() == [40.0, 32.0, 60.0]
    assert table["gain_percent"].tolist() == pytest.approx([0.0, -20.0, 50.0])
    assert table.loc["ufs", "read_p99_ns"] == 400_000
    assert table.loc["mine", "write_mean_ns"] == pytest.approx(78_125)
    assert table.loc["hp-ufs", ["waf_total", "waf_map", "waf_gc"]].tolist() == [1.75, 0.5, 0.25]


def test_mapping_share_counts_map_traffic_and_valid_page_search(comparison: Comparison) -> None:
    assert comparison.results[0].mapping_share == pytest.approx(2 / 10)
    assert comparison.table()["mapping_share"].tolist() == pytest.approx([2 / 10, 1 / 9, 1 / 9])


def test_latency_has_every_scheme_kind_and_percentile(comparison: Comparison) -> None:
    latency = comparison.latency()
    assert len(latency) == 3 * 5
    assert latency.loc[("ufs", "read"), ["count", "p50", "p99", "p999"]].tolist() == [300, 80_000, 400_000, 1_600_000]
    assert latency.loc[("ufs", "trim"), "count"] == 0
    assert pd.isna(latency.loc[("ufs", "trim"), "p50"])
    assert latency.loc[("hp-ufs", "trim"), "max"] == 400_000


def test_nand_time_fills_causes_that_only_some_schemes_have(comparison: Comparison) -> None:
    comparison.results[1].data["nand_time_ns"]["gc_read"] = 42
    times = comparison.nand_time()
    assert times.loc["mine", "gc_read"] == 42
    assert times.loc["ufs", "gc_read"] == 0
    assert times["host_write"].tolist() == [5_000_000_000] * 3


def test_json_gives_back_what_it_took(comparison: Comparison) -> None:
    document = json.loads(comparison.to_json())
    assert set(document) == {"ufsim", "workload", "results"}
    assert [entry["scheme"] for entry in document["results"]] == ["ufs", "mine", "hp-ufs"]
    assert Comparison.from_json(comparison.to_json()) == comparison


def test_parquet_holds_the_table_and_the_nand_times(comparison: Comparison, tmp_path) -> None:
    comparison.to_parquet(tmp_path / "results.parquet")
    read = pd.read_parquet(tmp_path / "results.parquet").set_index("scheme")
    pd.testing.assert_frame_equal(read[comparison.table().columns], comparison.table())
    assert read["nand_time_map_read_ns"].tolist() == [1_000_000_000, 0, 0]


def test_fields_are_attributes(comparison: Comparison) -> None:
    first = comparison.results[0]
    assert first.iops == 500.0
    assert "iops" in dir(first)
    assert "ufs on traces/example" in repr(first)
    assert pickle.loads(pickle.dumps(first)) == first
    with pytest.raises(AttributeError, match="no field 'speed'"):
        _ = first.speed


def test_a_document_without_throughput_has_no_gain(comparison: Comparison) -> None:
    comparison.results[0].data["throughput_mib_per_s"] = 0.0
    assert comparison.gain_percent(comparison.results[2]) == 0.0


def test_fio_json_refuses_what_is_no_result() -> None:
    with pytest.raises(ConfigError):
        Result({"scheme": "ufs"}).to_fio_json()
