"""Logs of requests of any length: a Parquet file that grows while the run goes on.

A row is a request, in the order of completion. The columns are those of `ufsim.columns("log")`, which the file
also explains itself: each field has its `unit` and `meaning`, and the file says what was run. The core makes the bytes
of the file. A run needs memory for a row group of `PIECE` rows, whatever its length. The file takes its place only when
the run has ended.
"""

import base64
import json
import threading
from dataclasses import asdict
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ufsim import _core, outputs
from ufsim.columns import FILES, REAL, SWITCH, WIDE, WORD, Column

if TYPE_CHECKING:
    import pyarrow as pa

    from ufsim.spec import Spec

# Requests of a row group of the file.
PIECE = _core.LOG_GROUP
# Requests that are handed over at a time: few, so that they are still in the processor's cache when they are taken.
PART = 1 << 13
# Parts that wait to be written; each takes about 1.5 MB.
WAITING = 8
ENDING = ".parquet"
# The key of the file's own metadata under which it says what was run.
WHAT_WAS_RUN = b"ufsim"
# The key under which readers of Arrow look for the types of columns.
ARROW_SCHEMA = b"ARROW:schema"


class RequestFile:
    """Writes a log to a file of `outputs.replacing`; `take` is what the core calls with each part.

    A thread of its own makes rows of the file from a part, so that the run need not wait for it as long as it keeps
    up. At most `WAITING` parts wait for it.
    """

    def __init__(self, beside: Path, spec: "Spec") -> None:
        self._spec = spec
        self._file = outputs.opened(beside)
        self._parts: Queue[tuple[_core.LogPiece, list[str]] | None] = Queue(WAITING)
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._write, name=f"log {beside.name}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parts.put(None)
        self._thread.join()
        if self._failed and error is None:
            raise self._failed

    def take(self, part: _core.LogPiece, processes: list[str]) -> None:
        """Has a part written; raises what an earlier one has raised."""
        if self._failed:
            raise self._failed
        self._parts.put((part, processes))

    def _write(self) -> None:
        """Writes parts until there are no more, and ends the file."""
        parts = iter(self._parts.get, None)
        try:
            with self._file:
                # Here, because the run need not wait for what this imports.
                made = schema(self._spec)
                about = [*(made.metadata or {}).items(), (ARROW_SCHEMA, base64.b64encode(made.serialize()))]
                log = _core.LogFile(made.names, about)
                for part in parts:
                    self._file.write(log.add(*part))
                self._file.write(log.end())
        except BaseException as failed:
            self._failed = failed
        # After a failure parts are only taken, so that nobody waits for ever.
        for _ in parts:
            pass


def schema(spec: "Spec", file: str = "log") -> "pa.Schema":
    """The columns of a file of `FILES` with their units and meanings, and what the run is."""
    import pyarrow as pa

    run = {name: getattr(spec, name) for name in ("scheme", "workload", "profile", "seed")}
    run |= {"settings": {key: str(value) for key, value in spec.settings.items()}, "version": _core.__version__}
    run["options"] = asdict(spec)
    return pa.schema([field(column) for column in FILES[file]], {WHAT_WAS_RUN: json.dumps(run)})


def field(column: Column) -> "pa.Field":
    """A column of the file."""
    import pyarrow as pa

    words = pa.dictionary(pa.int32(), pa.string())
    types = {WIDE: pa.uint64(), REAL: pa.float64(), SWITCH: pa.bool_(), WORD: words}
    metadata = {"unit": column.unit, "meaning": column.meaning}
    return pa.field(column.name, types[column.dtype], nullable=column.dtype not in (WIDE, SWITCH), metadata=metadata)


def what_was_run(schema: "pa.Schema") -> dict[str, Any]:
    """What a log says of its run; raises `ValueError` if it is no log."""
    said = (schema.metadata or {}).get(WHAT_WAS_RUN)
    missing = [column.name for column in FILES["log"] if column.name not in schema.names]
    if said is None or missing:
        raise ValueError("it does not say what was run" if said is None else f"it has no column '{missing[0]}'")
    run: dict[str, Any] = json.loads(said)
    return run
