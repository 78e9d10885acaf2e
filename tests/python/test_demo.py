"""The demo shows what the project is for: a device in use, GC at work, schemes that differ by tens of per cent."""

from pathlib import Path

import pytest
from pytest import MonkeyPatch
from typer.testing import CliRunner

from conftest import ROOT
from ufsim import demo
from ufsim.cli.app import app
from ufsim.results import conditions
from ufsim.results.result import Comparison


def test_make_demo_is_the_demo_of_the_command_line() -> None:
    assert "\t$(BIN)/ufsim demo\n" in (ROOT / "Makefile").read_text()


@pytest.mark.slow
def test_the_demo_runs_on_a_device_in_use_where_schemes_differ(monkeypatch: MonkeyPatch, tmp_path: Path) -> None:
    # Two of its four schemes: the test build takes a minute for each.
    monkeypatch.setattr(demo, "SCHEMES", ("ufs", "ideal"))
    ended = CliRunner().invoke(app, ["demo", "--no-cache", "--out", str(tmp_path)])
    assert ended.exit_code == 0, ended.output
    comparison = Comparison.from_json((tmp_path / "demo.json").read_text())
    # The device was in use, and GC ran.
    notes = conditions.notes(comparison.results)
    assert notes[0] == "recorded latencies are of the recorded times, which a closed replay does not keep"
    assert not any("fresh" in note or "never ran" in note for note in notes)
    assert "one seed (ageing drawn at random): --seeds 5 says how far chance goes" in notes
    gains = {result.scheme: comparison.gain_percent(result) for result in comparison.results}
    assert gains["ideal"] > 20
    assert gains["ufs"] == 0
    assert all(result.waf["gc"] > 0.3 for result in comparison.results)
    assert "Throughput against ufs: " in ended.stdout
    assert "[files] rw=write bs=512k size=58g [year] rw=randwrite" in " ".join(ended.stdout.split())
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
