"""Results of runs on disk, one file for each: whatever was interrupted goes on where it stopped.

A file appears when it is complete, under the name that `ufsim.inputs` gives its inputs. Removing it makes it anew.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ufsim import outputs
from ufsim.documents import Document, parse
from ufsim.inputs import contents, digest

log = logging.getLogger("ufsim")


class RunStore:
    """A directory of results. A name stands for the inputs of one and the version of ufsim that has made it.

    A result has these `keys`.
    """

    def __init__(self, directory: Path, keys: Iterable[str] = ()) -> None:
        self.directory = outputs.ready(directory)
        self.keys = tuple(keys)

    def kept(self, inputs: Mapping[str, Any], make: Callable[[], Document]) -> Document:
        """What `make` gives of these inputs, from the directory if it is there.

        Inputs that are options of a run and name files (`workload`, `profile`, `age`, `from_state`) stand for the
        contents of these files, wherever they lie.
        """
        name = digest(contents(dict(inputs)))
        document = self.read(name)
        if document is None:
            document = make()
            self.write(name, document)
        return document

    def read(self, name: str) -> Document | None:
        """A result, if it is there. One that cannot be read is made again."""
        path = self.path(name)
        try:
            document = parse(path.read_text(encoding="utf-8"))
            if missing := [key for key in self.keys if key not in document]:
                raise ValueError(f"no '{missing[0]}' in it")
            return document
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
