"""Logs of requests: every request of a run, kept when somebody wants it, as columns of numbers and as a data frame."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ufsim import frames
from ufsim.columns import PROVENANCE, SCHEME, text_type
from ufsim.names import check_range

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ufsim.results import Result

# A log without a bound of its own keeps so many requests: some 100 MB.
MOST_REQUESTS = 1_000_000
KINDS = ("read", "write", "flush", "trim")
# In the order of their bits.
FLAGS = ("fua", "sync", "meta", "readahead", "preflush")
# Where the mapping of a read came from; the core has the number behind the last one for requests without.
OUTCOMES = ("host", "sram", "map")

# Type as numpy spells it, and values.
Columns = Mapping[str, tuple[str, bytes]]


@dataclass(frozen=True)
class RequestLog:
    """Requests in the order of their completion; those that came after it was full are only counted."""

    columns: Columns
    processes: list[str]
    left_out: int

    def __len__(self) -> int:
        return len(self.columns["kind"][1])

    def arrays(self) -> "dict[str, np.ndarray[Any, Any]]":
        """The core's columns as arrays of numpy, which share its memory and can not be written.

        `arrival_ns` from the beginning of the workload on, `kind` (place in KINDS), `sector` (512 B), `bytes`, `flags`
        (bits in the order of FLAGS), `process` (place in `processes`), `file` and `line` (where it stands in the
        trace), `recorded_ns` (NaN where the traced device is not known), `latency_ns`, `waiting_ns` until its first
        command was sent (NaN if none was), `measured`, `failed`, and `outcome` (place in OUTCOMES, or 3).
        """
        return arrays(self.columns)

    def frame(self, result: "Result") -> "pd.DataFrame":
        """What `Result.requests` gives."""
        import numpy as np
        import pandas as pd

        columns = self.arrays()
        outcome = np.where(columns["outcome"] < len(OUTCOMES), columns["outcome"].astype(int), -1)
        names = self.processes or [""]
        frame = pd.DataFrame(
            {
                "arrival_s": columns["arrival_ns"] / 1e9,
                "kind": pd.Categorical.from_codes(columns["kind"].astype(int), pd.Index(KINDS)),
                "sector": columns["sector"],
                "bytes": columns["bytes"],
                **{name: (columns["flags"] >> bit & 1).astype(bool) for bit, name in enumerate(FLAGS)},
                "process": pd.Series(names, dtype=text_type()).take(columns["process"]).astype("category").array,
                "latency_ns": columns["latency_ns"].astype("int64"),
                "waiting_ns": columns["waiting_ns"],
                "recorded_ns": columns["recorded_ns"],
                "measured": columns["measured"].astype(bool),
                "failed": columns["failed"].astype(bool),
                "outcome": pd.Categorical.from_codes(outcome, pd.Index(OUTCOMES)),
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
