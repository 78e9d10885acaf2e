"""The power-cut campaign from the command line."""

import json

import pytest

from conftest import Command
from ufsim import _core
from ufsim.spec import schemes


def test_a_campaign_keeps_its_promises_whatever_the_jobs(ufsim: Command) -> None:
    reports = [ufsim("crash", "--runs", 19, "--jobs", jobs, "--json") for jobs in (1, 2)]
    assert all(report.returncode == 0 for report in reports), reports[0].stderr
    first, second = (json.loads(report.stdout) for report in reports)
    assert first == second
    assert first["runs"] == 19 and first["failures"] == []
    assert first["cuts"] >= 36
    assert set(first["schemes"]) == {scheme["name"] for scheme in schemes()}
    assert first["moments"]["program"] > 0 and first["moments"]["recovery"] > 0
    assert first["circumstances"]["submission going on"] > 0


@pytest.mark.slow
def test_a_broken_promise_is_found_and_can_be_repeated(ufsim: Command) -> None:
    broken = ufsim("crash", "--runs", 12, "--sabotage", "flush-at-once", "--json")
    assert broken.returncode == 5
    failure = json.loads(broken.stdout)["failures"][0]
    told = ufsim("crash", "--runs", 12, "--sabotage", "flush-at-once")
    assert told.returncode == 5
    line = next(line for line in told.stdout.splitlines() if f"--case {failure['case']}" in line)
    command = line.split("repeat with: ufsim ")[1].split()
    assert all(f"    {act}" in told.stdout.splitlines() for act in failure["acts"])
    assert len(failure["acts"]) <= 10, "a handful is left of hundreds"
    repeated = ufsim(*command)
    assert repeated.returncode == 5
    assert failure["what"] in repeated.stdout


def test_help_lists_what_each_sabotage_does_within_80_columns(ufsim: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = ufsim("crash", "--help")
    assert told.returncode == 0
    assert max(map(len, told.stdout.splitlines())) <= 80
    words = " ".join(told.stdout.split())
    sabotages = _core.crash_sabotages()
    assert len(sabotages) >= 14
    for name, summary in sabotages:
        assert f"{name} {summary}" in words


def test_wrong_options_name_what_is_allowed(ufsim: Command) -> None:
    for arguments, told in (
        (["--sabotage", "nothing"], 'sabotage = "nothing": must be one of flush-at-once'),
        (["--runs", 0], "runs"),
        (["--jobs", 0], "jobs"),
        (["--case", "17/acts=9-1"], "acts must be numbers and ranges in ascending order"),
        (["--case", "17", "--sabotage", "flush-at-once"], "case says which seed and sabotage it has"),
    ):
        process = ufsim("crash", *arguments)
        assert process.returncode == 1, process.stderr
        assert process.stdout == ""
        assert told in process.stderr
