"""A sweep on a real Dask cluster of separate processes: same bytes, a worker dies, the scheduler starts anew."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import ufsim as lab
from conftest import Command
from test_sweep import AGE, FIXED, written
from ufsim import inputs
from ufsim.sweeps import dask_run, work
from ufsim.sweeps.grid import grid_of, read_grid
from ufsim.sweeps.points import points_of

GRID = {
    "fixed": {**FIXED, "workload": "job.fio"},
    "axes": {"scheme": ["ufs", "hp-ufs"], "host_memory_mib": [1, 2, 4], "seed": [1, 2, 3, 4]},
}
PROGRAM = Path(sys.executable).with_name("ufsim")


class Processes:
    """A scheduler and its workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        # A worker has a cache, a working directory and a folder for temporary files of its own.
        own = self.folder / f"process-{len(self.running)}"
        own.mkdir()
        environment = {**os.environ, "UFSIM_CACHE": str(own / "cache"), "TMPDIR": str(own)}
        command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments, "--no-dashboard"]
        with open(own / "log", "wb") as file:
            process = subprocess.Popen(command, cwd=own, env=environment, stdout=file, stderr=file)
        self.running.append(process)
        return process

    def scheduler(self) -> subprocess.Popen[bytes]:
        return self.start("dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port))

    def worker(self) -> subprocess.Popen[bytes]:
        return self.start("dask_worker", self.address, "--nthreads", "1", "--no-nanny", "--death-timeout", "60")

    def end(self) -> None:
        for process in self.running:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(tmp_path)
    try:
        yield processes
    finally:
        processes.end()


def grid_in(folder: Path, megabytes: int) -> Path:
    folder.mkdir()
    (folder / "job.fio").write_text(f"[j]\nrw=randrw\nbs=4k\niodepth=4\nsize=32m\nio_size={megabytes}m\n")
    return written(GRID, folder / "grid.toml")


def points(out: Path) -> list[Path]:
    return list(out.glob("points/[!.]*.json"))


def until(out: Path, count: int, running: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while len(points(out)) < count:
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline, f"{len(points(out))} points"
        time.sleep(0.01)


def files_of(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in [*points(out), out / "results.parquet"]}


def test_a_cluster_gives_the_same_bytes_whatever_dies(cluster: Processes, tmp_path: Path) -> None:
    grid, out, here = grid_in(tmp_path / "grid", 24), tmp_path / "out", tmp_path / "here"
    scheduler, first, _ = cluster.scheduler(), cluster.worker(), cluster.worker()
    command = [str(PROGRAM), "sweep", str(grid), "--out", str(out), "--dask", cluster.address, "--no-cache", "--json"]
    sweep = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(out, 3, sweep)
    first.send_signal(signal.SIGKILL)
    until(out, 6, sweep)
    scheduler.send_signal(signal.SIGKILL)
    scheduler.wait()
    kept = {path: path.stat().st_mtime_ns for path in points(out)}
    cluster.scheduler(), cluster.worker(), cluster.worker()
    told, notices = sweep.communicate(timeout=120)
    assert sweep.returncode == 0, notices
    assert "was lost; " in notices
    document = json.loads(told)
    assert (document["run"], document["done"], document["failed"]) == (24, 24, [])
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(kept) < 24
    lab.sweep(grid, here, jobs=2, cache=lab.StateCache(tmp_path / "states"))
    assert files_of(out) == files_of(here)


def test_what_is_not_shared_is_sent(cluster: Processes, tmp_path: Path, ufsim: Command) -> None:
    grid, out, here = grid_in(tmp_path / "grid", 1), tmp_path / "out", tmp_path / "here"
    cluster.scheduler(), cluster.worker(), cluster.worker()
    done = ufsim("sweep", grid, "--out", out, "--dask", cluster.address, "--ship")
    assert done.returncode == 0, done.stderr
    lab.sweep(grid, here, jobs=1, cache=lab.StateCache(tmp_path / "states"))
    assert files_of(out) == files_of(here)
    jobs = list(tmp_path.glob("process-*/ufsim-*/job.fio"))
    assert any(path.read_bytes() == (grid.parent / "job.fio").read_bytes() for path in jobs)
    states = list(tmp_path.glob("process-*/ufsim-*/state"))
    assert any(path.stat().st_size > 10_000 for path in states), "states come along, too"
    assert not list(tmp_path.glob("process-*/cache"))


TRACE = "time_ns,op,device,sector,bytes,flags,latency_ns,process\n5,read,d,80,4096,,,main\n9,write,d,160,8192,,,main\n"
NAMED = {
    "jobs/j.fio": "[a]\ninclude part.inc\n[b]\nread_iolog=../logs/l\n",
    "jobs/part.inc": "rw=read\nsize=1m\nioengine=libaio\n",
    "logs/l": "fio version 2 iolog\nf add\nf open\nf read 0 8192\n",
    "db.toml": '[sqlite]\noperations = ["insert"]\ntransactions = 3\n',
    "phone.toml": '[phone]\napps = ["TW"]\nuse_s = 1\nrounds = 1\n[[app]]\nname = "TW"\ntrace = "traces/t.csv"\n',
    "traces/t.csv": TRACE,
    "mine.toml": 'extends = "below/base.toml"\n',
    "below/base.toml": 'extends = "tiny"\n[nand]\ntlc_read_us = 61\n[assumed]\n"nand.tlc_read_us" = "a guess"\n',
}
WORKLOADS = ["jobs/j.fio", "db.toml", "phone.toml", "traces/t.csv"]


def named_in(folder: Path, workloads: list[str]) -> Path:
    """A grid whose files name others."""
    for name, text in NAMED.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    fixed = {"profile": "mine.toml", "scheme": "ufs", "age": "rw=randwrite bs=4k size=8m"}
    return written({"fixed": fixed, "axes": {"workload": workloads}}, folder / "grid.toml")


def test_files_arrive_with_those_that_they_name(tmp_path: Path) -> None:
    grid = named_in(tmp_path / "grid", [*WORKLOADS, "traces"])
    for point in points_of(read_grid(grid)):
        files = {name: Path(path) for name, path in inputs.files_of(asdict(point.spec)).items()}
        parcels = {name: work.parcel_of(name, str(path)) for name, path in files.items()}
        assert {name: parcel.meant.split("/")[-1] for name, parcel in parcels.items()} == {
            name: path.name for name, path in files.items()
        }
        there = replace(point.spec, **{name: work.path_of(parcel) for name, parcel in parcels.items()})
        assert inputs.of_spec(there) == inputs.of_spec(point.spec)
        assert there.workload != point.spec.workload and there.profile != point.spec.profile


def test_a_worker_refuses_other_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = {"fixed": {"workload": "rw=read bs=4k size=${SIZE}", "profile": "tiny"}, "axes": {"seed": [1]}}
    monkeypatch.setenv("SIZE", "1m")
    (point,) = points_of(grid_of(grid))
    order = dask_run.order_of(point, dask_run.Cluster("", tmp_path), [], inputs.Known())
    assert not work.simulate(order, None).error
    monkeypatch.setenv("SIZE", "2m")
    assert "says something else on a worker" in work.simulate(order, None).error


def test_all_kinds_of_files_are_sent(cluster: Processes, tmp_path: Path) -> None:
    grid, out, here = named_in(tmp_path / "grid", WORKLOADS), tmp_path / "out", tmp_path / "here"
    cluster.scheduler(), cluster.worker()
    done = lab.sweep(grid, out, dask=cluster.address, ship=True)
    assert not done.failures and len(done.frame) == len(WORKLOADS)
    lab.sweep(grid, here, jobs=1, cache=lab.StateCache(tmp_path / "states"))
    assert files_of(out) == files_of(here)


def test_a_point_that_fails_on_a_worker_is_told(cluster: Processes, tmp_path: Path, ufsim: Command) -> None:
    grid = grid_in(tmp_path / "grid", 1)
    bad = {"fixed": {"profile": "tiny", "age": AGE}, "axes": {"workload": ["job.fio", "bad.csv"], "seed": [1]}}
    (tmp_path / "grid/bad.csv").write_text("no trace\n")
    written(bad, grid)
    cluster.scheduler(), cluster.worker()
    done = ufsim("sweep", grid, "--out", tmp_path / "out", "--dask", cluster.address)
    assert done.returncode == 6, done.stderr
    assert "ufsim: failed: workload=bad.csv, seed=1: " in done.stderr


def test_a_scheduler_that_is_not_there_is_named(
    tmp_path: Path, ufsim: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = grid_in(tmp_path / "grid", 1)
    monkeypatch.setattr(dask_run, "ANSWER_SECONDS", 0.0)
    with pytest.raises(lab.ConfigError, match="no scheduler answers within 0 s"):
        lab.sweep(grid, tmp_path / "out", dask="tcp://127.0.0.1:9")
    wrong = ufsim("sweep", grid, "--out", tmp_path / "out", "--dask", "nonsense://x")
    assert wrong.returncode == 1 and "allowed: tcp://HOST:PORT" in wrong.stderr
    both = ufsim("sweep", grid, "--out", tmp_path / "out", "--dask", "tcp://127.0.0.1:9", "--jobs", 2)
    assert both.returncode == 2 and "exclude each other" in both.stderr
