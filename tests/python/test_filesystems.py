"""File systems of the Linux kernel on a live device, and SQLite's own command line on them.

A device becomes a file (nbdfuse), the file a block device (loop), and that is formatted and mounted. That needs root,
FUSE, loop devices, the file system in the kernel, and the right to mount, so only `make test-device` does it.
"""

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from ufsim.live import Server

# How to make and how to check them; checks change nothing.
SYSTEMS = {
    "ext4": (["mkfs.ext4", "-q"], ["e2fsck", "-fn"]),
    "xfs": (["mkfs.xfs", "-q"], ["xfs_repair", "-n"]),
    "btrfs": (["mkfs.btrfs", "-q"], ["btrfs", "check"]),
}
# The smallest of them is happy with this.
SIZE = "512M"
TREE = Path(__file__).parents[2] / "crates/device"
CUTS = 3


def run(*words: str | Path, check: bool = True) -> str:
    """What a program has printed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 or not check, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> str:
    """A file system that this machine can mount."""
    name: str = request.param
    if os.environ.get("UFSIM_CLIENTS") != "device":
        pytest.skip("make test-device mounts file systems")
    known = Path("/proc/filesystems").read_text(encoding="ascii").split()
    if os.geteuid() != 0 or not Path("/dev/fuse").exists() or not Path("/dev/loop-control").exists():
        pytest.skip("mounting needs root, FUSE and loop devices")
    if name not in known and subprocess.run(["modprobe", "-q", name], check=False).returncode != 0:
        pytest.skip(f"the kernel has no {name}")
    make, check = SYSTEMS[name]
    for program in ("nbdfuse", "sqlite3", make[0], check[0]):
        if shutil.which(program) is None:
            pytest.fail(f"{program} is not there; root installs it: make clients")
    return name


@contextmanager
def block_device(folder: Path) -> Iterator[str]:
    """The export of the socket `s` as a block device. Leaving it works with a device that has gone, too."""
    files = folder / "files"
    files.mkdir(exist_ok=True)
    with ExitStack() as stack:
        fuse = subprocess.Popen(["nbdfuse", str(files / "disk"), f"nbd+unix:///?socket={folder / 's'}"])
        stack.callback(run, "umount", "-l", files, check=False)
        until(lambda: (files / "disk").exists())
        loop = run("losetup", "--show", "--find", "--sizelimit", SIZE, "--sector-size", "4096", files / "disk").strip()
        stack.callback(run, "losetup", "--detach", loop, check=False)
        yield loop
    fuse.wait(60)


@contextmanager
def mounted(folder: Path) -> Iterator[Path]:
    """The file system on the export of the socket `s`."""
    place = folder / "mounted"
    place.mkdir(exist_ok=True)
    with block_device(folder) as loop:
        run("mount", loop, place)
        try:
            yield place
        finally:
            run("umount", place, check=False)
            # After a power cut nothing can be written any more.
            run("umount", "-l", place, check=False)


def until(holds: Callable[[], bool]) -> None:
    """Waits until something is so."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def check(folder: Path, system: str) -> None:
    """Has the file system's own program look at it."""
    with block_device(folder) as loop:
        run(*SYSTEMS[system][1], loop)


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
            run("sqlite3", place / "base", "pragma journal_mode=wal; create table t(x integer primary key, y)")
        committed = 0
        for turn in range(CUTS):
            with mounted(tmp_path) as place:
                committed = insert_until_cut(place / "base", committed, server, after=40 + 13 * turn)
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


def insert_until_cut(base: Path, first: int, server: Server, after: int) -> int:
    """Inserts row after row, each a transaction, and cuts the power after so many: the last that was committed."""
    command = ["sqlite3", "-batch", str(base)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=quiet, text=True, bufsize=1
    ) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        committed = first
        with suppress(BrokenPipeError):
            shell.stdin.write("pragma synchronous=full;\n")
            for row in range(first + 1, first + after + 1):
                shell.stdin.write(f"insert into t values ({row}, hex(randomblob(500))); select {row};\n")
                committed = int(shell.stdout.readline())
            # The next ones are under way when the power goes.
            rows = range(first + after + 1, first + after + 200)
            shell.stdin.write("".join(f"insert into t values ({row}, hex(randomblob(500)));\n" for row in rows))
            server.cut()
        shell.kill()
    return committed
