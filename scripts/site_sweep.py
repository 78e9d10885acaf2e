"""How much faster a sweep is on two processors, from docs/data/sweep-speed.json (scripts/sweep_speed.py)."""

import json
from pathlib import Path
from typing import Any

from site_markdown import code

RECORD = Path(__file__).parents[1] / "docs/data/sweep-speed.json"


def speed() -> str:
    """The times of the 200 points, one and two at a time."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    seconds = record["seconds"]
    return (
        f"The 200 points above and their aged states take {seconds['1']:.0f} s one at a time and {seconds['2']:.0f} s "
        f"two at a time, which is {record['ratio']:.2f} times as fast (medians of {record['turns']} turns of "
        f"`scripts/sweep_speed.py`, version {code(record['version'])}, {record['date']}, "
        f"{record['machine']['processor']}).\n"
    )
