"""Classes of claims: the points of a map, foils, conditions that are placed, and the data that they are given by."""

import json
import math
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ufsim_papers import intervals, maps
from ufsim_papers.book import Book
from ufsim_papers.claims import (
    LEAST_SEEDS,
    Claim,
    Condition,
    Measured,
    PartOf,
    Role,
    Sample,
    claim_of,
    load_claims,
    with_unit,
)
from ufsim_papers.figure import Drawn, Setting
from ufsim_papers.folders import FOLDERS
from ufsim_papers.intervals import Interval, Value
from ufsim_papers.judged import Outcome, _add, outcomes
from ufsim_papers.registry import FIGURES, select
from ufsim_papers.telling import claims_table

AGREES = "a second reader: agrees; it was read"
INSIDE = [2.0, 3.0, 4.0, 5.0, 6.0]
LEAKING = [2.0, 3.0, 4.0, 5.0, 9.0]
OUTSIDE = [9.0, 10.0, 11.0, 12.0, 13.0]
FOIL = ("foil", {}, OUTSIDE)
ORDER = Condition("order", ("log", "address"), ("log",), "log", "artefact: a script")
SIZE = Condition("size", (1, 2))
Values = Sequence[Value]
Found = tuple[Role, dict[str, Any], Values]


def claim(*conditions: Condition, **other: Any) -> Claim:
    own: dict[str, Any] = {"band": (1.0, 8.0), "foil": "a wrong model", "conditions": conditions} | other
    return Claim("a.b.c", "a", "Fig. 1", "a claim", "a quantity", "gain_pct", 4.0, **own)


def outcome(own: Claim, *found: Found, part: str = "", chance: bool = True) -> Outcome:
    result = Outcome(own)
    for role, at, values in found:
        for seed, value in enumerate(values):
            _add(result, Sample(seed, Measured(own.id, value, part, at=at, role=role), chance))
    return result


def class_of(own: Claim, *found: Found) -> str:
    return outcome(own, *found).class_text


def test_reproduced_is_in_with_the_whole_interval_at_every_point_and_the_foil_out() -> None:
    assert class_of(claim(), ("point", {}, INSIDE), FOIL) == "reproduced"
    assert class_of(claim(), ("point", {}, LEAKING), FOIL) == "open", "the median is inside, the interval is not"
    assert class_of(claim(), ("point", {}, OUTSIDE), FOIL) == "open"
    assert class_of(claim(), ("point", {}, INSIDE)) == "open", "the foil is not measured"
    assert class_of(claim(), ("point", {}, INSIDE), ("foil", {}, INSIDE)) == "reproduced (weak)"
    assert class_of(claim(weak="says little"), ("point", {}, INSIDE), FOIL) == "reproduced (weak)"
    assert class_of(claim(), ("point", {}, INSIDE), ("foil", {}, LEAKING)) == "reproduced (weak)", "it is not outside"
    assert class_of(claim(SIZE), ("point", {}, INSIDE), FOIL) == "open", "a point is not measured"
    assert class_of(claim(SIZE), ("point", {}, INSIDE), ("point", {"size": 2}, INSIDE), FOIL) == "reproduced"
    assert class_of(claim(), ("point", {}, INSIDE[:4]), FOIL) == "open", f"chance needs {LEAST_SEEDS} seeds"
    assert class_of(claim(needs=("build: it",)), ("point", {}, INSIDE), FOIL) == "open"


def test_reproduced_if_is_in_where_all_placed_conditions_are_at_their_place() -> None:
    log, address = ("point", {}, INSIDE), ("point", {"order": "address"}, OUTSIDE)
    found = outcome(claim(ORDER), log, address, FOIL)
    assert (found.class_, found.because) == ("reproduced-if", "if order is log (artefact: a script)")
    assert class_of(claim(replace(ORDER, place=("address",))), log, address, FOIL) == "open", "out where it is placed"
    assert class_of(claim(replace(ORDER, place=None)), log, address, FOIL) == "open", "nothing places it"
    assert class_of(claim(replace(ORDER, place=())), log, address, FOIL) == "open", "its place is not known yet"
    with pytest.raises(KeyError, match="no point where 'order' is 'sorted'"):
        outcome(claim(ORDER), ("point", {"order": "sorted"}, INSIDE))


