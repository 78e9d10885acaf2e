"""Traces that are joined, and the merging of neighbours in a run."""

import json
import math
from pathlib import Path

import pytest

import ufsim as package
from conftest import SAMPLE, Command

APPS = ("facebook", "twitter", "chrome", "camera-picture", "genshinimpact")


def test_a_joined_trace_says_where_it_comes_from_and_can_be_replayed(ufsim: Command, tmp_path: Path) -> None:
    out = tmp_path / "two.csv"
    options = ["--rule", "alternate", "--turn", 5, "--addresses", "stacked", "--shift", "0,2.5"]
    done = ufsim("trace", "join", SAMPLE, SAMPLE, "--out", out, *options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    one, two = package.trace_info(SAMPLE), package.trace_info(out)
    assert two["requests"] == 2 * one["requests"] and two["write_bytes"] == 2 * one["write_bytes"]
    assert (one["recorded"], two["recorded"]) == ("above", "above")
    assert len(two["devices"]) == 2 and "alternate: in turns of 5 s" in two["origin"][0]
    assert "2.5 s of silence before" in two["origin"][2]
    for line in (done.stdout, ufsim("trace", "info", out).stdout):
        assert "2 traces joined; alternate" in line
    ran = ufsim("run", out, "--scheme", "ufs", "--replay", "closed", "--verify", "--json", "--fold")
    (result,) = json.loads(ran.stdout)["results"]
    assert (ran.returncode, result["completed"] >= two["requests"]) == (0, True), ran.stderr


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        (["--rule", "mix", "--addresses", "shared"], 1, "must be one of merge, alternate, append"),
        (["--rule", "alternate", "--addresses", "shared"], 1, "needs the length of a turn"),
        (["--rule", "merge", "--addresses", "shared", "--turn", "3"], 2, "has no effect with the rule merge"),
        (["--rule", "merge", "--addresses", "shared", "--shift", "1,x"], 2, "--shift is '1,x'"),
        (["--rule", "merge"], 2, "--addresses"),
    ],
)
def test_wrong_joins_end_in_one_sentence(
    ufsim: Command, tmp_path: Path, options: list[str], status: int, told: str
) -> None:
    out = tmp_path / "out.csv"
    done = ufsim("trace", "join", SAMPLE, SAMPLE, "--out", out, *options)
    assert (done.returncode, told in done.stderr, len(done.stderr.splitlines())) == (status, True, 1), done.stderr
    assert not list(tmp_path.iterdir()), "nothing is left"


def test_times_without_end_are_refused(tmp_path: Path) -> None:
    for name, given in {"turn": {"turn_seconds": math.nan}, "shift": {"shift_seconds": [0, math.inf]}}.items():
        wish = {"rule": "alternate", "addresses": "shared", **given}
        with pytest.raises(package.ConfigError, match=rf"^{name} is (nan|inf); allowed: a finite number of seconds$"):
            package.trace_join([SAMPLE, SAMPLE], tmp_path / "joined.csv", **wish)


def test_five_apps_in_turns(traces: Path, tmp_path: Path) -> None:
    sources = [traces / "pixel4-hpufs" / app for app in APPS]
    out = tmp_path / "multiple.csv"
    made = package.trace_join(sources, out, rule="alternate", addresses="shared", turn_seconds=60)
    infos = [package.trace_info(source) for source in sources]
    joined = package.trace_info(out)
    assert made["requests"] == joined["requests"] == sum(info["requests"] for info in infos) == 84017
    # Turns of a trace that has ended are left out, so that the lengths add up to the last request.
    assert joined["duration_seconds"] == pytest.approx(sum(info["duration_seconds"] for info in infos), rel=1e-6)
    assert joined["recorded"] == "above"


def test_neighbours_are_merged_as_the_option_says() -> None:
    merged = {
        merge: package.run(SAMPLE, scheme="ufs", replay="closed", merge=merge).data for merge in ("auto", "on", "off")
    }
    assert merged["auto"]["merged"] == merged["on"]["merged"] > 0 == merged["off"]["merged"]
    assert [merged[merge]["merge"] for merge in ("auto", "on", "off")] == [True, True, False]
    commands = {merge: data["counters"]["host"]["user_commands"] for merge, data in merged.items()}
    assert commands["auto"] < commands["off"]
