"""Requests of traces that guests and models replay: the same ones, merged before either of them sees them."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

import ufsim

BLOCK, SECTOR = 4096, 512
#: A neighbour that comes so soon is of the same request, up to what the driver sends with a command.
PLUG_NS, MOST_BYTES = 50_000, 512 << 10
#: Two looks at the guest's clock, and two more until the next request.
SUBMIT_NS = 2_000
KINDS = {"read": "r", "write": "w"}
NAMES = {letter: name for name, letter in KINDS.items()}


@dataclass(frozen=True)
class Asked:
    """A request: when it comes, r or w, and its bytes on the disk."""

    ns: int
    kind: str
    at: int
    size: int

    def joined(self, other: "Asked") -> "Asked | None":
        """Both as one request, if the other goes on where this one ends; it comes when the other does."""
        near = other.kind == self.kind and other.at == self.at + self.size and other.ns - self.ns <= PLUG_NS
        if near and self.size + other.size <= MOST_BYTES:
            return Asked(other.ns, self.kind, self.at, self.size + other.size)
        return None

    def parts(self) -> "Iterator[Asked]":
        """What the block layer makes of it if it is too large for a command: several, at once."""
        for at in range(0, self.size, MOST_BYTES):
            yield Asked(self.ns, self.kind, self.at + at, min(MOST_BYTES, self.size - at))


def merged(requests: Iterable[Asked]) -> Iterator[Asked]:
    """What plugs make of neighbours."""
    last: Asked | None = None
    for one in requests:
        both = last.joined(one) if last else None
        if last and both is None:
            yield last
        last = both or one
    if last:
        yield last


def requests_of(trace: str | Path, device: str | None = None, clean: Sequence[str] = ()) -> list[Asked]:
    """Reads and writes of a trace. Flushes and marks of writes are left out, for fio's logs have no room for them."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "trace.csv"
        ufsim.trace_convert(trace, path, "csv", device=device, clean=list(clean))
        rows = pd.read_csv(path, comment="#")
    rows = rows[rows.op.isin(list(KINDS)) & (rows.bytes > 0)]
    found = (
        Asked(int(ns), KINDS[op], int(sector) * SECTOR, int(size))
        for ns, op, sector, size in zip(rows.time_ns, rows.op, rows.sector, rows.bytes, strict=True)
    )
    return list(apart(part for one in merged(found) for part in one.parts()))


def apart(requests: Iterable[Asked]) -> Iterator[Asked]:
    """One after another, as a task's system calls submit them: the first is sent before there is a choice."""
    last = -SUBMIT_NS
    for one in requests:
        last = max(one.ns, last + SUBMIT_NS)
        yield replace(one, ns=last)


def touched(requests: Iterable[Asked]) -> Iterator[Asked]:
    """Writes, by address, of all pages that requests read or write."""
    pages = sorted({page for one in requests for page in range(one.at // BLOCK, -(-(one.at + one.size) // BLOCK))})
    begin = 0
    for place, page in enumerate(pages, start=1):
        more = place < len(pages) and pages[place] == page + 1 and (place - begin) * BLOCK < MOST_BYTES
        if not more:
            yield Asked(0, "w", pages[begin] * BLOCK, (place - begin) * BLOCK)
            begin = place


def iolog(requests: Iterable[Asked]) -> str:
    """A log of fio, without times."""
    lines = "".join(f"/dev/sda {NAMES[one.kind]} {one.at} {one.size}\n" for one in requests)
    return f"fio version 2 iolog\n/dev/sda add\n/dev/sda open\n{lines}/dev/sda close\n"
