"""This process's terminal, for the shell of a guest."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Descriptors for `Job.terminal`: what this process reads, and where it writes.

    Only processes of the foreground may read from a terminal, and a guest is none: a thread passes on what comes.
    """
    sys.stdout.flush()
    (guest, ours), out = os.pipe(), os.dup(1)
    for end in (guest, out):
        os.set_inheritable(end, True)
    threading.Thread(target=_pass_on, args=(ours,), daemon=True).start()
    try:
        yield guest, out
    finally:
        os.close(guest)
        os.close(out)


def _pass_on(to: int) -> None:
    # Without the buffer of sys.stdin: a thread that waits in there holds its lock when the process ends.
    with suppress(BrokenPipeError):
        while part := os.read(0, 4096):
            os.write(to, part)
    os.close(to)
