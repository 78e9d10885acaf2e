"""What was measured, kept with the version that it is of, the day and the machine."""

import datetime
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ufsim_papers.record_text import record_text


def origin(version: str) -> dict[str, Any]:
    """What every record begins with."""
    return {
        "version": version,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {"processor": processor(), "cpus": os.cpu_count(), "system": platform.platform()},
    }


def processor() -> str:
    """The processor's name."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def keep(path: Path | None, record: Mapping[str, Any]) -> None:
    """Writes a record, if there is a file for it."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(record_text(record) + "\n", encoding="utf-8")


def kept(path: Path) -> dict[str, Any]:
    """A record that was kept."""
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record
