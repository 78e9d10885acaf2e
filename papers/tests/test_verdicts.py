"""Verdicts on claims: medians, intervals, readings, and the data that they are given by."""

import json
import math
import tomllib
from pathlib import Path

import pytest

from ufsim_papers import intervals
from ufsim_papers.book import Book
from ufsim_papers.claims import (
    AS_SET_UP,
    LEAST_SEEDS,
    Claim,
    Measured,
    Outcome,
    Part,
    Reading,
    Sample,
    load_claims,
    outcomes,
)
from ufsim_papers.figure import Drawn, Setting
from ufsim_papers.folders import FOLDERS, PAPERS
from ufsim_papers.intervals import Interval, Value
from ufsim_papers.registry import FIGURES, select
from ufsim_papers.telling import claims_table

BAND = (1.0, 8.0)


def part(*values: Value, band: tuple[float, float] | None = BAND, chance: bool = True) -> Part:
    samples = [Sample(seed, Measured("a.b.c", value), chance) for seed, value in enumerate(values)]
    return Part("", band, "gain_pct", samples)


def verdict(*readings: list[Part]) -> str:
    claim = Claim("a.b.c", "a", "Fig. 1", "a claim", 4.0, "gain_pct", BAND, "")
    return Outcome(claim, [Reading(f"reading {at}", parts) for at, parts in enumerate(readings)]).verdict


INSIDE = [2.0, 3.0, 4.0, 5.0, 6.0]
LEAKING = [2.0, 3.0, 4.0, 5.0, 9.0]
OUTSIDE = [9.0, 10.0, 11.0, 12.0, 13.0]


def test_firm_is_in_band_with_the_whole_interval_under_every_reading() -> None:
    assert verdict([part(*INSIDE)]) == "firm"
    assert verdict([part(*INSIDE)], [part(*INSIDE)]) == "firm"
    assert verdict([part(*INSIDE), part(*LEAKING)]) == "fragile"
    assert verdict([part(*INSIDE)], [part(*LEAKING)]) == "fragile"
    assert verdict([part(1.0, chance=False), part(8.0, chance=False)]) == "firm", "bands hold their ends"


def test_fragile_is_in_band_under_some_readings_only() -> None:
    assert verdict([part(*INSIDE)], [part(*OUTSIDE)]) == "fragile"
    assert verdict([part(*OUTSIDE)], [part(*INSIDE)]) == "fragile"
    assert verdict([part(*LEAKING)]) == "fragile", "the median is inside, the interval is not"
    assert verdict([part(*INSIDE)], []) == "fragile", "a reading that is not measured makes no claim firm"


def test_a_miss_is_in_band_under_no_reading_or_has_nothing_to_compare() -> None:
    assert verdict([part(*OUTSIDE)]) == "miss"
    assert verdict([part(*INSIDE), part(*OUTSIDE)]) == "miss", "every part of a reading has to be inside"
    assert verdict([part(*OUTSIDE)], [part(*OUTSIDE)]) == "miss"
    assert verdict([part(None, None, None, None, None)]) == "miss"
    assert verdict([part(2.0, 3.0, math.nan, 4.0, 5.0)]) == "miss"
    assert verdict([part(*INSIDE), part(False, chance=False)]) == "miss"


def test_nothing_is_judged_before_it_is_measured() -> None:
    assert verdict([]) == "not yet"
    assert verdict([part(*INSIDE[:4])]) == "not yet", f"chance needs {LEAST_SEEDS} seeds"
    assert verdict([part(*OUTSIDE[:1])]) == "not yet"
    assert verdict([part(*INSIDE)], [part(2.0)]) == "not yet"
    assert verdict([part(*OUTSIDE)], []) == "not yet", "what is not measured may be inside"
    assert verdict([part(2.0, chance=False)]) == "firm", "without chance one seed is enough"


def test_a_part_may_have_a_band_of_its_own() -> None:
    claim, values = "hpb.f8.mixed", [3.5, 4.0, 4.5, 5.0, 5.5]
    samples = [
        Sample(seed, Measured(claim, value, name, band=band))
        for seed, value in enumerate(values)
        for name, band in (("10% reads", (3.0, 15.0)), ("90% reads", None))
    ]
    (own,) = (outcome for outcome in outcomes(samples) if outcome.measured)
    assert [part.interval_in_band for part in own.readings[0].parts] == [True, False]


def test_what_holds_has_to_hold_with_every_seed_to_be_firm() -> None:
    assert verdict([part(True, True, True, True, True, band=None)]) == "firm"
    assert verdict([part(True, True, False, True, True, band=None)]) == "fragile"
    assert verdict([part(False, True, False, False, True, band=None)]) == "miss"
    assert verdict([part(True, True, True, True, True)]) == "firm", "also where the claim has a band"


