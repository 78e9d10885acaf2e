"""Live devices under programs that nobody here has written.

`make test-device` and CI install them, and there a test without its program fails; elsewhere it is skipped.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from ufsim.live.server import Server

PACKAGES = {"fio": "fio", "qemu-io": "qemu-utils", "nbdinfo": "libnbd-bin", "nbdcopy": "libnbd-bin"}
MIB = 1 << 20


def run(*words: str, folder: Path | None = None) -> str:
    """Runs a program, perhaps in a folder for what it leaves there, and gives what it has printed."""
    if shutil.which(words[0]) is None:
        missing = f"{words[0]} is not there: apt-get install {PACKAGES[words[0]]}, or make test-device"
        pytest.fail(missing) if os.environ.get("UFSIM_CLIENTS") else pytest.skip(missing)
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, cwd=folder)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def uri(path: Path, export: str = "") -> str:
    """How clients name an export."""
    return f"nbd+unix:///{export}?socket={path}"


@pytest.mark.parametrize("scheme", ["ufs", "hpb", "hp-ufs"])
def test_fio_finds_what_it_has_written(tmp_path: Path, scheme: str) -> None:
    job = f"""
        [global]
        ioengine=nbd
        uri={uri(tmp_path / "s")}
        iodepth=16
        size=6m
        offset_increment=6m
        blockalign=4k
        verify=crc32c
        verify_fatal=1
        [mixed]
        rw=randrw
        bsrange=4k-64k
        fsync=32
        numjobs=8
        [trims]
        rw=randtrim
        bs=4k
        offset=60m
        verify=0
    """
    (tmp_path / "job.fio").write_text("\n".join(line.strip() for line in job.splitlines()))
    with Server(scheme, tmp_path / "s", speed=None, profile="tiny") as server:
        run("fio", "job.fio", folder=tmp_path)
        stats = server.stats()[scheme]
    assert stats["requests"]["trim"]["done"] > 1000
    assert stats["requests"]["write"]["failed"] == stats["requests"]["read"]["failed"] == 0
    assert stats["checked_units"] > 8 * 6 * MIB // 2 // 4096


def test_qemu_reads_writes_and_discards(tmp_path: Path) -> None:
    with Server("hp-ufs", tmp_path / "s", speed=None, profile="tiny") as server:
        commands = [
            "write -P 7 0 1M",
            "write -f -P 9 1M 64k",
            "read -P 7 0 1M",
            "discard 0 64k",
            "read -P 0 0 64k",
            "write -z -u 128k 64k",
            "write -z 256k 64k",
            "read -P 0 256k 64k",
            "read -P 0 128k 64k",
            "aio_write -P 3 4M 2M",
            "aio_write -P 4 8M 2M",
            "aio_flush",
            "read -P 3 4M 2M",
            "flush",
        ]
        # qemu also asks for blocks of 512 bytes, and does what is needed by itself.
        commands += ["write -P 5 20M 512", "read -P 5 20M 512", "read -P 0 20972032 512"]
        words = [word for command in commands for word in ("-c", command)]
        told = run("qemu-io", "-f", "raw", *words, uri(tmp_path / "s"))
        assert "failed" not in told and "error" not in told.lower(), told
        assert server.stats()["hp-ufs"]["requests"]["trim"]["done"] >= 2


def test_libnbd_lists_and_copies(tmp_path: Path) -> None:
    data = os.urandom(2 * MIB) + bytes(2 * MIB) + os.urandom(MIB)
    (tmp_path / "in").write_bytes(data)
    with Server(["ufs", "hp-ufs"], tmp_path / "s", speed=None, profile="tiny"):
        told = run("nbdinfo", "--list", uri(tmp_path / "s"))
        assert 'export="ufs"' in told and 'export="hp-ufs"' in told and "block_size_minimum: 4096" in told
        run("nbdcopy", str(tmp_path / "in"), uri(tmp_path / "s", "hp-ufs"))
        run("nbdcopy", uri(tmp_path / "s", "hp-ufs"), str(tmp_path / "out"))
        with (tmp_path / "out").open("rb") as copied:
            assert copied.read(len(data)) == data
            assert not any(copied.read())
        assert "base:allocation" in run("nbdinfo", uri(tmp_path / "s", "hp-ufs"))
        assert "hole" in run("nbdinfo", "--map", uri(tmp_path / "s", "hp-ufs"))


@pytest.mark.parametrize("wrong", [False, True])
def test_a_soak_finds_what_a_missing_flush_loses(wrong: bool) -> None:
    options = ["--minutes", "0", "--cuts", "1", "--kills", "1", "--profile", "tiny", "--area", "4"]
    command = [sys.executable, "-m", "tools", "soak", "device", *options, *(["--no-flushes"] if wrong else [])]
    run("fio", "--version")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == (1 if wrong else 0), done.stdout + done.stderr
    assert ("verify" in done.stderr) if wrong else ("1 power cuts, 1 kills" in done.stdout)
