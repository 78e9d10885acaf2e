"""A phone's memory in the kernel and in the model: pressure, kills, and what they cost launches.

The apps of HPBvalve's paper run in the guest's player (linux/guest/player.c), each in a memory cgroup of its own, and
the player's killer decides by PSI's events who has to go. A phone's model (docs/phone.md) gives what each use reads,
cold and warm, from two runs that need no killer; which of the two it is to be, and when, is decided in the guest.
Beside it stands the model of the whole phone, with its own memory and killer.
"""

import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

import ufsim
from tools.hosts.apps import FIRST_UID, Row, in_phases, lines, merged, pages, ratio, rows, share
from ufsim import linux
from ufsim_papers.hpbvalve.setups import Setup, with_keys

PROFILE, SCENARIO = "hpbvalve", "hpbvalve/nine-apps.toml"
#: The phone of Fig. 16 with short uses: most reads come at their beginning.
PHONE = Setup(use_s=20)
ROUNDS = 4
#: Memory of the system in MiB, and the seed of the apps' order: not all apps fit; all of them without services;
#: the phone of the paper's claims.
SHORT_MIB = 5276
POINTS = ((SHORT_MIB, 1), (SHORT_MIB, 2), (SHORT_MIB, 3), (4764, 1), (PHONE.system_mib, 1))
#: Memory of the guest's phone: what is left to apps there. Page cache of apps that live is never reclaimed there, and
#: in the guest there is none, because what was recorded is what the cache has not kept; 375 MiB are what it comes to.
EFFECTIVE_MIB, CACHE_MIB, MIN_MIB, LOW_MIB, HIGH_MIB = 10_995, 375, 13, 54, 65
#: Memory with which nobody is killed, and a guest that has more than its phone.
PLENTY_MIB, BESIDE_MIB = 20_000, 512
#: In which an app takes its memory, unless it loads longer (docs/phone.md).
RAMP_MS = 5000
#: Services that were killed are started again after three uses, a minute.
RESTART_USES = 3
#: Requests of a line: what a pipe holds.
LINE = 20_000
#: What is kept of a read.
COLUMNS = ["app", "use", "phase", "at_s", "lpa", "units"]
#: Share of a use in which the reads of others come. Each of them takes its time, too.
BACKGROUND = 0.9


@dataclass(frozen=True)
class Case:
    """A scheme, and HPB's memory that is taken from boot on."""

    name: str
    scheme: str
    reserved_mib: int = 0

    def settings(self) -> dict[str, Any]:
        """Keys of the profile for both hosts."""
        return PHONE.settings()

    def model_settings(self) -> dict[str, Any]:
        """Those of the model: there the driver reserves memory, in the guest a process does."""
        own = {f"scheme.{self.scheme}.reserved_mib": "all"} if self.reserved_mib else {}
        return self.settings() | own


CASES = (
    Case("ufs", "ufs"),
    Case("hpb-linux", "hpb-linux"),
    Case("foam", "foam", reserved_mib=256),
    Case("hpbvalve", "hpbvalve"),
    Case("ideal", "ideal"),
)


def scenario(system_mib: int, *, cold: bool = False, effective_mib: int = EFFECTIVE_MIB) -> str:
    """The phone's scenario."""
    text = replace(PHONE, system_mib=system_mib, cold=cold).scenario(SCENARIO)
    # Apps have the same memory in both hosts.
    memory = {"effective_mib": effective_mib, "footprint_spread": 0}
    return with_keys(with_keys(text, "phone", {"rounds": ROUNDS}), "memory", memory)


