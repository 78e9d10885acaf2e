"""Results of runs on disk: a reproduction that was interrupted goes on where it stopped.

One file for each run, named by a digest of its inputs: version and sources of the simulator, the options of the run,
and the contents of the files that it reads. So figures that share a run share its result, whatever order they are made
in, and a result of other inputs is never taken for it. Removing the directory makes everything anew.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import logging
from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from ufsim import _core, outputs
from ufsim.documents import Document, parse
from ufsim.reproduce.figure import Point, Run

# Options of a run that name files.
FILES = ("workload", "profile", "age", "from_state")

log = logging.getLogger("ufsim")


class RunStore:
    """A directory of results."""

    def __init__(self, directory: Path) -> None:
        self.directory = outputs.ready(directory)

    def read(self, name: str) -> Document | None:
        """A result, if it is there. One that cannot be read is made again."""
        path = self.path(name)
        try:
            return parse(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            log.warning("%s: %s; the run is made again", path, error)
            return None

    def write(self, name: str, document: Document) -> None:
        """Keeps a result. Raises `ufsim.outputs.Unwritten` if it cannot."""
        failures = outputs.write([(self.path(name), outputs.text(json.dumps(document) + "\n"))])
        if failures:
            raise outputs.Unwritten(failures)

    def path(self, name: str) -> Path:
        """Where a result is or would be kept."""
        return self.directory / f"{name}.json"


def name_of(point: Run | Point) -> str | None:
    """The name of a run's result; `None` for a point that does not say what it depends on, and is made each time."""
    if isinstance(point, Run):
        return digest({"options": contents(parse(point.spec.to_json()))})
    if point.inputs is None:
        return None
    # Columns of a point are made in Python, so that these sources are inputs, too.
    module = inspect.getsourcefile(code_of(point.measure)) or ""
    return digest({"inputs": contents(dict(point.inputs)), "module": file_digest(module), "python": sources()})


def code_of(measure: Callable[[], Any]) -> Callable[..., Any]:
    """The function or class that measures a point."""
    code = measure.func if isinstance(measure, partial) else measure
    return code if inspect.isfunction(code) else type(code)


def digest(inputs: dict[str, Any]) -> str:
    """A short digest of a run's inputs and of the simulator that makes it."""
    text = json.dumps({"version": _core.__version__, **inputs}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def contents(options: Document) -> Document:
    """Options with digests in the places of files, so that it does not matter where these lie."""
    named = {name: Path(options[name]) for name in FILES if options.get(name)}
    return options | {name: file_digest(str(path)) for name, path in named.items() if path.exists()}


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


@cache
def sources() -> str:
    """A digest of the package's modules, without the figures."""
    found = hashlib.sha256()
    for file in sorted(Path(str(files("ufsim"))).glob("*.py")):
        found.update(file.read_bytes())
    return found.hexdigest()
