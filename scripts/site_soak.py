"""What the last soak told.

It is in docs/data/soak.json and whole.json, which `make soak RECORD=docs/data/soak.json WHOLE=docs/data/whole.json`
writes.
"""

import json
from pathlib import Path
from typing import Any

from site_markdown import code, table
from ufsim.progress import clock

RECORD = Path(__file__).parents[1] / "docs/data/soak.json"
WHOLE = RECORD.with_name("whole.json")


def told(record: dict[str, Any], what: str) -> str:
    """How long it was, and where it ran."""
    machine = record["machine"]
    return (
        f"{what} in {record['runs']:,} cases, seeds {record['first_seed']} to "
        f"{record['last_seed']}, version {code(record['version'])}: {len(record['failures'])} failures. "
        f"{record['date']}, {clock(record['seconds'])} on {machine['cpus']} processors ({machine['processor']}).\n"
    )


def whole() -> str:
    """What the simulation of the whole met."""
    record: dict[str, Any] = json.loads(WHOLE.read_text(encoding="utf-8"))
    length = f"{record['steps']:,} steps, {record['requests']:,} requests, {record['checked_units']:,} units compared"
    ends, faults = (
        table((what, "times>"), ([name, f"{count:,}"] for name, count in record[kind].items()))
        for what, kind in (("how servers and devices ended", "moments"), ("what else happened", "circumstances"))
    )
    return "\n".join([told(record, length), ends, faults])


def tables() -> str:
    """Where the soak ran and what it met."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    said = told(record, f"{record['cuts']:,} power cuts")
    schemes = (
        [code(name), f"{one['cases']:,}", f"{one['cuts']:,}", f"{one['longest_recovery_ms']:.0f}"]
        for name, one in record["schemes"].items()
    )
    moments = ([name, f"{count:,}"] for kind in ("moments", "circumstances") for name, count in record[kind].items())
    return "\n".join(
        [
            said,
            table(("the device was doing, or what else was going on", "power cuts>"), moments),
            table(("scheme", "cases>", "power cuts>", "longest recovery ms>"), schemes),
        ]
    )
