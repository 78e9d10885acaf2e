"""Live devices: throughput on the free clock beside nbdkit's memory plugin, lateness of replies on the real clock,
fio's results beside those of the simulator, and the memory of a device of 128 GiB.
"""

import contextlib
import json
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import ufsim
from tools.bench.program import build
from tools.project import MIB, UFSIM, failed, measured
from tools.records import keep, kept, origin
from tools.served import PATIENCE_S, ended, started
from tools.turns import in_turns
from ufsim.live.server import Control

DEPTH = 32
# What throughput reads from, and lateness.
AREA_MIB = 256
RATE = 20_000
SCHEMES = ("ufs", "hpb", "hp-ufs")
# The same job for fio and for the simulator: some of it hits the device's cache of segments, and some does not.
SIZE_MIB = 4096
JOBS = {
    "random reads": {"rw": "randread", "bs": "4k", "iodepth": 8, "number_ios": 40_000},
    "random writes": {"rw": "randwrite", "bs": "4k", "iodepth": 8, "number_ios": 40_000},
    "mixed": {"rw": "randrw", "bs": "16k", "iodepth": 4, "number_ios": 15_000},
}
# Sockets and fio take tens of microseconds; at this speed a flash read takes milliseconds.
SPEED = 0.02
# A run lets the device and its driver come to rest after preconditioning. This pause does.
REST_S = 15
# Writes all over the device, so that every table of it is there.
WRITES = 200_000


class Place:
    """A folder with the sockets of a server."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.socket, self.control = folder, folder / "s", folder / "c"

    @property
    def uri(self) -> str:
        """How fio names the export."""
        return f"nbd+unix:///?socket={self.socket}"

    @contextlib.contextmanager
    def serving(self, *options: str) -> Iterator[subprocess.Popen[str]]:
        """A server that is ready, and ends in an ordinary way."""
        with started("--socket", str(self.socket), "--control", str(self.control), *options) as server:
            try:
                yield server
                with Control(self.control) as control:
                    control.quit()
                ended(server)
            finally:
                server.kill()

    def stats(self) -> dict[str, Any]:
        """Those of the only export."""
        with Control(self.control) as control:
            return dict(next(iter(control.stats().values())))

    @contextlib.contextmanager
    def nbdkit(self) -> Iterator[None]:
        """nbdkit's memory plugin in place of a server."""
        command = ["nbdkit", "--foreground", "--unix", str(self.socket), "memory", f"{4 * AREA_MIB}M"]
        with subprocess.Popen(command) as server:
            try:
                while not self.socket.exists():
                    time.sleep(0.01)
                yield
            finally:
                server.terminate()
                server.wait(PATIENCE_S)
                self.socket.unlink(missing_ok=True)

    def fio(self, name: str, **job: object) -> dict[str, Any]:
        """A job of fio: its result."""
        words = {"name": name, "ioengine": "nbd", "uri": self.uri, "output-format": "json"} | job
        command = ["fio", *(f"--{key}={value}" for key, value in words.items())]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            failed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return dict(json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0])


