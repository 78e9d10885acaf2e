"""The lists of what is in the papers: whole, in known states, and the places that they name are there."""

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ufsim_papers import mechanisms
from ufsim_papers.folders import FOLDERS, PAPERS
from ufsim_papers.mechanisms import Mechanism

ROOT = Path(__file__).parents[2]
FIVE = [paper for paper in PAPERS if paper not in ("phone", "today")]
REQUIRED = {"where", "what", "state"}


def faults(entries: list[Mechanism]) -> list[str]:
    """What is wrong with a list of entries."""
    twice = [what for what, number in Counter(entry.what for entry in entries).items() if number > 1]
    return [f"{what}: twice" for what in twice] + [fault for entry in entries for fault in faults_of(entry)]


def faults_of(entry: Mechanism) -> list[str]:
    found = [fault for fault in map(fault_of_place, entry.place) if fault]
    if entry.state not in mechanisms.STATES:
        found.append(f"no such state: {entry.state!r}")
    if entry.state in mechanisms.PLACED and not entry.place:
        found.append("needs a place")
    if entry.state in mechanisms.EXPLAINED and not entry.note:
        found.append("needs a note")
    for text in (entry.where, entry.what, entry.note):
        if text != " ".join(text.split()):
            found.append(f"blanks: {text!r}")
    if not (entry.where and entry.what):
        found.append("where and what are needed")
    if len(set(entry.place)) < len(entry.place):
        found.append("a place stands twice")
    return [f"{entry.where}, {entry.what}: {fault}" for fault in found]


def fault_of_place(place: str) -> str | None:
    name, _, text = place.partition(": ")
    path = (ROOT / name).resolve()
    if not (path.is_relative_to(ROOT) and path.is_file()):
        return f"no such file: {name}"
    if not text or "`" in text or text not in path.read_text(encoding="utf-8"):
        return f"{name} has no text {text!r}"
    return None


def keys_are_known(entries: list[dict[str, Any]]) -> bool:
    known = set(Mechanism.__dataclass_fields__)
    return all(set(entry) >= REQUIRED and set(entry) <= known for entry in entries)


def test_every_paper_has_a_list_and_its_page_shows_it() -> None:
    for paper in FIVE:
        page = (FOLDERS / paper / "README.md").read_text()
        assert f"\n## Every mechanism, table and figure\n\n<!-- mechanisms {paper} -->\n" in page, paper


@pytest.mark.parametrize("paper", FIVE)
def test_a_list_is_whole_and_its_places_are_there(paper: str) -> None:
    document = tomllib.loads((FOLDERS / paper / "mechanisms.toml").read_text(encoding="utf-8"))
    assert set(document) == {"mechanism"}
    assert keys_are_known(document["mechanism"])
    entries = mechanisms.read(paper)
    assert len(entries) >= 15
    assert not faults(entries), "\n".join(faults(entries))
    shown = mechanisms.mechanisms(paper)
    assert shown.startswith(f"{len(entries)} entries: ")
    assert shown.count("\n") == 2 + 2 + len(entries)


def test_a_table_has_a_row_for_each_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanisms, "FOLDERS", tmp_path)
    (tmp_path / "hpb").mkdir()
    (tmp_path / "hpb" / "mechanisms.toml").write_text(
        '[[mechanism]]\nwhere = "3.1"\nwhat = "first"\nstate = "built"\nplace = "a.rs: fn a"\n'
        '[[mechanism]]\nwhere = "Fig. 2"\nwhat = "second"\nstate = "differs"\nplace = ["a.rs: |b|", "b.rs: c"]\n'
        'note = "Because."\n'
    )
    assert mechanisms.mechanisms("hpb") == (
        "2 entries: 1 built, 1 built in another way.\n\n"
        "| where | what | state | how, and where in the sources |\n"
        "| --- | --- | --- | --- |\n"
        "| 3.1 | first | built | <small>`a.rs: fn a`</small> |\n"
        "| Fig. 2 | second | differs | Because.<br><small>`a.rs: \\|b\\|`</small><br><small>`b.rs: c`</small> |\n"
    )
