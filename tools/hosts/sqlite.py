"""Mobibench's transactions by SQLite in a guest, and by SQLite on the models of file systems."""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any

import pandas as pd

import ufsim
from ufsim import linux
from ufsim.observe import Observed

PROFILE = "hp-ufs"
TRANSACTIONS, FILL_ROWS = 300, 1000
WRITING = ("insert", "update", "delete")
MODES = ("delete", "truncate", "persist", "wal")
SEEDS = (1, 2, 3)
#: A file system of the guest, and its model.
FILE_SYSTEMS = {"f2fs": "f2fs", "ext4": "ext4-ordered"}
MARKER = "/sys/kernel/debug/tracing/trace_marker"
MARKED = re.compile(r"(\d+\.\d+): tracing_mark_write")
#: Longest latencies are those of this share.
TAIL = 0.99
VALUE = "hex(randomblob(50))"


@dataclass(frozen=True)
class Case:
    """A file system and a journal mode under a scheme."""

    fs: str
    mode: str
    operation: str
    scheme: str = "ufs"
    seed: int = 1


def statements(operation: str) -> str:
    """The statements as jobs/sqlite.toml has them, one row for each transaction. After each a mark with the time."""
    lines = [
        "pragma page_size=4096; pragma cache_size=-2000; pragma synchronous=full;",
        "create table tblMyList0(id integer primary key autoincrement, Value text not null, creation_date long);",
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < "
        f"{FILL_ROWS}) insert into tblMyList0(Value) select {VALUE} from n;",
    ]
    lines += [".system sync; echo 3 > /proc/sys/vm/drop_caches", f".once {MARKER}", "select 'begin';"]
    for n in range(TRANSACTIONS):
        row = n + 1 if operation == "delete" else TRANSACTIONS + 1 + n * 7919 % (FILL_ROWS - TRANSACTIONS)
        lines += [
            {
                "insert": f"insert into tblMyList0(Value) values({VALUE});",
                "update": f"update tblMyList0 set Value={VALUE} where id={row};",
                "delete": f"delete from tblMyList0 where id={row};",
            }[operation],
            f".once {MARKER}",
            f"select '{operation}';",
        ]
    return "\n".join(lines) + "\n"


def by_kernel(case: Case) -> dict[str, float]:
    """What a transaction has taken and asked for in the guest."""
    with tempfile.TemporaryDirectory() as name:
        script, log = Path(name) / "job.sh", Path(name) / "log.parquet"
        sql = statements(case.operation)
        script.write_text(
            f"cat > /tmp/sql <<'END'\npragma journal_mode={case.mode};\n{sql}END\nsqlite3 -batch my.db < /tmp/sql\n"
        )
        job = linux.Job(script=script, fs=case.fs, trace=True)
        run = linux.run(job, case.scheme, profile=PROFILE, seed=case.seed, observed=Observed(log=log))
        if run.status or run.stderr:
            raise SystemExit(f"{case}: {run.stderr}")
        rows = pd.read_parquet(log)
    times = [round(float(at) * 1e9) - run.began_ns for at in MARKED.findall(run.trace or "")]
    own = rows[(rows.arrival_ns >= times[0]) & (rows.arrival_ns < times[-1])]
    return {**latencies([b - a for a, b in pairwise(times)]), **asked(own)}


def by_model(case: Case) -> dict[str, float]:
    """The same of the models."""
    with tempfile.TemporaryDirectory() as name:
        spec, log = Path(name) / "job.toml", Path(name) / "log.parquet"
        spec.write_text(
            f'[sqlite]\noperations = ["{case.operation}"]\ntransactions = {TRANSACTIONS}\nfill_rows = {FILL_ROWS}\n'
            f'journal_mode = "{case.mode}"\n'
            f'file_system = "{FILE_SYSTEMS[case.fs]}"\nvolume_mib = 256\n'
        )
        run = ufsim.run(spec, case.scheme, profile=PROFILE, seed=case.seed, log=log)
        rows = pd.read_parquet(log)
    (told,) = run.operations
    taken = {f"{name}_us": told["latency_ns"][name] / 1e3 for name in ("mean", "p99")}
    return {**taken, **asked(rows[rows.measured])}


def latencies(ns: Sequence[int]) -> dict[str, float]:
    """Mean and tail in us."""
    return {"mean_us": mean(ns) / 1e3, "p99_us": float(pd.Series(ns).quantile(TAIL)) / 1e3}


def asked(rows: pd.DataFrame) -> dict[str, float]:
    """Requests for each transaction."""
    writes = rows[rows.kind == "write"]
    return {
        "writes": len(writes) / TRANSACTIONS,
        "kib": float(writes.bytes.sum()) / 1024 / TRANSACTIONS,
        "fua": float(writes.fua.sum()) / TRANSACTIONS,
        "flushes": float((rows.kind == "flush").sum()) / TRANSACTIONS,
        "reads": float((rows.kind == "read").sum()) / TRANSACTIONS,
    }


def compared(fs: str, mode: str, operation: str, scheme: str, seeds: Sequence[int]) -> dict[str, Any]:
    """Both, for each seed."""
    cases = [Case(fs, mode, operation, scheme=scheme, seed=seed) for seed in seeds]
    found = {"kernel": [by_kernel(case) for case in cases], "model": [by_model(case) for case in cases]}
    told = {host: together(runs) for host, runs in found.items()}
    return {"fs": fs, "mode": mode, "operation": operation, "scheme": scheme, **told}


def together(runs: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Of runs with several seeds: the least and the largest of times, and means of counts."""
    return {
        key: [min(values), max(values)] if key.endswith("_us") else round(mean(values), 3)
        for key in runs[0]
        for values in [[run[key] for run in runs]]
    }


def all_compared() -> list[dict[str, Any]]:
    """Every file system, journal and operation under one scheme, and inserts under others."""
    asked = [(fs, mode, operation, "ufs") for fs in FILE_SYSTEMS for mode in MODES for operation in WRITING]
    asked += [(fs, "truncate", "insert", scheme) for fs in FILE_SYSTEMS for scheme in ("hpb-linux", "ideal")]
    return [compared(*one, SEEDS) for one in asked]