def load(client: Path, place: Place, seconds: float, *rate: int) -> dict[str, float]:
    """What the lean client (crates/serve/benches/nbd_load.rs) has measured."""
    words = [str(word) for word in (place.socket, "", AREA_MIB, DEPTH, seconds, *rate)]
    done = subprocess.run([client, *words], stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def fill(client: Path, place: Place) -> None:
    """Writes what the lean client reads."""
    subprocess.run([client, "--fill", place.socket, "", str(AREA_MIB)], check=True)


def bare(client: Path, seconds: float) -> dict[str, float]:
    """By how much a thread is late that sends blocks to another one at given moments, and does nothing else."""
    words = ["--bare", str(seconds), str(RATE)]
    done = subprocess.run([client, *words], stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def throughput(place: Place, turns: int) -> dict[str, Any]:
    """Random reads of 4 KiB at depth 32 over a Unix socket, by two clients, in turns with nbdkit."""
    client = build("ufsim-serve", "nbd_load")
    reads = {"rw": "randread", "bs": "4k", "iodepth": DEPTH, "size": f"{AREA_MIB}m", "time_based": 1, "runtime": 4}

    def both_clients() -> tuple[float, float]:
        fill(client, place)
        return load(client, place, 4)["iops"], place.fio("reads", **reads)["read"]["iops"]

    def live() -> tuple[float, float]:
        with place.serving("--scheme", "hp-ufs", "--profile", "instant", "--clock", "free"):
            return both_clients()

    def nbdkit() -> tuple[float, float]:
        with place.nbdkit():
            return both_clients()

    made = list(in_turns([live, nbdkit], turns))
    rows = []
    for at, name in enumerate(("lean", "fio")):
        ours, theirs = ([turn[server][at] for turn in made] for server in (0, 1))
        ratio = median(one / other for one, other in zip(ours, theirs, strict=True))
        row = {"client": name, "iops": round(median(ours)), "nbdkit": round(median(theirs)), "ratio": round(ratio, 2)}
        print(f"{name}: {row['iops']:,} reads/s, nbdkit {row['nbdkit']:,} ({ratio:.2f})", flush=True)
        rows.append(row)
    return {"scheme": "hp-ufs", "profile": "instant", "depth": DEPTH, "turns": turns, "clients": rows}


def lateness(place: Place, turns: int) -> dict[str, Any]:
    """By how much replies leave late at 20,000 requests a second, beside what the machine alone makes of deadlines."""
    client = build("ufsim-serve", "nbd_load")
    made = []
    # Filled beforehand, so that nothing but reads at that rate is measured.
    machine = ("--scheme", "hp-ufs", "--profile", "hp-ufs", "--store", str(place.folder / "store"))
    with place.serving(*machine, "--clock", "free"):
        fill(client, place)
    for _ in range(turns):
        before = bare(client, 3)
        with place.serving(*machine, "--clock", "real"):
            iops = load(client, place, 10, RATE)["iops"]
            stats = place.stats()
        after = bare(client, 3)
        alone = {f"bare_{part}": (before[part] + after[part]) / 2 for part in before}
        made.append({"iops": iops, "early": stats["early"], **stats["lateness"], **alone})
        ours, least = (made[-1][part] / 1e3 for part in ("p99_ns", "bare_p99_ns"))
        print(f"lateness: p99 {ours:.0f} us; of a thread that only sends {least:.0f} us", flush=True)
    parts = ("iops", "p50_ns", "p99_ns", "p999_ns", "bare_p50_ns", "bare_p99_ns", "bare_p999_ns")
    of_turns = {part: round(median(turn[part] for turn in made)) for part in parts}
    least = round(min(turn["p99_ns"] for turn in made))
    early = sum(turn["early"] for turn in made)
    return {"turns": turns, "rate": RATE, **of_turns, "least_p99_ns": least, "early": early}


def prediction(place: Place, _: int) -> list[dict[str, Any]]:
    """fio's requests a second, in simulated time, and those of the simulator for the same job."""
    store = place.folder / "store"
    with place.serving("--scheme", "ufs", "--profile", "hp-ufs", "--clock", "free", "--store", str(store)):
        place.fio("fill", rw="write", bs="1m", iodepth=8, size=f"{SIZE_MIB}m", end_fsync=1)
    rows = []
    for scheme in SCHEMES:
        for name, job in JOBS.items():
            options = {"size": f"{SIZE_MIB}m", **job}
            machine = ("--scheme", scheme, "--profile", "hp-ufs")
            with place.serving(*machine, "--clock", "real", "--speed", str(SPEED), "--store", str(store)):
                time.sleep(REST_S)
                done = place.fio("job", norandommap=1, **options)
            fio = sum(done[kind]["iops"] for kind in ("read", "write")) / SPEED
            words = " ".join(f"{key}={value}" for key, value in options.items())
            run = ufsim.run(words, scheme, profile="hp-ufs", precondition="footprint")
            row = {"job": name, "scheme": scheme, "fio": round(fio), "predicted": round(run.iops)}
            row["difference"] = round(fio / run.iops - 1, 4)
            print(f"{name}, {scheme}: fio {fio:,.0f}, predicted {run.iops:,.0f} ({row['difference']:+.1%})", flush=True)
            rows.append(row)
    return rows


def memory(place: Place, _: int) -> dict[str, Any]:
    """Peak memory of a device of 128 GiB beyond the data, and that of a simulation of the same requests."""
    log = place.folder / "log.csv"
    machine = ("--scheme", "hp-ufs", "--profile", "hp-ufs")
    with place.serving(*machine, "--clock", "free", "--log", str(log)) as server:
        place.fio("writes", rw="randwrite", bs="4k", iodepth=16, size="100%", number_ios=WRITES, norandommap=1)
        status = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    lines = log.read_text(encoding="ascii").splitlines()
    data_mib = len({line.split(",")[3] for line in lines if ",write," in line}) * 4096 / MIB
    live_mib = int(found[1]) / 1024 - data_mib
    run_mib = measured([*UFSIM, "run", str(log), *machine, "--json"]).peak_mib
    print(f"memory: {live_mib:.0f} MiB beyond {data_mib:.0f} MiB of data, simulation {run_mib:.0f} MiB", flush=True)
    return {
        "data_mib": round(data_mib),
        "beyond_mib": round(live_mib),
        "simulation_mib": round(run_mib),
        "ratio": round(live_mib / run_mib, 3),
    }


FIGURES = {"throughput": throughput, "lateness": lateness, "prediction": prediction, "memory": memory}


def measure_live(figures: list[str], turns: int, record: Path | None) -> None:
    """Measures some of the figures, or all."""
    if strange := set(figures) - set(FIGURES):
        failed(f"no such figure: {', '.join(sorted(strange))}; allowed: {', '.join(FIGURES)}")
    known = kept(record) if record is not None and record.exists() else {}
    for name in figures or FIGURES:
        with tempfile.TemporaryDirectory() as folder:
            known[name] = FIGURES[name](Place(Path(folder)), turns)
    keep(record, {**known, **origin(ufsim.__version__)})
