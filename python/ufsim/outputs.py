"""Files that hold results. They are never half there, and one that cannot be written takes no other with it.

A file is written beside its place and renamed when it is complete. Before anything is simulated, `ready` asks whether
the place takes files at all.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# More than a table of a few schemes, so that a full disk is found before a simulation and not after it.
PROBE_BYTES = 64 * 1024

# A file and what writes it, to the path that it is handed.
Step = tuple[Path, Callable[[Path], object]]


class Unwritten(Exception):
    """Files that could not be written: a line for each, which names the file and says why."""

    def __init__(self, failures: list[str], *, printed: bool = False) -> None:
        super().__init__(failures)
        self.failures = failures
        # The result stands on standard output.
        self.printed = printed

    def __str__(self) -> str:
        return "; ".join(self.failures)


def ready(directory: Path) -> Path:
    """Makes a directory for files, and raises `Unwritten` unless it takes them."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe(directory)
    except OSError as error:
        raise Unwritten([told(directory, error)]) from error
    return directory


def probe(directory: Path) -> None:
    """Writes a file and removes it again; raises `OSError` if that is not possible."""
    path = directory / f".ufsim-probe.{os.getpid()}"
    try:
        with open(path, "wb") as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
            os.fsync(file.fileno())
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to; what is there in the end takes the place of `path`, unless writing fails."""
    # The ending stays: writers of pictures go by it.
    beside = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        yield beside
        with open(beside, "rb") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write(steps: Iterable[Step]) -> list[str]:
    """Writes files one after the other, whatever becomes of those before; returns a line for each that failed."""
    failures = []
    for path, writer in steps:
        try:
            with replacing(path) as beside:
                writer(beside)
        except OSError as error:
            failures.append(told(path, error))
    return failures


def text(content: str) -> Callable[[Path], object]:
    """What writes a text, to `write`."""
    return lambda path: path.write_text(content, encoding="utf-8")


def parquet(frame: "pd.DataFrame") -> Callable[[Path], object]:
    """What writes a data frame, to `write`."""
    return lambda path: frame.to_parquet(path, engine="pyarrow", index=False)


def told(path: Path, error: OSError) -> str:
    """What went wrong with a file, on one line."""
    return f"{path}: not written: {os.strerror(error.errno) if error.errno else error}"
