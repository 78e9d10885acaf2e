"""What the last soak told, from docs/data/soak.json, which `make soak RECORD=docs/data/soak.json` writes."""

import json
from pathlib import Path
from typing import Any

from site_markdown import code, table
from ufsim.progress import clock

RECORD = Path(__file__).parents[1] / "docs/data/soak.json"


def tables() -> str:
    """Where the soak ran and what it met."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    machine = record["machine"]
    said = (
        f"{record['cuts']:,} power cuts in {record['runs']:,} cases, seeds {record['first_seed']} to "
        f"{record['last_seed']}, version {code(record['version'])}: {len(record['failures'])} failures. "
        f"{record['date']}, {clock(record['seconds'])} on {machine['cpus']} processors ({machine['processor']}).\n"
    )
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
