"""What a log of requests costs: times, their ratio, and the peak of memory, each run in a process of its own."""

import tempfile
from functools import partial
from pathlib import Path
from statistics import median

import ufsim
from tools.project import UFSIM, Usage, measured
from tools.records import keep, origin
from tools.turns import in_turns

# Name, arguments.
CASES = {
    "random reads": ["rw=randread bs=4k iodepth=8 size=16g io_size=32g", "--precondition", "footprint"],
    "random writes": ["rw=randwrite bs=4k iodepth=8 size=16g io_size=32g"],
    "random writes under GC": ["rw=randwrite bs=4k iodepth=16 size=106g io_size=16g", "--precondition", "touched"],
}
SCHEMES = ("ufs", "hp-ufs")
LONG = "rw=randread bs=4k iodepth=8 size=16g io_size={}k"


def measure_log(pairs: int, long: int, record: Path | None) -> None:
    """Measures each case without and with a log, and one log of `long` requests."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.parquet"
        found = [cost(name, scheme, file, pairs) for name in CASES for scheme in SCHEMES]
        longest = long_log(long, file) if long else None
    keep(record, {**origin(ufsim.__version__), "pairs": pairs, "cases": found, "long": longest})


def cost(name: str, scheme: str, file: Path, pairs: int) -> dict[str, object]:
    """Times of a case without and with a log, and their ratio, by the medians of pairs."""
    made = list(in_turns([partial(run, CASES[name], scheme, log) for log in (None, file)], pairs))
    found = {
        "case": name,
        "scheme": scheme,
        "seconds": round(median(plain.seconds for plain, _ in made), 3),
        "logged_seconds": round(median(logged.seconds for _, logged in made), 3),
        "ratio": round(median(logged.seconds / plain.seconds for plain, logged in made), 3),
        "peak_mib": round(median(plain.peak_mib for plain, _ in made)),
        "logged_peak_mib": round(median(logged.peak_mib for _, logged in made)),
    }
    times = f"{found['seconds']} s, with a log {found['logged_seconds']} s ({found['ratio']})"
    print(f"{name}, {scheme}: {times}", flush=True)
    return found


def long_log(requests: int, file: Path) -> dict[str, object]:
    """A log of so many requests."""
    ran = run([LONG.format(4 * requests), "--precondition", "footprint"], "hp-ufs", file)
    gib = round(file.stat().st_size / (1 << 30), 2)
    print(f"{requests:,} requests: {ran.seconds:.0f} s, at most {ran.peak_mib:.0f} MiB of memory, {gib} GiB of file")
    return {"requests": requests, "seconds": round(ran.seconds, 1), "peak_mib": round(ran.peak_mib), "file_gib": gib}


def run(arguments: list[str], scheme: str, log: Path | None) -> Usage:
    """One run, from its start to its end, preconditioning and the rest of the log included."""
    logging = ["--log", str(log)] if log else []
    return measured([*UFSIM, "run", *arguments, "--scheme", scheme, "--profile", "hp-ufs", "--json", *logging])
