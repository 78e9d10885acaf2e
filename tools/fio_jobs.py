"""400 job files as fio reads them and as ufsim does: `python -m tools fio_jobs`.

Jobs are made of families of options, each drawn with a seed of its own. fio runs them on files in memory, and trims,
which files do not take, with its null engine; ufsim runs them on a device where nothing takes time. Compared are
requests and bytes by direction, and of jobs without chance the order of addresses, which fio tells by `write_iolog`.
Each difference has a reason, which holds only where it can be seen from the job and both outcomes (`reason`).
"""

import json
import math
import random
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

import ufsim
from tools.project import ROOT
from tools.records import keep, origin

RECORD = ROOT / "docs" / "data" / "fio-jobs.json"
app = typer.Typer(add_completion=False)
EACH = 20
DIRECTIONS = ("read", "write", "trim")
# A direction of a mix is drawn for each request. Five standard deviations of a fair coin's count are no accident.
DEVIATIONS = 5.0

Draw = Callable[[random.Random], dict[str, str]]


def _size(rng: random.Random, least: int = 64, most: int = 4096) -> str:
    return f"{rng.randint(least, most)}k"


def _block(rng: random.Random) -> str:
    return rng.choice(("512", "1k", "2k", "4k", "8k", "12k", "16k", "20k", "64k"))


def _mixed(rng: random.Random) -> dict[str, str]:
    rw = rng.choice(("rw", "randrw"))
    return {"rw": rw, "rwmixread": str(rng.randint(0, 100)), "bs": "4k", "size": _size(rng, 1024)}


def _blocks_by_direction(rng: random.Random) -> dict[str, str]:
    bs = rng.choice(("4k,8k", ",8k", "8k,", "4k,8k,16k", "512,4k"))
    return {"rw": rng.choice(("read", "write", "randread", "randwrite", "trim")), "bs": bs, "size": _size(rng)}


def _range(rng: random.Random) -> dict[str, str]:
    low = rng.choice((512, 1024, 4096))
    high = low * rng.choice((2, 4, 8))
    return {"rw": rng.choice(("read", "write")), "bsrange": f"{low}-{high}", "size": _size(rng)}


def _split(rng: random.Random) -> dict[str, str]:
    split = rng.choice(("4k/50:8k/50", "4k/80:64k/", "512/10:4k/90", "8k/"))
    return {"rw": rng.choice(("read", "write")), "bssplit": split, "size": _size(rng)}


def _part(rng: random.Random) -> dict[str, str]:
    own = {"rw": rng.choice(("read", "write", "randwrite")), "bs": _block(rng), "filesize": _size(rng, 512)}
    if rng.random() < 0.7:
        own["size"] = rng.choice((f"{rng.randint(1, 100)}%", f"{rng.randint(16, 4096)}k"))
    if rng.random() < 0.7:
        own["offset"] = rng.choice((f"{rng.randint(0, 60)}%", f"{4 * rng.randint(0, 60)}k"))
    return own


def _io_size(rng: random.Random) -> dict[str, str]:
    own = {"rw": rng.choice(("read", "write", "randread", "randwrite")), "bs": _block(rng), "size": _size(rng)}
    return own | {"io_size": rng.choice((_size(rng, 4), f"{rng.randint(1, 300)}%"))}


def _number_ios(rng: random.Random) -> dict[str, str]:
    own = {"rw": rng.choice(("read", "randwrite", "write")), "bs": _block(rng), "size": _size(rng)}
    return own | {"number_ios": str(rng.randint(1, 3000))}


def _sequencer(rng: random.Random) -> dict[str, str]:
    rw = rng.choice(("randread:8", "randwrite:3", "read:4k", "write:8k", "randrw:4"))
    return {"rw": rw, "bs": "4k", "size": _size(rng, 512)}


def _identical(rng: random.Random) -> dict[str, str]:
    own = {"rw": f"rand{rng.choice(('read', 'write'))}:{rng.randint(1, 9)}", "bs": "4k", "size": _size(rng, 512)}
    return own | {"rw_sequencer": rng.choice(("sequential", "identical"))}


def _files(rng: random.Random) -> dict[str, str]:
    own = {"rw": rng.choice(("read", "write", "randwrite")), "bs": "4k", "size": _size(rng, 512)}
    if rng.random() < 0.5:
        return own | {"nrfiles": str(rng.randint(2, 9))}
    return own | {"filename": ":".join("abcd"[: rng.randint(2, 4)])}


def _clones(rng: random.Random) -> dict[str, str]:
    own = {"rw": rng.choice(("read", "write", "randread")), "bs": "4k", "size": _size(rng, 256, 1024)}
    own["numjobs"] = str(rng.randint(2, 8))
    return own | rng.choice(({}, {"filename": "shared"}, {"offset_increment": "64k"}, {"group_reporting": "1"}))


def _trims(rng: random.Random) -> dict[str, str]:
    return {"rw": rng.choice(("trim", "randtrim", "trimwrite", "randtrimwrite")), "bs": _block(rng), "size": _size(rng)}