def test_not_determinable_needs_both_ways_a_missing_fact_and_a_second_reader() -> None:
    both: tuple[Found, Found] = (("point", {}, INSIDE), ("point", {"size": 2}, OUTSIDE))
    told: dict[str, Any] = {"missing": ("a fact",), "read_by": AGREES}
    found = outcome(claim(SIZE, **told), *both)
    assert (found.class_, found.because) == ("not-determinable", "from 4.0% to 11.0%; not published: a fact")
    assert class_of(claim(SIZE, missing=("a fact",)), *both) == "open"
    assert class_of(claim(SIZE, read_by=AGREES), *both) == "open"
    assert "a second reader" in outcome(claim(SIZE, missing=("a fact",)), *both).because
    against = outcome(claim(SIZE, **told | {"read_by": "a second reader: disagrees; why"}), *both)
    assert (against.class_, against.because.partition("; ")[2]) == ("open", "a second reader: disagrees; why")


def test_contradicted_is_out_everywhere_and_a_command_has_confirmed_why() -> None:
    told: dict[str, Any] = {"shown_by": "ufsim reproduce a/b", "read_by": AGREES}
    out: Found = ("point", {}, OUTSIDE)
    assert class_of(claim(**told), out, ("shown", {}, [True] * 5)) == "contradicted"
    assert class_of(claim(**told), out, ("shown", {}, [False] * 5)) == "open", "it shows something else"
    assert class_of(claim(**told), out) == "open", "it was not run"
    assert class_of(claim(**told), ("point", {}, INSIDE), ("shown", {}, [True] * 5), FOIL) == "reproduced"
    assert class_of(claim(shown_by="ufsim reproduce a/b"), out, ("shown", {}, [True] * 5)) == "open"


def test_conformance_is_counted_nowhere_and_what_is_beside_is_not_judged() -> None:
    assert class_of(claim(conformance=True)) == "conformance"
    assert class_of(claim(), ("point", {}, INSIDE), FOIL, ("beside", {}, OUTSIDE)) == "reproduced"


def test_every_part_has_to_be_in() -> None:
    own = claim(parts=(PartOf("lower", 2.0, "pct", (0.0, 3.0)), PartOf("it rises", True, "order", None)))
    found = outcome(own, ("point", {}, INSIDE), FOIL)
    assert found.class_ == "open", "two parts are not measured"
    for part, value in (("lower", 1.0), ("it rises", True)):
        _add(found, Sample(0, Measured(own.id, value, part), chance=False))
    assert found.class_ == "reproduced"
    _add(found, Sample(0, Measured(own.id, False, "it rises", case="on a second trace"), chance=False))
    assert found.class_ == "open"
    with pytest.raises(KeyError, match="has no part 'higher'"):
        _add(found, Sample(0, Measured(own.id, 1.0, "higher")))
    order = replace(own, unit="order", value=True, band=None)
    assert [part.name for part in order.needed] == ["lower", "it rises"], "an order with parts is these"


def test_where_an_option_says_each_the_cases_are_points_of_their_own() -> None:
    traces = Condition("trace", ("all at hand", "each by itself"))
    own = claim(traces, missing=("a trace",), read_by=AGREES)
    found = outcome(own, ("point", {}, INSIDE))
    for case, value in (("a", 3.0), ("b", 30.0)):
        _add(found, Sample(0, Measured(own.id, value, at={"trace": "each by itself"}, case=case), chance=False))
    assert found.states(found.places) == ["in", "in", "out"] and found.class_ == "not-determinable"


