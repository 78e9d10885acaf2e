"""The dummy files with which HP-UFS's authors age their volume for SQLite, as a trace of writes.

`script/sqlite/aging/test.sh` of github.com/s3yonsei/hpufs_public starts six writers at once: four of 60,000 files of 16
to 100 KB, byte by byte, and two of 300 files of 100 to 200 MB, 16 bytes at a time; the eraser beside them it does not
call. The files go through the page cache. So the device sees what Linux's flusher writes: every five seconds all that
is dirty of the files that have been dirty for 30 seconds. This is a model of that at the level of blocks, not of a file
system: each writer has an area of its own, in which its files lie in the order in which they are written back.
Directories, inodes, bitmaps and the journal, about one per cent of all, are left out.
"""

import hashlib
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import ufsim
from ufsim import StateCache, outputs

BLOCK = 4096
SECTOR = 512
# Most bytes of a request.
REQUEST = 512 << 10
# SQLite's volume lies below.
FIRST_BYTE = 256 << 20
# `vm.dirty_writeback_centisecs` and `vm.dirty_expire_centisecs`.
ROUND_SECONDS, EXPIRE_SECONDS = 5, 30
# Calls of read and write in a second of the guest's one processor, which all writers share: a guess. It says how much
# of a large file is written back at a time, here some 60 MiB, which fill four superblocks.
CALLS_PER_SECOND = 1_000_000


@dataclass
class Dirty:
    """What is dirty of a file: which one, since when, and how many bytes."""

    file: int
    since: float
    size: int = 0


@dataclass
class Writer:
    """A writer of files: how many, how large, and how many bytes it writes with a call."""

    files: int
    smallest: int
    span: int
    factor: int
    bytes_per_call: int
    area: int = 0
    left: int = 0
    dirty: deque[Dirty] = field(default_factory=deque)

    @property
    def writes(self) -> bool:
        """Has it something to write?"""
        return self.files > 0 or self.left > 0

    def write(self, calls: int, now: float, draw: random.Random) -> None:
        """Writes into the page cache."""
        room = calls * self.bytes_per_call
        while room > 0 and self.writes:
            if self.left == 0:
                self.files -= 1
                # bash's RANDOM has 15 bits.
                self.left = draw.randrange(1 << 15) * self.factor % self.span + self.smallest
            if not self.dirty or self.dirty[-1].file != self.files:
                self.dirty.append(Dirty(self.files, now))
            part = min(room, self.left)
            self.dirty[-1].size += part
            self.left, room = self.left - part, room - part

    def written_back(self, now: float) -> Iterator[tuple[int, int]]:
        """First byte and size of what is written back now, in whole blocks."""
        while self.dirty and self.dirty[0].since <= now - EXPIRE_SECONDS:
            size = -(-self.dirty.popleft().size // BLOCK) * BLOCK
            yield self.area, size
            self.area += size


def writers() -> list[Writer]:
    """The six of test.sh, with the sizes of its scripts."""
    small = [Writer(60_000, 16_384, 86_017, 1_000, 1) for _ in range(4)]
    big = [Writer(300, 104_857_600, 104_857_601, 100_000, 16) for _ in range(2)]
    return [*small, *big]


def written(seed: int) -> Iterator[tuple[int, int]]:
    """All that is written back, in its order: first byte and size."""
    draw = random.Random(seed)
    all_writers = writers()
    at = FIRST_BYTE
    for writer in all_writers:
        # The largest that its files can be, so that areas do not meet.
        writer.area, at = at, at + writer.files * (writer.smallest + writer.span // 2 + BLOCK) * 21 // 20
    now = 0.0
    while any(writer.writes or writer.dirty for writer in all_writers):
        busy = [writer for writer in all_writers if writer.writes]
        for writer in busy:
            writer.write(CALLS_PER_SECOND * ROUND_SECONDS // len(busy), now, draw)
        now += ROUND_SECONDS
        for writer in all_writers:
            yield from writer.written_back(now)


def trace(seed: int) -> Path:
    """The trace of these writes; it is kept with the aged states."""
    key = hashlib.sha256(repr((ufsim.__version__, seed)).encode()).hexdigest()
    path = StateCache().directory / f"hp-ufs-dummy-files-{key[:16]}.csv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with outputs.replacing(path) as beside, outputs.opened(beside) as file:
            file.write(b"time_ns,op,device,sector,bytes,flags,latency_ns,process\n")
            for first, size in written(seed):
                for start in range(0, size, REQUEST):
                    part = min(REQUEST, size - start)
                    file.write(f"0,write,sd,{(first + start) // SECTOR},{part},,,writer\n".encode())
    return path
