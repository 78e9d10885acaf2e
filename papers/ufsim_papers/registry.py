"""The figures that can be reproduced, in the order of the book. A figure is one line here."""

import ufsim
from ufsim_papers import hpb
from ufsim_papers.figure import Figure
from ufsim_papers.hp_ufs import apps, opponents, recovery, segments, sqlite, writes
from ufsim_papers.hp_ufs import beyond as beyond_hp_ufs
from ufsim_papers.hpbvalve import addresses, kills, result, study
from ufsim_papers.hpbvalve import beyond as beyond_hpbvalve
from ufsim_papers.map_plus import beyond as beyond_map_plus
from ufsim_papers.map_plus import examples, loads, schedulers, settings
from ufsim_papers.msftl import phone as phone_traces
from ufsim_papers.msftl import writes as msftl_writes
from ufsim_papers.phone import gains, validation

FIGURES: tuple[Figure, ...] = (
    *opponents.FIGURES,
    *writes.FIGURES,
    *recovery.FIGURES,
    *sqlite.FIGURES,
    *apps.FIGURES,
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
    *addresses.FIGURES,
    *study.FIGURES,
    *result.FIGURES,
    *kills.FIGURES,
    *beyond_hpbvalve.FIGURES,
    *validation.FIGURES,
    *gains.FIGURES,
)


def select(wish: str | None) -> list[Figure]:
    """All figures, those of a paper, or one (`paper/figure`). Raises `ConfigError` for anything else."""
    chosen = [figure for figure in FIGURES if wish is None or wish in (figure.id, figure.paper)]
    if not chosen:
        papers = dict.fromkeys(figure.paper for figure in FIGURES)
        known = [*papers, *(figure.id for figure in FIGURES)]
        raise ufsim.ConfigError(f"there is no figure or paper '{wish}'; allowed: {', '.join(known)}")
    return chosen
