"""The schedulers of MAP+ as code of the kernel and as models, on the same requests."""

from typing import Any

from tools.hosts.block import FIO, Case, batches, by_kernel, by_model

SCHEDULERS = ("row", "hp", "rb", "bs", "map", "map-plus")
#: Counters of the kernel's code, and what the model calls them.
COUNTERS = {"prioritised": "sched_prioritised", "batches": "sched_batches", "notices": "sched_notices"}
#: The kernel can have no view of the device's cache that costs nothing.
KNOWLEDGE: dict[str, str | int] = {"scheme.*.cache_knowledge": "lru"}
#: What is written first is mapped. Reads of 4 to 32 KiB come 32 at a time, and most are sent before their deadline.
FILL = "dd if=/dev/zero of=/dev/sda bs=512k count=512 oflag=direct 2> /dev/null; sleep 1; "
READS = (
    f"{FILL}{FIO} --rw=randread --bsrange=4k-32k --random_distribution=zipf:1.1 --size=256m --number_ios=1600 "
    f"--iodepth=32 {batches(32)}"
)


def compared(scheduler: str) -> dict[str, Any]:
    """Counters of both, and the share of reads that both have sent at the same place."""
    settings = KNOWLEDGE if scheduler in ("hp", "map", "map-plus") else {}
    case = Case(scheduler, READS, scheduler, scheme="dftl", profile="emmc-map-plus", settings=settings)
    seen = by_kernel(case)
    model, log = by_model(case, seen, merge="off")
    reads = log[log.kind == "read"].assign(sent=log.arrival_ns + log.waiting_ns).sort_values("sent", kind="stable")
    kernels = [sector for flags, sector, _ in seen.issued if flags.startswith("R")]
    same = sum(ours == theirs for ours, theirs in zip(reads.sector, kernels, strict=True))
    return {
        "scheduler": scheduler,
        "reads": len(kernels),
        "same": same / len(kernels),
        "kernel": {name: int(seen.run.iosched[name]) for name in COUNTERS if name in seen.run.iosched},
        "model": {name: model.counters["host"][own] for name, own in COUNTERS.items() if name in seen.run.iosched},
    }


def all_compared() -> list[dict[str, Any]]:
    """A row for each scheduler."""
    return [compared(scheduler) for scheduler in SCHEDULERS]
