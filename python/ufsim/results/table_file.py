"""Parquet files of rows that come while a run goes on: logs of requests and series at a chosen step.

The columns are those of `ufsim.columns("log")` and `ufsim.columns("series")`, which the file also explains itself: each
field has its `unit` and `meaning`, and the file says what was run. A run needs memory for some parts of `PART` rows,
whatever its length. The file takes its place only when the run has ended.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ufsim import _core, inputs, outputs
from ufsim.results.columns import FILES, REAL, STAGE, SWITCH, WIDE, WORD, Column

if TYPE_CHECKING:
    import pyarrow as pa

    from ufsim.spec import Spec

# Requests that are handed over at a time; they become a row group of the file.
PART = 1 << 16
# Parts that wait to be written; each takes about 13 MB.
WAITING = 2
ENDING = ".parquet"
# The key of the file's own metadata under which it says what was run.
WHAT_WAS_RUN = b"ufsim"


class TableFile:
    """Writes rows to a file of `outputs.replacing`; `take` is what the core calls with some of them.

    A thread of its own makes columns and the file of them, so that the run need not wait for it as long as it keeps up.
    """

    def __init__(self, beside: Path, spec: "Spec", what: str) -> None:
        self._spec, self._what = spec, what
        self._file = outputs.opened(beside)
        self._parts: Queue[_core.LogPart | _core.Columns | None] = Queue(WAITING)
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._write, name=f"{what} {beside.name}", daemon=True)
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

    def take(self, part: "_core.LogPart | _core.Columns") -> None:
        """Has some rows written. After a failure they are let go: the run is not lost with its log."""
        self._parts.put(part)

    def _write(self) -> None:
        """Writes parts until there are no more, and ends the file."""
        parts: Iterator[Any] = iter(self._parts.get, None)
        try:
            # Here, because the run need not wait for these imports.
            import pyarrow.parquet as parquet

            made = schema(self._spec, self._what)
            # Nothing but plain numbers, lists of values and the oldest compression: every reader knows them.
            few = [one.name for one in FILES[self._what] if one.dtype == WORD or one.name.startswith(STAGE)]
            options: dict[str, Any] = {"compression": "snappy", "use_dictionary": few}
            with self._file, parquet.ParquetWriter(self._file, made, **options) as writer:
                for part in parts:
                    writer.write_table(_table(part, made, FILES[self._what]))
        except BaseException as failed:
            self._failed = failed
        # After a failure parts are only taken, so that nobody waits for ever.
        for _ in parts:
            pass


def _table(part: "_core.LogPart | _core.Columns", schema: "pa.Schema", declared: tuple[Column, ...]) -> "pa.Table":
    """Rows as a table of Arrow."""
    import pyarrow as pa

    columns, processes = (part, []) if isinstance(part, dict) else (part.columns(), part.processes)
    arrays = [_array(column, *columns[column.name], column.words or processes or [""]) for column in declared]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(column: Column, kind: str, data: bytes, words: Sequence[str]) -> "pa.Array":
    import numpy as np
    import pyarrow as pa

    values = np.frombuffer(data, kind)
    if column.dtype == WORD:
        places = pa.array(values.astype(np.int32), mask=values >= len(words))
        return pa.DictionaryArray.from_arrays(places, pa.array(words, pa.string()))
    return pa.array(values, mask=np.isnan(values) if column.dtype == REAL else None)


def schema(spec: "Spec", what: str) -> "pa.Schema":
    """The columns of a file of `FILES` with their units and meanings, and what the run is."""
    import pyarrow as pa

    run = {name: getattr(spec, name) for name in ("scheme", "workload", "profile", "seed")}
    run |= {"settings": {key: str(value) for key, value in spec.settings.items()}, "version": _core.__version__}
    run |= {"options": asdict(spec), "inputs": inputs.of_spec(spec)}
    return pa.schema([_field(column) for column in FILES[what]], {WHAT_WAS_RUN: json.dumps(run)})


def _field(column: Column) -> "pa.Field":
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
