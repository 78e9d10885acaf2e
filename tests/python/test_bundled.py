"""Files that come with ufsim are found under their names in the project, wherever ufsim is called."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ufsim
from ufsim.bundled import FOLDERS, PACKAGE, located


def test_every_bundled_file_is_inside_the_package() -> None:
    for folder in FOLDERS:
        assert (PACKAGE / folder).is_dir()
        assert not (PACKAGE / folder).is_symlink()


def test_what_is_there_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert located("samples/app-mix") == str(PACKAGE / "samples" / "app-mix")
    assert located("jobs/sqlite.toml") == str(PACKAGE / "jobs" / "sqlite.toml")
    for other in ("samples/nothing", "samples/../jobs/sqlite.toml", "app-mix", "rw=randread size=1m", ""):
        assert located(other) == other
    (tmp_path / "samples" / "app-mix").mkdir(parents=True)
    assert located(Path("samples/app-mix")) == "samples/app-mix"


def test_commands_find_them_anywhere(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("ufsim")

    def call(*arguments: str) -> dict[str, object]:
        done = subprocess.run([program, *arguments, "--json"], cwd=tmp_path, capture_output=True, text=True, check=True)
        document: dict[str, object] = json.loads(done.stdout)
        return document

    assert call("trace", "info", "samples/formats/fio-3.33.iolog")
    options = ("--scheme", "ideal", "--profile", "tiny", "--precondition", "none")
    assert call("run", "samples/formats/fio-3.33.iolog", *options)


def test_python_finds_them_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = ufsim.phone("samples/phone/small.toml", ["ideal"], profile="tiny")
    assert len(study.results) == 1
    with pytest.raises(FileNotFoundError, match="samples/nothing"):
        ufsim.run("samples/nothing", "ideal")