def test_what_is_nothing_or_no_number_is_not_in() -> None:
    for values in ([None] * 5, [2.0, 3.0, math.nan, 4.0, 5.0]):
        assert outcome(claim(), ("point", {}, values)).states([()]) == ["between"]
    single = outcome(claim(), ("point", {}, [2.0]), ("foil", {}, [9.0]), chance=False)
    assert single.class_ == "reproduced", "without chance one seed is enough"
    holds = claim(band=None)
    assert outcome(holds, ("point", {}, [True] * 5)).states([()]) == ["in"]
    assert outcome(holds, ("point", {}, [True, True, False, True, True])).states([()]) == ["between"]
    assert outcome(holds, ("point", {}, [False] * 5)).states([()]) == ["out"]


def test_a_claim_can_place_a_condition_of_others() -> None:
    name, other = "hpbvalve.f6.size-tradeoff", "hpbvalve.f16.kills"
    placing = Sample(1, Measured(name, 5000.0, "hpbvalve.system-mib", role="place"))
    nowhere = Sample(1, Measured(name, None, "hpbvalve.system-mib", role="place"))
    for samples, place in (([], ()), ([placing], (5000,)), ([nowhere], None)):
        (found,) = (one for one in outcomes(samples) if one.claim.id == other)
        assert next(axis.place for axis in found.claim.axes if axis.name == "hpbvalve.system-mib") == place


def test_samples_that_a_figure_has_pooled_bring_their_interval() -> None:
    def state(interval: Interval | None, seeds: int = 15) -> str:
        found = Outcome(claim())
        _add(found, Sample(1, Measured("a.b.c", 4.0, interval=interval, seeds=seeds)))
        return found.states([()])[0]

    assert state(Interval(3.0, 5.0, 95.0)) == "in"
    assert state(Interval(0.5, 7.5, 95.0)) == "between"
    assert state(None) == "between", "no interval, so none inside"
    assert state(Interval(3.0, 5.0, 95.0), seeds=4) == "not measured"


def test_small_maps_are_measured_whole_and_large_ones_as_stars() -> None:
    axes = [Condition(f"c{number}", (0, 1, 2)) for number in range(4)]
    assert len(maps.needed(claim(*axes[:3]))) == 27
    placed = replace(axes[3], place=(2,))
    own = claim(*axes[:3], placed)
    default = (0, 0, 0, 0)
    found = maps.needed(own)
    # Around the default 1 + 4 x 2; where the fourth is placed 1 + 3 x 2, of which the centre is there already.
    assert len(found) == 9 + 6 and default in found and (0, 1, 0, 2) in found and (1, 1, 0, 0) not in found
    assert maps.left(own, found) == [place for place in found if place[3] == 2]
    values = {place: float(sum(place)) for place in found}
    assert set(maps.needed(own, values)) - set(found) == {(2, 2, 2, 2)}, "the default is the other joint end"
    assert maps.needed(claim(*axes[:3], replace(placed, place=()))) == maps.star(own, default, range(4))


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
    # As many as no table has: values 1 to 40 have s = 11.69, Student's t for 39 degrees of freedom is 2.023.
    found = intervals.jackknife(20.5, [(820 - value) / 39 for value in range(1, 41)])
    assert found is not None and found.high == pytest.approx(20.5 + 2.023 * 11.690 / math.sqrt(40), abs=1e-3)
    assert intervals.jackknife(2.5, [1.0, None, 2.0]) is None, "without one of them nothing is left to compare"
    assert intervals.jackknife(True, [True, True]) == Interval(1.0, 1.0, None)
    assert intervals.jackknife(True, [True, False]) == Interval(0.0, 1.0, None)
    assert intervals.jackknife(1.0, []) is None


def test_programs_get_what_the_contract_says() -> None:
    name = "hpb.f9.chunk-size"
    found = [Sample(seed, Measured(name, True, at={"hpb.map-over-data": 0.5})) for seed in range(5)]
    (own,) = (one for one in outcomes(found) if one.claim.id == name)
    document = json.loads(json.dumps(own.to_dict(), allow_nan=False))
    assert (document["id"], document["class"]) == (name, "open")
    (point,) = document["points"]
    assert (point["at"], point["state"]) == ({"hpb.map-over-data": 0.5}, "in")
    assert point["parts"][0]["values"] == {"0": True, "1": True, "2": True, "3": True, "4": True}
    with pytest.raises(KeyError, match="is no claim"):
        outcomes([Sample(1, Measured("a.b.c", 1.0))])


