"""HP-UFS's Fig. 8 in the kernel: the authors' Mobibench by SQLite on a guest's file systems, and by the models."""

import random
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

import ufsim
from tools.hosts.sqlite import FILE_SYSTEMS, MARKER, VALUE
from ufsim import linux
from ufsim.linux import cpio
from ufsim.states import StateCache
from ufsim_papers.folders import job
from ufsim_papers.hp_ufs.sqlite import Setup, workload

SEEDS = (1, 2, 3)
PROFILE, SETTINGS = "hp-ufs", {"host.memory_mib": 20}
SIDES = ("hp-ufs", "hpb-linux")
TRACING = "/sys/kernel/debug/tracing"
MARKED = re.compile(r"(\d+\.\d+): tracing_mark_write: (\w+)")
#: As jobs/f8-sqlite.toml has them. DELETE comes last, for it leaves nothing.
TRANSACTIONS, DATABASES, TABLES, VOLUME_MIB = 5000, 3, 3, 256
OPERATIONS = ("insert", "update", "select", "delete")
OPTIONS = ("page_size=4096", "auto_vacuum=full", "cache_size=-8000", "journal_mode=wal", "synchronous=full")
#: A file system in the first part of the disk, where the models have it. What lies there on flash is not discarded.
MAKE = {
    "ext4": f"/usr/sbin/mke2fs -q -F -t ext4 -E nodiscard /dev/sda {VOLUME_MIB}m > /tmp/made 2>&1 && "
    "mount -t ext4 -o noinit_itable,nobarrier /dev/sda /mnt",
    "f2fs": f"/usr/sbin/mkfs.f2fs -q -f -t 0 /dev/sda {VOLUME_MIB * 2048} > /tmp/made 2>&1 && "
    "mount -t f2fs -o nobarrier /dev/sda /mnt",
}


@dataclass(frozen=True)
class Case:
    """A file system, operations by a program each, and whether the device is aged for GC."""

    fs: str
    operations: tuple[str, ...] = OPERATIONS
    gc: bool = False

    @property
    def age(self) -> str | None:
        """The job that ages the device."""
        return job("hp-ufs/age-full") if self.gc else None


CASES = (Case("ext4"), Case("f2fs"), Case("ext4", ("insert",), gc=True))


def schema(database: int) -> str:
    """A database as SQL names it."""
    return f"db{database}" if database else "main"


def statements(operation: str, seed: int) -> str:
    """A program: makes the tables, or counts rows as Mobibench does, and marks the time after each transaction."""
    draw = random.Random(f"{operation} {seed}")
    tables = [f"{schema(database)}.tblMyList{n}" for database in range(DATABASES) for n in range(TABLES)]
    mark = [f".once {MARKER}", f"select '{operation}';"]
    files = [f"attach 'file:{schema(n)}.db?psow=0' as {schema(n)};" for n in range(1, DATABASES)]
    options = [[f"pragma {schema(n)}.{option};" for option in OPTIONS] for n in range(DATABASES)]
    if operation == "insert":
        columns = "id integer primary key, Value text not null, creation_date long"
        lines = [*files, *chain(*options), *(f"create table {table}({columns});" for table in tables)]
    else:
        # Only what the main database's pages hold stays in SQLite's cache.
        lines = [*options[0], *(f"select count(*) from {table};" for table in tables[:TABLES]), *files]
        lines += chain(*options[1:])
    lines += [".system echo 3 > /proc/sys/vm/drop_caches"]
    left = [draw.sample(range(TRANSACTIONS), TRANSACTIONS) for _ in range(DATABASES)]
    lines += mark
    for n in range(TRANSACTIONS):
        lines += ["begin;"]
        for place, table in enumerate(tables):
            any_row = draw.randrange(TRANSACTIONS)
            lines += [
                {
                    "insert": f"insert into {table}(id, Value) values({n}, {VALUE});",
                    "update": f"update {table} set Value={VALUE} where id={any_row};",
                    "select": f"select Value from {table} where id={any_row};",
                    "delete": f"delete from {table} where id={left[place // TABLES][n]};",
                }[operation]
            ]
        lines += ["commit;", *mark]
    lines += [f"pragma {schema(n)}.wal_checkpoint;" for n in range(DATABASES)]
    return "\n".join(lines) + "\n"


