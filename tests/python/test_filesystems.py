"""File systems on a live device, the Linux kernel's and one without it, and SQLite's own command line on them.

Only `make test-device` does it; `live_disks` says how.
"""

import hashlib
import os
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from live_disks import SYSTEMS, block_device, check, insert_until_cut, mounted, needs, run, until
from ufsim.live.server import Server

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


def test_ext4_needs_no_kernel_module_and_no_loop_device(tmp_path: Path) -> None:
    """The commands of docs/howto/live-file-system.md."""
    if os.environ.get("UFSIM_CLIENTS") != "device" or not Path("/dev/fuse").exists():
        pytest.skip("make test-device mounts file systems, where there is FUSE")
    whole, place, files = tmp_path / "whole.sock", tmp_path / "mounted", tmp_path / "files"
    place.mkdir()
    files.mkdir()
    with Server("hp-ufs", tmp_path / "s", speed=None), ExitStack() as stack:
        filtered = ("--filter=blocksize", "nbd", f"socket={tmp_path / 's'}", "minblock=4096")
        nbdkit = subprocess.Popen(["nbdkit", "-f", "-U", str(whole), *filtered])
        stack.callback(nbdkit.wait, 60)
        stack.callback(nbdkit.terminate)
        until(whole.exists)
        fuse = subprocess.Popen(["nbdfuse", str(files / "disk"), f"nbd+unix:///?socket={whole}"])
        stack.callback(fuse.wait, 60)
        stack.callback(run, "fusermount3", "-u", files)
        until((files / "disk").exists)
        run("mkfs.ext4", "-q", "-b", "4096", "-O", "^has_journal", files / "disk", "1g")
        run("fuse2fs", files / "disk", place, "-o", "rw,fakeroot")
        try:
            told = run("sqlite3", place / "base", "create table t(x); insert into t values (42); select x from t")
        finally:
            run("fusermount3", "-u", place)
        assert told == "42\n"
        until(lambda: run("e2fsck", "-fn", files / "disk", check=False).count("12/") == 1)
