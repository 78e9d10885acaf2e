"""MSFTL's maps: the drive without times, the rate of copies, and what is made of the results."""

import numpy as np
import pandas as pd
import pytest

from ufsim_papers.claims import Measured
from ufsim_papers.msftl import copies, drive, rules
from ufsim_papers.msftl.drive import Drive, flush_units, replayed, units_of
from ufsim_papers.msftl.phone import FILLS, TRACES
from ufsim_papers.msftl.replay import COUNTED, FREE, RANDOM, RULE, moved_mib, of_traces, rate_percent
from ufsim_papers.msftl.writes import BASE, EACH_BLOCK, F4, FTLS, MINI, ONE, SEQ, SPARSE, TWO_DIRECTORIES, WHOLE

N = len(TRACES)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten blocks of eight units, of which GC keeps two free."""
    for name, value in {"CAPACITY_UNITS": 56, "BLOCK_UNITS": 8, "BLOCKS": 10, "LEVEL": 2}.items():
        monkeypatch.setattr(drive, name, value)


def block(*units: int) -> drive.Units:
    return np.array(units, np.int32)


@pytest.mark.usefixtures("small")
def test_gc_takes_the_block_with_the_fewest_valid_units_and_copies_those() -> None:
    own = Drive()
    own.fill_at_once(block(*range(12)))  # chunks: 48 units in six blocks
    own.write_block(block(0, 1, 2, 8, 9, 9, 50, 51))
    assert own.valid[:7].tolist() == [5, 6, 8, 8, 8, 8, 7], "a unit that is written twice counts once"
    assert len(own.free) == 3 and own.collect()
    assert [copied.tolist() for copied in own.copied] == [[3, 4, 5, 6, 7]]
    assert own.valid[0] == 0 and own.valid[7] == 5 and list(own.free) == [8, 9, 0]
    held = own.place[own.place >= 0]
    assert np.bincount(held // 8, minlength=10).tolist() == own.valid.tolist()


@pytest.mark.usefixtures("small")
def test_nothing_is_collected_where_nothing_is_invalid() -> None:
    own = Drive(every=True)
    own.fill_at_once(block(*range(12)))
    assert not own.collect()
    own.leave_unwritten()
    assert (len(own.free), len(own.unwritten)) == (2, 2)
    for first in (48, 0, 8):
        own.write_block(block(*range(first, first + 8)))
    # The block that was overwritten as a whole is collected without a copy, before another is taken.
    assert sum(map(len, own.copied)) == 0 and (len(own.free), len(own.unwritten)) == (0, 2)
    own.write_block(block(*range(16, 24)))
    assert len(own.unwritten) == 2, "the next one has become invalid, too"


@pytest.mark.usefixtures("small")
def test_what_is_written_counts_for_its_trace() -> None:
    units = block(*range(16), 3)
    found = replayed(Drive(), units, block(*[0] * 12, *[1] * 5), 2)
    assert found["user"] == [12, 4], "the block that is not full does not count"
    # A flush of each block: one piece, in one NAND page of four units.
    assert found["base"] == [4 + 2, 2] and found["one"] == found["mini"] == found["base"]
    assert found["copied"] == [0, 0]


def test_pieces_of_a_flush_are_collected_in_pages() -> None:
    units = block(0, 255, 256, 1024, 4096, 4096 * 3)
    assert [flush_units(units, *drive.PIECES[name]) for name in ("base", "mini", "one")] == [12, 4, 4]
    assert units_of(block(2)).tolist() == [8, 9, 10, 11]


def test_a_flush_comes_early_when_copies_fill_the_mapping_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "CACHED_COPIES", 4)
    victims = [block(1, 2, 3), block(4, 5), block(6, 7)]
    assert [part.tolist() for part in drive.flushes(block(0), victims)] == [[1, 2, 3], [4, 5, 6, 7, 0]]


@pytest.mark.parametrize("way", rules.WAYS)
def test_fills_are_as_their_names_say(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "CHUNKS", 10_000)
    found = rules.chunks(way, 0.5, np.random.default_rng(1))
    assert len(found) == 5000 and found.max() < (5000 if way == rules.WITHIN else 10_000)
    assert (len(set(found.tolist())) == 5000) == (way == rules.ONCE)
    assert ((found < 1000).mean() == pytest.approx(0.9, abs=0.02)) == (way == rules.SKEWED)


def test_copies_make_base_dftl_write_what_the_paper_implies() -> None:
    # 8073 translation pages; 576 pages of 16 KiB between two flushes.
    for fill, implied in (("quarter", 0.52), ("half", 1.1), ("full", 1.75)):
        places = rate_percent(fill) / 100 * 576
        distinct = 8073 * (1 - (1 - 1 / 8073) ** places)
        assert (distinct / 576 + 0.019) * 1.024 == pytest.approx(implied, rel=0.01)
    moved = [moved_mib(seed) for seed in range(1, 20)]
    assert all(mib % 16 == 0 and mib < 7200 for mib in moved) and len(set(moved)) > 15


def test_results_are_told_by_trace() -> None:
    requests = pd.DataFrame(
        {"process": ["0", "0", "1"], "arrival_s": [0.0, 0.05, 0.2], "latency_ns": [10, 30, 50]},
    )
    series = pd.DataFrame(
        {
            "at_ns": [0, 100_000_000, 200_000_000, 220_000_000],
            "data_units_programmed": [1, 2, 4, 8],
            "map_units_programmed": [10, 0, 10, 0],
            "gc_units_programmed": [0, 0, 3, 0],
        }
    )
    counters = {"pmt_flush_units": 6, "pmt_moved_units": 3, "pmt_directory_units": 1}
    found = of_traces(requests, series, counters)
    assert (found["counts"], found["sums_ns"], found["longest_ns"]) == ([2, 1], [40, 50], [30, 50])
    # Half of what was written as metadata is mappings.
    assert (found["user_units"], found["map_units"], found["copied_units"]) == ([3, 12], [5, 5], [0, 3])


def replays() -> pd.DataFrame:
    """Base-DFTL takes 4 ms for a request and 4 s for the worst, mini-page half and MSFTL a quarter of that; in the last
    trace all take the same. With GC's time all take 1 ms more. Mappings are as many times the user data."""
    rows = []
    for fill in FILLS:
        for ftl, ms in ((BASE, 4.0), (MINI, 2.0), (ONE, 1.0)):
            for copied in (RANDOM, RULE):
                for time in (COUNTED, FREE):
                    each = [ms] * (N - 1) + [8.0]
                    more = 1.0 if time == COUNTED else 0.0
                    rows.append(
                        {
                            "ftl": ftl,
                            "filled": fill,
                            "copies": copied,
                            "time": time,
                            "counts": [10.0] * N,
                            "sums_ns": [(own + more) * 10 for own in each],
                            "longest_ns": [own * 1000 for own in each],
                            "user_units": [100.0] * N,
                            "copied_units": [150.0] * N,
                            "map_units": [100 * ms] * N,
                            "p999_ns": ms,
                        }
                    )
    return pd.DataFrame(rows)


