"""Times between dispatches and completions of requests, under the names that firmware teams give them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

# Stages of a request before its first command is sent to the device.
BEFORE = ("outside", "block", "driver", "fetch")


def dispatch_columns(log: "pd.DataFrame") -> "pd.DataFrame":
    """The requests of a log that `ufsim run --log` has written, in the order of dispatch, with five columns more.

    `dispatch_ns` is when the driver sent a request to the device. `dtoc_ns` is from its dispatch to its completion,
    `ctoc_ns` from the completion before it to its own, `ctod_ns` from the last completion before its dispatch to its
    dispatch; both are missing where there is no such completion. `qd` is how many requests were at the device when it
    was dispatched, itself included.
    """
    import numpy as np

    sent = log["completion_ns"].astype("int64") - log["latency_ns"].astype("int64")
    for stage in BEFORE:
        sent = sent + log[f"stage_{stage}_ns"].astype("int64")
    frame = log.assign(dispatch_ns=sent).sort_values("dispatch_ns", kind="stable")
    sent_ns, ended_ns = frame["dispatch_ns"].to_numpy(), frame["completion_ns"].to_numpy(np.int64)
    ended = np.sort(ended_ns)
    # Completions at the same moment follow each other at once.
    earlier = np.searchsorted(ended, ended_ns, side="left")
    repeats = frame.groupby("completion_ns").cumcount().to_numpy()
    before = earlier + repeats - 1
    frame["dtoc_ns"] = ended_ns - sent_ns
    frame["ctoc_ns"] = np.where(before >= 0, ended_ns - ended[np.maximum(before, 0)], np.nan)
    gone = np.searchsorted(ended, sent_ns, side="right")
    frame["ctod_ns"] = np.where(gone > 0, sent_ns - ended[np.maximum(gone - 1, 0)], np.nan)
    frame["qd"] = np.arange(1, len(frame) + 1) - gone
    return frame
