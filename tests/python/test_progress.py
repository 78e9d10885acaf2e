import io
import re

from rich.console import Console

from ufsim import progress
from ufsim.progress import ProgressDisplay


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