def parts(measured: list[Measured], claim: str, role: str = "point") -> list[Measured]:
    return [part for part in measured if part.claim == claim and part.role == role]


def test_every_point_of_the_maps_of_copies_is_measured() -> None:
    measured = copies.COPIES.measure(replays())
    average = parts(measured, "msftl.f6.avg-response")
    assert len(average) == 2 * 2 * (1 + N) * 3
    placed = {"msftl.gc-copies": RANDOM, "msftl.gc-time": FREE}
    all_there = next(part for part in average if part.at == placed and part.part == "")
    assert all_there.value == pytest.approx((1 - ((N - 1) + 8) / (4 * (N - 1) + 8)) * 100)
    last = [part for part in average if part.at == placed | {"msftl.traces": copies.LEFT_OUT}][-3:]
    assert [part.value for part in last] == pytest.approx([75.0] * 3), "without the trace that takes as long"
    assert last[0].case == f"without {TRACES[-1][0][-1]}"
    worst = parts(measured, "msftl.f6.worst-response")
    assert {part.value for part in worst if not part.case.endswith(TRACES[-1][0][-1])} == {0.0}
    ruled = [part for part in worst if part.at["msftl.gc-copies"] == RULE]
    assert all(part.case.startswith("random chunks once; free blocks run out") for part in ruled)
    versus = parts(measured, "msftl.f5.phone-vs-mini")
    assert len(versus) == (1 + N) * 3 and all(part.value == pytest.approx((1 - 2 / 3) * 100) for part in versus)


