"""Logs of requests as texts that other tools read: events of ftrace, and fio's latency logs.

Both are written when the run has ended: the events of ftrace come in the order of time, and requests in that of
completion. Until then a run needs some 60 bytes of memory for a request.
"""

import heapq
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ufsim import _core, outputs
from ufsim.results.columns import FILES

if TYPE_CHECKING:
    from ufsim.spec import Spec


class _Row(NamedTuple):
    """What is needed of a request, under the names of the log's columns."""

    arrival_ns: int
    kind: str
    sector: int
    bytes: int
    fua: bool
    sync: bool
    meta: bool
    readahead: bool
    preflush: bool
    process: str
    file: int
    completion_ns: int
    latency_ns: int
    measured: bool
    failed: bool
    stage_outside_ns: int
    stage_block_ns: int
    stage_driver_ns: int
    stage_fetch_ns: int


_KINDS = next(column.words for column in FILES["log"] if column.name == "kind")
# Data directions of fio's logs (fio, HOWTO, "Log File Formats"). It has no flushes there.
_DIRECTIONS = {"read": 0, "write": 1, "trim": 2}
# Operation codes of SCSI with their names as the kernel prints them.
_COMMANDS = {
    "read": (0x28, "READ_10"),
    "write": (0x2A, "WRITE_10"),
    "flush": (0x35, "SYNC"),
    "trim": (0x42, "UNMAP"),
}
_SECTOR, _BLOCK = 512, 4096
_DEVICE, _HOST = "8,0", "ufshc"


class TextLog:
    """Keeps what the core hands over and writes a text of it at the end; `take` is what the core calls."""

    def __init__(self, beside: Path, spec: "Spec") -> None:
        self._write = _WRITERS[beside.suffix]
        self._spec = spec
        self._file = outputs.opened(beside)
        self._parts: list[dict[str, Any]] = []
        self._processes: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            if error is None:
                for line in self._write(self._rows(), self._spec):
                    self._file.write(line.encode())

    def take(self, part: "_core.LogPart") -> None:
        """Keeps the columns that are needed."""
        import numpy as np

        columns = part.columns()
        self._parts.append({name: np.frombuffer(columns[name][1], columns[name][0]) for name in _Row._fields})
        self._processes = part.processes

    def _rows(self) -> "Iterator[_Row]":
        for part in self._parts:
            columns = {name: values.tolist() for name, values in part.items()}
            columns["kind"] = [_KINDS[place] for place in columns["kind"]]
            names = dict(enumerate(self._processes))
            makers = zip(columns["process"], columns["file"], strict=True)
            columns["process"] = [names.get(process) or f"job{job}" for process, job in makers]
            yield from map(_Row, *(columns[name] for name in _Row._fields))


def _fio_lines(rows: "Iterator[_Row]", spec: "Spec") -> Iterator[str]:
    """Lines of a latency log: milliseconds, nanoseconds, direction, bytes, priority."""
    for row in rows:
        if row.measured and row.kind in _DIRECTIONS:
            direction = _DIRECTIONS[row.kind]
            yield f"{row.completion_ns // 1_000_000}, {row.latency_ns}, {direction}, {row.bytes}, 0\n"


def _ftrace_lines(rows: "Iterator[_Row]", spec: "Spec") -> Iterator[str]:
    """Events of block layer and UFS driver in the order of time.

    A request is inserted when it arrives, issued when it leaves the block layer, sent when it leaves the driver, and
    complete when its latency ends. Its tag is the smallest that is free.
    """
    yield "# tracer: nop\n#\n"
    yield f"# ufsim {_core.__version__}: {spec.scheme} on {spec.workload}, profile {spec.profile}\n#\n"
    pids: dict[str, int] = {}
    waiting: list[tuple[int, int, str]] = []
    free: list[int] = []
    running: list[tuple[int, int]] = []
    tags, number = 0, 0
    for row in sorted(rows, key=lambda row: row.arrival_ns):
        while running and running[0][0] <= row.arrival_ns:
            heapq.heappush(free, heapq.heappop(running)[1])
        if free:
            tag = heapq.heappop(free)
        else:
            tag, tags = tags, tags + 1
        heapq.heappush(running, (row.completion_ns, tag))
        for at, event in _events(row, tag, pids.setdefault(row.process, 1000 + len(pids))):
            number += 1
            heapq.heappush(waiting, (at, number, event))
        while waiting and waiting[0][0] < row.arrival_ns:
            yield heapq.heappop(waiting)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]


def _events(row: _Row, tag: int, pid: int) -> Iterator[tuple[int, str]]:
    """The events of a request with their times, in ns."""
    arrival, completion = row.completion_ns - row.latency_ns, row.completion_ns
    issued = arrival + row.stage_outside_ns + row.stage_block_ns
    sent = issued + row.stage_driver_ns + row.stage_fetch_ns
    sectors = -(-row.bytes // _SECTOR)
    where = f"{_DEVICE} {_letters(row)}"
    place = f"{row.sector} + {sectors}"
    opcode, name = _COMMANDS[row.kind]
    command = (
        f"{_HOST}: tag: {tag}, DB: 0x0, size: {sectors * _SECTOR}, IS: 0, LBA: {row.sector * _SECTOR // _BLOCK}, "
        f"opcode: 0x{opcode:02x} ({name}), group_id: 0x0, hwq_id: 0"
    )
    failed = -5 if row.failed else 0
    for at, event in (
        (arrival, f"block_rq_insert: {where} {row.bytes} () {place} none,0,0 [{row.process}]"),
        (issued, f"block_rq_issue: {where} {row.bytes} () {place} none,0,0 [{row.process}]"),
        (sent, f"ufshcd_command: send_req: {command}"),
        (completion, f"ufshcd_command: complete_rsp: {command}"),
        (completion, f"block_rq_complete: {where} () {place} none,0,0 [{failed}]"),
    ):
        time = f"{at // 1_000_000_000}.{at % 1_000_000_000:09d}"
        yield at, f"{row.process:>16}-{pid} ({pid}) [000] ..... {time}: {event}\n"


def _letters(row: _Row) -> str:
    """The kernel's letters of a request (blktrace, `fill_rwbs`)."""
    if row.kind == "flush":
        return "FF"
    letters = "F" if row.preflush else ""
    letters += {"read": "R", "write": "W", "trim": "D"}[row.kind]
    flags = (("F", row.fua), ("A", row.readahead), ("S", row.sync), ("M", row.meta))
    return letters + "".join(letter for letter, is_set in flags if is_set)


# By the ending of the file.
_WRITERS: dict[str, Callable[["Iterator[_Row]", "Spec"], Iterator[str]]] = {
    ".ftrace": _ftrace_lines,
    ".log": _fio_lines,
}
ENDINGS = tuple(_WRITERS)
