"""MSFTL's figures: how traces are joined, and what is made of the results."""

from pathlib import Path

import pandas as pd
import pytest

from ufsim import trace_info
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Setting
from ufsim_papers.msftl.phone import F2, F5, F6, FILLS, HEADER, OTHERS, PAUSE_NS, WITH_GC, join
from ufsim_papers.msftl.writes import FTLS, below_base, distinct


def trace(path: Path, *requests: tuple[int, str, int, int]) -> Path:
    """A trace of (time, operation, sector, bytes)."""
    lines = [f"{time},{operation},d,{sector},{size},,,app" for time, operation, sector, size in requests]
    path.write_text("\n".join((HEADER, *lines)) + "\n")
    return path


def test_moved_traces_have_higher_addresses_and_their_numbers(tmp_path: Path) -> None:
    first = trace(tmp_path / "a.csv", (500, "write", 80, 4096))
    second = trace(tmp_path / "b.csv", (9_000, "read", 8, 4096))
    out = tmp_path / "joined.csv"
    join([(first, ()), (second, ())], out, 16)
    rows = [line.split(",") for line in out.read_text().splitlines()[1:]]
    assert [(row[1], int(row[3]), row[-1]) for row in rows] == [
        ("write", 80 + 16 * 2048, "0"),
        ("read", 8 + 16 * 2048, "1"),
    ]


def test_traces_are_joined_one_after_another_with_their_own_addresses(tmp_path: Path) -> None:
    first = trace(tmp_path / "a.csv", (500, "write", 80, 4096), (2_500, "read", 0, 8192))
    second = trace(tmp_path / "b.csv", (9_000, "write", 4, 1024), (10_000, "write", 160, 4096))
    out = tmp_path / "joined.csv"
    join([(first, ()), (second, ("pages",))], out)
    rows = [line.split(",") for line in out.read_text().splitlines()[1:]]
    # Times begin at 0 in each trace; the second one's partial page is widened to whole ones by its cleaning rule.
    assert [int(row[0]) for row in rows] == [0, 2_000, 2_000 + PAUSE_NS, 3_000 + PAUSE_NS]
    assert [(row[1], int(row[3]), int(row[4])) for row in rows] == [
        ("write", 80, 4096),
        ("read", 0, 8192),
        ("write", 0, 4096),
        ("write", 160, 4096),
    ]
    info = trace_info(out)
    assert (info["requests"], len(info["devices"])) == (4, 1)
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "b.csv", "joined.csv"}


def results() -> pd.DataFrame:
    """User data 100, GC copies 40 on the full drive. Base-DFTL has as many mappings as both, the others have fewer.
    GC's time adds as much as Base-DFTL takes."""
    share = dict(zip(FTLS, (1.0, 0.5, 0.25, 0.1), strict=True))
    rows = []
    for fill in (*FILLS, WITH_GC):
        gc = 40 if fill in ("full", WITH_GC) else 0
        slower = 1.0 if fill == WITH_GC else 0.0
        for ftl in FTLS:
            mappings = int(share[ftl] * (100 + gc))
            rows.append(
                {
                    "filled": fill,
                    "ftl": ftl,
                    "within": [(1_000, 90), (2_000, 100)],
                    "all_count": 100,
                    "all_mean_ns": 1_000 * (share[ftl] + slower),
                    "all_max_ns": 2e12 * (share[ftl] + slower),
                    "all_p999_ns": 1_900,
                    "nand_map_write_ns": 25,
                    "nand_gc_write_ns": 50,
                    "nand_valid_page_search_ns": 25,
                    "device_host_units_written": 100,
                    "device_data_units_programmed": 96,
                    "device_padding_units": 4,
                    "device_gc_units_programmed": gc,
                    "device_free_superblocks": 8,
                    "device_pmt_flush_units": mappings - 2,
                    "device_pmt_moved_units": 1,
                    "device_pmt_directory_units": 1,
                }
            )
    return pd.DataFrame(rows)


def without_gc_time() -> pd.DataFrame:
    """What Fig. 5 gets."""
    frame = results()
    return frame[frame["filled"] != WITH_GC]


def by_part(measured: list[Measured], claim: str) -> dict[str, Measured]:
    return {part.part: part for part in measured if part.claim == f"msftl.{claim}"}


def test_reductions_follow_from_what_was_written() -> None:
    measured = F5.measure(without_gc_time())
    assert {part.role for part in measured} == {"beside"}
    total = by_part(measured, "f5.phone-total")
    # User data and mappings: 200 against 110, and on the full drive 240 against 114, or 170 of the mini-page FTL.
    assert total["simulated, quarter"].value == pytest.approx(45.0)
    assert total["simulated, full"].value == pytest.approx((1 - 114 / 240) * 100)
    # With GC 280 against 154.
    assert f"{(1 - 154 / 280) * 100:.1f}%" in total["simulated, full"].told
    mini = by_part(measured, "f5.phone-vs-mini")["simulated, full"]
    assert mini.value == pytest.approx((1 - 114 / 170) * 100)


def test_only_the_last_column_has_the_time_of_gc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("ufsim_papers.msftl.phone.phone_trace", lambda setting: tmp_path / "joined.csv")
    runs = F6.runs(Setting())
    assert [run.labels["filled"] for run in runs[:: len(FTLS)]] == [*FILLS, WITH_GC]
    charged = [run.labels["filled"] for run in runs if "what_if.free" not in run.spec.settings]
    assert charged == [WITH_GC] * len(FTLS)
    assert {run.spec.age for run in runs if "full" in str(run.labels["filled"])} == {runs[-1].spec.age}


def test_the_pictures_have_a_panel_for_each_fill() -> None:
    assert len(F6.draw(results()).axes) == 8
    full = results()[results()["filled"] == "full"]
    assert len(F6.draw(full).axes) == 2 and len(F5.draw(full).axes) == 2


def test_update_ratios_are_those_of_the_entries_written() -> None:
    frame = pd.DataFrame(
        {
            "page_kib": [16, 8, 4] * 4,
            "without": ["", "", "", "a", "a", "a", *[OTHERS] * 3, "", "", ""],
            "flush_mib": [9] * 9 + [90] * 3,
            "device_pmt_entries_changed": [5] * 6 + [20] * 3 + [10] * 3,
            "device_pmt_entries_written": [100, 80, 50] * 4,
        }
    )
    measured = F2.measure(frame)
    values = {(part.role, part.case, part.part): part.value for part in measured}
    assert values["point", "", ""] == values["point", "without a", ""] == pytest.approx(5.0)
    assert values["beside", "", "the 2 of the 31 traces alone, 16 KiB"] == pytest.approx(20.0)
    assert values["point", "", "4 KiB"] == pytest.approx(10.0) and values["foil", "", "8 KiB"] == pytest.approx(12.5)


def test_the_closed_form_of_distinct_translation_pages() -> None:
    # 576 chunks over 8073 pages of 16 KiB, 16,146 of 8 KiB, 32,292 of 4 KiB (N (1 - (1 - 1/N)^576)).
    assert [distinct(size) for size in (16, 8, 4)] == pytest.approx([555.96, 565.86, 570.90], abs=0.01)
    assert [below_base(size) for size in (4, 8)] == pytest.approx([74.3, 49.1], abs=0.05)
