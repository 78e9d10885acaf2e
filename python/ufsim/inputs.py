"""What a run hangs on, and the names of results by that: a result of other inputs is never taken for one of these.

A name is a digest of the simulator's version, with its sources, of options, and of the contents of the files that they
name, with all that these name in their turn: profiles below a profile, files and variables of a job, traces of a
scenario. Where those files lie plays no part.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ufsim import _core
from ufsim.bundled import is_there, located
from ufsim.documents import Document, parse
from ufsim.spec import DEFAULT_SCHEME, Spec
from ufsim.toml_files import toml_tables

# Options of a run that name files.
FILES = ("workload", "profile", "age", "from_state")
# So much of a file shows whether it is a job: traces are large, and name no other files.
HEAD_BYTES = 1 << 16
# What makes a job hang on more than its text.
OUTSIDE = re.compile(r"\$\{|\binclude\b|\bread_iolog\b")
VARIABLE = re.compile(r"\$\{(\w+)\}")

# Digests by option and path, for as long as files stay as they are.
Known = dict[tuple[str, str], str]


def digest(inputs: Document) -> str:
    """A short digest of a run's inputs and of the simulator that makes it."""
    text = json.dumps({"version": _core.__version__, **inputs}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def of_spec(spec: Spec, known: Known | None = None) -> Document:
    """All that a run hangs on besides the simulator: the options of its specification as `contents` has them."""
    return contents(parse(spec.to_json()), known)


def contents(options: Document, known: Known | None = None) -> Document:
    """Options with digests in the places of files, so that it does not matter where these lie.

    Who asks often says with `known` for how long a file is not looked at again.
    """
    known = {} if known is None else known
    found = dict(options)
    for name, path in files_of({name: located(str(options[name])) for name in FILES if options.get(name)}).items():
        if (name, path) not in known:
            known[name, path] = content(name, path)
        found[name] = known[name, path]
    for name in ("workload", "age"):
        if isinstance(text := options.get(name), str) and found[name] == text and OUTSIDE.search(text):
            found[name] = f"{text} {whole_job(text)}"
    return found


def files_of(options: dict[str, Any]) -> dict[str, str]:
    """Paths of the files that options name, by option: built-in profiles and jobs in a text are none."""
    return {name: str(options[name]) for name in FILES if options.get(name) and is_there(str(options[name]))}


def files_read(spec: Spec) -> list[str]:
    """Paths of all files that a run reads: those of its options, and those that these name in their turn."""
    read: list[str] = []
    for name, path in files_of({name: located(given) for name in FILES if (given := getattr(spec, name))}).items():
        read += [path, *extended(path)] if name == "profile" else map(str, whole(Path(path)))
    return read


def extended(profile: str) -> list[str]:
    """Paths of the profiles below a profile, but for built-in ones. One that is wrong is told elsewhere, and better."""
    with suppress(_core.ConfigError, OSError):
        return list(filter(is_there, parse(_core.profile_description(profile, "{}"))["extends"]))
    return []


def content(name: str, path: str) -> str:
    """A digest of what the file of an option says, with all that it names."""
    if name == "profile":
        return hashlib.sha256(resolved_profile(path).encode()).hexdigest()
    place = Path(path)
    own = file_digest(path)
    return own + whole_job(path) if name in ("workload", "age") and place.is_file() and is_job(place) else own


def resolved_profile(path: str) -> str:
    """A profile with what it extends as one text; one that is wrong is what is said against it."""
    try:
        # The first line says where its files lie.
        return _core.profile_toml(path, "{}").partition("\n")[2]
    except _core.ConfigError as error:
        return str(error)


def whole_job(job: str) -> str:
    """A name for a job with its variables and files, as the core reads them; nothing if it can not be read."""
    if not is_there(job) and not _core.is_inline_job(job):
        return ""
    try:
        return _core.age_key(Spec(workload="", scheme=DEFAULT_SCHEME, age=job).to_json())
    except _core.ConfigError:
        return ""


def file_digest(path: str) -> str:
    """A digest of a file and those that it names, or of all files of a directory with their names."""
    found = hashlib.sha256()
    for file in whole(Path(path)):
        found.update(f"{os.path.relpath(file, path)}\n".encode())
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


def whole(place: Path) -> list[Path]:
    """The files of a workload: those of its directory, or its own and those that it names, and these, and so on.

    A name that stands for no file is left out: the run will say so.
    """
    found: dict[Path, None] = {}
    left = [(place, False)]
    while left:
        path, included = left.pop(0)
        if path.is_dir():
            found |= dict.fromkeys(file for file in sorted(path.rglob("*")) if file.is_file())
        elif path.is_file() and path not in found:
            found[path] = None
            left += [(Path(os.path.normpath(path.parent / name)), job) for name, job in named(path, included)]
    return list(found)


def is_job(file: Path, included: bool = False) -> bool:
    """Whether a file is a job of fio, or one that begins as one does: with a section."""
    if included or file.suffix in (".fio", ".job"):
        return True
    with file.open("rb") as opened:
        head = opened.read(HEAD_BYTES).decode(errors="replace").lstrip("\ufeff")
    first = next((line for line in map(str.strip, head.splitlines()) if line and line[0] not in ";#"), "")
    return first.startswith("[") and not first.startswith("[[")


def named(file: Path, included: bool) -> Iterator[tuple[str, bool]]:
    """Names of files in a job or a scenario, as they stand there, and whether these are parts of the job."""
    if file.suffix == ".toml" and not included:
        try:
            tables = toml_tables(file, str(file))
        except _core.ConfigError:
            tables = {}
        apps = tables.get("app", [])
        asking = [*(apps if isinstance(apps, list) else []), tables.get("recorded")]
        yield from ((str(one["trace"]), False) for one in asking if isinstance(one, dict) and "trace" in one)
        if tables:
            return
    if not is_job(file, included):
        return
    for line in file.read_text(encoding="utf-8-sig", errors="replace").splitlines():
        said = VARIABLE.sub(lambda name: os.environ.get(name[1], ""), re.split("[;#]", line)[0]).strip()
        if part := re.match(r"include\s+(.+)", said):
            yield part[1], True
        elif logs := re.match(r"read_iolog\s*=\s*(.+)", said):
            yield from ((name.replace(r"\:", ":"), False) for name in re.split(r"(?<!\\):", logs[1]))
