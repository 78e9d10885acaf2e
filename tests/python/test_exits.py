"""How the command line ends: statuses, JSON errors, closed and full outputs, interrupts."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import ROOT, SAMPLE, Command
from ufsim.cli.exits import Exit, exits_markdown

PROGRAM = Path(sys.executable).with_name("ufsim")
LONG = "[j]\nrw=randrw\nbs=4k\niodepth=4\nsize=100m\nio_size=100g\n"


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in which `ufsim` is the installed program."""
    variables = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", **environment}
    return subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=variables, capture_output=True, text=True, timeout=120, check=False
    )


def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(PROGRAM), *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_page_lists_every_status() -> None:
    page = ROOT / "docs" / "exit-status.md"
    if "UFSIM_BLESS" in os.environ:
        page.write_text(exits_markdown())
    assert page.read_text() == exits_markdown()
    assert all(f"| {int(exit)} | `{exit.kind}` |" in page.read_text() for exit in Exit)


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["run", "nowhere", "--json"], Exit.INPUT, "nowhere"),
        (["run", SAMPLE, "--set", "nand.planes=0", "--json"], Exit.INPUT, "nand.planes"),
        (["run", SAMPLE, "--set", "nand.planes=0", "--fio-json"], Exit.INPUT, "nand.planes"),
        (["run", SAMPLE, "--json", "--speed"], Exit.USAGE, "--speed"),
        (["run", SAMPLE, "--json", "--fio-json"], Exit.USAGE, "exclude each other"),
        (["compare", SAMPLE, "--json", "--out", "/dev/null/x"], Exit.NOT_WRITTEN, "/dev/null/x"),
        (["phone", "nowhere.toml", "--json"], Exit.INPUT, "nowhere.toml"),
        (["trace", "info", "nowhere", "--json"], Exit.INPUT, "nowhere"),
        (["crash", "--runs", "0", "--json"], Exit.INPUT, "runs"),
        (["reproduce", "hpb/f1", "--json", "--out", "/dev/null/x"], Exit.NOT_WRITTEN, "/dev/null/x"),
    ],
)
def test_with_json_an_error_is_a_document(ufsim: Command, arguments: list[object], status: Exit, told: str) -> None:
    failed = ufsim(*arguments)
    assert failed.returncode == status
    error = json.loads(failed.stdout)["error"]
    assert (error["kind"], error["status"]) == (status.kind, status)
    assert told in error["message"]
    assert failed.stderr == f"ufsim: error: {error['message']}\n"


def test_without_json_standard_output_stays_empty(ufsim: Command) -> None:
    # What comes after -- is a workload.
    for arguments in (["run", "nowhere"], ["run", "--", "--json"]):
        failed = ufsim(*arguments)
        assert (failed.returncode, failed.stdout) == (Exit.INPUT, "")
        assert failed.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["ufsim schemes", "ufsim profiles hp-ufs", "ufsim --help", "ufsim schemes --json"])
def test_a_reader_that_has_enough_is_no_error(command: str) -> None:
    ended = shell(f"{command} | true; echo ${{PIPESTATUS[0]}}")
    assert ended.stderr == ""
    # What fits the pipe's buffer before the reader ends is written.
    assert ended.stdout in ("0\n", f"{int(Exit.READER_GONE)}\n")
    assert shell(f"{command} | head -1").stderr == ""