def phone(text: str, scheme: str, settings: dict[str, Any], seed: int, *, log: bool = False) -> ufsim.Study:
    """A run of the model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.toml"
        path.write_text(text)
        return ufsim.phone(path, [scheme], profile=PROFILE, settings=settings, seed=seed, log=log)


class Recording:
    """What each use reads, if its app has no process, and if it has one."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        cold, warm = (
            phone(scenario(SHORT_MIB, cold=cold, effective_mib=PLENTY_MIB), "ufs", PHONE.settings(), seed, log=True)
            for cold in (True, False)
        )
        self.cold, self.warm = rows(cold.uses()), rows(warm.uses())
        reads = {kind: rows(study.reads()[COLUMNS]) for kind, study in (("cold", cold), ("warm", warm))}
        self.filled = list(merged([read for own in reads.values() for read in own]))
        self.reads = {kind: by_use(own) for kind, own in reads.items()}
        names = sorted({str(read["app"]) for own in reads.values() for read in own})
        self.services = [name for name in names if name.startswith("service")]
        self.uid = {name: FIRST_UID + n for n, name in enumerate(names)}
        self.memory_mib = {name: app_memory(name) for name in names}

    def lines(self, case: Case, system_mib: int) -> Iterator[str]:
        """The player's scenario."""
        yield "map /dev/sda"
        yield from lines("fill", self.filled, LINE)
        memory = (EFFECTIVE_MIB - system_mib - CACHE_MIB - MIN_MIB) * 1024
        yield f"memory {memory} {(LOW_MIB - MIN_MIB) * 1024} {(HIGH_MIB - MIN_MIB) * 1024}"
        yield f"system {max(case.reserved_mib * 1024, 64)}{'' if case.reserved_mib else ' 1'}"
        loading = {str(use["app"]): loading_ms(use) or 0 for use in self.cold}
        for name, uid in self.uid.items():
            ramp = max(RAMP_MS, round(loading.get(name, 0)))
            yield f"app {uid} {self.memory_mib[name] * 1024} {ramp}"
        for use, warm in zip(self.cold, self.warm, strict=True):
            yield from self.use(use, warm)

    def use(self, use: Row, warm: Row) -> Iterator[str]:
        """The player's commands for a use."""
        number, uid, use_ms = use["use"], self.uid[str(use["app"])], PHONE.use_s * 1000
        reads, again = self.reads["cold"][number], self.reads["warm"][number]
        if number % RESTART_USES == 0:
            yield from (f"start {self.uid[name]}" for name in self.services)
        if warm["start"] == "warm":
            yield from paced(f"warm {uid}", in_phases(again, "launch"), warm["compute_ms"])
        yield from paced(f"launch {uid}", in_phases(reads, "launch"), use["compute_ms"])
        background = defaultdict(list)
        for read in in_phases(again, "background"):
            background[str(read["app"])].append(read)
        for name, its in sorted(background.items()):
            yield from paced(f"background {self.uid[name]}", its, use_ms * BACKGROUND - len(its) * PHONE.read_us / 1000)
        loads = loading_ms(use) or 0
        if loads:
            # It is counted from the touch, and so is what it has waited.
            waits = use["loading_blocked_ms"] - use["blocked_ms"]
            yield from paced(f"loading {uid}", in_phases(reads, "loading"), loads - waits)
        yield from paced(f"use {uid}", in_phases(reads, "run"), use_ms - use["launch_ms"] - loads)
        yield f"until {round(use_ms)}"


def paced(command: str, reads: Sequence[Row], ms: float) -> Iterator[str]:
    """A command with reads, between which the app computes for so long in all."""
    return lines(command, pages(reads), LINE, max(0, round(ms * 1000 / max(1, len(reads)))))


def loading_ms(use: Row) -> float | None:
    """What a game loads after its launch; none if it does not."""
    total = float(use["loading_ms"])
    return None if total != total else total - float(use["launch_ms"])


def by_use(reads: Sequence[Row]) -> dict[int, list[Row]]:
    """Reads of each use in order."""
    found = defaultdict(list)
    for read in sorted(reads, key=lambda read: float(read["at_s"])):
        found[int(read["use"])].append(read)
    return found


