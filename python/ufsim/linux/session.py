"""A session of a guest: what it is given, and what comes of it."""

import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from ufsim import _core, outputs
from ufsim.bundled import located
from ufsim.documents import Document, parse
from ufsim.linux import cpio
from ufsim.linux.place import newest
from ufsim.observe import Observed
from ufsim.results.request_log import RequestLog
from ufsim.results.result import Result
from ufsim.spec import Spec
from ufsim.states import StateCache, simulated

FILE_SYSTEMS = ("f2fs", "ext4", "none")
#: Parameters of the kernel's HPB driver, by their names in sysfs and in profiles.
HPB_PARAMS = (
    "activation_thld",
    "normalization_factor",
    "eviction_thld_enter",
    "eviction_thld_exit",
    "read_timeout_ms",
    "read_timeout_expiries",
    "timeout_polling_interval_ms",
    "inflight_map_req",
)
#: Parameters of the policy hpbvalve, likewise.
PROFILE_PARAMS = ("profile_apps", "profile_kib")
#: Schedulers of linux/guest: does it ask what the mapping cache holds, and does it make batches?
CACHE_AWARE = {
    "row": (False, False),
    "hp": (True, False),
    "rb": (False, True),
    "bs": (False, True),
    "map": (True, True),
    "map-plus": (True, True),
}
#: What a guest writes for whoever has started it.
TEXTS = ("stdout", "stderr", "diskstats", "failure", "trace")
#: Kilobytes of the guest's buffer for its events: some half a million of them.
TRACE_KIB = 65536

# phase, bytes done, bytes in all, simulated nanoseconds
Report = Callable[[int, int | None, int, str], None]
# turn, time in ns, console
Ask = Callable[[int, int, str], bool]


