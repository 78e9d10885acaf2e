"""The options of a run, made from crates/lab/src/options/mod.rs by `cargo run -p ufsim-lab --example bless`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Literal, SupportsFloat, SupportsIndex, TypedDict

Setting = str | int | float | bool
Replay = Literal["timed", "queued", "closed"]
Merge = Literal["auto", "on", "off"]
Precondition = Literal["none", "footprint", "touched"]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What can be said of a run. Each field's metadata has its help and its place on the command line."""

    workload: str = field(
        metadata={
            "help": (
                "Trace file or directory of per-CPU files, fio job, SQLite, language model, fragmentation "
                "loop, generated workload, or scenario of a phone."
            ),
            "flag": "",
            "metavar": "WORKLOAD",
            "commands": ("run", "compare", "phone"),
        },
    )
    scheme: str = field(
        metadata={
            "help": "Scheme: see `ufsim schemes`.",
            "flag": "--scheme",
            "metavar": "NAME",
            "commands": ("run", "age", "calibrate"),
        },
    )
    scheduler: str | None = field(
        default=None,
        metadata={
            "help": "Scheduler instead of the scheme's.",
            "flag": "--scheduler",
            "metavar": "NAME",
            "commands": ("run", "compare", "calibrate", "serve", "linux"),
        },
    )
    booster: str | None = field(
        default=None,
        metadata={
            "help": "Booster instead of the scheme's.",
            "flag": "--booster",
            "metavar": "NAME",
            "commands": ("run",),
        },
    )
    mapping: str | None = field(
        default=None,
        metadata={
            "help": "Mapping instead of the scheme's.",
            "flag": "--mapping",
            "metavar": "NAME",
            "commands": ("run",),
        },
    )
    profile: str = field(
        default="hp-ufs",
        metadata={
            "help": "Device profile, or the path of its file: see `ufsim profiles`.",
            "flag": "--profile",
            "metavar": "NAME|FILE",
            "commands": ("run", "compare", "phone", "age", "calibrate", "serve", "linux"),
        },
    )
    replay: Replay | None = field(
        default=None,
        metadata={
            "help": (
                "Traces and generated workloads: replayed at their times (timed), the same into a queue of "
                "the depth, outside of which others wait uncounted (queued), or as fast as the depth allows "
                "(closed). Job files time themselves. (default: timed)"
            ),
            "flag": "--replay",
            "metavar": "",
            "commands": ("run", "compare"),
        },
    )
    depth: int | None = field(
        default=None,
        metadata={
            "help": "Outstanding requests in a queued or closed replay. (default: 8)",
            "flag": "--depth",
            "metavar": "N",
            "range": (1, 65536),
            "commands": ("run", "compare"),
        },
    )
    per_cpu_streams: bool = field(
        default=False,
        metadata={
            "help": (
                "Closed replay: a stream with its own depth for each per-CPU file, or processor of a "
                "generated workload."
            ),
            "flag": "--per-cpu-streams",
            "metavar": "",
            "commands": ("run", "compare"),
        },
    )
    merge: Merge | None = field(
        default=None,
        metadata={
            "help": (
                "Traces: merge neighbouring requests before the scheduler, as the block layer of Linux does: "
                "those recorded above it, as blktrace's queue events are (auto), all (on) or none (off). "
                "`ufsim trace info` says where a trace was recorded. (default: auto)"
            ),
            "flag": "--merge",
            "metavar": "",
            "commands": ("run", "compare", "calibrate"),
        },
    )
    repeat: int | None = field(
        default=None,
        metadata={
            "help": (
                "How often a trace or a generated workload is replayed, one time after the other and at the "
                "same addresses. (default: 1)"
            ),
            "flag": "--repeat",
            "metavar": "N",
            "range": (1, 100000),
            "commands": ("run", "compare"),
        },
    )
    seed: int = field(
        default=1,
        metadata={
            "help": "Seed of everything random.",
            "flag": "--seed",
            "metavar": "N",
            "range": (0, 18446744073709551615),
            "commands": ("run", "compare", "phone", "age", "calibrate", "serve", "linux"),
        },
    )
    host_memory_mib: int | str | None = field(
        default=None,
        metadata={
            "help": (
                "Host memory that a booster may use, or 'unlimited'; left out, the profile's "
                "host.memory_mib. With ',TIME=MIB' behind it, it changes during the run: '20,10s=5,30s=20'."
            ),
            "flag": "--host-memory",
            "metavar": "MIB[,TIME=MIB]...",
            "commands": ("run", "compare", "phone"),
        },
    )
    settings: dict[str, Setting] = field(
        default_factory=dict,
        metadata={
            "help": "Overrides a profile key; repeatable.",
            "flag": "--set",
            "metavar": "SECTION.KEY=VALUE",
            "commands": ("run", "compare", "phone", "age", "profiles", "calibrate", "serve", "linux"),
        },
    )
    precondition: Precondition = field(
        default="footprint",
        metadata={
            "help": (
                "Written before the run, unmeasured: nothing, what the workload may read (footprint), or all "
                "that it may read, write or trim (touched)."
            ),
            "flag": "--precondition",
            "metavar": "",
            "commands": ("run", "compare", "calibrate"),
        },
    )
    device: str | None = field(
        default=None,
        metadata={
            "help": "The device to take from a trace of several, such as 253:5.",
            "flag": "--device",
            "metavar": "NAME",
            "commands": ("run", "compare", "trace", "calibrate"),
        },
    )
    format: str | None = field(
        default=None,
        metadata={
            "help": "Format of a trace; left out, it is recognised. See `ufsim trace formats`.",
            "flag": "--format",
            "metavar": "NAME",
            "commands": ("run", "compare", "trace", "calibrate"),
        },
    )
    clean: list[str] = field(
        default_factory=list,
        metadata={
            "help": "Cleaning rule for traces; repeatable.",
            "flag": "--clean",
            "metavar": "RULE",
            "commands": ("run", "compare", "trace", "calibrate"),
        },
    )
    fold: bool = field(
        default=False,
        metadata={
            "help": (
                "A trace that ends beyond the device: put the ranges of addresses with requests side by "
                "side, in their order. Ranges are of 64 MiB, or as much less (down to 1 MiB) as is needed to "
                "fit."
            ),
            "flag": "--fold",
            "metavar": "",
            "commands": ("run", "compare", "calibrate"),
        },
    )
    age: str | None = field(
        default=None,
        metadata={
            "help": (
                "Age the device first, under its profile's own conditions, and switch it off and on: a fio "
                "job file, options of one job such as 'rw=randwrite bs=4k size=52g', a trace, whose writes "
                "and trims are made, or words: fresh, used, full, '85% full, 40% overwritten'."
            ),
            "flag": "--age",
            "metavar": "JOB",
            "commands": ("run", "compare", "phone", "calibrate", "linux", "serve"),
        },
    )
    stay_on: bool = field(
        default=False,
        metadata={
            "help": (
                "After `age` the machine stays on, and host memory is warm: it ages as the run has it, not "
                "under its profile's own conditions, and is not switched off."
            ),
            "flag": "--stay-on",
            "metavar": "",
            "commands": ("run", "compare", "phone"),
        },
    )
    from_state: str | None = field(
        default=None,
        metadata={
            "help": "Begin with a device that `ufsim age` has aged.",
            "flag": "--from",
            "metavar": "FILE",
            "commands": ("run", "compare", "phone", "calibrate", "linux", "serve"),
        },
    )
    verify: bool = field(
        default=False,
        metadata={
            "help": (
                "When the run has ended, read everything back that was ever written, and check it. Nothing "
                "of it is measured."
            ),
            "flag": "--verify",
            "metavar": "",
            "commands": ("run", "compare", "phone"),
        },
    )
    cut_at: str | None = field(
        default=None,
        metadata={
            "help": (
                "Cut the power so long after the first measured request, such as 2s or 150ms. The run ends "
                "then; results say how the device recovers."
            ),
            "flag": "--cut-at",
            "metavar": "TIME",
            "commands": ("run", "compare"),
        },
    )


