"""`ufshpb` of Linux and its model, on the same requests: what a guest has asked for is replayed."""

import tempfile
from pathlib import Path
from typing import Any

import ufsim
from ufsim import linux

#: Writes 96 of 128 MiB, reads the more often read ones, then reads and writes.
JOB = """\
[global]
size=96m
filename=/dev/sda
direct=1
ioengine=libaio
iodepth=4
[write]
rw=write
bs=128k
[read]
stonewall
rw=randread
bs=4k
random_distribution=zipf:1.1
number_ios=20000
thinktime=100
[both]
stonewall
rw=randrw
rwmixread=90
bs=4k
random_distribution=zipf:1.1
number_ios=10000
thinktime=100
"""
#: The profile is for tests, so it has little SRAM; the driver's parameters are Linux's own.
PROFILE = "tiny"
SETTINGS: dict[str, str | int] = {
    "sram.segment_cache_kib": 4,
    "scheme.hpb-linux.activation_thld": 8,
    "scheme.hpb-linux.eviction_thld_enter": 256,
    "scheme.hpb-linux.eviction_thld_exit": 128,
    "scheme.hpb-linux.read_timeout_ms": 1000,
    "scheme.hpb-linux.read_timeout_expiries": 100,
    "scheme.hpb-linux.timeout_polling_interval_ms": 200,
    "scheme.hpb-linux.inflight_map_req": 1,
}
COUNTERS = (
    "hit_cnt",
    "miss_cnt",
    "rcmd_noti_cnt",
    "rcmd_active_cnt",
    "rcmd_inactive_cnt",
    "map_req_cnt",
    "umap_req_cnt",
)
#: Times before the job, in s: the looks of the driver at its lists are every 200 ms from boot on.
PHASES = (0.0, 0.05, 0.1, 0.15)


def both(control: str) -> list[dict[str, Any]]:
    """A row for each counter with what driver and model have counted, once for each phase."""
    found = [counted(control, phase) for phase in PHASES]
    return [
        {
            "control": control,
            "counter": name,
            "kernel": [k[name] for k, _ in found],
            "model": [m[name] for _, m in found],
        }
        for name in COUNTERS
    ]


def counted(control: str, phase: float) -> tuple[dict[str, int], dict[str, int]]:
    """What the driver has counted, and the model on the same requests."""
    settings = {**SETTINGS, "scheme.*.hpb_control": control}
    with tempfile.TemporaryDirectory() as name:
        script, trace = Path(name) / "job.sh", Path(name) / "trace.txt"
        script.write_text(
            f"sleep {phase}\ncat > /tmp/job.fio <<'END'\n{JOB}END\n"
            "fio --clocksource=clock_gettime --output=/dev/null /tmp/job.fio\n"
        )
        run = linux.run(
            linux.Job(script=script, fs="none", trace=True), "hpb-linux", profile=PROFILE, settings=settings
        )
        if run.status:
            raise SystemExit(f"hpb, {control}: {run.stderr}")
        trace.write_text(run.trace or "")
        model = ufsim.run(
            trace,
            "hpb-linux",
            profile=PROFILE,
            settings=settings,
            replay="timed",
            precondition="none",
            device="8:0",
        )
    return run.hpb_stats, {name: model.counters["host"][name] for name in COUNTERS}
