"""HP-UFS in the kernel and its model, on the same requests: what a guest has asked for is replayed."""

import tempfile
from pathlib import Path
from typing import Any

import ufsim
from ufsim import linux

PROFILE = "tiny"
#: Writes all of the disk, then random blocks of it until GC has long been at work, then reads.
JOB = """\
[global]
filename=/dev/sda
size=100%
direct=1
ioengine=libaio
iodepth=4
[write]
rw=write
bs=128k
[random]
stonewall
rw=randwrite
norandommap
bs=4k
io_size=64m
[read]
stonewall
rw=randread
bs=4k
number_ios=5000
"""
COUNTERS = (
    "mapped_reads",
    "segment_reads",
    "segment_writebacks",
    "segment_writebacks_evict",
    "attests",
    "bitmaps_sent",
    "bitmaps_refused",
    "freed_sent",
    "units_applied",
    "units_discarded",
    "entry_transfers",
    "polls",
)


def counted() -> list[dict[str, Any]]:
    """A row for each counter: what the kernel and the model have counted."""
    with tempfile.TemporaryDirectory() as name:
        script, trace = Path(name) / "job.sh", Path(name) / "trace.txt"
        script.write_text(
            f"cat > /tmp/job.fio <<'END'\n{JOB}END\nfio --clocksource=clock_gettime --output=/dev/null /tmp/job.fio\n"
        )
        run = linux.run(linux.Job(script=script, fs="none", trace=True), "hp-ufs", profile=PROFILE)
        if run.status:
            raise SystemExit(f"hp-ufs: {run.stderr}")
        trace.write_text(run.trace or "")
        model = ufsim.run(trace, "hp-ufs", profile=PROFILE, replay="timed", precondition="none", device="8:0")
    host = model.counters["host"]
    return [{"counter": name, "kernel": run.hp_ufs_stats[name], "model": host[name]} for name in COUNTERS]


def by_own_fio() -> dict[str, Any]:
    """What the model counts if its own fio makes the requests: each comes when one before has ended, as in a guest."""
    with tempfile.TemporaryDirectory() as name:
        job = Path(name) / "job.fio"
        job.write_text(JOB)
        return dict(ufsim.run(job, "hp-ufs", profile=PROFILE, precondition="none").counters["host"])
