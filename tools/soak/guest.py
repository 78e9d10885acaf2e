"""Power cuts along the sessions of Linux in linux/sessions, on each file system."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ufsim
from tools.project import ROOT
from tools.records import keep, kept, origin
from ufsim.cli.exits import Exit
from ufsim.linux.cuts import Cutting, drawn
from ufsim.linux.session import Job
from ufsim.spec import Spec

PROFILE = "tiny"
FILE_SYSTEMS = ("f2fs", "ext4")
JOBS = ("sqlite", "writer")


@dataclass(frozen=True)
class Session:
    """A session whose power is cut."""

    scheme: str
    fs: str
    job: str

    def cut(self, most: int, jobs: int, state: Path) -> dict[str, Any]:
        """A row of the record: cuts at so many of its turns, at all of them if there are not more."""
        scripts = [ROOT / "linux" / "sessions" / f"{self.job}{kind}.sh" for kind in ("", "-check")]
        spec = Spec(workload="linux", scheme=self.scheme, profile=PROFILE)
        session = Cutting(Job(script=scripts[0], fs=self.fs), spec, scripts[1])
        turns = session.turns()
        cuts = session.cuts(drawn(most, turns, spec.seed), lambda done: None, jobs, state)
        return {
            **self.named(),
            "turns": len(turns),
            "cuts": len(cuts),
            "lost": [one.to_json() for one in cuts if one.found == "lost"],
            **origin(ufsim.__version__),
        }

    def named(self) -> dict[str, str]:
        """What distinguishes it from others."""
        return {"scheme": self.scheme, "fs": self.fs, "session": self.job}


def soak_sessions(schemes: list[str], most: int, jobs: int, state: Path, record: Path | None) -> int:
    """Cuts the power of the sessions of some schemes; its exit status. Rows of other sessions stay in the record."""
    state.parent.mkdir(parents=True, exist_ok=True)
    rows = kept(record)["sessions"] if record and record.exists() else []
    lost = 0
    for session in [Session(scheme, fs, job) for scheme in schemes for fs in FILE_SYSTEMS for job in JOBS]:
        row = session.cut(most, jobs, state)
        lost += len(row["lost"])
        print(f"{session}: {row['cuts']} cuts at {row['turns']} turns, {len(row['lost'])} lost anything", flush=True)
        rows = [one for one in rows if not session.named().items() <= one.items()] + [row]
        keep(record, {"profile": PROFILE, "sessions": rows})
    return Exit.BROKEN_PROMISE if lost else Exit.OK
