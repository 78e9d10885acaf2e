"""The only place that writes files. They are never half there, and one that cannot be written takes no other with it.

A file is written beside its place and renamed when it is complete: after the end of the process at any moment the old
file is there or the new one. What is there is replaced only if it is a file of the same kind, as its first bytes tell:
no table takes the place of a picture, and nothing that of a live device's data. Symbolic links are not followed. Before
anything is simulated, `ready` and `ready_file` ask whether a place takes files, and `apart` whether one is an input.

Unfinished files are called `.unfinished-NUMBER-NAME`, as those of the core (crates/files/src/replace.rs). Whoever
writes one holds its lock, so that those of processes that have died are known, and removed by the next writer.
"""

import errno
import fcntl
import io
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ufsim.bundled import is_there

if TYPE_CHECKING:
    import pandas as pd
    from _typeshed import ReadableBuffer
    from matplotlib.figure import Figure

# More than a table of a few schemes, so that a full disk is found before a simulation and not after it.
PROBE_BYTES = 64 * 1024
# Bytes by which a kind is told.
HEAD = 4096
# Unfinished files of one name that there may be at the same time; of the first numbers, dead ones are removed.
MOST, TIDIED = 1000, 8
# As much of a name as its unfinished file has, so that it is not too long for the disk.
NAME_BYTES = 200
UNFINISHED = ".unfinished-"
# Nothing that opening could wait for or set off.
CAREFULLY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

# A file and what writes it, to the path that it is handed.
Step = tuple[Path, Callable[[Path], object]]


class Unwritten(Exception):
    """Files that could not be written: a line for each, which names the file and says why."""

    def __init__(self, failures: list[str], *, printed: bool = False, done: Any = None) -> None:
        super().__init__(failures)
        self.failures = failures
        # The result of the run whose files these are, if it has ended.
        self.done = done
        # The result stands on standard output.
        self.printed = printed

    def __str__(self) -> str:
        return "; ".join(self.failures)


@dataclass(frozen=True)
class Kind:
    """What files of a kind have in common: what one is called behind "is no", and how it begins."""

    name: str
    begins: Callable[[bytes], bool]


# How files begin that no name may be mistaken for.
STORE, AGED, PARQUET, PNG, PDF = b"ufsim store ", b"ufsim aged state ", b"PAR1", b"\x89PNG\r\n\x1a\n", b"%PDF-"
# How texts of ufsim begin: comments of which one names it, or a latency log of fio, which has no comments.
OWN = re.compile(rb"(#.*\n)*?#.*\bufsim |\d+, \d+, [0-2], \d+, 0\n")


def _is_none_of_these(head: bytes) -> bool:
    return not head.startswith((STORE, AGED, PARQUET, PNG, PDF))


def _is_text(head: bytes) -> bool:
    return b"\0" not in head and _is_none_of_these(head)


def _is_own_text(head: bytes) -> bool:
    return _is_text(head) and OWN.match(head) is not None


def _is_markup(*tags: bytes) -> Callable[[bytes], bool]:
    return lambda head: _is_text(head) and any(tag in head.lower() for tag in tags)