def test_the_foils_of_copies_are_the_named_ones() -> None:
    measured = copies.COPIES.measure(replays())
    # Mini-pages 48.5% below Base-DFTL's mappings of 400%.
    (foil, *_) = parts(measured, "msftl.f5.phone-vs-mini", "foil")
    assert foil.value == pytest.approx((1 - 2 / (1 + 4 * 0.515)) * 100)
    (foil, *_) = parts(measured, "msftl.f6.avg-response", "foil")
    assert foil.value == pytest.approx((1 - (2 * (N - 1) + 9) / (5 * (N - 1) + 9)) * 100)
    assert len(copies.COPIES.draw(replays()).axes) == 3


def test_the_map_of_rules_has_all_fills_and_rules() -> None:
    own = {"user": [100.0] * N, "copied": [50.0] * N, "base": [100.0] * N, "mini": [40.0] * N, "one": [10.0] * N}
    none = own | {"base": [2.0] * N, "one": [1.0] * N, "mini": [1.0] * N}
    rows = [{"way": way, "filled": fill} | dict.fromkeys(rules.BEGINS, own) for way in rules.WAYS for fill in FILLS]
    rows.append({"way": rules.NOTHING, "filled": "full"} | dict.fromkeys(rules.BEGINS, none))
    frame = pd.DataFrame(rows)
    measured = rules.RULES.measure(frame)
    total = parts(measured, "msftl.f5.phone-total")
    assert len(total) == 4 * 3 * (1 + N) * 4
    assert all(part.value == pytest.approx(45.0) for part in total if part.part != "rising")
    assert {part.value for part in total if part.part == "rising"} == {False}
    assert "copies 0.50 times the user data, Base-DFTL's mappings 100.0%" in total[0].told
    (foil,) = parts(measured, "msftl.f5.phone-total", "foil")
    assert foil.value == pytest.approx((1 - 101 / 102) * 100)
    versus = parts(measured, "msftl.f5.phone-vs-mini")
    assert len(versus) == 4 * 3 * (1 + N) * 3 and len({part.case for part in versus}) == 4 * 3 * (1 + N)
    assert len(rules.RULES.draw(frame).axes) == 3


def test_both_rules_of_the_directory_are_points() -> None:
    units = dict(zip(FTLS, (1000, 400, 200, 100), strict=True))
    rows = [
        {
            "ftl": ftl,
            "directories": rule,
            "device_pmt_flush_units": own,
            "device_pmt_moved_units": 0,
            "device_pmt_directory_units": 100 if rule == EACH_BLOCK else 10,
            "device_host_units_written": 100_000,
        }
        for rule in (EACH_BLOCK, SPARSE)
        for ftl, own in units.items()
    ]
    points = parts(SEQ.measure(pd.DataFrame(rows)), "msftl.seq.msftl")
    found = {(part.at["directories"], part.part or part.case): part.value for part in points}
    assert len(found) == 2 * 6 and found[SPARSE, MINI] == found[EACH_BLOCK, MINI] == pytest.approx(400 / 256)
    assert found[EACH_BLOCK, f"with directories, {ONE}"] == pytest.approx((1 - 200 / 1100) * 100)
    assert found[SPARSE, f"with directories, {ONE}"] == pytest.approx((1 - 110 / 1010) * 100)
    # Fig. 4 compares the rules over the same volume; the whole one has the other claims.
    random = pd.DataFrame(rows).assign(locality="5:5", volume=TWO_DIRECTORIES)
    whole = random[random["directories"] == EACH_BLOCK].assign(volume=WHOLE, device_pmt_flush_units=5000)
    eight = whole.iloc[[0]].assign(ftl="pages of 8 KiB")
    corner = pd.concat([whole.assign(locality="9:1"), whole, eight, random])
    segments = [part for part in F4.measure(corner) if part.claim == "msftl.f4.random-1k"]
    values = {(part.role, part.at.get("msftl.directory-rule"), part.part): part.value for part in segments}
    assert values["point", EACH_BLOCK, ""] == pytest.approx((1 - 200 / 1100) * 100)
    assert values["point", SPARSE, ""] == pytest.approx((1 - 110 / 1010) * 100)
    assert values["foil", None, ""] == pytest.approx((1 - 210 / 1010) * 100)
    share = [10 / (own + 10) for own in units.values()]
    name = "directories over all mappings, mean over schemes and localities"
    assert values["point", SPARSE, name] == pytest.approx(sum(share) / 4 * 100)
