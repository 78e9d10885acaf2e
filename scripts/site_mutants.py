"""Which changes of the firmware the tests notice, from docs/data/mutants.json and mutants.toml (`make mutants`)."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from site_markdown import code, table

ROOT = Path(__file__).parents[1]
SUMMARY = ROOT / "docs/data/mutants.json"
REASONS = ROOT / "mutants.toml"


def tables() -> str:
    """Each group with the mutants that are programs, and those that nothing notices, with the reason."""
    summary: dict[str, dict[str, Any]] = json.loads(SUMMARY.read_text(encoding="utf-8"))
    reasons: dict[str, str] = tomllib.loads(REASONS.read_text(encoding="utf-8"))["survivors"]
    head = ("group", "mutants>", "caught>", "share>", "wanted>", "not tried>")
    groups = table(head, (row(group, one) for group, one in summary.items()))
    return groups + "\nNot caught:\n\n" + "".join(listed(summary, reasons))


def row(group: str, one: dict[str, Any]) -> list[str]:
    share = 100 * one["caught"] / max(1, one["viable"])
    numbers = [f"{one['viable']:,}", f"{one['caught']:,}", f"{share:.1f}%", f"{one['least_percent']}%"]
    return [group, *numbers, f"{one['untried']:,}"]


def listed(summary: dict[str, dict[str, Any]], reasons: dict[str, str]) -> Iterator[str]:
    for one in summary.values():
        for name in one["survivors"]:
            yield f"- {code(name)}: {reasons.get(name, 'Not looked at yet.')}\n"