def _zones(rng: random.Random) -> dict[str, str]:
    own = {"rw": rng.choice(("read", "write", "randread")), "bs": "4k", "size": _size(rng, 2048), "zonemode": "strided"}
    own["zonesize"] = f"{4 * rng.randint(4, 32)}k"
    own["zonerange"] = f"{int(own['zonesize'][:-1]) * rng.randint(1, 3)}k"
    return own | {"zoneskip": rng.choice(("0", "64k", "16k"))}


def _spread(rng: random.Random) -> dict[str, str]:
    spread = rng.choice(("zipf:1.2", "pareto:0.3", "normal:50", "zoned:60/10:30/20:10/70", "random"))
    own = {"rw": rng.choice(("randread", "randwrite")), "bs": "4k", "size": _size(rng, 512)}
    return own | {"random_distribution": spread}


def _loops(rng: random.Random) -> dict[str, str]:
    own = {"rw": rng.choice(("read", "write", "randread")), "bs": _block(rng), "size": _size(rng, 64, 1024)}
    return own | {"loops": str(rng.randint(1, 4))}


def _percentage(rng: random.Random) -> dict[str, str]:
    own = {"rw": rng.choice(("randread", "randwrite")), "bs": "4k", "size": _size(rng)}
    return own | {"percentage_random": str(rng.randint(0, 100))}


def _syncs(rng: random.Random) -> dict[str, str]:
    own = {"rw": rng.choice(("write", "randwrite")), "bs": _block(rng), "size": _size(rng)}
    return own | {rng.choice(("fsync", "fdatasync")): str(rng.randint(1, 32)), "iodepth": str(rng.randint(1, 8))}


def _sequential(rng: random.Random) -> dict[str, str]:
    return {"rw": rng.choice(("read", "write")), "bs": _block(rng), "size": _size(rng)}


def _random(rng: random.Random) -> dict[str, str]:
    own = {"rw": rng.choice(("randread", "randwrite")), "bs": _block(rng), "size": _size(rng)}
    return own | rng.choice(({}, {"norandommap": "1"}))


def _aligned(rng: random.Random) -> dict[str, str]:
    own = {"rw": rng.choice(("randread", "randwrite")), "bs": "4k", "size": _size(rng)}
    return own | {"blockalign": rng.choice(("4k", "8k", "64k")), "norandommap": "1"}


FAMILIES: dict[str, Draw] = {
    "sequential": _sequential,
    "random": _random,
    "mixed directions": _mixed,
    "block sizes by direction": _blocks_by_direction,
    "ranges of block sizes": _range,
    "bssplit": _split,
    "parts of a file": _part,
    "io_size": _io_size,
    "number_ios": _number_ios,
    "rw=...:N": _sequencer,
    "rw_sequencer": _identical,
    "several files": _files,
    "numjobs": _clones,
    "trims": _trims,
    "zones": _zones,
    "random_distribution": _spread,
    "loops": _loops,
    "percentage_random": _percentage,
    "fsync, fdatasync": _syncs,
    "blockalign": _aligned,
}


@dataclass(frozen=True)
class Outcome:
    """Requests and bytes by direction, and addresses in their order; or why there are none."""

    requests: dict[str, int]
    bytes: dict[str, int]
    order: list[tuple[str, int, int]]
    refused: str = ""


def jobs() -> list[tuple[str, str]]:
    """Families and the texts of their jobs."""
    found = []
    for family, draw in FAMILIES.items():
        for number in range(EACH):
            options = draw(random.Random(f"{family} {number}"))
            found.append((family, "[job]\n" + "".join(f"{name}={value}\n" for name, value in options.items())))
    return found


def by_fio(text: str) -> Outcome:
    """What fio makes of a job."""
    with tempfile.TemporaryDirectory(dir=memory()) as folder:
        place = Path(folder)
        # The null engine knows no size of files; files can not be trimmed.
        engine = "null" if "trim" in text else "psync"
        (place / "a.fio").write_text(f"{text}ioengine={engine}\nwrite_iolog=log\n")
        command = ["fio", "--output-format=json", "a.fio"]
        ran = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=120, check=False)
        if ran.returncode:
            return Outcome({}, {}, [], (ran.stderr.strip() or ran.stdout.strip()).splitlines()[0])
        told = json.loads(ran.stdout[ran.stdout.index("{") :])["jobs"]
        requests = {way: sum(job[way]["total_ios"] for job in told) for way in DIRECTIONS}
        moved = {way: sum(job[way]["io_bytes"] for job in told) for way in DIRECTIONS}
        log = place / "log"
        return Outcome(requests, moved, _log_of_fio(log) if log.exists() else [])


def memory() -> Path | None:
    """A place for files in memory, if there is one."""
    place = Path("/dev/shm")
    return place if place.is_dir() else None


def _log_of_fio(path: Path) -> list[tuple[str, int, int]]:
    """Requests of an iolog, version 3: time, file, action, offset, length."""
    lines = [line.split() for line in path.read_text().splitlines()]
    return [(words[2], int(words[3]), int(words[4])) for words in lines if len(words) == 5 and words[2] in DIRECTIONS]