def _starts(*magic: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(magic)


STATE = Kind("aged state of ufsim", _starts(AGED))
TEXT = Kind("text", _is_text)
OWN_TEXT = Kind("text of ufsim", _is_own_text)
OTHER = Kind("file of its kind", _is_none_of_these)
# By the ending of a name; an empty file is of every kind.
KINDS = {
    ".json": Kind("JSON document", lambda head: _is_text(head) and head.lstrip().startswith((b"{", b"["))),
    ".parquet": Kind("Parquet file", _starts(PARQUET)),
    ".png": Kind("PNG picture", _starts(PNG)),
    ".jpg": Kind("JPEG picture", _starts(b"\xff\xd8\xff")),
    ".jpeg": Kind("JPEG picture", _starts(b"\xff\xd8\xff")),
    ".pdf": Kind("PDF document", _starts(PDF)),
    ".svg": Kind("SVG picture", _is_markup(b"<svg")),
    ".html": Kind("HTML page", _is_markup(b"<html", b"<!doctype html")),
    # Packets of Perfetto: field 1, a message. It is also a line break, but no text has zeroes.
    ".pftrace": Kind("timeline", lambda head: head.startswith(b"\x0a") and b"\0" in head),
    ".state": STATE,
    **dict.fromkeys((".csv", ".txt", ".md"), TEXT),
    # What people write has these endings, too: profiles, traces, logs of other programs.
    **dict.fromkeys((".toml", ".log", ".ftrace"), OWN_TEXT),
}
# Files that this process is writing, and what they are to be called. A writer that is handed one and replaces files
# itself, writes to it.
_being_written: dict[Path, Path] = {}


def kind_of(path: Path) -> Kind:
    """The kind of files that a name is for."""
    return KINDS.get(path.suffix.lower(), OTHER)


def ready(directory: Path, names: Iterable[str] = ()) -> Path:
    """Makes a directory for files, and raises `Unwritten` unless it takes them.

    So it does if under one of the names something is there that is not to be replaced.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe(directory)
    except OSError as error:
        raise Unwritten([told(directory, error)]) from error
    failures = []
    for name in names:
        try:
            check(directory / name)
        except OSError as error:
            failures.append(told(directory / name, error))
    if failures:
        raise Unwritten(failures)
    return directory


def ready_file(path: Path, kind: Kind | None = None) -> Path:
    """The same for a single file, whose directory has to be there: a name that is not was typed wrong.

    Also raises `Unwritten` if what is there is not to be replaced.
    """
    if not path.parent.is_dir():
        raise Unwritten([told(path, FileNotFoundError(f"there is no directory '{path.parent}'"))])
    ready(path.parent)
    try:
        check(path, kind)
    except OSError as error:
        raise Unwritten([told(path, error)]) from error
    return path


def apart(places: Iterable[Path], inputs: Iterable[str | PathLike[str]]) -> None:
    """Raises `Unwritten` if one of the files to be written is also read, or if two are to go to one place.

    `inputs` may be any texts that a command was given; those that are no files are passed over.
    """
    read = {os.path.realpath(one) for one in inputs if is_there(os.fspath(one))}
    taken: set[str] = set()
    failures = []
    for place in places:
        # A link is never followed: `check` refuses it.
        real = os.path.join(os.path.realpath(place.parent), place.name)
        if any(real == there or _is_one_file(real, there) for there in read):
            failures.append(told(place, FileExistsError("it is an input of this command")))
        elif real in taken:
            failures.append(told(place, FileExistsError("another output of this command goes there, too")))
        taken.add(real)
    if failures:
        raise Unwritten(failures)


def _is_one_file(one: str, other: str) -> bool:
    """Whether two names are those of one file, as hard links are."""
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except (OSError, ValueError):
        return False


def probe(directory: Path) -> None:
    """Writes a file and removes it again; raises `OSError` if that is not possible."""
    with _unfinished(directory / "probe") as (path, descriptor):
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(bytes(PROBE_BYTES))
            os.fsync(descriptor)
        finally:
            path.unlink(missing_ok=True)


def check(path: Path, kind: Kind | None = None) -> None:
    """Raises `OSError` unless a file may be written there: nothing is, or a file of the same kind."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISLNK(mode):
        raise FileExistsError("it is a symbolic link, which is not followed or replaced")
    if not stat.S_ISREG(mode):
        raise FileExistsError("it is no ordinary file, which is not replaced")
    descriptor = os.open(path, os.O_RDONLY | CAREFULLY)
    try:
        head = os.read(descriptor, HEAD)
    finally:
        os.close(descriptor)
    kind = kind or kind_of(path)
    if head and not kind.begins(head):
        raise FileExistsError(f"what is there is no {kind.name}, and is not replaced")


@contextmanager
def replacing(path: Path, kind: Kind | None = None) -> Iterator[Path]:
    """A path to write to; what is there in the end takes the place of `path`, unless writing fails."""
    if path in _being_written:
        yield path
        return
    check(path, kind)
    with _unfinished(path) as (beside, descriptor):
        _being_written[beside] = path
        try:
            yield beside
            os.fsync(descriptor)
            # Asked again: a long run lies between.
            check(path, kind)
            beside.replace(path)
        except BaseException:
            # The error that counts is the first.
            with suppress(OSError):
                beside.unlink(missing_ok=True)
            raise
        finally:
            del _being_written[beside]


@contextmanager
def writing(path: Path, kind: Kind | None = None) -> Iterator[Path]:
    """The same within which other things go wrong, too: what goes wrong with the file is raised as `Unwritten`."""
    within = False
    try:
        with replacing(path, kind) as beside:
            within = True
            yield beside
            within = False
    except OSError as error:
        if within:
            raise
        raise Unwritten([told(path, error)]) from error


class _Named(io.FileIO):
    """An unfinished file whose failures name what it is to be called."""

    def __init__(self, beside: Path) -> None:
        self._place = _being_written[beside]
        with self._told():
            super().__init__(beside, "wb")

    def write(self, content: "ReadableBuffer") -> int:
        with self._told():
            return super().write(content)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Unwritten([told(self._place, error)]) from error


def opened(beside: Path) -> IO[bytes]:
    """Opens a file that `replacing` has handed out, for a writer that wants it open. It raises `Unwritten`."""
    return io.BufferedWriter(_Named(beside))


def append(path: Path, line: str) -> None:
    """Adds a line to a text file, whole or not at all unless the process is killed; then the next line begins anew."""
    check(path, TEXT)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | CAREFULLY, 0o666)
    try:
        length = os.fstat(descriptor).st_size
        begins = length == 0 or os.pread(descriptor, 1, length - 1) == b"\n"
        content = (line if begins else f"\n{line}").encode() + b"\n"
        try:
            if os.write(descriptor, content) < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, length)
            raise
    finally:
        os.close(descriptor)


