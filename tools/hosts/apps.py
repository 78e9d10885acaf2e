"""HPBvalve of the kernel and its model, on the same apps: what the phone's apps have read is read by processes.

A phone (docs/phone.md) runs a scenario under a scheme, with a log of every read. The player of the guest
(linux/guest/player.c) lets a process for each app read the same, in the same order: launches, uses, the background
beside them; what the phone's killer asks for back, it asks for, too. So of the phone's memory nothing is simulated
twice, and what remains is the driver's.
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ufsim
from ufsim import linux

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
# First page, and how many.
Range = tuple[int, int]

NO_TIMER: dict[str, str | int] = {"scheme.foam.read_timeout_expiries": 1_000_000}
#: Name, scheme and settings.
CASES: tuple[tuple[str, str, dict[str, str | int]], ...] = (
    ("hpb-linux", "hpb-linux", {}),
    ("foam", "foam", {}),
    ("foam, no timer", "foam", NO_TIMER),
    ("hpbvalve", "hpbvalve", {}),
)
PROFILE = "hpbvalve"
#: Every launch is cold or warm as the phone's memory has it. Uses are short, as most reads come at their beginning.
SCENARIO = """\
[phone]
apps = ["AP", "CR", "FB", "IG", "TW", "UB"]
sequence = "random"
rounds = 4
use_s = 20
services = 2

[memory]
effective_mib = 4096
system_mib = 1792
"""
#: A request of the player has so many pages at most, and a line so many requests.
MOST_PAGES, LINE = 16, 200_000
#: UID of the first app, as on Android.
FIRST_UID = 10_000


def all_compared() -> list[dict[str, Any]]:
    """A row for each case: launches, reads and hits, in the kernel and in the model."""
    return [compared(*case) for case in CASES]


def compared(name: str, scheme: str, settings: dict[str, str | int]) -> dict[str, Any]:
    """One case, in both."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "apps.toml"
        scenario.write_text(SCENARIO)
        study = ufsim.phone(scenario, [scheme], profile=PROFILE, settings=settings, log=True)
    reads = rows(study.reads())
    run = replayed(study, scheme, reads, settings)
    launches = [line.split() for line in run.stdout.splitlines() if line.startswith("launch")]
    parts = {"launch": in_phases(reads, "launch"), "front": in_phases(reads, "launch", "loading", "run")}
    parts["other"] = in_phases(reads, "background")
    host, stats, hpb = study[scheme].counters["host"], run.hpbvalve_stats, run.hpb_stats
    kernel = {
        "launch_ms": sum(int(words[-1]) for words in launches) / 1e6 / len(launches),
        "hits": ratio(hpb, "hit_cnt", "miss_cnt"),
        "fetches": hpb["map_req_cnt"],
    }
    model = {
        "launch_ms": sum(read["latency_us"] for read in parts["launch"]) / 1e3 / len(launches),
        "hits": share(reads),
        "fetches": host["map_req_cnt"],
    }
    if stats:
        shared = [name for name in host if name in stats]
        kernel |= {name: ratio(stats, f"{name}_hits", f"{name}_misses") for name in parts}
        kernel |= {name: stats[name] for name in shared}
        model |= {name: share(part) for name, part in parts.items()}
        model |= {name: host[name] for name in shared}
    return {"case": name, "launches": len(launches), "reads": len(reads), "kernel": kernel, "model": model}


def rows(frame: "pd.DataFrame") -> list[Row]:
    """A frame's rows."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def in_phases(reads: list[Row], *phases: str) -> list[Row]:
    """Reads of these phases of an app."""
    return [read for read in reads if read["phase"] in phases]


def ratio(counters: dict[str, int], hits: str, misses: str) -> float:
    """Share of hits."""
    return counters[hits] / max(1, counters[hits] + counters[misses])


def share(reads: list[Row]) -> float:
    """Share of reads whose mapping the host had."""
    return sum(1 for read in reads if read["outcome"] == "host") / max(1, len(reads))


def replayed(study: ufsim.Study, scheme: str, reads: list[Row], settings: dict[str, str | int]) -> linux.GuestRun:
    """The guest's run of what a scheme's apps have read."""
    text = "\n".join(scenario_of(study, reads)) + "\n"
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "apps.txt"
        path.write_text(text)
        job = linux.Job(command=("player", str(path)), fs="none", memory_mib=1024)
        run = linux.run(job, scheme, profile=PROFILE, settings=settings)
    if run.status:
        raise SystemExit(f"apps, {scheme}: {run.stderr}")
    return run


def scenario_of(study: ufsim.Study, reads: list[Row]) -> Iterator[str]:
    """The player's scenario."""
    uses, kills = rows(study.uses()), rows(study.kills())
    names = sorted({str(row["app"]) for row in (*reads, *uses, *kills)})
    uid = {name: FIRST_UID + n for n, name in enumerate(names)}
    in_use = defaultdict(list)
    for read in sorted(reads, key=lambda read: float(read["at_s"])):
        in_use[read["use"]].append(read)
    yield "map /dev/sda"
    yield from lines("fill", merged(reads))
    yield from (f"app {number} 16" for number in uid.values())
    launched: set[str] = set()
    for use in uses:
        app, its = use["app"], in_use[use["use"]]
        if use["start"] == "cold" and app in launched:
            yield f"exit {uid[app]}"
        launched.add(app)
        yield from lines(f"launch {uid[app]}", pages(in_phases(its, "launch")))
        background = in_phases(its, "background")
        for name in sorted({read["app"] for read in background}):
            yield f"start {uid[name]}"
            yield from lines(f"background {uid[name]}", pages(read for read in background if read["app"] == name))
        yield from lines(f"use {uid[app]}", pages(in_phases(its, "loading", "run")))
        for kill in kills:
            if use["at_s"] <= kill["at_s"] < use["at_s"] + use["duration_s"]:
                yield f"notice {uid[kill['app']]} {round(kill['expected_mib'] * 1024)}"
                if not kill["spared"]:
                    yield f"exit {uid[kill['app']]}"
        yield "wait 20000"


def pages(reads: Iterable[Row]) -> Iterator[Range]:
    """Pages of reads."""
    return ((int(read["lpa"]), int(read["units"])) for read in reads)


def merged(reads: list[Row]) -> Iterator[Range]:
    """What is read anywhere, by address."""
    (begin, units), *others = sorted(set(pages(reads)))
    end = begin + units
    for lpa, units in others:
        if lpa > end:
            yield begin, end - begin
            begin = lpa
        end = max(end, lpa + units)
    yield begin, end - begin


def lines(command: str, ranges: Iterable[Range], most: int = LINE, pause_us: int = 0) -> Iterator[str]:
    """Commands with the pages of ranges, before each of which the app computes."""
    words = []
    for lpa, units in ranges:
        for at in range(lpa, lpa + units, MOST_PAGES):
            words.append(f"{at}+{min(MOST_PAGES, lpa + units - at)}")
    pause = f" ~{pause_us}" if pause_us else ""
    for first in range(0, max(len(words), 1), most):
        yield f"{command}{pause} {' '.join(words[first : first + most])}"
