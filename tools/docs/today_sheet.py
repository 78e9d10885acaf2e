"""What is published of the speed of UFS 4.0 devices, each with its source, and the job that says the same here."""

from typing import NamedTuple


class Line(NamedTuple):
    """A figure of a data sheet: what it is, its value and unit, who says so, the job, and what is set for it."""

    what: str
    published: float
    unit: str
    source: str
    job: str
    settings: dict[str, int]


INFER = "PowerInfer-2, arXiv 2406.06282"
BSD = "FreeBSD review D51893, another device"
SHEET = (
    Line("sequential reads, 512 KiB", 4200, "MB/s", "Samsung, 2022", "rw=read bs=512k size=8g iodepth=32", {}),
    Line("sequential writes, 512 KiB", 2800, "MB/s", "Samsung, 2022", "rw=write bs=512k size=8g iodepth=32", {}),
    Line(
        "random reads, 4 KiB in 128 MB",
        263_000,
        "IOPS",
        INFER,
        "rw=randread bs=4k size=128m iodepth=32 number_ios=200000",
        {},
    ),
    Line(
        "random reads, 4 KiB in 512 MB",
        207_000,
        "IOPS",
        INFER,
        "rw=randread bs=4k size=512m iodepth=32 number_ios=200000",
        {},
    ),
    Line("random reads, 512 KiB", 3500, "MB/s", INFER, "rw=randread bs=512k size=8g iodepth=32", {}),
    Line("writes, 1 MiB, with WriteBooster", 1644, "MB/s", BSD, "rw=write bs=1m size=8g iodepth=32", {}),
    Line("and without", 583, "MB/s", BSD, "rw=write bs=1m size=8g iodepth=32", {"slc.superblocks": 0}),
)
_, _, IN_128_MB, IN_512_MB, LARGE_READS, WITH_CACHE, WITHOUT_CACHE = SHEET
