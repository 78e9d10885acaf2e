"""A drive without times, to count what GC copies and what mapping flushes write under many rules (MSFTL Fig. 5).

Blocks, flushes and the rules of GC are those of profile `msftl`; GC of translation blocks, directories and all times
are left out. `rules` runs it where the simulator would take hours.
"""

from collections import deque
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Units = npt.NDArray[np.int32]

CAPACITY_UNITS = 129_168 * 256
BLOCK_UNITS, BLOCKS = 2304, 15_040
CHUNK_UNITS = 4
# gc.hurried_superblocks: from here on writes pay for all of GC.
LEVEL = 64
# A victim counts as gaining at least a 32nd (the pace "gained"), so a written block pays for at most 32 victims.
MOST_VICTIMS = 32
# scheme.*.gc_mib: copies for which the mapping cache has room.
CACHED_COPIES = 90 * 256
# Entries of a piece and pieces in a NAND page of 16 KiB, for each FTL.
PIECES = {"base": (4096, 1), "mini": (1024, 4), "one": (256, 16)}
NO_BLOCK = -1


class Drive:
    """Blocks of 9 MiB; the host and GC fill one each. GC takes the block with the fewest valid units.

    It does so when `LEVEL` blocks are free; with `every`, also whenever the host's block is full, as Sec. 3.4 has it
    for translation blocks.
    """

    def __init__(self, *, every: bool = False) -> None:
        self.every = every
        self.place = np.full(CAPACITY_UNITS, NO_BLOCK, np.int32)
        self.content = np.full(BLOCKS * BLOCK_UNITS, NO_BLOCK, np.int32)
        self.valid = np.zeros(BLOCKS, np.int32)
        self.closed = np.zeros(BLOCKS, bool)
        self.free = deque(range(BLOCKS))
        # Blocks that are left alone while GC finds anything to collect.
        self.unwritten: deque[int] = deque()
        self.collecting = (NO_BLOCK, BLOCK_UNITS)
        self.copied: list[Units] = []

    def fill_at_once(self, chunks: Units) -> None:
        """Writes chunks to a new drive, with no GC: the last write of one is valid."""
        n = len(chunks) * CHUNK_UNITS
        self.content[:n] = units_of(chunks)
        places = self.place.reshape(-1, CHUNK_UNITS)
        places[chunks] = np.arange(n, dtype=np.int32).reshape(-1, CHUNK_UNITS)
        held = places[places[:, 0] >= 0, 0]
        self.valid += CHUNK_UNITS * np.bincount(held // BLOCK_UNITS, minlength=BLOCKS).astype(np.int32)
        self.closed[: n // BLOCK_UNITS] = True
        for _ in range(-(-n // BLOCK_UNITS)):
            self.free.popleft()

    def leave_unwritten(self) -> None:
        """Leaves no block free that was not written, but for those at which GC works."""
        self.unwritten = deque(list(self.free)[LEVEL:])
        self.free = deque(list(self.free)[:LEVEL])

    def write_block(self, units: Units) -> None:
        """The host writes a block, after GC has made room as the rule says."""
        if self.every:
            self.collect()
        for _ in range(MOST_VICTIMS):
            if len(self.free) >= LEVEL or not self.collect():
                break
        block = self.next_block()
        first = block * BLOCK_UNITS
        places = np.arange(first, first + BLOCK_UNITS, dtype=np.int32)
        old = self.place[units]
        self.place[units] = places
        # Of a unit that is written twice, the last counts.
        last = self.place[units] == places
        lost = old[last & (old >= 0)] // BLOCK_UNITS
        self.valid -= np.bincount(lost, minlength=BLOCKS).astype(np.int32)
        self.content[first : first + BLOCK_UNITS] = units
        self.valid[block] += np.count_nonzero(last)
        self.closed[block] = True

    def next_block(self) -> int:
        """A free block; one of those left alone if there is no other."""
        return self.free.popleft() if self.free else self.unwritten.popleft()

    def put(self, block: int, offset: int, units: Units) -> None:
        """Programs units, no two alike, in a block."""
        first = block * BLOCK_UNITS + offset
        self.content[first : first + len(units)] = units
        self.place[units] = np.arange(first, first + len(units), dtype=np.int32)
        self.valid[block] += len(units)
        self.closed[block] = offset + len(units) == BLOCK_UNITS

    def collect(self) -> bool:
        """Copies a victim's valid units. False if there is none with an invalid one."""
        block = int(np.where(self.closed, self.valid, BLOCK_UNITS).argmin())
        if not self.closed[block] or self.valid[block] == BLOCK_UNITS:
            return False
        places = np.arange(block * BLOCK_UNITS, (block + 1) * BLOCK_UNITS, dtype=np.int32)
        held = self.content[places]
        copies = held[(held >= 0) & (self.place[held] == places)]
        self.closed[block], self.valid[block] = False, 0
        self.copied.append(copies)
        while len(copies):
            open_block, offset = self.collecting
            if offset == BLOCK_UNITS:
                open_block, offset = self.next_block(), 0
            now, copies = copies[: BLOCK_UNITS - offset], copies[BLOCK_UNITS - offset :]
            self.put(open_block, offset, now)
            self.collecting = (open_block, offset + len(now))
        self.free.append(block)
        return True


def units_of(chunks: Units) -> Units:
    """The units of chunks."""
    units: Units = np.add.outer(chunks * np.int32(CHUNK_UNITS), np.arange(CHUNK_UNITS, dtype=np.int32)).ravel()
    return units


def flush_units(changed: Units, entries: int, per_page: int) -> int:
    """Units of 4 KiB that a flush of these changes writes: its pieces, collected in NAND pages."""
    touched = np.zeros(CAPACITY_UNITS // entries + 1, bool)
    touched[changed // entries] = True
    return -(-int(np.count_nonzero(touched)) // per_page) * 4


def replayed(drive: Drive, units: Units, traces: Units, count: int) -> dict[str, list[float]]:
    """Writes `units`, of which each belongs to a trace, and counts what is written meanwhile, by trace.

    A flush comes after every block of the host, and whenever copies fill the mapping cache.
    """
    found = {name: np.zeros(count) for name in ("user", "copied", *PIECES)}
    drive.copied.clear()
    for start in range(0, len(units) // BLOCK_UNITS * BLOCK_UNITS, BLOCK_UNITS):
        own = units[start : start + BLOCK_UNITS]
        drive.write_block(own)
        shares = np.bincount(traces[start : start + BLOCK_UNITS], minlength=count)
        copies = drive.copied
        found["user"] += shares
        found["copied"] += shares * (sum(map(len, copies)) / BLOCK_UNITS)
        for flushed in flushes(own, copies):
            for name, (entries, per_page) in PIECES.items():
                found[name] += shares * (flush_units(flushed, entries, per_page) / BLOCK_UNITS)
        drive.copied.clear()
    return {name: values.tolist() for name, values in found.items()}


def flushes(own: Units, copies: list[Units]) -> Iterator[Units]:
    """What each flush has changed while a block of the host was written."""
    waiting: list[Units] = []
    for victim in copies:
        if sum(map(len, waiting)) + len(victim) > CACHED_COPIES:
            yield np.concatenate(waiting)
            waiting = []
        waiting.append(victim)
    yield np.concatenate([*waiting, own])
