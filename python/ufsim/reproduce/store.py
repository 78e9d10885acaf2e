"""Names of the results of a reproduction, which are kept: one that was interrupted goes on where it stopped.

Each run is named by a digest of its inputs: version and sources of the simulator, the options of the run, and the
contents of the files that it reads. So figures that share a run share its result, whatever order they are made
in, and a result of other inputs is never taken for it. Removing the directory makes everything anew.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from ufsim.documents import parse
from ufsim.inputs import contents, digest, file_digest
from ufsim.reproduce.figure import Point, Run


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


@cache
def sources() -> str:
    """A digest of the package's modules, without the figures."""
    found = hashlib.sha256()
    for file in sorted(Path(str(files("ufsim"))).glob("*.py")):
        found.update(file.read_bytes())
    return found.hexdigest()
