"""How often a run is made, with seeds that follow each other, and what its repetitions make together."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import SupportsIndex

from ufsim import _core
from ufsim.names import check_range
from ufsim.results.result import Result
from ufsim.spec import Spec

# Repetitions of a run that draws at random, unless somebody says another number.
DEFAULT = 5
MOST = 1000
LAST_SEED = 2**64 - 1

log = logging.getLogger("ufsim")


def count_of(specs: Sequence[Spec], seeds: SupportsIndex | None) -> int:
    """How many seeds each of these runs has: so many, or five where ageing, faults, host time or link draw at random.

    That five times the work is done is told to the logger `ufsim`.
    """
    if seeds is not None:
        return check_range("seeds", seeds, 1, MOST)
    drawn = list(dict.fromkeys(part for spec in specs for part in _core.drawn(spec.to_json())))
    if not drawn:
        return 1
    log.info(
        "%d seeds, because another seed gives another result (drawn at random: %s): %d runs instead of %d; "
        "--seeds 1 (seeds=1) makes one of each",
        *(DEFAULT, ", ".join(drawn), DEFAULT * len(specs), len(specs)),
    )
    return DEFAULT


def repeated(specs: Sequence[Spec], count: int) -> list[Spec]:
    """Each run with `count` seeds from its own on, the first seeds of all before the second ones."""
    for spec in specs:
        if spec.seed + count - 1 > LAST_SEED:
            raise _core.ConfigError(f"seed = {spec.seed}: must be at most {LAST_SEED} with the {count - 1} behind it")
    return [replace(spec, seed=spec.seed + later) for later in range(count) for spec in specs]


def together(results: Sequence[Result], count: int) -> list[Result]:
    """The results of `repeated` runs: one for each run, which knows the others."""
    runs = len(results) // count
    return [replace(results[run], repeats=tuple(results[run + runs :: runs])) for run in range(runs)]
