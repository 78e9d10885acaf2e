"""What the traced device did, beside what the simulated one does."""

import json
from pathlib import Path

import numpy as np
import pytest

import ufsim
from conftest import Command
from ufsim import ConfigError
from ufsim.results.result import Comparison

HEADER = "time_ns,op,device,sector,bytes,flags,latency_ns,process\n"
# Microseconds that the traced device took; one completion is missing.
READS = [100, 200, 400, 800, None]
WRITES = [1000, 3000]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded") / "t.csv"
    rows = []
    for number, (op, latency) in enumerate([("read", us) for us in READS] + [("write", us) for us in WRITES]):
        told = "" if latency is None else latency * 1000
        rows.append(f"{number * 5_000_000},{op},x,{8 * number},4096,{'sync' if op == 'read' else ''},{told},app")
    path.write_text(HEADER + "\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="module")
def comparison(trace: Path) -> Comparison:
    found = ufsim.compare(trace, ["ufs", "ideal"], profile="tiny", log=True)
    assert isinstance(found, Comparison)
    return found


def test_recorded_latencies_stand_beside_the_results_in_the_same_shape(comparison: Comparison) -> None:
    document = json.loads(comparison.to_json())
    recorded = document["recorded"]
    assert (recorded["requests"], recorded["without"]) == (6, 1)
    for result in document["results"]:
        assert recorded["latency_ns"].keys() == result["latency_ns"].keys()
        assert recorded["latency_ns"]["read"].keys() == result["latency_ns"]["read"].keys()
    read, write = recorded["latency_ns"]["read"], recorded["latency_ns"]["write"]
    # Histograms keep three digits.
    assert (read["count"], write["count"], recorded["latency_ns"]["flush"]) == (4, 2, None)
    assert read["p50"] == pytest.approx(200e3, rel=1e-3)
    assert (read["min"], write["max"]) == (pytest.approx(100e3, rel=1e-3), pytest.approx(3e6, rel=1e-3))
    assert Comparison.from_json(comparison.to_json()) == comparison


def test_frames_have_the_traced_device_as_a_scheme(comparison: Comparison) -> None:
    latency = comparison.latency()
    assert latency.loc[("recorded", "write"), "mean"] == pytest.approx(2e6, rel=1e-3)
    shares = comparison.cdf().query("scheme == 'recorded' and kind == 'read'").share
    assert (shares.iloc[0], shares.iloc[-1]) == (0.25, 1.0)
    assert comparison.recorded is not None and comparison.columns == ["ufs", "ideal", "recorded"]
    assert "<th" in comparison._repr_html_() and "recorded" in comparison._repr_html_()


def test_the_traced_device_shows_itself_and_says_what_it_has_not(comparison: Comparison) -> None:
    recorded = comparison.recorded
    assert recorded is not None and repr(recorded).endswith("t.csv: 6 requests>")
    assert "<td>read</td>" in recorded._repr_html_()
    with pytest.raises(AttributeError, match=r"^a result of scheme 'recorded' has no 'mapping_share': what it needs"):
        _ = recorded.mapping_share
    with pytest.raises(AttributeError, match="no field 'latencyns'; did you mean 'latency_ns'"):
        _ = recorded.latencyns


def test_a_trace_without_completions_has_nothing_to_show(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(HEADER + "0,write,x,8,4096,,,app\n")
    found = ufsim.compare(path, ["ufs"], profile="tiny")
    assert isinstance(found, Comparison)
    assert found.recorded is None and "recorded" not in found.to_dict()
    assert ufsim.trace_info(path)["recorded_latency_ns"] is None


def test_a_closed_replay_says_that_recorded_times_are_others(trace: Path) -> None:
    from ufsim.results import conditions

    told = conditions.notes([ufsim.run(trace, "ufs", profile="tiny", replay="closed")])
    assert any("closed replay" in note for note in told)


def test_the_command_line_shows_what_the_phone_did(ufsim: Command, trace: Path, tmp_path: Path) -> None:
    done = ufsim("compare", trace, "--profile", "tiny", "--schemes", "ufs,ideal", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    heading, mean = (next(line for line in done.stdout.splitlines() if word in line) for word in ("ideal", "read p50"))
    assert heading.split()[-1] == "recorded" and mean.split()[-2:] == ["200", "µs"]
    info = ufsim("trace", "info", trace)
    assert "recorded read: p50/p90/p99" in info.stdout and "200 µs / 800 µs / 800 µs" in info.stdout


def test_a_suite_has_a_column_for_the_traced_devices(ufsim: Command, trace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(HEADER + "0,read,x,8,4096,,,app\n")
    done = ufsim("compare", trace, other, "--profile", "tiny", "--schemes", "ufs,ideal", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    first = next(place for place, line in enumerate(lines) if "read mean" in line)
    mean, without = (
        next(line for line in lines[first:] if name in line.split()[:1]) for name in ("t.csv", "other.csv")
    )
    assert mean.split()[-2:] == ["375", "µs"] and without.split()[-1] == "–"


def test_a_log_has_every_request_with_both_latencies(comparison: Comparison) -> None:
    frame = comparison["ufs"].requests().sort_values("arrival_s")
    assert frame.kind.tolist() == ["read"] * 5 + ["write"] * 2
    assert frame.sector.tolist() == [8 * number for number in range(7)]
    assert frame.sync.tolist() == [True] * 5 + [False] * 2
    expected = [np.nan if us is None else us * 1e3 for us in READS + WRITES]
    np.testing.assert_equal(frame.recorded_ns.to_numpy(), expected)
    assert frame.arrival_s.tolist() == pytest.approx([0.005 * number for number in range(7)])
    assert (frame.latency_ns > 0).all() and (frame.process == "app").all() and frame.measured.all()
    assert frame.outcome.isna().tolist() == [False] * 5 + [True] * 2


def test_a_log_is_bounded_and_off_unless_it_is_wanted(trace: Path) -> None:
    full = ufsim.run(trace, "ufs", profile="tiny", log=3)
    assert full.request_log is not None
    assert (len(full.request_log), full.request_log.left_out) == (3, 4)
    plain = ufsim.run(trace, "ufs", profile="tiny")
    assert plain.digest == full.digest
    with pytest.raises(ConfigError, match="log=True"):
        plain.requests()
    with pytest.raises(ConfigError, match="log is -1; allowed: an integer from 0"):
        ufsim.run(trace, "ufs", profile="tiny", log=-1)


def test_power_states_are_a_frame(trace: Path) -> None:
    ran = ufsim.run(trace, "ufs", profile="tiny", settings={"power.auto_hibern8_idle_us": 1000})
    states = ran.power_states().set_index("state")
    assert states.share.sum() == pytest.approx(1.0) and states.loc["hibern8", "stays"] > 0
    assert len(ufsim.run(trace, "ufs", profile="tiny").power_states()) == 0
