"""Logs of requests: every request of a run, kept when somebody wants it, as columns of numbers and as a data frame."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ufsim.names import check_range
from ufsim.results import frames
from ufsim.results.columns import KINDS, OUTCOMES, PROVENANCE, SCHEME, text_type

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ufsim.results.result import Result

# A log without a bound of its own keeps so many requests: some 100 MB.
MOST_REQUESTS = 1_000_000
FLAGS = ("fua", "sync", "meta", "readahead", "preflush")

# Type as numpy spells it, and values.
Columns = Mapping[str, tuple[str, bytes]]


@dataclass(frozen=True)
class RequestLog:
    """Requests in the order of their completion; those that came after it was full are only counted."""

    columns: Columns
    processes: list[str]
    left_out: int

    def __len__(self) -> int:
        return len(self.columns["measured"][1])

    def arrays(self) -> "dict[str, np.ndarray[Any, Any]]":
        """The columns of `ufsim.columns("log")` as arrays of numpy, which can not be written.

        What is missing is NaN. A column of words has places: in KINDS, OUTCOMES or `processes`; a place behind the last
        stands for none.
        """
        return arrays(self.columns)

    def frame(self, result: "Result") -> "pd.DataFrame":
        """What `Result.requests` gives."""
        import numpy as np
        import pandas as pd

        columns = self.arrays()

        def word(name: str, known: Sequence[str]) -> "pd.Categorical[Any]":
            places = columns[name].astype(int)
            return pd.Categorical.from_codes(np.where(places < len(known), places, -1), pd.Index(known))

        names = pd.Series([*self.processes, ""], dtype=text_type())
        makers = np.minimum(columns["process"].astype(int), len(self.processes))
        frame = pd.DataFrame(
            {
                "arrival_s": columns["arrival_ns"] / 1e9,
                "kind": word("kind", KINDS),
                **{name: columns[name] for name in ("sector", "bytes", *FLAGS)},
                "process": names.take(makers).astype("category").array,
                "latency_ns": columns["latency_ns"].astype("int64"),
                **{name: columns[name] for name in ("waiting_ns", "recorded_ns", "measured", "failed")},
                "outcome": word("outcome", OUTCOMES),
            }
        )
        run = frames.provenance(result)
        for column in (SCHEME, *PROVENANCE):
            value = run[column.name]
            known = pd.Categorical([value]).repeat(len(frame))
            frame[column.name] = known if column.name != "seed" else np.uint64(value)
        return frame[["scheme", *frame.columns.drop("scheme")]]


def arrays(columns: Columns) -> "dict[str, np.ndarray[Any, Any]]":
    """Columns of the core as arrays of numpy."""
    import numpy as np

    return {name: np.frombuffer(data, dtype=kind) for name, (kind, data) in columns.items()}


def room(log: bool | int) -> int:
    """How many requests a log is to hold; 0 stands for none."""
    if isinstance(log, bool):
        return MOST_REQUESTS if log else 0
    return check_range("log", log, 0, 1 << 32)