def test_the_interval_of_five_seeds_is_their_range_and_says_what_it_covers() -> None:
    five = intervals.of_median([5.0, 1.0, 4.0, 2.0, 3.0])
    assert five == Interval(1.0, 5.0, 93.75), "1 - 2/2^5: more is not to be had without assuming a distribution"
    assert intervals.of_median([float(n) for n in range(6)]) == Interval(0.0, 5.0, 96.875)
    ten = intervals.of_median([float(n) for n in range(10)])
    # The second from either end: 1 - 2 (1 + 10) / 2^10.
    assert ten == Interval(1.0, 8.0, pytest.approx(97.8515625))
    assert intervals.of_median([1.0]) is None and intervals.of_median([1.0, None]) is None
    assert intervals.middle([3.0, 1.0, 2.0, 10.0]) == 2.5
    assert intervals.middle([True, False, True]) is True and intervals.middle([1.0, None]) is None


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    # By hand: values 1, 2, 3, 4 have s = 1.291, s / 2 = 0.6455; Student's t for 3 degrees of freedom is 3.182.
    values = [1.0, 2.0, 3.0, 4.0]
    found = intervals.jackknife(2.5, [(10 - value) / 3 for value in values])
    assert found is not None
    assert (found.low, found.high) == pytest.approx((2.5 - 3.182 * 0.6455, 2.5 + 3.182 * 0.6455), abs=1e-3)
    assert intervals.jackknife(2.5, [1.0, None, 2.0]) is None, "without one of them nothing is left to compare"
    assert intervals.jackknife(True, [True, True]) == Interval(1.0, 1.0, None)
    assert intervals.jackknife(True, [True, False]) == Interval(0.0, 1.0, None)
    assert intervals.jackknife(1.0, []) is None


def test_samples_that_a_figure_has_pooled_bring_their_interval() -> None:
    def pooled(interval: Interval | None, seeds: int = 15) -> str:
        return verdict([Part("", BAND, "", [Sample(1, Measured("a", 4.0, interval=interval, seeds=seeds))])])

    assert pooled(Interval(3.0, 5.0, 95.0)) == "firm"
    assert pooled(Interval(0.5, 7.5, 95.0)) == "fragile"
    assert pooled(None) == "fragile", "no interval, so none inside"
    assert pooled(Interval(3.0, 5.0, 95.0), seeds=4) == "not yet"


def test_programs_get_what_the_contract_says() -> None:
    name = "hp-ufs.f7.order"
    found = [Sample(seed, Measured(name, True, reading=0)) for seed in range(5)]
    (claim,) = (outcome for outcome in outcomes(found, {(name, 1): "no time"}) if outcome.claim.id == name)
    document = json.loads(json.dumps(claim.to_dict(), allow_nan=False))
    assert (document["id"], document["verdict"]) == (name, "fragile")
    first, second = document["readings"]
    assert (first["value"], first["interval"], first["in_band"], first["seeds"]) == (True, [1.0, 1.0], True, 5)
    assert first["name"] == claim.claim.readings[0]
    assert first["parts"][0]["values"] == {"0": True, "1": True, "2": True, "3": True, "4": True}
    assert (second["value"], second["in_band"], second["missing"]) == (None, None, "no time")
    with pytest.raises(KeyError, match="is no claim"):
        outcomes([Sample(1, Measured("a.b.c", 1.0))])


def test_the_claims_are_those_of_the_shared_data(shared: Path) -> None:
    files = [FOLDERS / paper / "claims.toml" for paper in PAPERS if paper != "phone"]
    ours = [claim for file in files for claim in tomllib.loads(file.read_text())["claim"]]
    assert ours == tomllib.loads((shared / "claims" / "claims-v2.toml").read_text())["claim"]
    assert [claim["id"] for claim in ours] == [claim.id for claim in load_claims()]


def test_every_claim_belongs_to_a_figure_and_every_figure_is_told_of() -> None:
    measured = [name for figure in FIGURES for name in figure.claims]
    assert sorted(measured) == sorted(claim.id for claim in load_claims())
    for figure in FIGURES:
        assert figure.claims or figure.judged is None, f"{figure.id}: nothing to judge"
    files = {path.parent.name: tomllib.loads(path.read_text()) for path in FOLDERS.glob("*/figures.toml")}
    told = {f"{paper}/{name}" for paper, names in files.items() for name in names if name != "legend"}
    assert told == {figure.id for figure in FIGURES}


def test_a_report_shows_readings_verdicts_and_what_is_not_measured() -> None:
    name = "hp-ufs.f6.randwrite-16g"
    (figure,) = select("hp-ufs/f6")
    samples = [Sample(seed, Measured(name, 60.0 + seed, told="by range")) for seed in range(1, 6)]
    book = Book([Drawn(figure, samples=samples)], Setting(seeds=5))
    (outcome,) = (found for found in book.outcomes if found.measured)
    text = claims_table([outcome])
    assert "63.0% (61.0% .. 65.0%)" in text and "by range" in text
    assert outcome.claim.readings[0].replace("'", "&#x27;") in text
    assert "1 fragile" in text and "not measured" in text
    assert AS_SET_UP not in text
