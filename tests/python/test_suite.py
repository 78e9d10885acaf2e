"""Suites: several workloads under the same schemes."""

import io
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import ufsim
from conftest import result
from ufsim import _core
from ufsim.results.formats import workload_names
from ufsim.results.result import Comparison, Result
from ufsim.results.suite import Suite
from ufsim.results.suite_tables import print_suite


def made(names: list[str], speeds: list[list[float]], replay: str = "closed") -> Suite:
    """Invented results: a row of speeds for each workload."""
    schemes = ["ufs", "hpb", "hp-ufs"]
    return Suite(
        [
            Comparison(
                name,
                [
                    Result({**result(scheme, speed, 0), "workload": name, "replay": replay})
                    for scheme, speed in zip(schemes, row, strict=True)
                ],
            )
            for name, row in zip(names, speeds, strict=True)
        ]
    )


@pytest.fixture
def suite() -> Suite:
    return made(["traces/a/chrome", "traces/b/chrome"], [[1.0, 2.0, 4.0], [1.0, 2.0, 1.0]])


def printed(suite: Suite, width: int = 80) -> str:
    text = io.StringIO()
    print_suite(Console(file=text, width=width), suite)
    return text.getvalue()


def test_names_are_as_long_as_it_takes_to_tell_them_apart(suite: Suite) -> None:
    assert suite.names == ["a/chrome", "b/chrome"]
    assert suite["b/chrome"] is suite[1] is suite[np.int64(1)] is suite["traces/b/chrome"]
    assert [comparison.workload for comparison in suite] == ["traces/a/chrome", "traces/b/chrome"]
    with pytest.raises(KeyError, match="the suite has a/chrome, b/chrome"):
        suite["twitter"]


def test_names_of_options_leave_out_what_all_have() -> None:
    assert workload_names(["rw=read bs=4k size=1g", "rw=read bs=64k size=1g"]) == ["bs=4k", "bs=64k"]
    more = ["rw=read size=1g", "rw=read size=1g bs=8k"]
    assert workload_names(more) == more, "nothing would be left of the first"


def test_means_are_geometric(suite: Suite) -> None:
    means = suite.geometric_mean()
    assert means["throughput_mib_per_s"]["ufs"] == pytest.approx(0.0)
    assert means["throughput_mib_per_s"]["hpb"] == pytest.approx(100.0)
    assert means["throughput_mib_per_s"]["hp-ufs"] == pytest.approx((math.sqrt(4.0) - 1) * 100)
    # A latency that is a quarter on one and the same on the other is half by the geometric mean.
    assert means["read_mean_ns"]["hp-ufs"] == pytest.approx(50.0)
    gains = suite.gains()
    assert gains.loc[("throughput_mib_per_s", "a/chrome"), "hp-ufs"] == pytest.approx(300.0)
    assert gains.dtypes.unique().tolist() == ["float64"]


def test_throughput_of_a_timed_replay_is_not_compared() -> None:
    timed = made(["a", "b"], [[1.0, 2.0, 4.0]] * 2, replay="timed")
    assert [measure.key for measure, _ in timed.measures()] == [
        "read_mean_ns",
        "read_p99_ns",
        "write_mean_ns",
        "write_p99_ns",
    ]


def test_json_gives_back_what_it_took_and_parquet_has_every_row(suite: Suite, tmp_path: Path) -> None:
    document = json.loads(suite.to_json())
    assert set(document) == {"ufsim", "suite", "geometric_mean"}
    assert [set(entry) for entry in document["suite"]] == [{"name", "workload", "results"}] * 2
    assert Suite.from_json(suite.to_json()) == suite
    suite.to_parquet(tmp_path / "suite.parquet")
    frame = pd.read_parquet(tmp_path / "suite.parquet")
    assert list(zip(frame.workload, frame.scheme, strict=True)) == [
        (name, scheme) for name in suite.names for scheme in suite.schemes
    ]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_table_has_a_row_for_each_workload_and_the_mean(suite: Suite, width: int) -> None:
    text = printed(suite, width)
    assert max(map(len, text.splitlines())) <= width
    block = text[text.index("throughput MiB/s") : text.index("read mean")]
    cells = {line.strip().split("  ")[0]: line.split() for line in block.splitlines() if line.strip()}
    assert cells["a/chrome"][1:] == ["40.0", "+100.0", "%", "+300.0", "%"]
    assert cells["geometric mean"][2:] == ["–", "+100.0", "%", "+100.0", "%"]


def test_one_scheme_has_a_column_for_each_workload(suite: Suite) -> None:
    alone = Suite([Comparison(one.workload, one.results[:1]) for one in suite])
    text = printed(alone)
    assert "ufs on 2 workloads" in text
    assert "gain" not in text
    line = next(line for line in text.splitlines() if "throughput" in line)
    assert line.split()[-2:] == ["40.0", "40.0"]


def test_the_picture_has_a_panel_for_each_measure(suite: Suite, tmp_path: Path) -> None:
    figure = suite.plot(tmp_path / "suite.png")
    assert (tmp_path / "suite.png").read_bytes().startswith(b"\x89PNG")
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles[0] == "throughput MiB/s, more than ufs"
    assert titles[1] == "read mean, shorter than ufs"
    bars = [bar.get_width() for bar in figure.axes[0].patches]
    assert bars == pytest.approx([100.0, 100.0, 100.0, 300.0, 0.0, 100.0])


def test_a_list_of_workloads_gives_a_suite_in_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def simulate(text: str, progress) -> str:
        spec = json.loads(text)
        progress(1, 2, 3, "run")
        return json.dumps({**result(spec["scheme"], 1.0, 0), "workload": spec["workload"]})

    monkeypatch.setattr(_core, "simulate", simulate)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    paths, seen = [tmp_path / "two", tmp_path / "one"], []
    suite = ufsim.compare(paths, ["ufs", "hpb"], progress=lambda *call: seen.append(call[0]))
    assert isinstance(suite, Suite)
    assert [(one.workload, one.scheme) for one in suite.results] == [
        (str(path), scheme) for path in paths for scheme in ("ufs", "hpb")
    ]
    assert sorted(seen) == ["one hpb", "one ufs", "two hpb", "two ufs"]
    alone = ufsim.run(paths, "hpb")
    assert isinstance(alone, Suite)
    assert alone.schemes == ["hpb"]
    with pytest.raises(ufsim.ConfigError, match=r"names .* twice"):
        ufsim.compare([paths[0], paths[0]])
    with pytest.raises(ufsim.ConfigError, match="workload is empty"):
        ufsim.compare([])
