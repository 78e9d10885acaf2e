"""What the command line does with failures that real inputs do not give: stand-ins raise them."""

import json

import pytest

import ufsim
from ufsim.cli import app as cli
from ufsim.cli import options as cli_options


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def simulate(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(cli, "simulate", simulate)


def test_a_bug_tells_how_to_report_it(monkeypatch, capsys) -> None:
    failing(monkeypatch, ufsim.SimulationBug("event 7: valid count is 3, map says 4\n(repeat with: ufsim run x)"))
    assert cli.execute(["run", "some trace", "--json"]) == 70
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["kind"] == "internal"
    first, second = err.splitlines()
    assert first == "ufsim: internal error: event 7: valid count is 3, map says 4 (repeat with: ufsim run x)"
    assert "report" in second
    assert "ufsim run 'some trace' --json" in second


def test_an_interrupt_has_the_shells_status(monkeypatch, capsys) -> None:
    failing(monkeypatch, KeyboardInterrupt())
    assert cli.execute(["run", "x"]) == 130
    assert capsys.readouterr().err == "ufsim: interrupted\n"


def test_an_operating_system_error_is_one_line(monkeypatch, capsys) -> None:
    failing(monkeypatch, PermissionError(13, "Permission denied", "/some/file"))
    assert cli.execute(["run", "x"]) == 1
    assert capsys.readouterr().err == "ufsim: error: /some/file: Permission denied\n"


def test_a_defect_of_the_command_line_is_not_hidden(monkeypatch, capsys) -> None:
    failing(monkeypatch, ZeroDivisionError("by nothing"))
    assert cli.execute(["run", "x"]) == 70
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Traceback") and "in simulate" in err, "whoever mends it has to know where"
    assert "ufsim: internal error: ZeroDivisionError: by nothing\n" in err


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), ("0.5", 0.5), ("true", True), ('"5"', "5"), ("unlimited", "unlimited"), ("[1]", "[1]"), ("", "")],
)
def test_settings_are_written_as_in_toml(text: str, value: object) -> None:
    parsed = cli_options.parse_settings([f"host.memory_mib={text}"])
    assert parsed == {"host.memory_mib": value}
    assert type(parsed["host.memory_mib"]) is type(value)


@pytest.mark.parametrize("texts", [["a.b"], ["b=1"], ["a.=1"], ["=1"], ["a.b=1", "a.b=2"]])
def test_settings_that_mean_nothing_are_refused(texts: list[str]) -> None:
    with pytest.raises(cli_options.UsageError, match="--set"):
        cli_options.parse_settings(texts)
