"""Live devices as block devices of the Linux kernel, with file systems on them.

A device becomes a file (nbdfuse), the file a block device (loop), and that is formatted and mounted. That needs root,
FUSE, loop devices, the file system in the kernel, and the right to mount, so only `make test-device` does it.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from ufsim.live.server import Server

# How to make and how to check them; checks change nothing.
SYSTEMS = {
    "ext4": (["mkfs.ext4", "-q"], ["e2fsck", "-fn"]),
    "xfs": (["mkfs.xfs", "-q"], ["xfs_repair", "-n"]),
    "btrfs": (["mkfs.btrfs", "-q"], ["btrfs", "check"]),
}
# The smallest of them is happy with this.
SIZE = "512M"


def run(*words: str | Path, check: bool = True) -> str:
    """What a program has printed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 or not check, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def needs(name: str, *programs: str) -> None:
    """Skips the test if this machine can not mount the file system, and fails if a program is missing."""
    if os.environ.get("UFSIM_CLIENTS") != "device":
        pytest.skip("make test-device mounts file systems")
    known = Path("/proc/filesystems").read_text(encoding="ascii").split()
    if os.geteuid() != 0 or not Path("/dev/fuse").exists() or not Path("/dev/loop-control").exists():
        pytest.skip("mounting needs root, FUSE and loop devices")
    if name not in known and subprocess.run(["modprobe", "-q", name], check=False).returncode != 0:
        pytest.skip(f"the kernel has no {name}")
    make, check = SYSTEMS[name]
    for program in ("nbdfuse", make[0], check[0], *programs):
        if shutil.which(program) is None:
            pytest.fail(f"{program} is not there; root installs it: make clients")


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


def insert_until_cut(shell: list[str], first: int, server: Server, after: int) -> int:
    """Inserts numbers into table `t`, each in a transaction, and cuts the power after so many.

    Gives the last one that was committed. `shell` takes statements and prints what they return.
    """

    def insert(row: int) -> str:
        return f"insert into t values ({row}) returning x;\n"

    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(shell, stdin=pipe, stdout=pipe, stderr=nothing, text=True, bufsize=1) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        committed = first
        with suppress(BrokenPipeError):
            for row in range(first + 1, first + after + 1):
                process.stdin.write(insert(row))
                committed = int(process.stdout.readline())
            # The next ones are under way when the power goes.
            process.stdin.write("".join(map(insert, range(first + after + 1, first + after + 200))))
            server.cut()
        process.kill()
    return committed
