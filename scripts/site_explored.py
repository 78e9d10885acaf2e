"""The result of `make explore` as the documentation shows it, from docs/data/explore.json."""

import json
from pathlib import Path
from typing import Any

from site_markdown import code, table

RESULT = Path(__file__).parents[1] / "docs/data/explore.json"


def document() -> dict[str, list[dict[str, Any]]]:
    """The kept result."""
    kept: dict[str, list[dict[str, Any]]] = json.loads(RESULT.read_text(encoding="utf-8"))
    return kept


def searches() -> list[dict[str, Any]]:
    """Every search of the kept result."""
    return document()["searches"]


def bounds(done: dict[str, Any]) -> str:
    """Requests and power cuts within which every state was seen."""
    return f"{done['level']['requests']} and {done['level']['cuts']}"


def states() -> str:
    """States and depth of the searches of correct devices."""
    rows = (
        [
            code(one["scheme"]),
            f"{one['states']:,}",
            f"{one['steps']:,}",
            f"{one['cuts']:,}",
            f"{one['surveys']:,}",
            str(one["depth"]),
            f"{one['seconds']:,.0f}",
            "; ".join(bounds(done) for done in one["complete"]) or "none",
        ]
        for one in searches()
        if one["sabotage"] is None
    )
    head = ("scheme", "states>", "steps>", "power cuts>", "read after a cut>", "depth>", "s>", "all of")
    return table(head, rows)


def sabotages() -> str:
    """With how many steps each sabotage was found under each scheme."""
    rows = [one for one in searches() if one["sabotage"] is not None]
    schemes = list(dict.fromkeys(one["scheme"] for one in rows))
    names = list(dict.fromkeys(one["sabotage"] for one in rows))
    found = {(one["sabotage"], one["scheme"]): one["failure"] for one in rows}
    steps = {key: str(len(failure["steps"])) if failure else "-" for key, failure in found.items()}
    body = ([code(name), *(steps.get((name, scheme), "") for scheme in schemes)] for name in names)
    return table(("sabotage", *(f"{code(scheme)}>" for scheme in schemes)), body)


def beyond() -> str:
    """The sabotages that no search of this size can show, with the reason."""
    rows = ([code(one["sabotage"]), one["why"]] for one in document()["beyond"])
    return table(("sabotage", "why it is not searched for"), rows)


def made() -> str:
    """All tables."""
    between = "Steps of the example found, for each promise that the device was made to break:"
    return f"{states()}\n{between}\n\n{sabotages()}\n{beyond()}"