def app_memory(name: str) -> int:
    """Memory of an app in MiB: its own, or that of its category."""
    folder = Path(__file__).resolve().parents[2] / "apps"
    if name.startswith("service"):
        own, category = {}, "service"
    else:
        own = read_toml(folder / f"{name}.toml")
        category = own["category"]
    return int(own.get("memory_mib") or read_toml(folder / "categories.toml")[category]["memory_mib"])


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file."""
    return tomllib.loads(path.read_text())


def played(recording: Recording, case: Case, system_mib: int) -> linux.GuestRun:
    """The guest's run."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "memory.txt"
        path.write_text("\n".join(recording.lines(case, system_mib)) + "\n")
        memory = EFFECTIVE_MIB - system_mib + BESIDE_MIB
        job = linux.Job(command=("player", str(path)), fs="none", memory_mib=memory)
        run = linux.run(job, case.scheme, profile=PROFILE, settings=case.settings(), seed=recording.seed)
    if run.status:
        raise SystemExit(f"memory, {case.name}: {run.stderr}")
    return run


def told(run: linux.GuestRun, recording: Recording) -> Row:
    """What a run of the guest has shown."""
    words = [line.split() for line in run.stdout.splitlines()]
    opened = {str(use["app"]) for use in recording.cold}
    users = {str(recording.uid[name]) for name in opened}
    launches = [one for one in words if one[0] == "launch"]
    choices = [one for one in words if one[0] in ("kill", "skip")]
    front = [one for one in words if one[0] in ("launch", "loading", "use")]
    times = {kind: [int(one[-1]) / 1e6 for one in launches if one[2] == kind] for kind in ("cold", "warm")}
    pressure = {one[1]: int(one[3]) for one in words if one[0] == "pressure"}
    events = next(one for one in words if one[0] == "events")
    stats, hpb = run.hpbvalve_stats, run.hpb_stats
    return {
        **launch_times(times),
        "loading_ms": average([int(one[-1]) / 1e6 for one in words if one[0] == "loading"]),
        "kills_of_apps": sum(one[0] == "kill" and one[1] in users for one in choices),
        "kills_of_services": sum(one[0] == "kill" and one[1] not in users for one in choices),
        "levels": levels(int(one[3]) for one in choices if one[0] == "kill" and one[1] in users),
        "spared": spared(choices),
        "front_reads": sum(int(one[one.index("pages") + 1]) for one in front),
        "hits": ratio(hpb, "hit_cnt", "miss_cnt") if hpb else 0.0,
        **({name: ratio(stats, f"{name}_hits", f"{name}_misses") for name in ("launch", "front")} if stats else {}),
        "launch_misses": stats.get("launch_misses"),
        "reclaimed_mib": stats.get("hpbvalve_reclaimed_bytes", 0) / 2**20,
        "held_mib": stats.get("dram_bytes", 0) / 2**20,
        "some_ms": pressure["some"] / 1e3,
        "full_ms": pressure["full"] / 1e3,
        "kernel_kills": int(events[4]),
        "apps": by_app(guest_uses(words, {str(uid): name for name, uid in recording.uid.items()})),
    }


@dataclass(frozen=True)
class Use:
    """What an app has read in front: hits and misses in HPB's entries, of the launch, and in all."""

    app: str
    start: str
    launch_ms: float
    launch: tuple[int, int]
    front: tuple[int, int]


def guest_uses(words: Iterable[Sequence[str]], names: dict[str, str]) -> Iterator[Use]:
    """Uses from the player's lines: each is a launch, and what the app has read until the next one."""
    use: Use | None = None
    for one in words:
        if one[0] in ("launch", "loading", "use"):
            counted = int(one[one.index("hits") + 1]), int(one[one.index("misses") + 1])
            if one[0] == "launch":
                if use:
                    yield use
                use = Use(names[one[1]], one[2], int(one[-1]) / 1e6, counted, counted)
            elif use:
                use = replace(use, front=(use.front[0] + counted[0], use.front[1] + counted[1]))
    if use:
        yield use


def model_uses(uses: Iterable[Row], reads: Sequence[Row]) -> Iterator[Use]:
    """The same from the model's."""
    own = by_use(in_phases(list(reads), "launch", "loading", "run"))
    for use in uses:
        its = own[int(use["use"])]
        yield Use(
            str(use["app"]), str(use["start"]), float(use["launch_ms"]), counts(in_phases(its, "launch")), counts(its)
        )


