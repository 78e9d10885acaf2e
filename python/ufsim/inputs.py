"""Names of results by what they were made from: a result of other inputs is never taken for one of these.

A name is a digest of the simulator's version, with its sources, of options, and of the contents of the files that they
name. Where those files lie plays no part.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from ufsim import _core
from ufsim.documents import Document

# Options of a run that name files.
FILES = ("workload", "profile", "age", "from_state")


def digest(inputs: Document) -> str:
    """A short digest of a run's inputs and of the simulator that makes it."""
    text = json.dumps({"version": _core.__version__, **inputs}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def contents(options: Document) -> Document:
    """Options with digests in the places of files, so that it does not matter where these lie."""
    return options | {name: file_digest(path) for name, path in files_of(options).items()}


def files_of(options: dict[str, Any]) -> dict[str, str]:
    """Paths of the files that options name, by option: built-in profiles and jobs in a text are none."""
    return {name: str(options[name]) for name in FILES if options.get(name) and is_there(str(options[name]))}


def is_there(path: str) -> bool:
    """Whether a text names a file; a job of many options is too long a name for some systems."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


@cache
def file_digest(path: str) -> str:
    """A digest of a file, or of all files of a directory with their names."""
    place = Path(path)
    found = hashlib.sha256()
    for file in sorted(place.rglob("*")) if place.is_dir() else [place]:
        if file.is_file():
            found.update(f"{file.relative_to(place)}\n".encode())
            found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()
