"""What is measured of the papers' claims in the kernel: where their rows come from."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.hosts import gains, mobibench, replays, usage


def measured(only: str, traces: Path | None) -> Iterator[dict[str, Any]]:
    """Rows of the claims that begin so. Those that need traces are left out without them."""
    yield from (gains.gained(case) for case in gains.cases() if case.claim.startswith(only))
    yield from mobibench.shorter(only)
    if traces:
        yield from usage.faster(only, traces)
        yield from (row for row in replays.shortened(only, traces) if row["claim"].startswith(only))