def by_ufsim(text: str) -> Outcome:
    """What ufsim makes of it."""
    try:
        result = ufsim.run(text, "ideal", profile="instant", seeds=1, log=True)
    except ufsim.ConfigError as error:
        return Outcome({}, {}, [], str(error))
    groups = result.groups
    counts, moved = (
        {way: sum(_field(group, way, name) for group in groups) for way in DIRECTIONS} for name in ("requests", "bytes")
    )
    # Nothing takes time, so the order of completion is that of issue.
    log = result.requests()
    log = log[log["kind"].isin(DIRECTIONS)]
    order = list(zip(log["kind"], log["sector"] * 512, log["bytes"], strict=True))
    return Outcome(counts, moved, order)


def _field(group: dict[str, Any], way: str, name: str) -> int:
    kind = group["kinds"].get(way)
    if kind is None:
        return 0
    return int(kind["latency_ns"]["count"] if name == "requests" else kind["bytes"])


EQUAL, IN_ORDER, REFUSED = "equal", "equal, in the same order", "refused by both"
DRAWN_DIRECTIONS = "directions of a mix are drawn: the sum is equal, each direction within five standard deviations"
DRAWN_SIZES = "block sizes are drawn: bytes are equal to within the largest"
MAP_OF_SMALLEST = "fio's random map has blocks of the smallest size of any direction, and is full before the file is"
PARTIAL_END = "the file ends with a part of a block, and fio ends when it comes there: by chance, at another request"
NOT_THERE = "fio takes the per cent of `offset` of a file that is not there yet"
ZONE_BEYOND = (
    "a zone lies across the file's end, where a random place behind it ends fio: by chance, at another request"
)


def outcome(text: str, fio: Outcome, own: Outcome) -> str:
    """In one word or sentence: equal, or the reason why not. Empty if there is none."""
    if fio.refused or own.refused:
        return REFUSED if fio.refused and own.refused else ""
    if fio.requests == own.requests and fio.bytes == own.bytes:
        return IN_ORDER if fio.order == own.order else EQUAL
    return reason(dict(line.split("=", 1) for line in text.split()[1:]), fio, own)


def reason(options: dict[str, str], fio: Outcome, own: Outcome) -> str:
    """Why both differ, as far as job and outcomes show it."""
    if "zonemode" in options:
        return ZONE_BEYOND if options["rw"].startswith("rand") and _zone_beyond(options) else ""
    if options.get("offset", "").endswith("%"):
        return NOT_THERE
    sizes = [size for size in options.get("bs", "").split(",") if size]
    if options["rw"].startswith("rand") and len(set(options.get("bs", "").split(","))) > 1 and sizes:
        return MAP_OF_SMALLEST
    whole = sum(fio.requests.values())
    if whole == sum(own.requests.values()) and options["rw"].startswith(("rw", "randrw")):
        share = int(options.get("rwmixread", "50")) / 100
        # Runs draw one direction for all of their requests.
        run = int(options["rw"].partition(":")[2] or 1)
        allowed = DEVIATIONS * math.sqrt(2 * share * (1 - share) * whole * run)
        return DRAWN_DIRECTIONS if abs(fio.requests["read"] - own.requests["read"]) <= allowed else ""
    if "bsrange" in options or "bssplit" in options:
        return DRAWN_SIZES if abs(sum(fio.bytes.values()) - sum(own.bytes.values())) <= LARGEST else ""
    size = options.get("size", "")
    partial = size.endswith("k") and int(size[:-1]) % 4 != 0
    drawn_beyond = options.get("random_distribution", "").startswith(("zipf", "pareto"))
    goes_on = ":" in options["rw"] or "percentage_random" in options or drawn_beyond
    return PARTIAL_END if partial and goes_on else ""


def _zone_beyond(options: dict[str, str]) -> bool:
    """Does a zone begin inside of the file and end outside?"""
    kib = {name: int(options[name].removesuffix("k")) for name in ("size", "zonerange", "zoneskip")}
    behind = kib["size"] % (kib["zonerange"] + kib["zoneskip"])
    return 0 < behind < kib["zonerange"]


# No block of these jobs is larger.
LARGEST = 65536


@app.command()
def compare(each: int = EACH, record: Path | None = None) -> None:
    """Compares the first EACH jobs of every family; a difference without a reason is an error."""
    families: dict[str, dict[str, int]] = {family: {} for family in FAMILIES}
    unknown = []
    for place, (family, text) in enumerate(jobs()):
        if place % EACH < each:
            what = outcome(text, by_fio(text), by_ufsim(text))
            families[family][what] = families[family].get(what, 0) + 1
            unknown += [] if what else [text]
    version = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    keep(record, {**origin(ufsim.__version__), "fio": version, "families": families})
    for family, counts in families.items():
        print(f"{family}: {', '.join(f'{count} {what}' for what, count in counts.items())}")
    for text in unknown:
        print(f"no reason is known for:\n{text}")
    raise SystemExit(len(unknown) > 0)
