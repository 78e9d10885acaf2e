"""The figures that can be reproduced, in the order of the book. A figure is one line here."""

from ufsim import _core
from ufsim.reproduce import (
    hp_ufs,
    hp_ufs_apps,
    hp_ufs_beyond,
    hp_ufs_opponents,
    hp_ufs_recovery,
    hp_ufs_segments,
    hp_ufs_sqlite,
    hpb,
    hpbvalve_addresses,
    hpbvalve_beyond,
    hpbvalve_kills,
    hpbvalve_result,
    hpbvalve_study,
    map_plus,
    map_plus_beyond,
    map_plus_examples,
    map_plus_schedulers,
    map_plus_settings,
    msftl,
    msftl_phone,
    phone_gains,
    phone_validation,
)
from ufsim.reproduce.figure import Figure

FIGURES: tuple[Figure, ...] = (
    *hp_ufs_opponents.FIGURES,
    *hp_ufs.FIGURES,
    *hp_ufs_recovery.FIGURES,
    *hp_ufs_sqlite.FIGURES,
    *hp_ufs_apps.FIGURES,
    *hp_ufs_segments.FIGURES,
    *hp_ufs_beyond.FIGURES,
    *hpb.FIGURES,
    *map_plus_examples.FIGURES,
    *map_plus.FIGURES,
    *map_plus_schedulers.FIGURES,
    *map_plus_settings.FIGURES,
    *map_plus_beyond.FIGURES,
    *msftl.FIGURES,
    *msftl_phone.FIGURES,
    *hpbvalve_addresses.FIGURES,
    *hpbvalve_study.FIGURES,
    *hpbvalve_result.FIGURES,
    *hpbvalve_kills.FIGURES,
    *hpbvalve_beyond.FIGURES,
    *phone_validation.FIGURES,
    *phone_gains.FIGURES,
)


def select(wish: str | None) -> list[Figure]:
    """All figures, those of a paper, or one (`paper/figure`). Raises `ConfigError` for anything else."""
    chosen = [figure for figure in FIGURES if wish is None or wish in (figure.id, figure.paper)]
    if not chosen:
        papers = dict.fromkeys(figure.paper for figure in FIGURES)
        known = [*papers, *(figure.id for figure in FIGURES)]
        raise _core.ConfigError(f"there is no figure or paper '{wish}'; allowed: {', '.join(known)}")
    return chosen
