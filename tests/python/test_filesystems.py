"""File systems of the Linux kernel on a live device, and SQLite's own command line on them.

Only `make test-device` does it; `live_disks` says how.
"""

import hashlib
import shutil
from pathlib import Path

import pytest

from live_disks import SYSTEMS, block_device, check, insert_until_cut, mounted, needs, run
from ufsim.live import Server

TREE = Path(__file__).parents[2] / "crates/ftl"
CUTS = 3


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> str:
    """A file system that this machine can mount."""
    name: str = request.param
    needs(name, "sqlite3")
    return name


def digest(tree: Path) -> str:
    """Fingerprint of all names and contents."""
    sums = hashlib.sha256()
    for path in sorted(path for path in tree.rglob("*") if path.is_file()):
        sums.update(f"{path.relative_to(tree)}\n".encode() + path.read_bytes())
    return sums.hexdigest()


def test_a_file_system_gives_back_what_was_copied_to_it(tmp_path: Path, system: str) -> None:
    with Server("hp-ufs", tmp_path / "s", speed=None):
        with block_device(tmp_path) as loop:
            run(*SYSTEMS[system][0], loop)
        with mounted(tmp_path) as place:
            shutil.copytree(TREE, place / "tree")
            run("sqlite3", place / "base", "pragma journal_mode=wal; create table t(x); insert into t values (42)")
        check(tmp_path, system)
        with mounted(tmp_path) as place:
            assert digest(place / "tree") == digest(TREE)
            assert run("sqlite3", place / "base", "pragma integrity_check; select x from t") == "ok\n42\n"
            run("fstrim", place)
        check(tmp_path, system)


def test_what_was_committed_survives_power_cuts(tmp_path: Path, system: str) -> None:
    with Server("hp-ufs", tmp_path / "s", speed=None) as server:
        with block_device(tmp_path) as loop:
            run(*SYSTEMS[system][0], loop)
        with mounted(tmp_path) as place:
            run("sqlite3", place / "base", "pragma journal_mode=wal; create table t(x integer primary key)")
        committed = 0
        for turn in range(CUTS):
            with mounted(tmp_path) as place:
                shell = ["sqlite3", "-batch", str(place / "base"), "-cmd", "pragma synchronous=full"]
                committed = insert_until_cut(shell, committed, server, after=40 + 13 * turn)
            with mounted(tmp_path) as place:
                told = run(
                    "sqlite3", place / "base", "pragma integrity_check; select coalesce(max(x), 0), count(*) from t"
                )
            sound, found = told.split()
            last, count = (int(number) for number in found.split("|"))
            assert sound == "ok"
            assert last == count >= committed, f"{count} rows, the last is {last}; {committed} were committed"
            check(tmp_path, system)
            committed = last
