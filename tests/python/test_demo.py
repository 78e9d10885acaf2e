"""The demo shows what the project is for: a device in use, GC at work, schemes that differ by tens of per cent."""

from pathlib import Path

import pytest

from conftest import ROOT, Command
from ufsim import conditions, demo
from ufsim.results import Comparison


def test_make_demo_is_the_demo_of_the_command_line() -> None:
    assert "\t$(BIN)/ufsim demo\n" in (ROOT / "Makefile").read_text()


def test_the_sentence_has_the_numbers_of_the_run(comparison: Comparison) -> None:
    comparison.results[1].data["scheme"] = "ideal"
    told = demo.what_to_look_at(comparison)
    assert "ufs spends 20 % of its flash time on the mapping table" in told
    assert "hp-ufs keeps the table in the phone's memory: throughput +50.0 %, mean write latency -33.3 %" in told
    assert "Not everything gains" not in told
    comparison.results[2].data["latency_ns"]["read"]["p99"] *= 10
    assert "Not everything gains: read p99 of hp-ufs is +566.7 % against ufs" in demo.what_to_look_at(comparison)


@pytest.mark.slow
def test_the_demo_runs_on_a_device_in_use_where_schemes_differ(ufsim: Command, tmp_path: Path) -> None:
    process = ufsim("demo", "--no-cache", "--out", tmp_path, seconds=1200)
    assert process.returncode == 0, process.stderr
    comparison = Comparison.from_json((tmp_path / "demo.json").read_text())
    # The device was in use, and GC ran.
    told = ["recorded latencies are of the recorded times, which a closed replay does not keep"]
    assert conditions.notes(comparison.results) == told
    gains = {result.scheme: comparison.gain_percent(result) for result in comparison.results}
    assert gains["ideal"] > 20
    assert gains["ufs"] == 0
    assert all(result.waf["gc"] > 0.3 for result in comparison.results)
    assert "What to look at: " in process.stdout
    assert "[files] rw=write bs=512k size=58g [year] rw=randwrite" in " ".join(process.stdout.split())
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
