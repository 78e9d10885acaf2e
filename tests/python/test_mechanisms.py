"""The lists of what is in the papers: whole, in known states, and the places that they name are there."""

import sys
import tomllib
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import site_mechanisms  # noqa: E402
from site_mechanisms import Mechanism  # noqa: E402

PAGES = {page.stem: page for page in sorted((ROOT / "docs/papers").glob("*.md")) if page.stem != "index"}
REQUIRED = {"where", "what", "state"}
SOUND = Mechanism("III", "a thing", "built", ["README.md: ufsim"])


def faults(entries: list[Mechanism]) -> list[str]:
    """What is wrong with a list of entries."""
    twice = [what for what, number in Counter(entry.what for entry in entries).items() if number > 1]
    return [f"{what}: twice" for what in twice] + [fault for entry in entries for fault in faults_of(entry)]


def faults_of(entry: Mechanism) -> list[str]:
    found = [fault for fault in map(fault_of_place, entry.place) if fault]
    if entry.state not in site_mechanisms.STATES:
        found.append(f"no such state: {entry.state!r}")
    if entry.state in site_mechanisms.PLACED and not entry.place:
        found.append("needs a place")
    if entry.state in site_mechanisms.EXPLAINED and not entry.note:
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
    assert len(PAGES) == 5
    assert {path.stem for path in site_mechanisms.LISTS.glob("*.toml")} == set(PAGES)
    for paper, page in PAGES.items():
        assert f"\n## Every mechanism, table and figure\n\n<!-- mechanisms {paper} -->\n" in page.read_text(), page.name


@pytest.mark.parametrize("paper", PAGES)
def test_a_list_is_whole_and_its_places_are_there(paper: str) -> None:
    document = tomllib.loads((site_mechanisms.LISTS / f"{paper}.toml").read_text(encoding="utf-8"))
    assert set(document) == {"mechanism"}
    assert keys_are_known(document["mechanism"])
    entries = site_mechanisms.read(paper)
    assert len(entries) >= 15
    assert not faults(entries), "\n".join(faults(entries))
    shown = site_mechanisms.mechanisms(paper)
    assert shown.startswith(f"{len(entries)} entries: ")
    assert shown.count("\n") == 2 + 2 + len(entries)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, None),
        ({"where": ""}, "are needed"),
        ({"what": "a  thing"}, "blanks"),
        ({"state": "done"}, "no such state"),
        ({"state": "missing"}, "needs a note"),
        ({"state": "left out"}, "needs a note"),
        ({"state": "differs"}, "needs a note"),
        ({"state": "differs", "note": "why", "place": []}, "needs a place"),
        ({"place": []}, "needs a place"),
        ({"place": ["README.md"]}, "has no text"),
        ({"place": ["README.md: what no readme says"]}, "has no text"),
        ({"place": ["NOTHING.md: ufsim"]}, "no such file"),
        ({"place": ["../README.md: ufsim"]}, "no such file"),
        ({"place": ["README.md: ufsim", "README.md: ufsim"]}, "stands twice"),
    ],
)
def test_a_fault_in_an_entry_is_found(change: dict[str, Any], fault: str | None) -> None:
    found = faults([replace(SOUND, **change)])
    assert len(found) == (fault is not None)
    assert fault is None or fault in found[0]


def test_entries_that_are_alike_and_wrong_keys_are_found() -> None:
    assert faults([SOUND, replace(SOUND, where="IV")]) == ["a thing: twice"]
    entry = asdict(SOUND)
    assert keys_are_known([entry, {key: entry[key] for key in REQUIRED}])
    assert not keys_are_known([{**entry, "why": "no such key"}])
    assert not keys_are_known([{"where": "III", "what": "a thing"}])


def test_a_table_has_a_row_for_each_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_mechanisms, "LISTS", tmp_path)
    assert site_mechanisms.mechanisms("hpb") == "This list is not written yet."
    (tmp_path / "hpb.toml").write_text(
        '[[mechanism]]\nwhere = "3.1"\nwhat = "first"\nstate = "built"\nplace = "a.rs: fn a"\n'
        '[[mechanism]]\nwhere = "Fig. 2"\nwhat = "second"\nstate = "differs"\nplace = ["a.rs: |b|", "b.rs: c"]\n'
        'note = "Because."\n'
    )
    assert site_mechanisms.mechanisms("hpb") == (
        "2 entries: 1 built, 1 built in another way.\n\n"
        "| where | what | state | how, and where in the sources |\n"
        "| --- | --- | --- | --- |\n"
        "| 3.1 | first | built | <small>`a.rs: fn a`</small> |\n"
        "| Fig. 2 | second | differs | Because.<br><small>`a.rs: \\|b\\|`</small><br><small>`b.rs: c`</small> |\n"
    )
