"""The figures that can be reproduced, in the order of the book. A figure is one line here."""

from collections.abc import Sequence

import ufsim
from ufsim_papers import hpb
from ufsim_papers.figure import Figure
from ufsim_papers.hp_ufs import apps, breakdown, gc, opponents, recovery, segments, sqlite, writes
from ufsim_papers.hp_ufs import beyond as beyond_hp_ufs
from ufsim_papers.hpbvalve import addresses, kills, result, study
from ufsim_papers.hpbvalve import beyond as beyond_hpbvalve
from ufsim_papers.map_plus import beyond as beyond_map_plus
from ufsim_papers.map_plus import examples, loads, schedulers, settings
from ufsim_papers.msftl import copies as msftl_copies
from ufsim_papers.msftl import phone as phone_traces
from ufsim_papers.msftl import rules as msftl_rules
from ufsim_papers.msftl import writes as msftl_writes
from ufsim_papers.phone import gains, validation
from ufsim_papers.today import stages, uses

FIGURES: tuple[Figure, ...] = (
    *opponents.FIGURES,
    *writes.FIGURES,
    *gc.FIGURES,
    *recovery.FIGURES,
    *sqlite.FIGURES,
    *apps.FIGURES,
    *breakdown.FIGURES,
    *segments.FIGURES,
    *beyond_hp_ufs.FIGURES,
    *hpb.FIGURES,
    *examples.FIGURES,
    *loads.FIGURES,
    *schedulers.FIGURES,
    *settings.FIGURES,
    *beyond_map_plus.FIGURES,
    *msftl_writes.FIGURES,
    *phone_traces.FIGURES,
    *msftl_rules.FIGURES,
    *msftl_copies.FIGURES,
    *addresses.FIGURES,
    *study.FIGURES,
    *result.FIGURES,
    *kills.FIGURES,
    *beyond_hpbvalve.FIGURES,
    *validation.FIGURES,
    *gains.FIGURES,
    *uses.FIGURES,
    *stages.FIGURES,
)


def select(wish: str | Sequence[str] | None) -> list[Figure]:
    """The figures of papers ("hpb") and single ones ("hpb/f6"); without a wish all. Raises `ConfigError`."""
    wishes = [wish] if isinstance(wish, str) else wish or []
    papers = dict.fromkeys(figure.paper for figure in FIGURES)
    known = [*papers, *(figure.id for figure in FIGURES)]
    for name in wishes:
        if name not in known:
            own = [figure.id for figure in FIGURES if figure.paper == name.split("/")[0]]
            allowed = ", ".join(own or papers) + ("" if own else ", or a figure of them such as hpb/f6")
            raise ufsim.ConfigError(f"there is no figure or paper '{name}'; allowed: {allowed}")
    return [figure for figure in FIGURES if not wishes or figure.id in wishes or figure.paper in wishes]
