"""The figures on a phone that sleeps."""

import json
from pathlib import Path

import pytest

from ufsim_papers.book import reproduce
from ufsim_papers.figure import Setting
from ufsim_papers.hp_ufs.apps import APPS
from ufsim_papers.phone import gains, validation

ROOT = Path(__file__).parents[2]


def test_the_report_predicts_what_the_documentation_says(traces: Path) -> None:
    told = json.loads((ROOT / "docs/data/calibration/pixel4.json").read_text(encoding="utf-8"))["calibration"]
    kept = validation.folds()
    assert kept["left_out"] == {one["left_out"]: one["values"] for one in told["left_out"]}
    assert (kept["profile"], kept["set"]) == (told["profile"], told["set"])
    book = reproduce("phone/validation", Setting(quick=True, traces=traces), jobs=2)
    frame = book.figures[0].frame
    assert frame is not None
    scores = {(APPS[score["trace"]], score["kind"], score["statistic"]): score for score in told["scores"]}
    for statistic in validation.PANELS:
        rows = validation.cells(frame, statistic)
        assert [row["name"] for row in rows] == ["X reads", "GI reads", "X writes"]
        for row in rows:
            app, kind = row["name"].split()
            score = scores[app, kind.removesuffix("s"), statistic]
            assert row["recorded"] == pytest.approx(score["recorded"])
            assert row["simulated"] == pytest.approx(score["simulated"], rel=0.1)


def test_the_phones_time_comes_on_top_of_the_flash(traces: Path) -> None:
    book = reproduce("phone/gains", Setting(quick=True, traces=traces), jobs=2)
    frame = book.figures[0].frame
    assert frame is not None
    reads, writes = (gains.means(frame, kind) for kind in ("read", "write"))
    assert (reads[gains.FLASH] < reads[gains.HOST]).all(), reads
    for means in (reads, writes):
        assert (means[gains.HOST] < means[gains.PHONE]).all(), means
    found = gains.gains(frame, "read_mean_ns")
    assert list(found.index) == [question.name for question in gains.QUESTIONS]
    assert found.notna().all().all()


def test_nothing_sleeps_without_the_phones_sleep() -> None:
    awake = gains.without(*gains.SLEEP)
    assert awake["power.auto_hibern8_idle_us"] == "off"
    assert {key.split(".")[0] for key in awake} == {"power"}
    alone = gains.without(*gains.SLEEP, *gains.TIME)
    assert alone["host_time.nr_requests"] == "unlimited" and alone["write_path.flush_us"] == 0
