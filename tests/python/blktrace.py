"""Reads and writes blktrace's binary events, apart from the project's own reader."""

import gzip
import struct
from dataclasses import dataclass
from pathlib import Path

MAGIC = 0x65617407
HEADER = struct.Struct("<IIQQIIIIIHH")

QUEUE, COMPLETE = 1, 8
WRITE, FLUSH, SYNC, NOTIFY, META, DISCARD, FUA = (1 << (16 + bit) for bit in (1, 2, 3, 10, 12, 13, 15))


@dataclass(frozen=True)
class Event:
    sequence: int
    time: int
    sector: int
    bytes: int
    action: int
    pid: int
    device: int
    data: bytes

    @property
    def is_note(self) -> bool:
        return bool(self.action & NOTIFY)

    @property
    def what(self) -> int:
        return self.action & 0xFFFF


def read(path: Path) -> list[Event]:
    data = gzip.decompress(path.read_bytes())
    events, at = [], 0
    while at < len(data):
        magic, sequence, time, sector, size, action, pid, device, _cpu, _error, extra = HEADER.unpack_from(data, at)
        assert magic == MAGIC, f"{path} at {at}"
        at += HEADER.size + extra
        events.append(Event(sequence, time, sector, size, action, pid, device, data[at - extra : at]))
    return events


def event(sequence: int, time: int, sector: int, size: int, action: int) -> bytes:
    """One event of process 1 on device 253:0 and CPU 0."""
    return HEADER.pack(MAGIC, sequence, time, sector, size, action, 1, 253 << 20, 0, 0, 0)
