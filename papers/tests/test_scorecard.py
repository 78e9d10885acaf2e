"""What was measured last of each claim: the files in the folders, and the tables that follow from them."""

from typing import Any

import pytest

from ufsim import ConfigError
from ufsim_papers import scorecard
from ufsim_papers.book import Book
from ufsim_papers.claims import Measured, Sample, load_claims
from ufsim_papers.figure import Drawn, Setting
from ufsim_papers.intervals import Interval
from ufsim_papers.registry import select
from ufsim_papers.scorecard import Scorecard

WRITES, KILLS, SHAPE = "hp-ufs.f6.randwrite-16g", "hpbvalve.f16.kills", "hp-ufs.f6.range-shape"
NEAR = "HP-UFS within 10% of Ideal up to 16 GB"


def book(measured: list[Measured], *, seeds: int = 5, quick: bool = False) -> dict[str, Any]:
    """The document of a book that has measured these values with every seed."""
    pooled = [one for one in measured if one.interval]
    own = [Sample(seed, one) for one in measured if not one.interval for seed in range(1, seeds + 1)]
    drawn = Drawn(select("hp-ufs/f6")[0], samples=[*own, *(Sample(1, one) for one in pooled)])
    return Book([drawn], Setting(seeds=seeds, quick=quick)).to_dict()


def test_a_scorecard_keeps_what_was_measured_before_and_nothing_is_lost_on_the_way() -> None:
    interval = Interval(40.0, 60.0, 95.0)
    first = book(
        [
            Measured(WRITES, 60.0, told="by range", reason="why"),
            Measured(WRITES, 50.0, at={"hp-ufs.flush-order": "address"}),
            Measured(WRITES, 35.0, role="foil"),
            Measured(KILLS, 50.0, interval=interval, seeds=45),
        ]
    )
    second = book([Measured(WRITES, 70.0), Measured(SHAPE, True, NEAR, case="twice")], seeds=6)
    card = scorecard.merged(scorecard.merged(Scorecard({}, {}), first, "first"), second, "second")
    assert {name: entry["seeds"] for name, entry in card.claims.items()} == {
        WRITES: 6,
        SHAPE: 6,
        KILLS: 5,
    }
    kept = {outcome.claim.id: outcome.to_dict() for outcome in card.outcomes}
    for document, names in ((first, [KILLS]), (second, [WRITES, SHAPE])):
        made = {entry["id"]: entry for entry in document["claims"]}
        assert [kept[name] for name in names] == [made[name] for name in names]
    for refused, told in ((book([], quick=True), "--quick"), (book([], seeds=4), "4 seeds; the scorecard")):
        with pytest.raises(ConfigError, match=told):
            scorecard.merged(card, refused, "third")


def test_the_files_know_every_claim_and_the_readme_has_their_tables() -> None:
    card = scorecard.committed()
    assert list(card.claims) == [claim.id for claim in load_claims() if claim.id in card.claims]
    for paper in scorecard.PAPERS:
        path = scorecard.FOLDERS / paper / "scorecard.json"
        assert not path.exists() or path.read_text() == card.of(paper).text()
    text = scorecard.README.read_text()
    assert scorecard.with_tables(text, card) == text, "python -m ufsim_papers.scorecard brings it up to date"
    assert "| reproduced | reproduced-if |" in text and "| over HPB | over HPB tuned |" in text
