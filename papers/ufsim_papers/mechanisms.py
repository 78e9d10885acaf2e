"""What of a paper is in the simulator and where: `mechanisms.toml` of its folder, written by hand, as a table."""

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ufsim_papers.folders import FOLDERS
from ufsim_papers.markdown import code, table

# How a sentence counts the entries in each state.
STATES = {"built": "built", "differs": "built in another way", "missing": "missing", "left out": "left out"}
# States that something in the code stands for, and states that are explained.
PLACED = ("built", "differs")
EXPLAINED = ("differs", "missing", "left out")


@dataclass(frozen=True)
class Mechanism:
    """A mechanism, table or figure of a paper. Fields are keys of the file; a list of places may be one text there."""

    where: str
    what: str
    state: str
    place: Sequence[str] = ()
    note: str = ""


def read(paper: str) -> list[Mechanism]:
    """The entries in the order of the file. A wrong key is a `TypeError`."""
    document = tomllib.loads((FOLDERS / paper / "mechanisms.toml").read_text(encoding="utf-8"))
    return [Mechanism(**{**entry, "place": places(entry)}) for entry in document["mechanism"]]


def places(entry: dict[str, Any]) -> list[str]:
    """The places of an entry, as a list."""
    place = entry.get("place", [])
    return [place] if isinstance(place, str) else place


def mechanisms(paper: str) -> str:
    """The table of a paper, under a sentence that counts."""
    entries = read(paper)
    rows = ([one.where, one.what, one.state, how(one)] for one in entries)
    return count(entries) + "\n\n" + table(("where", "what", "state", "how, and where in the sources"), rows)


def how(one: Mechanism) -> str:
    """What is said of an entry, and its places."""
    return "<br>".join([*([one.note] if one.note else []), *(f"<small>{code(place)}</small>" for place in one.place)])


def count(entries: list[Mechanism]) -> str:
    """How many entries are in each state."""
    number = Counter(one.state for one in entries)
    parts = ", ".join(f"{number[state]} {words}" for state, words in STATES.items() if number[state])
    return f"{len(entries)} entries: {parts}."