def test_a_gone_reader_has_a_status() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    for arguments in (["schemes"], ["profiles", "hp-ufs"], ["schemes", "--json"]):
        ended = subprocess.run([PROGRAM, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (Exit.READER_GONE, ""), arguments
    os.close(writing)


@pytest.mark.parametrize("command", ["ufsim schemes", "ufsim profiles hp-ufs", "ufsim schemes --json", "ufsim --help"])
def test_a_closed_standard_output_is_told_and_closed_errors_are_lost(command: str) -> None:
    for closed, status in (("2>&-", 0), (">&- 2>&-", 4), ("<&- >&- 2>&-", 4)):
        ended = shell(f"{command} {closed}")
        assert (ended.returncode, ended.stderr) == (status, ""), closed
    told = "ufsim: error: standard output: Bad file descriptor\n"
    ended = shell(f"{command} >&-")
    assert (ended.returncode, ended.stderr) == (Exit.NOT_WRITTEN, told)
    failed = shell("ufsim run nowhere 2>&-")
    assert (failed.returncode, failed.stdout) == (Exit.INPUT, ""), "the message must not go elsewhere"


@pytest.mark.parametrize("command", ["ufsim schemes", "ufsim profiles hp-ufs", "ufsim schemes --json"])
def test_a_full_standard_output_is_told(command: str) -> None:
    failed = shell(f"{command} > /dev/full")
    assert failed.returncode == Exit.NOT_WRITTEN
    assert failed.stderr == "ufsim: error: standard output: No space left on device\n"
    assert shell(f"{command} > /dev/full 2> /dev/full").returncode == Exit.NOT_WRITTEN


@pytest.mark.parametrize("module", ["rich", "typer", "ufsim/runner"])
def test_an_interrupt_while_modules_are_imported_is_quiet(tmp_path: Path, module: str) -> None:
    marker = tmp_path / "begun"
    slow = f"import time\nopen({str(marker)!r}, 'w').close()\ntime.sleep(60)\n"
    if "/" in module:  # a part of the package: a copy of it, with another one that is slow
        package = ROOT / "python"
        for name in ("ufsim", "ufsim_start"):
            (tmp_path / name).mkdir()
            for file in (package / name).iterdir():
                (tmp_path / name / file.name).symlink_to(file)
        (tmp_path / f"{module}.py").unlink()
    (tmp_path / f"{module}.py").write_text(slow)
    process = start("schemes", PYTHONPATH=str(tmp_path))
    deadline = time.monotonic() + 60
    while not marker.exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (Exit.INTERRUPTED, "", "ufsim: interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_in_a_run_is_quiet(tmp_path: Path, number: signal.Signals) -> None:
    job = tmp_path / "long.fio"
    job.write_text(LONG)
    process = start("compare", job, "--profile", "tiny", "--json", UFSIM_HEARTBEAT="0.2")
    assert process.stderr is not None
    first = process.stderr.readline()
    assert first.startswith("ufsim: ") and "MiB" in first, first
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == Exit.INTERRUPTED
    assert json.loads(out)["error"]["kind"] == "interrupted"
    assert err.splitlines()[-1] == "ufsim: interrupted" and "Traceback" not in err


def test_an_ignored_interrupt_stays_ignored(tmp_path: Path) -> None:
    job = tmp_path / "short.fio"
    job.write_text("[j]\nrw=randwrite\nbs=4k\nsize=4m\n")
    told = shell(f"trap '' INT; ufsim run {job} --profile tiny --json & sleep 0.3; kill -INT $!; wait $!; echo $?")
    assert told.stdout.endswith("}\n0\n"), told.stderr


def lines_of(text: str) -> Sequence[str]:
    return [line for line in text.splitlines() if line.startswith("ufsim: ")]


@pytest.mark.slow
def test_a_long_run_off_a_terminal_shows_that_it_is_alive(tmp_path: Path) -> None:
    job = tmp_path / "some.fio"
    job.write_text(LONG.replace("100g", "2g"))
    command = (
        f"ufsim run {job} --profile tiny --json --age 'rw=randwrite bs=4k size=100m io_size=3g' --seeds 1 --no-cache"
    )
    told = shell(command, UFSIM_HEARTBEAT="0.05")
    assert told.returncode == 0
    lines = lines_of(told.stderr)
    assert any("hp-ufs age " in line and "MiB/s" in line and " left (" in line for line in lines), lines
    assert any("hp-ufs " in line and "of 2,048 MiB" in line for line in lines), lines
    assert json.loads(told.stdout)["results"], "standard output is nothing but the document"
    assert shell(command, UFSIM_HEARTBEAT="0").stderr == ""
    failed = shell(command, UFSIM_HEARTBEAT="often")
    assert failed.returncode == Exit.INPUT
    assert failed.stderr == "ufsim: error: UFSIM_HEARTBEAT is 'often'; allowed: seconds between lines, 0 for none\n"


def test_a_campaign_off_a_terminal_shows_that_it_is_alive() -> None:
    told = shell("ufsim crash --runs 30 --jobs 1 --json", UFSIM_HEARTBEAT="0.05")
    assert any(" of 30 cases" in line for line in lines_of(told.stderr)), told.stderr
