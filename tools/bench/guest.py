"""How fast Linux as the host is: requests per second of real time, by who makes them."""

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ufsim
from tools.records import keep, origin
from ufsim import linux

#: A program that only reads: the reads of each request are counted, so there is no start-up in the rates.
READ = "dd if=/dev/sda of=/dev/null iflag=direct"
FIO = "fio --clocksource=clock_gettime --name=r --rw=randread --bs=4k --size=256m --filename=/dev/sda --direct=1"


@dataclass(frozen=True)
class Case:
    """A job with a number of requests in it."""

    name: str
    #: {n} is the number.
    script: str
    most: int
    #: Requests for each of the number.
    each: int = 1


CASES = (
    Case("system calls alone (two each)", "dd if=/dev/zero of=/dev/null bs=4k count={n}", 40_000),
    Case("`dd`, one at a time", f"{READ} bs=4k count={{n}}", 40_000),
    Case(
        "the kernel, 4 MiB split into 4 KiB",
        f"echo 4 > /sys/block/sda/queue/max_sectors_kb; {READ} bs=4M count={{n}}",
        120,
        1024,
    ),
    Case("`fio` psync", f"{FIO} --ioengine=psync --number_ios={{n}}", 60_000),
    Case("`fio` libaio, depth 32", f"{FIO} --ioengine=libaio --iodepth=32 --number_ios={{n}}", 60_000),
)


def measure_guest(turns: int, record: Path | None) -> None:
    """Measures boots and rates so many times."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        boots = [seconds(folder, "true") for _ in range(turns)]
        print(f"boot, nothing and power-off: {statistics.median(boots):.2f} s")
        rates = [measured(case, folder, turns) for case in CASES]
    keep(record, {**origin(ufsim.__version__), "turns": turns, "boot_seconds": sorted(boots), "rates": rates})


def seconds(folder: Path, script: str) -> float:
    """Real time of a whole session."""
    path = folder / "job.sh"
    path.write_text(script + "\n")
    began = time.monotonic()
    run = linux.run(linux.Job(script=path, fs="none"), "hpb-linux")
    if run.status:
        raise SystemExit(f"{script}: {run.stderr}")
    return time.monotonic() - began


def measured(case: Case, folder: Path, turns: int) -> dict[str, Any]:
    """The rates of a case: what the number takes beyond a session with one."""
    rates = []
    for _ in range(turns):
        one, many = (seconds(folder, case.script.format(n=n)) for n in (1, case.most))
        rates.append((case.most - 1) * case.each / (many - one))
    print(f"{case.name}: {statistics.median(rates):,.0f} per second ({min(rates):,.0f} to {max(rates):,.0f})")
    return {"case": case.name, "per_second": sorted(rates)}
