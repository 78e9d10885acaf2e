"""HPBvalve of the kernel and its model, on the same apps: what the phone's apps have read is read by processes.

A phone (docs/phone.md) runs a scenario under a scheme, with a log of every read. The player of the guest
(linux/guest/player.c) lets a process for each app read the same, in the same order: launches, uses, the background
beside them; what the phone's killer asks for back, it asks for, too. So of the phone's memory nothing is simulated
twice, and what remains is the driver's.
"""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ufsim
from ufsim import linux

if TYPE_CHECKING:
    import pandas as pd

SCHEMES = ("hpb-linux", "foam", "hpbvalve")
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
#: The settings of either side, so that a region is a subregion, and data are there before.
SETTINGS: dict[str, str | int] = {}


def all_compared() -> list[dict[str, Any]]:
    """A row for each scheme: launches, reads and hits, in the kernel and in the model."""
    with tempfile.TemporaryDirectory() as name:
        scenario = Path(name) / "apps.toml"
        scenario.write_text(SCENARIO)
        study = ufsim.phone(scenario, list(SCHEMES), profile=PROFILE, settings=SETTINGS, log=True)
    return [compared(study, scheme) for scheme in SCHEMES]


def compared(study: "ufsim.Study", scheme: str) -> dict[str, Any]:
    """One scheme, in both."""
    reads = study.reads().query("scheme == @scheme")
    run = replayed(study, scheme, reads)
    launches = [line.split() for line in run.stdout.splitlines() if line.startswith("launch")]
    launching = reads.query("phase == 'launch'")
    host, stats, hpb = study[scheme].counters["host"], run.hpbvalve_stats, run.hpb_stats
    kernel = {
        "launch_ms": sum(int(words[-1]) for words in launches) / 1e6 / len(launches),
        "hits": ratio(hpb, "hit_cnt", "miss_cnt"),
        "fetches": hpb["map_req_cnt"],
    }
    model = {
        "launch_ms": float(launching.latency_us.sum()) / 1e3 / len(launches),
        "hits": share(reads),
        "fetches": host["map_req_cnt"],
    }
    if stats:
        kernel |= {name: ratio(stats, f"{name}_hits", f"{name}_misses") for name in ("launch", "front", "other")}
        background = reads.phase == "background"
        parts = {"launch": launching, "front": reads[~background], "other": reads[background]}
        model |= {name: share(part) for name, part in parts.items()}
        shared = [name for name in host if name in stats]
        kernel |= {name: stats[name] for name in shared}
        model |= {name: host[name] for name in shared}
    return {"scheme": scheme, "launches": len(launches), "reads": len(reads), "kernel": kernel, "model": model}


def ratio(counters: dict[str, int], hits: str, misses: str) -> float:
    """Share of hits."""
    return counters[hits] / max(1, counters[hits] + counters[misses])


def share(reads: "pd.DataFrame") -> float:
    """Share of reads whose mapping the host had."""
    return float((reads.outcome == "host").mean())


def replayed(study: "ufsim.Study", scheme: str, reads: "pd.DataFrame") -> linux.GuestRun:
    """The guest's run of what a scheme's apps have read."""
    text = "\n".join(scenario_of(study, scheme, reads)) + "\n"
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "apps.txt"
        path.write_text(text)
        job = linux.Job(command=("player", str(path)), fs="none", memory_mib=1024)
        run = linux.run(job, scheme, profile=PROFILE, settings=SETTINGS)
    if run.status:
        raise SystemExit(f"apps, {scheme}: {run.stderr}")
    return run


def scenario_of(study: "ufsim.Study", scheme: str, reads: "pd.DataFrame") -> Iterator[str]:
    """The player's scenario."""
    uses = study.uses().query("scheme == @scheme")
    kills = study.kills().query("scheme == @scheme")
    names = sorted(set(reads.app.astype(str)) | set(uses.app) | set(kills.app))
    uid = {name: FIRST_UID + n for n, name in enumerate(names)}
    yield "map /dev/sda"
    yield from lines("fill", merged(reads))
    yield from (f"app {number} 16" for number in uid.values())
    launched: set[str] = set()
    for use in uses.itertuples():
        its = reads[reads.use == use.use]
        if use.start == "cold" and use.app in launched:
            yield f"exit {uid[use.app]}"
        launched.add(use.app)
        yield from lines(f"launch {uid[use.app]}", requests(its[its.phase == "launch"]))
        for name, others in its[its.phase == "background"].groupby("app", observed=True):
            yield f"start {uid[str(name)]}"
            yield from lines(f"background {uid[str(name)]}", requests(others))
        yield from lines(f"use {uid[use.app]}", requests(its[its.phase.isin(["loading", "run"])]))
        during = kills[(kills.at_s >= use.at_s) & (kills.at_s < use.at_s + use.duration_s)]
        for kill in during.itertuples():
            yield f"notice {uid[kill.app]} {round(kill.expected_mib * 1024)}"
            if not kill.spared:
                yield f"exit {uid[kill.app]}"
        yield "wait 20000"


def requests(reads: "pd.DataFrame") -> Iterator[tuple[int, int]]:
    """Pages of reads in the order of time."""
    return ((int(row.lpa), int(row.units)) for row in reads.sort_values("at_s", kind="stable").itertuples())


def merged(reads: "pd.DataFrame") -> Iterator[tuple[int, int]]:
    """What is read anywhere, by address."""
    begin = end = 0
    for lpa, units in sorted({(int(row.lpa), int(row.units)) for row in reads.itertuples()}):
        if lpa > end:
            yield begin, end - begin
            begin = lpa
        end = max(end, lpa + units)
    yield begin, end - begin


def lines(command: str, ranges: Iterable[tuple[int, int]]) -> Iterator[str]:
    """Commands with the pages of ranges."""
    words = []
    for lpa, units in ranges:
        for at in range(lpa, lpa + units, MOST_PAGES):
            words.append(f"{at}+{min(MOST_PAGES, lpa + units - at)}")
    for first in range(0, max(len(words), 1), LINE):
        yield f"{command} {' '.join(words[first : first + LINE])}"
