import io
import re
import time

import pytest
from rich.console import Console

from ufsim._core import ConfigError
from ufsim.cli import progress
from ufsim.cli.progress import CountDisplay, Heartbeat, ProgressDisplay, TimeLeft, clock


def shown(terminal: bool) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, force_interactive=terminal, width=100)
    with ProgressDisplay(console) as display:
        display("ufs", "precondition", 1 << 20, 4 << 20, 1_000_000_000)
        display("ufs", "run", 1 << 20, 2 << 20, 3_000_000_000)
        display("hpb", "run", 1, None, 4_000_000_000)
        if display._progress is not None:
            display._progress.refresh()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.getvalue())


def test_nothing_is_shown_off_a_terminal(monkeypatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    assert shown(terminal=False) == ""


def test_nothing_is_shown_for_a_short_run() -> None:
    assert shown(terminal=True) == ""


def test_a_long_run_shows_share_phase_and_simulated_time(monkeypatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    text = shown(terminal=True)
    assert "50%" in text
    assert "3.0 s simulated" in text
    assert "hpb" in text


def test_calls_after_the_end_are_ignored(monkeypatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    text = io.StringIO()
    with ProgressDisplay(Console(file=text, force_terminal=True)) as display:
        pass
    display("ufs", "run", 1, 2, 3)
    assert text.getvalue() == ""


def beats(display: CountDisplay | ProgressDisplay, text: io.StringIO, *calls: tuple) -> str:
    with display:
        for call in calls:
            display(*call)
        deadline = time.monotonic() + 10
        while text.getvalue().count("\n") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    return text.getvalue().splitlines()[-1]


def test_off_a_terminal_a_line_now_and_then_tells_share_rate_and_time_left(monkeypatch) -> None:
    monkeypatch.setenv("UFSIM_HEARTBEAT", "0.05")
    text = io.StringIO()
    calls = [
        ("ufs", "age", 1 << 20, 4 << 20, 10**9),
        ("hpb", "run", 1 << 20, None, 2 * 10**9),
        ("ideal", "wait", 0, None, 0),
    ]
    line = beats(ProgressDisplay(Console(file=text)), text, *calls)
    assert re.fullmatch(
        r"ufsim: \d s: ufs age 25% of 4 MiB, [\d,]+ MiB/s, \d+ s left \(1\.0 s simulated\); "
        r"hpb 1 MiB, [\d,]+ MiB/s \(2\.0 s simulated\); ideal wait",
        line,
    ), line
    text = io.StringIO()
    line = beats(CountDisplay("runs", 8, Console(file=text)), text, (2,))
    assert re.fullmatch(r"ufsim: \d s: 2 of 8 runs, \d+ s left", line), line


def test_no_line_comes_after_the_end_nor_on_a_terminal() -> None:
    text = io.StringIO()
    with Heartbeat(Console(file=text), lambda: "alive", 0.01):
        time.sleep(0.05)
    before = text.getvalue()
    assert before.startswith("ufsim: 0 s: alive\n")
    time.sleep(0.05)
    assert text.getvalue() == before
    terminal = io.StringIO()
    with Heartbeat(Console(file=terminal, force_terminal=True), lambda: "alive", 0.01):
        time.sleep(0.05)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("seconds", ["often", "-1", "nan", "1e30"])
def test_a_wrong_interval_is_told(monkeypatch, seconds: str) -> None:
    monkeypatch.setenv("UFSIM_HEARTBEAT", seconds)
    with pytest.raises(ConfigError, match=f"UFSIM_HEARTBEAT is '{seconds}'"):
        ProgressDisplay()


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "0 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_times_are_told_as_people_read_them(seconds: float, told: str) -> None:
    assert clock(seconds) == told


def test_the_time_left_goes_down_unless_a_step_takes_longer_than_those_before() -> None:
    left = TimeLeft(start=0.0)
    left.step(0.0, 0, 10)
    assert left.seconds(5.0) is None, "nothing is known before the first step"
    left.step(20.0, 2, 10)
    told = [left.seconds(now) for now in (20.0, 25.0, 30.0, 60.0, 600.0)]
    assert told == [80.0, 75.0, 70.0, 140.0, 1400.0], "the step under way takes as long as the mean of three at least"
    left.step(600.0, 3, 10)
    assert left.seconds(600.0) == 7 * 580.0, "only the third lies in the later half"
    left.step(2000.0, 10, 10)
    assert left.seconds(2001.0) == 0.0


def test_what_was_kept_from_before_says_nothing_about_the_time_left() -> None:
    left = TimeLeft(start=0.0)
    for done in range(1, 409):
        left.step(done / 100, done, 450)
    for step in range(1, 7):
        left.step(4.0 + 8 * step, 408 + step, 450)
    assert left.seconds(52.0) == 36 * 8.0


def test_another_count_begins_with_its_own_times() -> None:
    left = TimeLeft(start=0.0)
    left.step(100.0, 100, 100)
    for done in (1, 2, 3):
        left.step(100.0 + 20 * done, done, 10)
    assert left.seconds(160.0) == 7 * 20.0
