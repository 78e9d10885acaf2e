"""What reaches a terminal: plain text in every locale, no bytes of others that it would obey, and no long lines."""

import io
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.table import Table

from conftest import ROOT, SAMPLE
from ufsim.cli.screen import Screen, printable

PROGRAM = Path(sys.executable).with_name("ufsim")
# Sets the colour, rings the bell, and in its C1 form clears the screen.
HOSTILE = "e\x1b[31mvil\x07\x9b2J\u202e"
STYLES = re.compile(r"\x1b\[[0-9;]*m")


def output(*arguments: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [str(PROGRAM), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, check=False)


def on_terminal(columns: int, *arguments: object, **environment: str) -> tuple[int, str]:
    """Exit status, and what a program writes to a terminal of so many columns."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(ROOT)
        variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), **environment}
        os.execve(PROGRAM, [str(PROGRAM), *map(str, arguments)], variables)
    text = b""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                text += os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), text.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", SAMPLE, "--replay", "closed"],
        ["schemes"],
        ["--help"],
        ["run", "--help"],
        ["trace", "info", SAMPLE],
        ["run", "µ–ü"],
    ],
)
def test_any_locale_will_do(locale: dict[str, str], arguments: list[object]) -> None:
    ended = output(*arguments, **locale)
    missing = arguments[-1] == "µ–ü"
    assert ended.returncode == (1 if missing else 0), ended.stderr
    assert b"Traceback" not in ended.stderr
    if "latin-1" not in locale.values():
        assert (ended.stdout + ended.stderr).isascii()
    if arguments[-1] == "closed":
        assert b" us" in ended.stdout or " µs".encode("latin-1") in ended.stdout


def test_names_that_are_no_text_are_shown_all_the_same(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\xfe.fio"
    ended = subprocess.run([os.fsencode(PROGRAM), b"run", name], capture_output=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(b"ufsim: error: ") and b"\\xff\\xfe.fio" in ended.stderr


def hostile_trace(folder: Path) -> Path:
    """A trace whose process has a name that a terminal would obey."""
    lines = [
        f"  8,0    0  {n + 1}  0.{n:03}000000  77  Q  W {n * 8} + 8 [{HOSTILE}]\n"
        f"  8,0    0  {n + 2}  0.{n:03}500000  77  C  W {n * 8} + 8 [0]\n"
        for n in range(0, 20, 2)
    ]
    path = folder / f"{HOSTILE}.txt"
    path.write_text("".join(lines))
    return path


@pytest.mark.slow
def test_a_terminal_obeys_nothing_that_a_trace_contains(tmp_path: Path) -> None:
    trace = hostile_trace(tmp_path)
    job = tmp_path / f"[red]{HOSTILE}.fio"
    job.write_text(f"[{HOSTILE}]\nrw=randwrite\nbs=4k\nsize=1m\n")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(f"time,op,offset,size\n{HOSTILE},{HOSTILE},1,1\n")
    for arguments in (
        ["trace", "info", trace],
        ["trace", "convert", trace, tmp_path / f"{HOSTILE}.csv", "--format", "csv"],
        ["run", trace, "--profile", "tiny"],
        ["compare", job, "--profile", "tiny", "--schemes", "ufs,ideal", "--out", tmp_path / HOSTILE],
        ["run", wrong],
        ["trace", "info", wrong],
        ["run", f"/{HOSTILE}"],
        ["run", SAMPLE, f"--{HOSTILE}"],
        ["profiles", HOSTILE],
    ):
        status, text = on_terminal(80, *arguments)
        assert status in (0, 1, 2) and "Traceback" not in text, text
        _, plain = on_terminal(40, *arguments, NO_COLOR="1")
        for left in (STYLES.sub("", text), STYLES.sub("", plain)):
            for obeyed in ("\x1b", "\x07", "\x9b", "\u202e"):
                assert obeyed not in left, (arguments, left)
        # The styles that are left are ours: nothing between the two halves of the name.
        assert "\x1b[31mvil" not in text
        assert not re.search(r"\x1b\[[0-9;]*3[0-7]", plain), "a colour in spite of NO_COLOR"


@pytest.mark.parametrize("width", [32, 40])
def test_no_table_is_cut_however_narrow_the_terminal(width: int) -> None:
    table = Table(box=None)
    for heading in ("", "recorded / simulated", "unit"):
        table.add_column(heading, no_wrap=True, justify="right")
    table.add_row("read 0.1 - 0.2 ms", "11,831 / 69", "1,234 ms")
    screen = Screen(file=io.StringIO(), width=width)
    screen.print(table)
    assert isinstance(screen.file, io.StringIO)
    shown = screen.file.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    words = ["read", "0.1", "0.2", "recorded", "simulated", "11,831", "69", "1,234"]
    assert [word for word in words if word not in shown] == [] and shown.count("ms") == 2, shown


def test_control_characters_become_symbols() -> None:
    assert printable(HOSTILE) == "e␛[31mvil␇\ufffd2J\ufffd"
    assert printable("two\nlines\tµ") == "two␊lines␉µ"


def test_no_color_is_heeded() -> None:
    arguments = ["run", SAMPLE, "--replay", "closed", "--set", "what_if.free=gc"]
    coloured = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
    status, text = on_terminal(80, *arguments)
    assert status == 0 and coloured.search(text), "the warning is yellow"
    status, text = on_terminal(80, *arguments, NO_COLOR="1")
    assert status == 0 and not coloured.search(text)


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", SAMPLE, "--replay", "closed", "--schemes", "ufs,hpb,hp-ufs,ideal"],
        pytest.param(["compare", SAMPLE, "--replay", "closed", "--schemes", "all"], marks=pytest.mark.slow),
        pytest.param(["phone", "samples/phone/small.toml", "--schemes", "ufs,ideal"], marks=pytest.mark.slow),
        ["schemes"],
        ["trace", "info", SAMPLE],
        ["trace", "formats"],
        ["crash", "--runs", "2"],
    ],
)
def test_forty_columns_are_enough(tmp_path: Path, arguments: list[object]) -> None:
    more = ["--out", tmp_path] if arguments[0] in ("compare", "phone") else []
    status, text = on_terminal(40, *arguments, *more)
    assert status == 0
    # What the bar of progress shows is taken back.
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).split("\r")[-1].split("picture: ")[0].splitlines()
    assert max(map(len, lines)) <= 40
    assert not any("…" in line for line in lines), "cut short:\n" + "\n".join(lines)
