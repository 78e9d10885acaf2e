"""The bundled trace is whole, and is what its README says."""

import re
from collections import Counter

import pytest

from blktrace import COMPLETE, DISCARD, FLUSH, FUA, META, QUEUE, SYNC, WRITE, Event, read
from conftest import SAMPLE


@pytest.fixture(scope="module")
def files() -> list[list[Event]]:
    return [read(path) for path in sorted(SAMPLE.glob("trace.*.gz"))]


@pytest.fixture(scope="module")
def requests(files: list[list[Event]]) -> list[Event]:
    events = [event for file in files for event in file if not event.is_note and event.what == QUEUE]
    return sorted(events, key=lambda event: event.time)


def kind(event: Event) -> str:
    if event.action & DISCARD:
        return "trims"
    if event.action & WRITE:
        return "writes" if event.bytes else "flushes"
    return "reads"


def stated(name: str) -> list[float]:
    """The numbers in the line of the README's table that begins with `name`."""
    readme = (SAMPLE / "README.md").read_text()
    line = re.search(rf"^\| {name} \|(.*)\|$", readme, re.MULTILINE)
    assert line, f"samples/app-mix/README.md has no line '{name}'"
    return [float(cell.strip() or 0) for cell in line[1].split("|")]


def test_the_sample_is_small() -> None:
    assert sum(path.stat().st_size for path in SAMPLE.iterdir()) < 1_000_000


def test_no_event_was_lost(files: list[list[Event]]) -> None:
    for file in files:
        sequence = [event.sequence for event in file if not event.is_note]
        assert sequence == list(range(sequence[0], sequence[0] + len(sequence)))


def test_every_request_completes_once(files: list[list[Event]], requests: list[Event]) -> None:
    completions = [event for file in files for event in file if not event.is_note and event.what == COMPLETE]
    assert Counter((e.sector, e.bytes, kind(e)) for e in completions) == Counter(
        (e.sector, e.bytes, kind(e)) for e in requests
    )


def test_requests_are_whole_pages_of_one_device(requests: list[Event]) -> None:
    assert {event.device for event in requests} == {253 << 20}
    assert all(event.sector % 8 == 0 and event.bytes % 4096 == 0 for event in requests)


def test_every_kind_and_flag_occurs(requests: list[Event]) -> None:
    for flag in (WRITE, FLUSH, SYNC, META, DISCARD, FUA):
        assert any(event.action & flag for event in requests), hex(flag)


@pytest.mark.parametrize("name", ["reads", "writes", "flushes", "trims"])
def test_the_readme_counts_what_is_there(name: str, requests: list[Event]) -> None:
    chosen = [event for event in requests if kind(event) == name]
    mib = sum(event.bytes for event in chosen) / 2**20
    fua = sum(1 for event in chosen if event.action & FUA)
    assert stated(name) == [len(chosen), round(mib, 1), fua]


def test_the_readme_states_the_duration(requests: list[Event]) -> None:
    seconds = (requests[-1].time - requests[0].time) / 1e9
    assert stated("seconds") == [round(seconds, 1), 0, 0]