def script(case: Case) -> str:
    """What the guest does: programs one after another."""
    lines = [MAKE[case.fs] + " || { cat /tmp/made >&2; exit 1; }", "cd /mnt"]
    lines += [f"echo mono > {TRACING}/trace_clock; echo 8192 > {TRACING}/buffer_size_kb; echo 1 > {TRACING}/tracing_on"]
    own = (f"sqlite3 -batch 'file:main.db?psow=0' < /job/{operation}.sql > /dev/null" for operation in case.operations)
    lines += [f"{one} || exit 1" for one in own]
    return "\n".join([*lines, f"echo 0 > {TRACING}/tracing_on; cat {TRACING}/trace; cd /; umount /mnt"]) + "\n"


def by_kernel(case: Case, scheme: str, seed: int) -> dict[str, dict[str, float]]:
    """Latencies in ns of the guest's transactions, by operation."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "job.sh"
        path.write_text(script(case), encoding="utf-8")
        files = [cpio.file(f"job/{own}.sql", statements(own, seed).encode()) for own in case.operations]
        guest = linux.Job(script=path, fs="none", files=files)
        options: dict[str, Any] = {"profile": PROFILE, "settings": SETTINGS, "seed": seed, "age": case.age}
        run = linux.run(guest, scheme, cache=StateCache(), **options)
    if run.status or run.stderr:
        raise SystemExit(f"{case}: {run.stderr}")
    marks = [(round(float(at) * 1e9), operation) for at, operation in MARKED.findall(run.stdout)]
    found = {own: [b[0] - a[0] for a, b in pairwise(marks) if a[1] == b[1] == own] for own in case.operations}
    if any(len(taken) != TRANSACTIONS for taken in found.values()):
        raise SystemExit(f"{case}: not every transaction has left its mark")
    return {own: {"mean": mean(taken), "p999": float(np.percentile(taken, 99.9))} for own, taken in found.items()}


def by_model(case: Case, scheme: str, seed: int) -> dict[str, dict[str, float]]:
    """The same of the models. Processors take no time there, either."""
    quoted = ", ".join(f'"{own}"' for own in case.operations)
    changed = {"operations": f"[{quoted}]", "programs": 1, "file_system": f'"{FILE_SYSTEMS[case.fs]}"'}
    options: dict[str, Any] = {"profile": PROFILE, "settings": SETTINGS, "seed": seed, "age": case.age}
    options |= {"precondition": "none", "seeds": 1, "cache": StateCache()}
    run = ufsim.run(workload(Setup(host_us=0), changed), scheme, **options)
    return {one["name"]: {name: float(one["latency_ns"][name]) for name in ("mean", "p999")} for one in run.operations}


HOSTS = {"kernel": by_kernel, "model": by_model}


def claims_of(case: Case) -> Iterator[tuple[str, str, str]]:
    """Claim, operation, statistic."""
    if case.gc:
        yield "hp-ufs.f8.insert-avg-gc", "insert", "mean"
        yield "hp-ufs.f8.insert-tail-gc", "insert", "p999"
        return
    yield from (("hp-ufs.f8.insert-tail-nogc", own, "p999") for own in case.operations if own != "select")
    yield from (("hp-ufs.f8.select-neutral", own, "mean") for own in case.operations)


def shorter(only: str, seeds: Sequence[int] = SEEDS) -> Iterator[dict[str, Any]]:
    """By how many per cent transactions over HP-UFS are shorter than over HPB, for claims that begin with `only`."""
    for case in CASES:
        wanted = [one for one in claims_of(case) if one[0].startswith(only)]
        if not wanted:
            continue
        found = {host: [{side: of(case, side, seed) for side in SIDES} for seed in seeds] for host, of in HOSTS.items()}
        for claim, operation, statistic in wanted:
            about = f"{operation.upper()} on {case.fs}, {'mean' if statistic == 'mean' else '99.9th percentile'}"
            cuts = {host: [cut(one, operation, statistic) for one in runs] for host, runs in found.items()}
            yield {"claim": claim, "about": about, "of": SIDES[0], "over": SIDES[1], **cuts}


def cut(told: Mapping[str, Mapping[str, Mapping[str, float]]], operation: str, statistic: str) -> float:
    """Of one seed."""
    ours, theirs = (told[side][operation][statistic] for side in SIDES)
    return round((1 - ours / theirs) * 100, 1)
