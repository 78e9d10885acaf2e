"""HP-UFS's Fig. 9 in the kernel: applications of a phone, replayed as fast as possible, and by the models."""

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any

import ufsim
from tools.hosts.traces import iolog, requests_of
from ufsim import linux
from ufsim.linux import cpio
from ufsim.states import StateCache
from ufsim_papers.folders import job
from ufsim_papers.hp_ufs.apps import APPS, CPUS, STATES

SEEDS = (1, 2, 3)
PROFILE, SETTINGS = "hp-ufs", {"host.memory_mib": 20}
SIDES = ("hp-ufs", "hpb-linux")
CLAIMS = {"no GC": "hp-ufs.f9.nogc-geomean", "GC": "hp-ufs.f9.gc-geomean"}
#: What a processor of the phone has asked for is a job, with eight requests under way.
GLOBAL = (
    "[global]\nioengine=libaio\ndirect=1\niodepth=8\nreplay_no_stall=1\nreplay_redirect=/dev/sda\ngroup_reporting\n"
)


def logs_of(trace: Path) -> dict[str, str]:
    """A log of fio for each processor."""
    return {f"cpu{n}": iolog(requests_of(trace / f"trace.{n}")) for n in range(CPUS)}


def job_file(logs: dict[str, str], folder: str) -> str:
    """The job that replays them."""
    return GLOBAL + "".join(f"[{name}]\nread_iolog={folder}/{name}.iolog\n" for name in logs)


def by_kernel(logs: dict[str, str], scheme: str, **options: Any) -> float:
    """Throughput in MiB/s as the guest's fio tells it."""
    files = [cpio.file(f"job/{name}.iolog", text.encode()) for name, text in logs.items()]
    files += [cpio.file("job/job.fio", job_file(logs, "/job").encode())]
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "job.sh"
        script.write_text("fio --clocksource=clock_gettime --output-format=json /job/job.fio\n", encoding="utf-8")
        guest = linux.Job(script=script, fs="none", files=files)
        run = linux.run(guest, scheme, cache=StateCache(), **options)
    if run.status:
        raise SystemExit(f"fio in the guest: {run.stdout}{run.stderr}")
    return rate(run.stdout)


def by_model(logs: dict[str, str], scheme: str, **options: Any) -> float:
    """The same of the models."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in logs.items():
            (Path(folder) / f"{name}.iolog").write_text(text, encoding="utf-8")
        run = ufsim.run(job_file(logs, folder), scheme, precondition="none", seeds=1, cache=StateCache(), **options)
    return rate(run.to_fio_json())


def rate(text: str) -> float:
    """All bytes over the time of the job, as fio's group tells them."""
    (told,) = json.loads(re.sub(r"^[^{]*", "", text, count=1))["jobs"]
    return float(sum(told[kind]["bw_bytes"] for kind in ("read", "write"))) / 2**20


HOSTS = {"kernel": by_kernel, "model": by_model}


def faster(only: str, traces: Path, seeds: Sequence[int] = SEEDS) -> Iterator[dict[str, Any]]:
    """By how many per cent HP-UFS is faster than HPB: each application, and their geometric mean."""
    logs = {name: logs_of(traces / "pixel4-hpufs" / app) for app, name in APPS.items()}
    for state, claim in CLAIMS.items():
        if not claim.startswith(only):
            continue
        ratios: dict[str, list[list[float]]] = {host: [] for host in HOSTS}
        for name, own in logs.items():
            for host in HOSTS:
                ratios[host].append([ratio(host, own, state, seed) for seed in seeds])
            yield row(claim, name, {host: found[-1] for host, found in ratios.items()})
        whole = {host: [prod(of) ** (1 / len(of)) for of in zip(*found, strict=True)] for host, found in ratios.items()}
        yield row(claim, f"geometric mean of {len(logs)}", whole)


def ratio(host: str, logs: dict[str, str], state: str, seed: int) -> float:
    """Throughput of HP-UFS over that of HPB."""
    options: dict[str, Any] = {"profile": PROFILE, "settings": SETTINGS, "seed": seed, "age": job(STATES[state])}
    ours, theirs = (HOSTS[host](logs, side, **options) for side in SIDES)
    return ours / theirs


def row(claim: str, about: str, ratios: dict[str, list[float]]) -> dict[str, Any]:
    """A row of the record."""
    gains = {host: [round((one - 1) * 100, 1) for one in found] for host, found in ratios.items()}
    return {"claim": claim, "about": about, "of": SIDES[0], "over": SIDES[1], **gains}
