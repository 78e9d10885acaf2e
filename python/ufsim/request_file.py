"""Logs of requests of any length: a Parquet file that grows while the run goes on.

A row is a request, in the order of completion. The columns are those of `ufsim.columns("log")`, which the file
also explains itself: each field has its `unit` and `meaning`, and the file says what was run. A run needs memory for
some pieces of `PIECE` rows, whatever its length. The file takes its place only when the run has ended.
"""

import json
import threading
from dataclasses import asdict
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ufsim import _core
from ufsim.columns import FILES, REAL, SWITCH, WIDE, WORD, Column
from ufsim.request_log import FLAGS, KINDS, OUTCOMES

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from ufsim.spec import Spec

    Arrays = dict[str, np.ndarray[Any, Any]]

# Requests that are handed over at a time: a row group of the file.
PIECE = 1 << 17
# Pieces that wait to be written; each takes about 40 MB.
WAITING = 2
ENDING = ".parquet"
# Columns with few values; for the others a dictionary of the values would cost more than it saves.
FEW = ("kind", "process", "outcome", "bytes", "units", "measured", "failed")
# How the file has whole numbers of columns with many values: by their differences. Half of the time to write them, and
# half of the bytes.
DIFFERENCES = "DELTA_BINARY_PACKED"
# Columns whose smallest and largest values the file has for each row group, so that readers can skip some.
TIMES = ["arrival_ns", "completion_ns", "latency_ns"]
# Columns of the core that are places in a list of words, and the words.
WORDS = {"kind": KINDS, "outcome": OUTCOMES}
SWITCHES = ("measured", "failed")
# The key of the file's own metadata under which it says what was run.
WHAT_WAS_RUN = b"ufsim"


class RequestFile:
    """Writes a log; `take` is what the core calls with each piece.

    A thread of its own makes rows of the file from a piece, so that the run need not wait for it as long as it keeps
    up. At most `WAITING` pieces wait for it.
    """

    def __init__(self, path: Path, spec: "Spec") -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as parquet

        self._schema = schema(spec)
        self._writer = parquet.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            use_dictionary=[name for name in self._schema.names if name in FEW],
            column_encoding={
                field.name: DIFFERENCES for field in self._schema if field.type == pa.uint64() and field.name not in FEW
            },
            write_statistics=TIMES,
        )
        self._zeros = pa.array(np.zeros(PIECE, np.uint64))
        self._pieces: Queue[tuple[_core.LogPiece, list[str]] | None] = Queue(WAITING)
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._write, name=f"log {path.name}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pieces.put(None)
        self._thread.join()
        try:
            self._writer.close()
        except BaseException as failed:
            self._failed = self._failed or failed
        if self._failed and error is None:
            raise self._failed

    def take(self, piece: _core.LogPiece, processes: list[str]) -> None:
        """Has a piece written; raises what an earlier one has raised."""
        if self._failed:
            raise self._failed
        self._pieces.put((piece, processes))

    def _write(self) -> None:
        """Writes pieces until there are no more. After a failure it only takes them, so that nobody waits for ever."""
        rows, arrays = _core.LogRows(), empty()
        while (piece := self._pieces.get()) is not None:
            if self._failed is None:
                try:
                    self._add(rows, *piece, arrays)
                except BaseException as failed:
                    self._failed = failed

    def _add(self, rows: _core.LogRows, piece: _core.LogPiece, processes: list[str], arrays: "Arrays") -> None:
        import pyarrow as pa

        part = {name: array[: len(piece)] for name, array in arrays.items()}
        zero = rows.fill(piece, [array.view("u1") for array in part.values()])
        written = {name: array for name, array in part.items() if name not in zero}
        values = table_columns(written, processes) | dict.fromkeys(zero, self._zeros[: len(piece)])
        self._writer.write_table(pa.table([values[field.name] for field in self._schema], schema=self._schema))


def empty() -> "Arrays":
    """Arrays for the columns of a piece."""
    import numpy as np

    return {name: np.zeros(PIECE, dtype) for name, dtype in _core.log_columns()}


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


def table_columns(rows: "Arrays", processes: list[str]) -> "dict[str, pa.Array]":
    """The core's columns as the file has them."""
    import numpy as np
    import pyarrow as pa

    flags = rows["flags"]
    values = {name: pa.array((flags >> bit & 1).astype(bool)) for bit, name in enumerate(FLAGS)}
    names = {**{name: list(words) for name, words in WORDS.items()}, "process": processes or [""]}
    for name, array in rows.items():
        if name in names:
            # A place behind the last word stands for none.
            places = pa.array(array.astype(np.int32), mask=array >= len(names[name]))
            values[name] = pa.DictionaryArray.from_arrays(places, pa.array(names[name], pa.string()))
        elif name in SWITCHES:
            values[name] = pa.array(array.astype(bool))
        elif array.dtype.kind == "f":
            values[name] = pa.array(array, mask=np.isnan(array))
        else:
            values[name] = pa.array(array.astype(np.uint64, copy=False))
    return values


def what_was_run(schema: "pa.Schema") -> dict[str, Any]:
    """What a log says of its run; raises `ValueError` if it is no log."""
    said = (schema.metadata or {}).get(WHAT_WAS_RUN)
    missing = [column.name for column in FILES["log"] if column.name not in schema.names]
    if said is None or missing:
        raise ValueError("it does not say what was run" if said is None else f"it has no column '{missing[0]}'")
    run: dict[str, Any] = json.loads(said)
    return run
