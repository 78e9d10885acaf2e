"""MAP+'s Fig. 9 in the kernel: traces replayed at their times under its elevators, and under the models of them."""

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import mean
from typing import Any

import pandas as pd

import ufsim
from tools.hosts.map_plus import KNOWLEDGE
from tools.hosts.traces import KINDS, NAMES, SECTOR, Asked, iolog, requests_of, touched
from ufsim import linux
from ufsim.linux import cpio
from ufsim.states import StateCache
from ufsim_papers.figure import Setting
from ufsim_papers.map_plus.loads import LOADS, NR_REQUESTS, spec

#: A program that the guest of this measurement has besides, and where it finds the requests.
PROGRAM = Path(__file__).with_name("replay.c")
LIST = "job/requests"


@lru_cache
def program() -> bytes:
    """The program, compiled for the guest."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name) / "replay"
        flags = ["-O2", "-static", "-D_GNU_SOURCE", "-Wall", "-Werror", "-Wl,--build-id=none"]
        subprocess.run(["gcc", *flags, "-o", str(made), str(PROGRAM)], check=True)
        return made.read_bytes()


def by_kernel(requests: Sequence[Asked], scheduler: str, **options: Any) -> dict[str, Any]:
    """Mean latencies in ns as the guest's program has seen them, from when a request was let in, and counters."""
    log = "".join(f"{one.ns} {one.kind} {one.at} {one.size}\n" for one in requests)
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "job.sh"
        # Neighbours are merged already.
        script.write_text(
            f"echo 2 > /sys/block/sda/queue/nomerges; replay /{LIST} /dev/sda {NR_REQUESTS}\n", encoding="utf-8"
        )
        files = [cpio.file(LIST, log.encode()), cpio.file("usr/sbin/replay", program(), executable=True)]
        job = linux.Job(script=script, fs="none", files=files)
        run = linux.run(job, "dftl", cache=StateCache(), scheduler=scheduler, **options)
    if run.status:
        raise SystemExit(f"replay in the guest: {run.stderr}")
    rows = pd.DataFrame(
        [line.split() for line in run.stdout.splitlines()], columns=["kind", "due", "submitted", "done"]
    ).astype({"due": "int64", "submitted": "int64", "done": "int64"})
    latency = (rows.done - rows.submitted).groupby(rows.kind).mean()
    own = {kind: float(latency[letter]) for kind, letter in KINDS.items() if letter in latency}
    return {**own, "counted": run.iosched}


def by_model(requests: Sequence[Asked], scheduler: str, **options: Any) -> dict[str, Any]:
    """The same of the models."""
    with tempfile.TemporaryDirectory() as name:
        trace = Path(name) / "trace.csv"
        rows = (f"{one.ns},{NAMES[one.kind]},sd,{one.at // SECTOR},{one.size},,,replay\n" for one in requests)
        trace.write_text("time_ns,op,device,sector,bytes,flags,latency_ns,process\n" + "".join(rows), encoding="utf-8")
        how: dict[str, Any] = {"replay": "queued", "depth": NR_REQUESTS, "merge": "off", "precondition": "none"}
        run = ufsim.run(trace, "dftl", cache=StateCache(), scheduler=scheduler, **how, **options)
    told = run.data["latency_ns"]
    own = {kind: float(told[kind]["mean"]) for kind in KINDS if told[kind]}
    return {**own, "counted": run.counters["host"]}


HOSTS = {"kernel": by_kernel, "model": by_model}


def means(requests: Sequence[Asked], folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """What RoW and MAP+ make of requests, by host. All that they touch is mapped before."""
    age = folder / "touched.iolog"
    age.write_text(iolog(touched(requests)), encoding="utf-8")
    options = {"profile": "emmc-map-plus", "age": f"[age]\nread_iolog={age}\niodepth=8\n", "seed": 1}

    def measured(host: str, scheduler: str) -> dict[str, Any]:
        settings = KNOWLEDGE if scheduler == "map-plus" else {}
        return HOSTS[host](requests, scheduler, settings=settings, **options)

    return {host: {scheduler: measured(host, scheduler) for scheduler in ("row", "map-plus")} for host in HOSTS}


def cut(told: dict[str, dict[str, Any]], kind: str) -> float:
    """By how many per cent MAP+ shortens a mean latency of RoW."""
    return (1 - float(told["map-plus"][kind]) / float(told["row"][kind])) * 100


def shortened(only: str, traces: Path) -> Iterator[dict[str, Any]]:
    """By how many per cent MAP+ shortens mean latencies of RoW: each trace, and their mean. A trace tells of both."""
    if not any(f"map-plus.f9.{kind}".startswith(only) for kind in KINDS):
        return
    setting, cuts = Setting(traces=traces), {}
    for load in LOADS:
        with tempfile.TemporaryDirectory() as name:
            own = spec(load, "row", setting)
            told = means(requests_of(own.workload, own.device, own.clean), Path(name))
        cuts[load] = {
            host: {kind: cut(own, kind) for kind in KINDS if kind in own["row"]} for host, own in told.items()
        }
        yield from rows_of(load, cuts[load])
    whole = {
        host: {kind: mean(one[host][kind] for one in cuts.values() if kind in one[host]) for kind in KINDS}
        for host in HOSTS
    }
    yield from rows_of("mean", whole)


def rows_of(about: str, cuts: dict[str, dict[str, float]]) -> Iterator[dict[str, Any]]:
    """Rows of the record."""
    for kind in cuts["kernel"]:
        found = {host: [round(own[kind], 1)] for host, own in cuts.items()}
        yield {"claim": f"map-plus.f9.{kind}", "about": about, "of": "map-plus", "over": "row", **found}
