"""Whether a live device keeps its times: by how much replies have left late, beside what they are late for."""

from collections.abc import Mapping
from typing import Any

from ufsim.results.formats import duration

# Lateness that most replies have is no more than this part of the latency that it adds to.
SHARE = 0.1


def warning(stats: Mapping[str, Any]) -> str | None:
    """What has to be known of an export whose times clients cannot trust; nothing if they can."""
    # A repeated log has no clients.
    if "lateness" not in stats:
        return None
    late = stats["lateness"]
    medians = [of["latency"]["p50_ns"] / (stats["speed"] or 1) for of in stats["requests"].values() if of["done"]]
    if late is None or not medians or late["p99_ns"] <= SHARE * min(medians):
        return None
    times = f"half of the replies {duration(late['p50_ns'])}, one in a hundred {duration(late['p99_ns'])} and more"
    return (
        f"late: {times}; the shortest median latency is {duration(min(medians))}: this machine is too busy or too slow"
    )
