"""The block layer of Linux and its model: merging under plugs, and the order of mq-deadline."""

import re
import tempfile
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd

import ufsim
from ufsim import linux

PROFILE = "hp-ufs"
SECTOR, BLOCK = 512, 4096
TRACING = "/sys/kernel/debug/tracing"
EVENT = re.compile(
    r"^\s*(?P<task>.+)-(?P<pid>\d+)\s+\[\d+\].*? (?P<at>\d+\.\d+): block_(?P<event>bio_queue|rq_issue): 8,0 "
    r"(?P<flags>[A-Z]+) (?:\d+ \(.*?\) )?(?P<sector>\d+) \+ (?P<count>\d+)",
    re.MULTILINE,
)
FIO = (
    "fio --clocksource=clock_gettime --output=/dev/null --name=j --bs=4k --ioengine=libaio --direct=1 "
    "--filename=/dev/sda"
)


def batches(size: int) -> str:
    """Options of fio: so many requests are submitted together, and waited for together."""
    return f"--iodepth_batch={size} --iodepth_batch_complete_min={size} --iodepth_batch_complete_max={size}"


@dataclass(frozen=True)
class Case:
    """A job in the guest, under a scheduler."""

    name: str
    job: str
    scheduler: str = "noop"
    fs: str = "none"
    scheme: str = "ufs"
    profile: str = PROFILE
    settings: dict[str, str | int] = field(default_factory=dict)


MERGES = (
    Case("sequential writes, one after another, 16 deep", f"{FIO} --rw=write --size=16m --iodepth=16"),
    Case("sequential writes, 4 at a time", f"{FIO} --rw=write --size=16m --iodepth=4 {batches(4)}"),
    Case("sequential writes, 32 at a time", f"{FIO} --rw=write --size=16m --iodepth=32 {batches(32)}"),
    Case("sequential reads, 100 at a time", f"{FIO} --rw=read --size=16m --iodepth=100 {batches(100)}"),
    Case("every second block, 40 at a time", f"{FIO} --rw=write:4k --size=16m --iodepth=40 {batches(40)}"),
    Case("written back by F2FS", "dd if=/dev/zero of=a bs=1M count=16 2> /dev/null; sync", fs="f2fs"),
    Case("written back by ext4", "dd if=/dev/zero of=a bs=1M count=16 2> /dev/null; sync", fs="ext4"),
)
FILL = "dd if=/dev/zero of=/dev/sda bs=1M count=256 oflag=direct 2> /dev/null; sleep 1; "
DEEP = f"{FILL}{FIO} --size=256m --number_ios=3000 --iodepth=60"
ORDERS = (
    Case("random reads", f"{DEEP} --rw=randread", "mq-deadline"),
    Case("random reads and writes", f"{DEEP} --rw=randrw", "mq-deadline"),
)


@dataclass(frozen=True)
class Seen:
    """Requests above the block layer, as blkparse prints them, and below it: flags, sector, sectors."""

    queued: str
    issued: list[tuple[str, int, int]]
    run: linux.GuestRun


def by_kernel(case: Case) -> Seen:
    """What the guest has traced."""
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "job.sh"
        script.write_text(
            f"sync; echo mono > {TRACING}/trace_clock; echo 65536 > {TRACING}/buffer_size_kb\n"
            f"echo 1 > {TRACING}/events/block/block_bio_queue/enable\n"
            f"echo 1 > {TRACING}/events/block/block_rq_issue/enable\n({case.job})\n"
            f"echo 0 > {TRACING}/tracing_on; cat {TRACING}/trace\n"
        )
        job = linux.Job(script=script, fs=case.fs)
        run = linux.run(job, case.scheme, profile=case.profile, scheduler=case.scheduler, settings=case.settings)
    if run.status:
        raise SystemExit(f"{case.name}: {run.stderr}")
    lines: list[str] = []
    issued: list[tuple[str, int, int]] = []
    for found in EVENT.finditer(run.stdout):
        flags, sector, count = found["flags"], int(found["sector"]), int(found["count"])
        if found["event"] == "rq_issue":
            issued.append((flags, sector, count))
        else:
            order = len(lines) + 1
            lines.append(
                f"8,0 0 {order} {found['at']}000 {found['pid']} Q {flags} {sector} + {count} [{found['task']}]\n"
            )
    return Seen("".join(lines), [one for one in issued if one[0][0] in "RW"], run)


def by_model(case: Case, seen: Seen, **options: Any) -> tuple[ufsim.Result, pd.DataFrame]:
    """What the models make of what was queued, and the log of it."""
    with tempfile.TemporaryDirectory() as name:
        trace, log = Path(name) / "trace.txt", Path(name) / "log.parquet"
        trace.write_text(seen.queued)
        how = {
            "replay": "timed",
            "precondition": "none",
            "scheduler": case.scheduler,
            "settings": case.settings,
            **options,
        }
        run = ufsim.run(trace, case.scheme, profile=case.profile, log=log, **how)
        return run, pd.read_parquet(log)


def merged(case: Case) -> dict[str, Any]:
    """How many requests come out of how many."""
    seen = by_kernel(case)
    run, _ = by_model(case, seen)
    commands = run.counters["host"]["user_commands"]
    return {"case": case.name, "queued": seen.queued.count("\n"), "kernel": len(seen.issued), "model": commands}


def split(rw: str, size: str) -> dict[str, Any]:
    """How many commands 64 MiB make in requests of a size."""
    case = Case(f"{rw}s of {size}", f"{FIO.replace('--bs=4k', f'--bs={size}')} --rw={rw} --size=64m --iodepth=4")
    run = ufsim.run(f"rw={rw} bs={size} size=64m iodepth=4", "ufs", profile=PROFILE)
    kernel = [one for one in by_kernel(case).issued if one[0].startswith(rw[0].upper())]
    return {"case": case.name, "kernel": len(kernel), "model": run.counters["host"]["user_commands"]}


def ordered(case: Case) -> dict[str, Any]:
    """What mq-deadline makes of single blocks at random places."""
    seen = by_kernel(case)
    _, log = by_model(case, seen, merge="off", settings={"host.tags": 32, "host.internal_tags": 1})
    own = log[log.bytes == BLOCK].assign(sent=log.arrival_ns + log.waiting_ns).sort_values("sent", kind="stable")
    queued = [(flags[0], int(sector)) for flags, sector in re.findall(r" Q ([A-Z]+) (\d+) \+ 8 ", seen.queued)]
    return {
        "case": case.name,
        "arrived": told(queued),
        "kernel": told([(flags[0], sector) for flags, sector, count in seen.issued if count * SECTOR == BLOCK]),
        "model": told([(kind[0].upper(), sector) for kind, sector in zip(own.kind, own.sector, strict=True)]),
    }


def told(requests: list[tuple[str, int]]) -> dict[str, float]:
    """Of steps between requests: which share goes up, and which changes the direction."""
    steps = list(pairwise(requests))
    return {
        "up": sum(a[1] < b[1] for a, b in steps) / len(steps),
        "turns": sum(a[0] != b[0] for a, b in steps) / len(steps),
    }