# What a change that does something about a claim may change of it.
OURS = ("needs", "shown_by", "read_by")


def test_the_claims_are_those_of_the_shared_data(shared: Path) -> None:
    documents = [
        tomllib.loads(path.read_text()) for path in (FOLDERS / "claims.toml", shared / "claims" / "claims-v3.toml")
    ]
    assert documents[0]["edition"] == documents[1]["edition"] == 3
    assert documents[0]["condition"] == documents[1]["condition"]
    ours, theirs = (
        [{key: value for key, value in claim.items() if key not in OURS} for claim in document["claim"]]
        for document in documents
    )
    assert ours == theirs
    assert [own["id"] for own in ours] == [own.id for own in load_claims()]


def test_what_has_to_be_done_only_becomes_less(shared: Path) -> None:
    theirs = tomllib.loads((shared / "claims" / "claims-v3.toml").read_text())["claim"]
    for own in theirs:
        assert set(claim_of(own["id"]).needs) <= set(own.get("needs", ())), own["id"]


def test_no_claim_places_its_own_condition() -> None:
    by = {
        own.id: {
            condition.placed_by.removeprefix("claim:")
            for condition in own.axes
            if condition.placed_by.startswith("claim:")
        }
        for own in load_claims()
    }

    def reaches(name: str) -> set[str]:
        found, ahead = set[str](), [name]
        while ahead:
            new = by[ahead.pop()] - found
            found |= new
            ahead += new
        return found

    assert not [name for name in by if name in reaches(name)]


def test_points_of_too_few_seeds_are_told_as_such() -> None:
    both = (("point", {"size": 1}, INSIDE[:1]), ("point", {"size": 2}, INSIDE[:4]))
    assert outcome(claim(SIZE), *both).because == "2 of 2 points have fewer than 5 seeds"
    assert outcome(claim(SIZE), both[0]).because == "2 of 2 points are not measured"
    assert outcome(claim(SIZE), ("point", {"size": 1}, INSIDE)).because == "1 of 2 points are not measured"


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert [with_unit(value, "gain_pct") for value in (-0.04, 0.04, -0.06)] == ["0.0%", "0.0%", "-0.1%"]


def test_of_several_foils_each_has_to_be_out() -> None:
    found = outcome(claim(), ("point", {}, INSIDE))
    for foil, values in (("one", OUTSIDE), ("another", INSIDE)):
        for seed, value in enumerate(values):
            _add(found, Sample(seed, Measured("a.b.c", value, role="foil", case=foil, foil=foil)))
    assert found.class_text == "reproduced (weak)"


def test_every_claim_belongs_to_a_figure_and_every_figure_is_told_of() -> None:
    measured = [name for figure in FIGURES for name in figure.claims]
    assert sorted(measured) == sorted(own.id for own in load_claims())
    for figure in FIGURES:
        assert figure.claims or figure.judged is None, f"{figure.id}: nothing to judge"
    files = {path.parent.name: tomllib.loads(path.read_text()) for path in FOLDERS.glob("*/figures.toml")}
    told = {f"{paper}/{name}" for paper, names in files.items() for name in names if name != "legend"}
    assert told == {figure.id for figure in FIGURES}


def test_a_report_shows_points_classes_and_what_is_not_measured() -> None:
    name = "hp-ufs.f6.randwrite-16g"
    (figure,) = select("hp-ufs/f6")
    samples = [Sample(seed, Measured(name, 60.0 + seed, told="by range")) for seed in range(1, 6)]
    book = Book([Drawn(figure, samples=samples)], Setting(seeds=5))
    (found,) = (one for one in book.outcomes if one.measured)
    text = claims_table([found])
    assert "63.0% (61.0% .. 65.0%)" in text and "by range" in text
    assert "usually flush-order: log, continuation: as described" in text
    assert "0 reproduced" in text and "1 open, of 1" in text
