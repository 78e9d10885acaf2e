"""Locks between processes. The system takes them back from a process that dies, so none is ever stale."""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_SECONDS = 0.2


@contextmanager
def held(path: Path, waits: Callable[[bool], None]) -> Iterator[None]:
    """Holds the lock of a file, which is there only meanwhile.

    As long as another process has it, `waits` is called, at first with `True`; what it raises ends the waiting. On a
    file system without locks nothing is locked.
    """
    descriptor = _taken(path, waits)
    try:
        yield
    finally:
        # First the name, then the lock: whoever opens the name anew gets a file that nobody else holds.
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _taken(path: Path, waits: Callable[[bool], None]) -> int:
    first = True
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            waits(first)
            first = False
            time.sleep(PATIENCE_SECONDS)
            continue
        except OSError:
            return descriptor
        if _is_named(path, descriptor):
            return descriptor
        # Whoever held it has removed the name since we opened it.
        os.close(descriptor)


def _is_named(path: Path, descriptor: int) -> bool:
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(named, os.fstat(descriptor))
