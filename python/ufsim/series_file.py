"""Time series at a chosen step, as Parquet files: `ufsim run --series`.

A row is an interval. The columns are those of `ufsim.columns("series")`, which the file also explains itself. The rows
are written while the run goes on, so a run of any length needs memory for a few of them.
"""

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ufsim import outputs
from ufsim.request_file import schema
from ufsim.request_log import Columns, arrays

if TYPE_CHECKING:
    from ufsim.spec import Spec


class SeriesFile:
    """Writes a series to a file of `outputs.replacing`; `take` is what the core calls with its rows."""

    def __init__(self, beside: Path, spec: "Spec") -> None:
        import pyarrow.parquet as parquet

        self._schema = schema(spec, "series")
        self._file = outputs.opened(beside)
        self._writer = parquet.ParquetWriter(self._file, self._schema, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            self._writer.close()

    def take(self, columns: Columns) -> None:
        """Writes some rows."""
        import numpy as np
        import pyarrow as pa

        values = {
            name: pa.array(array, mask=np.isnan(array) if array.dtype.kind == "f" else None)
            for name, array in arrays(columns).items()
        }
        self._writer.write_table(pa.table([values[field.name] for field in self._schema], schema=self._schema))