class RunOptions(TypedDict, total=False):
    """Keyword arguments of `run`, `compare` and `phone`: fields of `Options`, as callers may write them.

    Numbers may be numpy scalars, files may be paths.
    """

    scheduler: str | None
    """Scheduler instead of the scheme's."""

    booster: str | None
    """Booster instead of the scheme's."""

    mapping: str | None
    """Mapping instead of the scheme's."""

    profile: str | PathLike[str]
    """Device profile, or the path of its file: see `ufsim profiles`."""

    replay: Replay | None
    """Traces and generated workloads: replayed at their times (timed), the same into a queue of the
    depth, outside of which others wait uncounted (queued), or as fast as the depth allows (closed).
    Job files time themselves. (default: timed)"""

    depth: SupportsIndex | None
    """Outstanding requests in a queued or closed replay. (default: 8)"""

    per_cpu_streams: bool
    """Closed replay: a stream with its own depth for each per-CPU file, or processor of a generated
    workload."""

    merge: Merge | None
    """Traces: merge neighbouring requests before the scheduler, as the block layer of Linux does: those
    recorded above it, as blktrace's queue events are (auto), all (on) or none (off). `ufsim trace
    info` says where a trace was recorded. (default: auto)"""

    repeat: SupportsIndex | None
    """How often a trace or a generated workload is replayed, one time after the other and at the same
    addresses. (default: 1)"""

    seed: SupportsIndex
    """Seed of everything random."""

    host_memory_mib: SupportsIndex | str | None
    """Host memory that a booster may use, or 'unlimited'; left out, the profile's host.memory_mib. With
    ',TIME=MIB' behind it, it changes during the run: '20,10s=5,30s=20'."""

    settings: Mapping[str, str | SupportsIndex | SupportsFloat]
    """Overrides a profile key; repeatable."""

    precondition: Precondition
    """Written before the run, unmeasured: nothing, what the workload may read (footprint), or all that it
    may read, write or trim (touched)."""

    device: str | None
    """The device to take from a trace of several, such as 253:5."""

    format: str | None
    """Format of a trace; left out, it is recognised. See `ufsim trace formats`."""

    clean: Iterable[str]
    """Cleaning rule for traces; repeatable."""

    fold: bool
    """A trace that ends beyond the device: put the ranges of addresses with requests side by side, in
    their order. Ranges are of 64 MiB, or as much less (down to 1 MiB) as is needed to fit."""

    age: str | PathLike[str] | None
    """Age the device first, under its profile's own conditions, and switch it off and on: a fio job file,
    options of one job such as 'rw=randwrite bs=4k size=52g', a trace, whose writes and trims are made,
    or words: fresh, used, full, '85% full, 40% overwritten'."""

    stay_on: bool
    """After `age` the machine stays on, and host memory is warm: it ages as the run has it, not under its
    profile's own conditions, and is not switched off."""

    from_state: str | PathLike[str] | None
    """Begin with a device that `ufsim age` has aged."""

    verify: bool
    """When the run has ended, read everything back that was ever written, and check it. Nothing of it is
    measured."""

    cut_at: str | None
    """Cut the power so long after the first measured request, such as 2s or 150ms. The run ends then;
    results say how the device recovers."""
