"""MAP+'s Fig. 9 in the kernel: traces replayed under its elevators, and under the models of them."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

import ufsim
from tools.hosts.gains import HOSTS, LOG
from tools.hosts.map_plus import KNOWLEDGE
from ufsim_papers.figure import Setting
from ufsim_papers.map_plus.loads import LOADS, NR_REQUESTS, spec

BLOCK = 4096
#: A trace at its times, as many requests side by side as the scheduler takes in.
JOB = f"[replay]\nread_iolog={LOG}\nreplay_redirect=/dev/sda\nioengine=libaio\ndirect=1\niodepth={NR_REQUESTS}\n"
KINDS = ("read", "write")


def shortened(traces: Path) -> Iterator[dict[str, Any]]:
    """How much shorter reads and writes are with MAP+ than with RoW on average, in per cent: each trace, their mean."""
    setting = Setting(traces=traces)
    with tempfile.TemporaryDirectory() as name:
        cuts = {load: cut(load, Path(name), setting) for load in LOADS}
    cuts["mean"] = {host: {kind: mean(one[host][kind] for one in cuts.values()) for kind in KINDS} for host in HOSTS}
    for kind in KINDS:
        for load, own in cuts.items():
            found = {host: [round(own[host][kind], 1)] for host in HOSTS}
            yield {"claim": f"map-plus.f9.{kind}", "about": load, "of": "map-plus", "over": "row", **found}


def cut(load: str, folder: Path, setting: Setting) -> dict[str, dict[str, float]]:
    """The same of a trace, by host and kind. All that it touches is mapped before."""
    own, log = spec(load, "row", setting), folder / f"{load}.iolog"
    ufsim.trace_convert(own.workload, log, "iolog", device=own.device, clean=own.clean)
    text = log.read_text(encoding="utf-8")
    age = folder / f"{load}-touched.iolog"
    writes = "".join(f"/dev/sda write {at} {size}\n" for at, size in touched(text))
    age.write_text(f"fio version 2 iolog\n/dev/sda add\n/dev/sda open\n{writes}/dev/sda close\n", encoding="utf-8")

    def means(host: str, scheduler: str) -> dict[str, float]:
        (told,) = HOSTS[host](
            JOB,
            "dftl",
            text,
            scheduler=scheduler,
            settings=KNOWLEDGE if scheduler == "map-plus" else {},
            profile=own.profile,
            age=f"[age]\nread_iolog={age}\niodepth=8\n",
            seed=1,
        )
        return {kind: float(told[kind]["lat_ns"]["mean"]) for kind in KINDS}

    def shorter(host: str) -> dict[str, float]:
        row, ours = means(host, "row"), means(host, "map-plus")
        return {kind: (1 - ours[kind] / row[kind]) * 100 for kind in KINDS}

    return {host: shorter(host) for host in HOSTS}


def touched(log: str) -> Iterator[tuple[int, int]]:
    """Pieces of up to 512 KiB, by address, of what a log of requests reads and writes."""
    found = re.findall(r" (?:read|write) (\d+) (\d+)$", log, flags=re.MULTILINE)
    pages = {page for at, size in found for page in range(int(at) // BLOCK, -(-(int(at) + int(size)) // BLOCK))}
    begin = None
    for page in sorted(pages):
        begin = page if begin is None else begin
        if page + 1 not in pages or page + 1 - begin == 128:
            yield begin * BLOCK, (page + 1 - begin) * BLOCK
            begin = None