def private_directory(path: Path) -> Path:
    """Makes a directory into which nobody else can put anything; raises `OSError` if somebody else has made it."""
    with suppress(FileExistsError):
        path.mkdir(mode=0o700, parents=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise FileExistsError(errno.EEXIST, "others may put files there", str(path))
    return path


@contextmanager
def _unfinished(path: Path) -> Iterator[tuple[Path, int]]:
    """A new, locked file beside a path. What was left there by processes that died is removed."""
    made = None
    for number in range(MOST):
        beside = _beside(path, number)
        if os.path.lexists(beside) and not _removed(beside):
            continue
        if made is None and (descriptor := _created(beside)) is not None:
            made = beside, descriptor
        if made is not None and number + 1 >= TIDIED:
            break
    if made is None:
        raise FileExistsError("there are too many unfinished files beside it")
    try:
        yield made
    finally:
        os.close(made[1])


def _beside(path: Path, number: int) -> Path:
    """The name of an unfinished file. The ending stays: writers of pictures go by it."""
    tail = os.fsdecode(os.fsencode(path.name)[-NAME_BYTES:])
    return path.with_name(f"{UNFINISHED}{number}-{tail}")


def _created(beside: Path) -> int | None:
    """Makes and locks a file; nothing if another process was faster."""
    try:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_EXCL | CAREFULLY, 0o666)
    except FileExistsError:
        return None
    # Before it was locked it looked left behind, and another process may have removed it.
    if _locked(descriptor, where_there_are_none=True) and _is_named(beside, descriptor):
        return descriptor
    os.close(descriptor)
    return None


def _removed(beside: Path) -> bool:
    """Removes an unfinished file if the process that wrote it has died. False if it has not, or that is not known."""
    try:
        if not stat.S_ISREG(beside.lstat().st_mode):
            return False
        descriptor = os.open(beside, os.O_RDWR | CAREFULLY)
    except OSError:
        return False
    try:
        # The name may have passed to a new file since this one was opened.
        if not (_locked(descriptor, where_there_are_none=False) and _is_named(beside, descriptor)):
            return False
        beside.unlink()
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _locked(descriptor: int, *, where_there_are_none: bool) -> bool:
    """Takes a lock; `where_there_are_none` is the answer on file systems that have no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return where_there_are_none
    return True


def _is_named(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except OSError:
        return False


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
    return lambda beside: beside.write_text(content, encoding="utf-8")


def parquet(frame: "pd.DataFrame") -> Callable[[Path], object]:
    """What writes a data frame, to `write`."""
    return lambda beside: frame.to_parquet(beside, engine="pyarrow", index=False)


def csv(frame: "pd.DataFrame") -> Callable[[Path], object]:
    """What writes a data frame as text with commas, to `write`."""
    return lambda beside: frame.to_csv(beside, index=False)


def picture(figure: "Figure", dpi: float | None = None) -> Callable[[Path], object]:
    """What writes a figure as it is, to `write`."""
    return lambda beside: figure.savefig(beside, dpi="figure" if dpi is None else dpi)


def save_parquet(frame: "pd.DataFrame", path: str | PathLike[str]) -> None:
    """Writes a data frame to a file. Raises `OSError` if it cannot."""
    with replacing(Path(path)) as beside:
        frame.to_parquet(beside, engine="pyarrow", index=False)


def told(path: Path, error: OSError) -> str:
    """What went wrong with a file, on one line."""
    return f"{path}: not written: {os.strerror(error.errno) if error.errno else error}"
