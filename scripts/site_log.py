"""What a log of requests costs, from docs/data/log-cost.json, which scripts/log_cost.py writes."""

import json
from pathlib import Path
from typing import Any

from site_markdown import code, table

RECORD = Path(__file__).parents[1] / "docs/data/log-cost.json"


def costs() -> str:
    """The times of runs without and with a log, and the memory of a long one."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    machine, long = record["machine"], record["long"]
    rows = (
        [
            one["case"],
            code(one["scheme"]),
            f"{one['seconds']:.1f}",
            f"{one['logged_seconds']:.1f}",
            f"{one['ratio']:.2f}",
            str(one["logged_peak_mib"]),
        ]
        for one in record["cases"]
    )
    headings = ("workload", "scheme", "s>", "s with a log>", "ratio>", "MiB with a log>")
    said = (
        f"Medians of {record['pairs']} pairs, version {code(record['version'])}, {record['date']}, on "
        f"{machine['cpus']} processors ({machine['processor']}). A log of {long['requests']:,} requests took "
        f"{long['seconds']:.0f} s, at most {long['peak_mib']} MiB of memory, and {long['file_gib']} GiB of file.\n"
    )
    return "\n".join([table(headings, rows), said])
