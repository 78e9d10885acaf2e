"""`ufsim phone` and the Python functions behind it: from scenario to tables, frames and pictures."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

import ufsim as package
from conftest import ROOT, Command
from test_cli import document, fails

SMALL = ROOT / "samples" / "phone" / "small.toml"
SESSION = ROOT / "samples" / "phone" / "session.txt"
SCHEMES = ["ufs", "hpbvalve"]


@pytest.fixture(scope="module")
def study() -> package.Study:
    return package.phone(SMALL, SCHEMES, profile="tiny", log=True, jobs=1)


def test_uses_add_up(study: package.Study) -> None:
    uses = study.uses()
    assert list(uses.scheme.unique()) == SCHEMES
    assert (uses.groupby("scheme").size() == 12).all()
    parts = uses.compute_ms + uses.blocked_ms + uses.stalled_ms
    assert uses.launch_ms.to_numpy() == pytest.approx(parts.to_numpy())
    assert (uses.reads == uses.host + uses.sram + uses["map"]).all()
    assert (uses.reads == uses.launch_reads + uses.loading_reads + uses.run_reads).all()
    assert (uses.filter(like="map_tenth_").sum(axis=1) == uses["map"]).all()
    fetches = uses.groupby("scheme").fetches.sum()
    assert fetches["ufs"] == 0 < fetches["hpbvalve"] <= study["hpbvalve"].counters["host"]["map_req_cnt"]
    assert set(uses.start) == {"cold", "warm"}
    first = uses[uses.scheme == "ufs"]
    assert (first[first.launch == 1].start == "cold").all()


def test_the_log_has_every_read(study: package.Study) -> None:
    uses, reads = study.uses(), study.reads()
    for scheme in SCHEMES:
        own = reads[reads.scheme == scheme]
        foreground = own[own.phase != "background"].groupby("use").size()
        assert (foreground == uses[uses.scheme == scheme].set_index("use").reads).all()
        assert own.share.between(0, 1).all() and (own.latency_us > 0).all()
        missed = own[(own.phase != "background") & (own.outcome == "map")]
        assert len(missed) == uses[uses.scheme == scheme]["map"].sum()


def test_frames_of_kills_and_of_time(study: package.Study) -> None:
    kills, timeline = study.kills(), study.timeline()
    assert (kills[~kills.spared].category > 0).all() and kills.expected_mib.min() > 0
    memory = timeline[["hpb_mib", "free_mib", "cache_mib", "apps_mib", "system_mib"]].sum(axis=1)
    assert memory.to_numpy() == pytest.approx(900)
    assert timeline.pressure.between(0, 1).all()
    assert timeline[timeline.scheme == "ufs"].hpb_mib.max() == 0
    assert timeline[timeline.scheme == "hpbvalve"].hpb_mib.max() > 0
    summary = study.summary()
    assert summary.loc["ufs", "host_hit"] == 0 < summary.loc["hpbvalve", "host_hit"]
    assert summary.kills.sum() == (~kills.spared).sum()


def test_energy_is_waiting_use_and_operations(study: package.Study) -> None:
    energy, uses = study.energy().set_index("scheme"), study.uses()
    for scheme in SCHEMES:
        own = uses[uses.scheme == scheme]
        waited = own[["launch_ms", "loading_ms"]].max(axis=1).sum() / 1e3
        row = energy.loc[scheme]
        assert row.user_j == pytest.approx(2.0 * waited)
        assert row.flash_j == pytest.approx((50 * row["read"] + 800 * row.program + 8000 * row.erase) / 1e6)
        assert row.use_j == pytest.approx(2.0 * own.duration_s.sum())
        assert row.energy_j == pytest.approx(row.user_j + row.use_j + row.flash_j)


def test_without_a_log_there_are_no_reads() -> None:
    with pytest.raises(package.ConfigError, match="log=True"):
        package.Study(scenario="x", results=[], read_logs={}).reads()


def test_command_line_writes_its_files(ufsim: Command, tmp_path: Path, study: package.Study) -> None:
    process = ufsim("phone", SMALL, "--schemes", ",".join(SCHEMES), "--profile", "tiny", "--out", tmp_path, "--log")
    assert process.returncode == 0, process.stderr
    for told in ("cold launch", "kills", "picture:", "hpbvalve"):
        assert told in process.stdout
    (line,) = (line for line in process.stdout.splitlines() if "most HPB memory MiB" in line)
    peaks = study.timeline().groupby("scheme").hpb_mib.max()[list(SCHEMES)]
    assert line.split()[4:] == [f"{peak:.2f}" for peak in peaks] and peaks.max() > 0
    assert (tmp_path / "small.png").read_bytes().startswith(b"\x89PNG")
    written = json.loads((tmp_path / "small.json").read_text())["results"]
    assert [entry["digest"] for entry in written] == [result.digest for result in study.results]
    assert len(pd.read_parquet(tmp_path / "small-reads.parquet")) == len(study.reads())


def test_json_is_one_document_and_repeats(ufsim: Command) -> None:
    command = ("phone", SMALL, "--schemes", "ufs", "--profile", "tiny", "--json")
    one, two = document(ufsim(*command)), document(ufsim(*command))
    assert [entry["phone"] for entry in one["results"]] == [entry["phone"] for entry in two["results"]]
    assert one["scenario"] == str(SMALL)


def test_a_session_becomes_a_scenario_that_runs(ufsim: Command, tmp_path: Path) -> None:
    scenario = tmp_path / "session.toml"
    made = document(ufsim("trace", "to-scenario", SESSION, scenario, "--json"))
    assert made["apps"] == ["com.example.mailer", "org.example.maps", "net.example.chatter"]
    assert (made["launches"], made["cold"], made["kills"], made["timed"]) == (6, 4, 1, 6)
    study = package.phone(scenario, ["ufs", "ideal"], profile="tiny", jobs=1)
    uses = study.uses()
    assert list(uses[uses.scheme == "ufs"].app) == [made["apps"][i] for i in (0, 1, 0, 2, 0, 1)]
    assert list(uses[uses.scheme == "ufs"].launch_reads) == [80, 80, 15, 80, 15, 15]
    assert (uses.launch_ms > uses.compute_ms).all()
    kills = study.recorded_kills()
    assert list(kills.app) == ["com.example.mailer"] and list(kills.adj) == [900]
    assert kills.at_s[0] == pytest.approx(12, abs=2)


def test_wrong_scenarios_end_in_one_line(ufsim: Command, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[phone]\napps = ["UB"]\nrounds = 0\n')
    fails(ufsim("phone", wrong), "wrong.toml: line 3: phone.rounds = 0: must be 1..=10000")
    fails(ufsim("phone", tmp_path / "none.toml"), "no such file")
    fails(ufsim("phone", SMALL, "--schemes", "ufs,ufs"), "each may be named once")
    fails(ufsim("trace", "to-scenario", SESSION, tmp_path / "x.json"), "must be a file whose name ends with .toml")
    broken = tmp_path / "broken.txt"
    broken.write_text(SESSION.read_text().replace("mark_victim: pid=", "mark_victim: pod="))
    fails(ufsim("trace", "to-scenario", broken, tmp_path / "x.toml"), "broken.txt: line ", "mark_victim has no pid=")


def test_every_key_is_described(ufsim: Command, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "phone.md").read_text()
    scenario = tmp_path / "scenario.toml"

    def keys(table: str) -> list[str]:
        """What a table may hold, as the error about a wrong key says it."""
        scenario.write_text(f'[phone]\napps = ["UB"]\n{table}\nwrong = 1\n')
        return re.findall(r"\w+", ufsim("phone", scenario).stderr.split(": must be one of ")[1])

    app = '[[app]]\nname = "X"\ncategory = "game"'
    tables = ["", "[memory]", "[lmkd]", "[io]", app]
    # These explain the keys of an app that is built in.
    missing = {key for table in tables for key in keys(table) if key not in text} - {"sources", "assumed"}
    assert missing == set()
