"""Every power cut along sessions of Linux: SQLite and a writer of files, on both file systems, under some schemes."""

from pathlib import Path
from typing import Any

import ufsim
from tools.records import keep, origin
from ufsim.cli.progress import CountDisplay
from ufsim.linux import Job
from ufsim.linux.cuts import Cutting
from ufsim.spec import Spec

SESSIONS = Path("linux/sessions")
#: Schemes and file systems.
DEVICES = (
    ("ufs", "f2fs"),
    ("ufs", "ext4"),
    ("hpb-linux", "f2fs"),
    ("hpb-linux", "ext4"),
    ("dftl", "f2fs"),
    ("dftl", "ext4"),
    ("msftl", "f2fs"),
)
NAMES = ("sqlite", "writer")
MEMORY_MIB = 256


def measure_cuts(jobs: int, kept: Path, record: Path | None) -> None:
    """Cuts at every turn, `jobs` at a time. What stands in `kept` is not repeated."""
    rows = [of_session(scheme, fs, name, jobs, kept) for scheme, fs in DEVICES for name in NAMES]
    keep(record, {**origin(ufsim.__version__), "profile": "tiny", "sessions": rows})


def of_session(scheme: str, fs: str, name: str, jobs: int, kept: Path) -> dict[str, Any]:
    """What the cuts of a session have come to."""
    job = Job(script=SESSIONS / f"{name}.sh", fs=fs, memory_mib=MEMORY_MIB)
    spec = Spec(workload="linux", scheme=scheme, profile="tiny")
    session = Cutting(job, spec, SESSIONS / f"{name}-check.sh")
    turns = session.turns()
    with CountDisplay(f"{scheme}, {fs}, {name}", len(turns)) as display:
        cuts = session.cuts(turns, display, jobs, kept)
    lost = [one.to_json() for one in cuts if one.found == "lost"]
    print(f"{scheme}, {fs}, {name}: {len(cuts)} cuts, {len(lost)} lost", flush=True)
    return {"scheme": scheme, "fs": fs, "session": name, "cuts": len(cuts), "lost": lost}
