"""PostgreSQL on ext4 on a live device, with its own benchmark and with power cuts: a part of `make test-device`."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from live_disks import SYSTEMS, block_device, check, insert_until_cut, mounted, needs, run, until
from ufsim.live.server import Server

# Where Debian has the programs; few of them are where a shell looks.
PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
CUTS = 2
# It does not run as root.
USER = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]


class Postgres:
    """A cluster in `data`, whose socket is in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._data = folder, folder / "mounted" / "data"

    def command(self, program: str, *words: str | Path) -> list[str]:
        """A program of PostgreSQL as its user."""
        return [str(word) for word in (*USER, PROGRAMS[-1] / program, *words)]

    def make(self) -> None:
        """Makes the cluster, with checksums of pages."""
        shutil.chown(self._data.parent, "postgres", "postgres")
        run(*self.command("initdb", "-D", self._data, "-A", "trust", "-k", "--no-instructions"))

    @contextmanager
    def started(self) -> Iterator[None]:
        """The server. What is left of it at the end is killed, with all of its processes."""
        options = f"-k {self._folder} -c listen_addresses= -c logging_collector=off"
        log = self._folder / "log"
        start = self.command("pg_ctl", "-D", self._data, "-l", log, "-o", options, "-w", "-s", "start")
        if subprocess.run(start, check=False).returncode != 0:
            pytest.fail(log.read_text(encoding="utf-8"))
        first = int((self._data / "postmaster.pid").read_text(encoding="ascii").split()[0])
        try:
            yield
        finally:
            for child in run("pgrep", "-P", str(first), check=False).split():
                os.kill(int(child), signal.SIGKILL)
            if (process := Path(f"/proc/{first}")).exists():
                os.kill(first, signal.SIGKILL)
                # The next server looks whether it is there.
                until(lambda: not process.exists())

    def stop(self) -> None:
        """Ends the server in an ordinary way."""
        run(*self.command("pg_ctl", "-D", self._data, "-m", "fast", "-w", "-s", "stop"))

    def client(self, program: str, *words: str) -> list[str]:
        """A client of the server."""
        return self.command(program, "-h", self._folder, *words, "postgres")

    def says(self, statement: str) -> str:
        """What a statement gives."""
        return run(*self.client("psql", "-Atqc", statement)).strip()

    def sound(self) -> None:
        """Checks every page of a server that is not running."""
        run(*self.command("pg_checksums", "--check", "-D", self._data))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder into which another user may go."""
    needs("ext4")
    if not PROGRAMS:
        pytest.fail("PostgreSQL is not there; root installs it: make clients")
    with tempfile.TemporaryDirectory(prefix="ufsim") as name:
        shutil.chown(name, "postgres", "postgres")
        Path(name).chmod(0o755)
        yield Path(name)


def test_what_was_committed_survives_power_cuts(folder: Path) -> None:
    base = Postgres(folder)
    with Server("hp-ufs", folder / "s", speed=None) as server:
        with block_device(folder) as loop:
            run(*SYSTEMS["ext4"][0], loop)
        with mounted(folder):
            base.make()
            with base.started():
                run(*base.client("pgbench", "-i", "-q"))
                run(*base.client("pgbench", "-c", "4", "-t", "100"))
                base.says("create table t(x int primary key)")
                base.stop()
            base.sound()
        committed, paid = 0, 400
        for turn in range(CUTS):
            with mounted(folder), base.started():
                committed = insert_until_cut(base.client("psql", "-Atq"), committed, server, after=60 + 17 * turn)
            with mounted(folder):
                with base.started():
                    last, count = (int(number) for number in base.says("select max(x), count(*) from t").split("|"))
                    assert last == count >= committed, f"{count} rows, the last is {last}; {committed} were committed"
                    assert base.says("select count(*) from pgbench_history") == str(paid)
                    # Its own rule: what was paid stands in each table.
                    sums = base.says(
                        "select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)"
                    )
                    assert sums == "t"
                    base.stop()
                base.sound()
            check(folder, "ext4")
            committed = last
