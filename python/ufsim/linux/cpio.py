"""Archives that a kernel unpacks as its first file system (cpio, "newc"), the same bytes for the same files."""

from collections.abc import Iterable
from dataclasses import dataclass

DIRECTORY, FILE, LINK = 0o040000, 0o100000, 0o120000


@dataclass(frozen=True)
class Entry:
    """A file, a directory or a symbolic link; ``data`` is what a link points to."""

    path: str
    mode: int
    data: bytes = b""


def file(path: str, data: bytes, *, executable: bool = False) -> Entry:
    """A file that anybody may read."""
    return Entry(path, FILE | (0o755 if executable else 0o644), data)


def directory(path: str) -> Entry:
    """A directory."""
    return Entry(path, DIRECTORY | 0o755)


def link(path: str, target: str) -> Entry:
    """A symbolic link."""
    return Entry(path, LINK | 0o777, target.encode())


def archive(entries: Iterable[Entry]) -> bytes:
    """The archive. Times and owners are 0, and numbers follow the order, so nothing of the machine is in it."""
    parts = []
    for number, entry in enumerate([*entries, Entry("TRAILER!!!", 0)], start=1):
        name = entry.path.encode() + b"\0"
        fields = (number, entry.mode, 0, 0, 1, 0, len(entry.data), 0, 0, 0, 0, len(name), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name
        parts += [head, _padding(len(head)), entry.data, _padding(len(entry.data))]
    return b"".join(parts)


def _padding(length: int) -> bytes:
    return b"\0" * (-length % 4)
