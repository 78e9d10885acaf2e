"""Commands of other packages: found by their entry points, and told how to get where they are not there."""

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from ufsim import commands
from ufsim.cli import app as cli
from ufsim.cli.exits import Exit


def call(monkeypatch: pytest.MonkeyPatch, arguments: list[str], *entries: EntryPoint) -> int:
    """The exit status of a command line, with these commands of other packages."""
    app = cli.typer.Typer()
    app.command("other")(lambda: None)
    monkeypatch.setattr(commands, "entry_points", lambda group: EntryPoints(entries))
    commands.add_to(app)
    monkeypatch.setattr(cli, "app", app)
    return cli.execute(arguments)


def greet() -> None:
    print("hello")


def test_an_entry_point_is_a_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    entry = EntryPoint("greet", f"{__name__}:greet", commands.GROUP)
    assert call(monkeypatch, ["greet"], entry) == Exit.OK
    assert capsys.readouterr().out == "hello\n"


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ((), "pip install 'ufsim[papers]' brings it"),
        ((("reproduce", "nowhere:at_all"),), "cannot be loaded: No module"),
    ],
)
def test_a_command_that_is_not_there_says_so(
    entries: tuple[tuple[str, str], ...],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    own = [EntryPoint(name, value, commands.GROUP) for name, value in entries]
    assert call(monkeypatch, ["reproduce", "hpb/f6", "--quick", "--out", "x"], *own) == Exit.USAGE
    assert told in capsys.readouterr().err
