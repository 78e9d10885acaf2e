"""How many sequences claims of chance are given: until an interval decides, or up to a bound."""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from ufsim import RunStore
from ufsim_papers import book as making
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Figure, Point, Setting
from ufsim_papers.growing import doubled, settled
from ufsim_papers.hp_ufs.points import PLACED
from ufsim_papers.hpbvalve.runs import APPS, RESERVED, USUAL
from ufsim_papers.intervals import Interval
from ufsim_papers.measuring import Means
from ufsim_papers.measuring import measured as measured_now
from ufsim_papers.registry import select

# In the claims its band is 45 to 95.
KILLS = "hpbvalve.f16.kills"


def part(low: float, high: float, value: float | bool | None = None) -> Measured:
    return Measured(KILLS, (low + high) / 2 if value is None else value, interval=Interval(low, high, 95.0))


@pytest.mark.parametrize(
    ("low", "high", "by_band"),
    [(50, 60, True), (10, 40, True), (96, 99, True), (40, 50, False), (90, 99, False), (10, 99, False)],
)
def test_an_interval_across_the_border_of_its_band_decides_nothing(low: float, high: float, by_band: bool) -> None:
    assert settled([part(low, high)], by_band=[KILLS]) == by_band
    assert settled([part(low, high)]), "where the claim asks for an interval alone, any will do"


def test_what_has_no_value_or_no_interval_asks_for_more() -> None:
    assert not settled([Measured(KILLS, None)])
    assert not settled([Measured(KILLS, 70.0)])
    assert not settled([part(50, 60), Measured(KILLS, 70.0)]), "all parts have to be settled"
    assert settled([Measured(KILLS, True)]), "what holds or does not has no probability"
    beside = Measured(KILLS, 10.0, "HPB upstream", role="beside", interval=Interval(5, 50, 95.0))
    assert settled([beside], by_band=[KILLS]), "what is not judged asks for nothing"


def test_the_number_doubles_up_to_the_bound() -> None:
    assert [doubled(count, 80) for count in (20, 40, 60, 80)] == [range(20, 40), range(40, 80), range(60, 80), range(0)]


def drawn(wanted: int, most: int, store: RunStore | None = None) -> tuple[list[int], list[int]]:
    """A figure that asks for `wanted` samples and may have `most`: those that it got, and those that were measured."""
    measured: list[int] = []

    def sample(number: int) -> Point:
        def measure() -> dict[str, int]:
            measured.append(number)
            return {"value": number}

        return Point({"number": number}, measure, inputs={"number": number})

    def further(setting: Setting, frame: pd.DataFrame) -> list[Point]:
        enough = len(frame) >= wanted
        return [] if enough else [sample(setting.seed + at) for at in doubled(len(frame), most)]

    figure = Figure(
        id="test/growing",
        title="",
        caption="",
        paper_shows="",
        runs=lambda setting: [sample(setting.seed + at) for at in range(2)],
        draw=lambda frame: None,  # type: ignore[arg-type, return-value]
        further=further,
    )
    setting, means = Setting(seed=5), Means(jobs=1, store=store)
    plans = [making.planned(figure, setting)]
    rows = measured_now(plans[0].points[5], means)
    (plan,) = making.grown(plans, rows, setting, means)
    return [int(point.labels["number"]) for point in plan.points[5]], measured


def test_a_figure_gets_samples_until_it_asks_for_no_more(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    assert drawn(6, 100, store) == ([5, 6, 7, 8, 9, 10, 11, 12],) * 2
    assert drawn(6, 100, store) == ([5, 6, 7, 8, 9, 10, 11, 12], []), (
        "an interrupted reproduction goes on from its store"
    )
    assert drawn(6, 100)[0] == [5, 6, 7, 8, 9, 10, 11, 12], "the same with every start"
    assert drawn(1, 100)[0] == [5, 6]
    assert drawn(1000, 5)[0] == [5, 6, 7, 8, 9], "no more than the bound"


def seeds_of(values: Sequence[float], *, less: bool = True, quick: bool = False) -> list[int]:
    """The seeds that a claim is given, whose value where its paper's set-up is placed these are, and then the last.

    With `less` the figure has runs of its own for further seeds, which are told the claims that need them.
    """
    name = "hp-ufs.f9.gc-geomean"
    asked: list[set[str]] = []

    def points(setting: Setting, claims: Collection[str] = ()) -> list[Point]:
        asked.append(set(claims))
        value = values[min(setting.seed - 7, len(values) - 1)]
        return [Point({"seed": setting.seed}, lambda: {"gain": value}, inputs={"seed": setting.seed})]

    figure = Figure(
        id="test/seeds",
        title="",
        caption="",
        paper_shows="",
        runs=points,
        draw=lambda frame: None,  # type: ignore[arg-type, return-value]
        measure=lambda frame: [Measured(name, float(frame["gain"].iloc[0]), at=PLACED)],
        claims=(name,),
        where_placed=points if less else None,
    )
    setting, means = Setting(seed=7, seeds=5, quick=quick), Means(jobs=1, store=None)
    plan = making.planned(figure, setting)
    rows = measured_now([point for own in plan.points.values() for point in own], means)
    (plan,) = making.reseeded([plan], rows, setting, means)
    assert all(claims == ({name} if less else set()) for claims in asked[5:])
    return [seed - 7 for seed in plan.points]


def test_a_claim_across_the_border_of_its_band_gets_more_seeds_and_no_other() -> None:
    # The band is 15 to 40. The interval of five values is their range, that of ten leaves the extremes out.
    assert seeds_of([20, 25, 30, 35, 38]) == list(range(5)), "inside"
    assert seeds_of([41, 42, 43, 44, 45]) == list(range(5)), "outside"
    assert seeds_of([14, 25, 30, 35, 38, 30]) == list(range(10))
    assert seeds_of([14, 25, 30, 35, 38, 30], less=False) == list(range(10)), "whatever the figure"
    assert seeds_of([14, 41, 30, 14, 41, 14, 41]) == list(range(20)), "no more than the bound"
    assert seeds_of([14, 25, 30, 35, 38, 30], quick=True) == list(range(5)), "a quick look asks for nothing"


def test_figure_16_draws_more_sequences_where_the_paper_s_phone_may_lie() -> None:
    (figure,) = select("hpbvalve/f16")
    assert figure.further is not None
    phones = [replace(USUAL, system_mib=mib) for mib in (5738, 4764, 5000, 5250, 6712)]

    def frame(count: int) -> pd.DataFrame:
        """UFS+HPB reads 13 or 1% more than UFS, so that the interval of few sequences is across the border."""
        rows = [
            {**phone.labels(), "scheme": scheme, "seed": 7 + seed, "uses": uses(113 if seed % 2 else 101, scheme)}
            for phone in phones
            for scheme in ("ufs", RESERVED, "hpbvalve")
            for seed in range(count)
        ]
        return pd.DataFrame(rows).assign(kills="[]", memory_mib=256, launch_ms=1.0)

    def uses(reads: int, scheme: str) -> str:
        more = reads if scheme == RESERVED else 100
        return json.dumps([{"app": app, "launch": 1, "reads": more} for app in APPS])

    for count, more in ((6, range(13, 19)), (12, range(19, 31)), (60, range(0))):
        points = figure.further(Setting(seed=7), frame(count))
        assert {point.labels["seed"] for point in points} == set(more)
        assert {point.labels["setup_system_mib"] for point in points} == (
            {4764, 5000, 5250, 5738, 6712} if more else set()
        )
        assert figure.further(Setting(seed=7, quick=True), frame(count)) == []