class CpuCost(NamedTuple):
    """What processors cost in ns: a system call, an access to a register, a page copied between program and kernel."""

    syscall_ns: int = 0
    register_ns: int = 0
    page_ns: int = 0

    @classmethod
    def pixel4(cls) -> "CpuCost":
        """As profile `pixel4` was fitted to a Pixel 4: what a write takes its task and, for each page, beyond that; and
        what its completion takes, over the five registers that Linux looks at or writes meanwhile."""
        told = tomllib.loads(_core.profile_toml("pixel4", "{}"))["host_time"]
        return cls(told["write_submit_ns"], told["write_complete_ns"] // 5, told["write_submit_page_ns"])


FREE = CpuCost()


@dataclass(frozen=True)
class Job:
    """What a guest does."""

    #: A program of the guest with its arguments. Those that name files of this machine name copies of them there.
    command: Sequence[str] = ()
    #: Or a file of this machine, which its shell runs.
    script: Path | None = None
    #: Or these two descriptors, from which its shell reads, and to which it writes.
    terminal: tuple[int, int] | None = None
    #: What the disk, the first of several, is made and mounted as, at /mnt, where the job runs: "f2fs", "ext4"
    #: or "none".
    fs: str = "f2fs"
    memory_mib: int = 512
    #: What processors cost; nothing without.
    cpu_cost: CpuCost = FREE
    #: Folders of this machine that are in /host of the guest, only for reading.
    folders: Sequence[Path] = ()
    #: The guest keeps its block and UFS events.
    trace: bool = False
    #: More files for /job.
    files: Sequence[cpio.Entry] = field(default=(), repr=False)

    def check(self) -> None:
        """Raises `ConfigError` for what no guest can do."""
        if [bool(self.command), self.script is not None, self.terminal is not None].count(True) != 1:
            raise _core.ConfigError("linux: one of a command after --, --script FILE and --shell must be given")
        if self.fs not in FILE_SYSTEMS:
            raise _core.ConfigError(f'fs = "{self.fs}": must be one of {", ".join(FILE_SYSTEMS)}')
        if not 256 <= self.memory_mib <= 16384:
            raise _core.ConfigError(f"memory = {self.memory_mib}: must be 256..=16384 MiB")
        names: dict[str, Path] = {}
        for folder in self.folders:
            if not folder.is_dir() or not folder.resolve().name:
                raise _core.ConfigError(f"folder = '{folder}': must be a folder with a name")
            if (other := names.setdefault(folder.resolve().name, folder)) is not folder:
                raise _core.ConfigError(f"folder = '{folder}': has the name of '{other}', and the guest needs two")

    def entries(self, fs: str) -> Iterator[cpio.Entry]:
        """What the first file system has for this job."""
        yield cpio.directory("job")
        yield cpio.file("job/fs", fs.encode())
        yield cpio.directory("job/files")
        for path, copy in self.copies.items():
            yield cpio.directory(str(PurePosixPath(copy).parent))
            yield cpio.file(copy, Path(path).read_bytes())
        yield cpio.file("job/job", self.text().encode(errors="surrogateescape"))
        if self.trace:
            yield cpio.file("job/trace", str(TRACE_KIB).encode())
        if self.folders:
            yield cpio.file("job/folders", "".join(f"{folder.resolve().name}\n" for folder in self.folders).encode())
        yield from self.files

    @property
    def copies(self) -> dict[str, str]:
        """Where the guest has the files that the command names; two may have one name."""
        files = dict.fromkeys(word for word in self.command[1:] if os.path.isfile(word))
        return {path: f"job/files/{number}/{Path(path).name}" for number, path in enumerate(files)}

    def text(self) -> str:
        """The script that the guest runs."""
        if self.script is not None:
            return self.script.read_text(errors="surrogateescape")
        if self.terminal:
            return "exec sh -i +m < /dev/ufsim > /dev/ufsim 2>&1\n"
        copies = self.copies
        words = [self.command[0], *(f"/{copies[word]}" if word in copies else word for word in self.command[1:])]
        # By itself fio asks the processor's counter, which runs on the time of this machine.
        if words[0] == "fio":
            words.insert(1, "--clocksource=clock_gettime")
        return "exec " + " ".join("'" + word.replace("'", "'\\''") + "'" for word in words) + "\n"


@dataclass(frozen=True)
class GuestRun:
    """What came of a session."""

    #: The device's result, as of any run.
    result: Result
    stdout: str
    stderr: str
    #: Exit status of the job; None if it was cut off.
    status: int | None
    #: Counters of the kernel's drivers for HPB and for HP-UFS, if one is in use.
    hpb_stats: dict[str, int]
    hp_ufs_stats: dict[str, int]
    #: Counters of the policy foam or hpbvalve, if the HPB driver has one.
    hpbvalve_stats: dict[str, int]
    #: Settings and counters of the kernel's scheduler, by their names in sysfs.
    iosched: dict[str, str]
    diskstats: str
    #: Events of the guest as ftrace text, if they were kept.
    trace: str | None
    console: str
    #: "halted" or "stopped", at which time of the guest, after how many of its turns.
    ended: str
    at_ns: int
    turns: int
    #: When the job has begun, on the guest's clock. Times of logs, timelines and series count from there.
    began_ns: int
    #: What processors have cost.
    cpu_cost: CpuCost
    #: What the controller has counted.
    controller: dict[str, int]
    #: SHA-256 of the kernel, its first file system, and the programs in it.
    digests: dict[str, str]

    def to_json(self) -> Document:
        """All of it but the console."""
        return {
            "device": dict(self.result.data),
            "job": {"stdout": self.stdout, "stderr": self.stderr, "status": self.status},
            "guest": {
                "ended": self.ended,
                "began_ns": self.began_ns,
                "at_ns": self.at_ns,
                "turns": self.turns,
                "cpu_cost": self.cpu_cost._asdict(),
                "hpb_stats": self.hpb_stats,
                "hp_ufs_stats": self.hp_ufs_stats,
                "hpbvalve_stats": self.hpbvalve_stats,
                "iosched": self.iosched,
                "diskstats": self.diskstats,
                "controller": self.controller,
                "digests": self.digests,
            },
        }


def run(
    command: Sequence[str] | Job,
    scheme: str = "hpb-linux",
    *,
    observed: Observed | None = None,
    report: Report | None = None,
    cache: StateCache | None = None,
    alone: bool = True,
    **options: Any,
) -> GuestRun:
    """Boots Linux on a device of a scheme, and lets it do a job.

    `options` are `profile`, `settings`, `seed`, `age` and `from_state` of `ufsim.run`. Raises `ConfigError` for wrong
    input, `GuestError` if the guest dies, and `SimulationBug`.
    """
    job = command if isinstance(command, Job) else Job(command=tuple(command))
    job.check()
    named = job.command[0] if job.command else str(job.script or "shell")
    spec = Spec(workload=f"linux {named}", scheme=scheme, **options)
    spec.check_system()
    watched = observed or Observed()
    watched.check([spec])
    ran = None
    with watched.of(spec, alone=alone) as asked:
        ran = simulated(cache, spec, report, lambda begun: Device(begun, report).boot(job, asked=asked.core))
        asked.ended(next(iter(ran.result.unwritten), None))
    if ran is None:
        raise outputs.Unwritten(asked.unwritten)
    return replace(ran, result=replace(ran.result, unwritten=tuple(asked.unwritten)))


class Device:
    """A device, and the guests that use it one after another."""

    def __init__(self, spec: Spec, report: Report | None = None) -> None:
        self.spec = spec
        self.report = report
        self.core = _core.LinuxDevice(spec.to_json(), report)
        self._check_kernel(manifest()["kernel"])

    def _check_kernel(self, kernel: str) -> None:
        """Raises `ConfigError` if the kernel has not what the host of the scheme is: HPB left Linux in 6.6."""
        if kernel.startswith("linux-source-6.1 "):
            return
        told = f"{kernel} has no %s; make linux builds 6.1, which has"
        scheme, scheduler = self.spec.scheme, self.core.scheduler
        if self.core.has_hpb:
            booster = self.core.hpb_policy or "hpb-linux"
            raise _core.ConfigError(f'scheme = "{scheme}": its booster is {booster}, and {told % "HPB"}')
        if self.core.has_hp_ufs:
            raise _core.ConfigError(f'scheme = "{scheme}": its booster is hp-ufs, and {told % "HP-UFS"}')
        if scheduler in CACHE_AWARE:
            raise _core.ConfigError(f'scheduler = "{scheduler}": {told % "such scheduler"}')

    def disks(self) -> list[cpio.Entry]:
        """How many disks there are, and what the guest writes into files of /sys/block/sda and its like: the scheduler,
        parameters of that and of HPB's driver."""
        told = tomllib.loads(_core.profile_toml(located(self.spec.profile), json.dumps(self.spec.settings)))
        values: dict[str, object] = {"queue/scheduler": self.core.scheduler}
        if self.core.scheduler in CACHE_AWARE:
            values |= self._cache_aware(told)
        if self.core.host_controls_hpb:
            policy = self.core.hpb_policy
            params = told.get("scheme", {}).get(policy or "hpb-linux", {})
            values |= {f"device/hpb_params/{name}": value for name, value in params.items() if name in HPB_PARAMS}
            if policy:
                values |= {f"device/hpbvalve/{name}": params[name] for name in PROFILE_PARAMS if name in params}
                values["device/hpbvalve/policy"] = policy
                if self.core.memory_limit_kib is not None:
                    values["device/hpbvalve/limit_kib"] = self.core.memory_limit_kib
        text = "".join(f"{name} {value}\n" for name, value in values.items())
        return [cpio.file("job/disks", str(self.core.disks).encode()), cpio.file("job/disk", text.encode())]

    def _cache_aware(self, told: Document) -> dict[str, object]:
        """Parameters of a scheduler of linux/guest/map-plus-iosched.c: what the profile says, what the device has."""
        scheduler = self.core.scheduler
        own = dict(told.get("scheme", {}).get(scheduler, {}))
        asks, batches = CACHE_AWARE[scheduler]
        entries, page_entries = self.core.map_cache
        if asks and own.get("cache_entries", "device") == "device":
            own["cache_entries"] = max(entries, 1)
        if batches:
            own["map_page_entries"] = page_entries
        values = {
            f"queue/iosched/{name}": int(value) if isinstance(value, bool) else value for name, value in own.items()
        }
        # More requests than places, and in the device no more than the profile allows.
        depth = told["host"]["tags"] - told["host"]["internal_tags"]
        return {"queue/nr_requests": 2 * own.get("queue", 128), "device/queue_depth": depth, **values}

    def boot(self, job: Job, *, kept: bool = False, asked: dict[str, Any] | None = None) -> GuestRun:
        """Boots a guest. With `kept` it mounts the file system that is there."""
        with _folder(job, f"kept {job.fs}" if kept else job.fs, self.disks()) as (folder, built):
            try:
                return _gathered(*self._boot(job, folder, built, asked or {}), folder, job)
            except _core.GuestError as error:
                error.console = _console(folder)
                raise

    def stop(self, job: Job, turns: Sequence[int], at_ns: int | None, ask: Ask) -> None:
        """Boots a guest that is stopped after some turns, or else at the first turn at or after a time in ns.

        At each place `ask` gets turn, time and console, and says whether this process goes on with the guest. If not,
        another one does, of which this is a copy. At the last place the guest is gone.
        """
        with _folder(job, job.fs, self.disks()) as (folder, built):

            def at(turn: int, now_ns: int) -> bool:
                return ask(turn, now_ns, _console(folder))

            self._boot(job, folder, built, {"stops": (turns, at_ns, at)})

    def _boot(
        self, job: Job, folder: Path, built: Path, options: dict[str, Any]
    ) -> tuple[Document, "_core.LogPart | None", str | None]:
        kernel, seed = built / "linux", self.spec.seed
        options |= {"progress": self.report, "terminal": job.terminal}
        told, log, unwritten = self.core.boot(kernel, folder, job.memory_mib, seed, job.cpu_cost, **options)
        return parse(told), log, unwritten

    def power_cut(self, at_ns: int) -> None:
        """The device loses its power, too, when a guest was stopped, and recovers."""
        self.core.power_cut(at_ns)


def _gathered(told: Document, log: "_core.LogPart | None", unwritten: str | None, folder: Path, job: Job) -> GuestRun:
    texts = {name: _text(folder / "out" / name) for name in TEXTS}
    if failure := texts["failure"]:
        raise _core.GuestError(f"the guest has given up: {failure.strip()}")
    if told["result"] is None:
        raise _core.GuestError("the guest has halted before its job")
    status = _text(folder / "out" / "status")
    kept = RequestLog(log.columns(), log.processes, log.left_out) if log else None
    return GuestRun(
        result=Result(told["result"], kept, unwritten=() if unwritten is None else (unwritten,)),
        stdout=texts["stdout"] or "",
        stderr=texts["stderr"] or "",
        status=int(status) if status else None,
        hpb_stats=_counters(folder / "out" / "hpb_stats"),
        hp_ufs_stats=_counters(folder / "out" / "hp_ufs_stats"),
        hpbvalve_stats=_counters(folder / "out" / "hpbvalve_stats"),
        iosched=dict(line.split(maxsplit=1) for line in (_text(folder / "out" / "iosched") or "").splitlines()),
        diskstats=texts["diskstats"] or "",
        trace=texts["trace"],
        console=_console(folder),
        ended=told["ended"],
        at_ns=told["at_ns"],
        turns=told["turns"],
        began_ns=told["began_ns"],
        cpu_cost=job.cpu_cost,
        controller=told["controller"],
        digests=manifest()["digests"],
    )


def _counters(path: Path) -> dict[str, int]:
    counters: dict[str, int] = {}
    for line in (_text(path) or "").splitlines():
        name, value = line.split()
        # Every disk has its own.
        counters[name] = counters.get(name, 0) + int(value)
    return counters


def _console(folder: Path) -> str:
    return (_text(folder / "console") or "").replace("\r\n", "\n")


def _text(path: Path) -> str | None:
    return path.read_bytes().decode(errors="replace") if path.exists() else None


def manifest() -> Document:
    """What `make linux` has built: `digests` has the SHA-256 of each program. Raises `ConfigError` if it has not."""
    built = newest()
    try:
        return parse((built / "manifest.json").read_text())
    except FileNotFoundError as error:
        told = f"{built}: no kernel is there; make linux builds it, in a clone of the project"
        raise _core.ConfigError(told) from error


@contextmanager
def _folder(job: Job, fs: str, disks: Sequence[cpio.Entry]) -> Iterator[tuple[Path, Path]]:
    """The folder of a boot with all that the guest needs, and where its kernel is."""
    built = newest()
    manifest()
    folder, owner = Path(tempfile.mkdtemp(prefix="ufsim-linux-")), os.getpid()
    try:
        (folder / "out").mkdir()
        (folder / "folders").mkdir()
        for shared in job.folders:
            (folder / "folders" / shared.resolve().name).symlink_to(shared.resolve())
        with (folder / "initrd").open("wb") as initrd:
            with (built / "initrd").open("rb") as first:
                shutil.copyfileobj(first, initrd, 1 << 20)
            initrd.write(cpio.archive([*job.entries(fs), *disks]))
        yield folder, built
    finally:
        # A copy of this process leaves it to the other one.
        if os.getpid() == owner:
            shutil.rmtree(folder)


#: What is looked at when a file system has been mounted after a power cut, and not written since.
CHECKS = {"f2fs": "/usr/sbin/fsck.f2fs /dev/sda", "ext4": "/usr/sbin/e2fsck -f -n /dev/sda"}


def after_cut(job: Job, check: Path | None, console: str) -> Job:
    """What the next guest does on the file system of one that lost power: the caller's check, then fsck.

    In the check, $BEFORE is the console of the guest before, with all that it had said by then.
    """
    own = b"" if check is None else check.read_bytes()
    # A shell of its own: what it has set, such as -e, holds to its end.
    text = (
        "export BEFORE=/job/before\nsh /job/own || exit 1\ncd /\numount /mnt\n"
        f"{CHECKS[job.fs]} > /out/fsck 2>&1 || {{ cat /out/fsck; exit 2; }}\n"
    )
    contents = {"before": console.encode(), "own": own, "check": text.encode()}
    files = tuple(cpio.file(f"job/{name}", content) for name, content in contents.items())
    return replace(job, command=("sh", "/job/check"), script=None, files=files)
