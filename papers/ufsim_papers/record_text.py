"""JSON of a record, which people read and compare line by line."""

import json
from typing import Any

#: Columns of a line, unless it is an element of a list.
WIDTH = 120


def record_text(value: Any, margin: str = "") -> str:
    """Each element of a list stands in a line, and of a dictionary that does not fit into one, each name begins one."""
    line = json.dumps(value)
    if len(margin) + len(line) < WIDTH or not isinstance(value, dict | list):
        return line
    inner = f"{margin} "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {record_text(part, inner)}" for name, part in value.items()]
    else:
        parts = [json.dumps(part) for part in value]
    return f"{line[0]}\n" + ",\n".join(inner + part for part in parts) + f"\n{margin}{line[-1]}"