def counts(reads: Sequence[Row]) -> tuple[int, int]:
    """Hits and misses."""
    hits = sum(1 for read in reads if read["outcome"] == "host")
    return hits, len(reads) - hits


def by_app(uses: Iterable[Use]) -> dict[str, Row]:
    """What Figs. 13 to 15 show of each app: launch times, hits and misses, and the share of hits of each use."""
    own = defaultdict(list)
    for use in uses:
        own[use.app].append(use)
    return {app: of_app(own[app]) for app in sorted(own)}


def of_app(uses: Sequence[Use]) -> Row:
    """That of one."""
    return {
        **{f"{start}_ms": average([use.launch_ms for use in uses if use.start == start]) for start in ("cold", "warm")},
        "launch": [sum(use.launch[at] for use in uses) for at in (0, 1)],
        "front": [sum(use.front[at] for use in uses) for at in (0, 1)],
        "hits_by_use": [round(use.front[0] / max(1, sum(use.front)), 3) for use in uses],
    }


def spared(choices: Sequence[Sequence[str]]) -> int:
    """Attempts that were skipped because entries came back, and that no kill of the same app came after."""
    others = [*choices[1:], ("", "")]
    return sum(one[0] == "skip" and one[1] != after[1] for one, after in zip(choices, others, strict=True))


def levels(found: Iterable[int]) -> dict[str, int]:
    """How many kills there were of each level."""
    return {str(level): count for level, count in sorted(Counter(found).items())}


def launch_times(times: dict[str, list[float]]) -> Row:
    """Launches by whether there was a process, and their times. One that waits for memory moves a mean."""
    return {
        "launches": sum(len(own) for own in times.values()),
        "cold": len(times["cold"]),
        "launch_ms": average([ms for own in times.values() for ms in own]),
        "cold_ms": average(times["cold"]),
        "warm_ms": average(times["warm"]),
        "warm_median_ms": median(times["warm"]) if times["warm"] else None,
    }


def average(values: Sequence[float]) -> float | None:
    """Their mean, if there are any."""
    return mean(values) if values else None


def modelled(case: Case, seed: int, system_mib: int) -> Row:
    """What the model of the whole phone shows."""
    study = phone(scenario(system_mib), case.scheme, case.model_settings(), seed, log=True)
    uses, kills, reads = rows(study.uses()), rows(study.kills()), rows(study.reads())
    killed = [kill for kill in kills if not kill["spared"]]
    of_apps = [kill for kill in killed if not str(kill["app"]).startswith("service")]
    times = {kind: [float(use["launch_ms"]) for use in uses if use["start"] == kind] for kind in ("cold", "warm")}
    front, launch = in_phases(reads, "launch", "loading", "run"), in_phases(reads, "launch")
    host = study[case.scheme].counters["host"]
    return {
        **launch_times(times),
        "loading_ms": average(
            [use["loading_ms"] - use["launch_ms"] for use in uses if use["loading_ms"] == use["loading_ms"]]
        ),
        "kills_of_apps": len(of_apps),
        "kills_of_services": len(killed) - len(of_apps),
        "levels": levels(int(kill["adj"]) for kill in of_apps),
        "spared": len(kills) - len(killed),
        "front_reads": len(front),
        "hits": share(reads),
        "launch": share(launch),
        "front": share(front),
        "launch_misses": sum(1 for read in launch if read["outcome"] != "host"),
        "reclaimed_mib": host.get("hpbvalve_reclaimed_bytes", 0) / 2**20,
        "held_mib": float(study.timeline().hpb_mib.iloc[-1]),
        "apps": by_app(model_uses(uses, reads)),
    }


def measured(only: int | None) -> Iterator[Row]:
    """A row for each point and case, in the kernel and in the model; or those of a phone with such a system."""
    for system_mib, seed in POINTS:
        if only in (None, system_mib):
            recording = Recording(seed)
            for case in CASES:
                kernel = told(played(recording, case, system_mib), recording)
                model = modelled(case, seed, system_mib)
                yield {"case": case.name, "system_mib": system_mib, "seed": seed, "kernel": kernel, "model": model}
