"""The phones' profiles, what the documentation says of their fits, and the figure on a phone that sleeps."""

import json
import tomllib
from pathlib import Path

import pytest

import ufsim
from ufsim.devices import describe_profile
from ufsim.reproduce import phone_gains, phone_validation, reproduce
from ufsim.reproduce.figure import Setting
from ufsim.reproduce.hp_ufs_apps import APPS

ROOT = Path(__file__).parents[2]
PHONES = sorted(path.stem for path in (ROOT / "profiles/fits").glob("*.toml"))
# Another build may simulate the same phone a little better or worse; a fit that no longer holds is much worse.
DRIFT = 1.1


def committed(phone: str) -> dict:
    return json.loads((ROOT / f"docs/data/calibration/{phone}.json").read_text(encoding="utf-8"))["calibration"]


@pytest.mark.parametrize("phone", PHONES)
def test_a_phones_profile_is_what_its_fit_says(phone: str) -> None:
    assert phone in ufsim.profiles()
    profile = {entry["key"]: entry for entry in describe_profile(phone)["values"]}
    bounds = tomllib.loads((ROOT / f"profiles/fits/{phone}.toml").read_text(encoding="utf-8"))
    told = committed(phone)
    asked = {f"{section}.{key}": ends for section, keys in bounds.items() for key, ends in keys.items()}
    assert {one["key"]: [one["low"], one["high"]] for one in told["parameters"]} == asked
    for one in told["parameters"]:
        own = profile.get(one["key"])
        if own is not None and own["profile"] == phone:
            assert own["value"] == one["value"] and own["source"].startswith("fitted to "), one["key"]
    held = {key: profile[key]["value"] for key in told["set"]}
    assert held == told["set"]


@pytest.mark.parametrize("phone", PHONES)
def test_a_phones_fit_still_holds(phone: str, traces: Path) -> None:
    folder, clean = {"pixel4": ("pixel4-hpufs", []), "nexus5": ("nexus5-zhou", ["packed", "pages"])}[phone]
    told = {one["name"]: one["loss"] for one in committed(phone)["traces"]}
    paths = [str(path) for path in sorted((traces / folder).iterdir()) if path.name in told]
    assert len(paths) == len(told)
    done = ufsim.calibrate(paths, profile=phone, precondition="touched", clean=clean, seeds=1)
    for name, loss in done.losses.items():
        assert loss < DRIFT * told[name], f"{name}: {loss:.3f} now, {told[name]:.3f} when it was fitted"


def test_the_report_predicts_what_the_documentation_says(traces: Path) -> None:
    told = committed("pixel4")
    kept = phone_validation.folds()
    assert kept["left_out"] == {one["left_out"]: one["values"] for one in told["left_out"]}
    assert (kept["profile"], kept["set"]) == (told["profile"], told["set"])
    book = reproduce("phone/validation", Setting(quick=True, traces=traces), jobs=2)
    frame = book.figures[0].frame
    assert frame is not None
    scores = {(APPS[score["trace"]], score["kind"], score["statistic"]): score for score in told["scores"]}
    for statistic in phone_validation.PANELS:
        rows = phone_validation.cells(frame, statistic)
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
    reads, writes = (phone_gains.means(frame, kind) for kind in ("read", "write"))
    assert (reads[phone_gains.FLASH] < reads[phone_gains.HOST]).all(), reads
    for means in (reads, writes):
        assert (means[phone_gains.HOST] < means[phone_gains.PHONE]).all(), means
    gains = phone_gains.gains(frame, "read_mean_ns")
    assert list(gains.index) == [question.name for question in phone_gains.QUESTIONS]
    assert gains.notna().all().all()


def test_nothing_sleeps_without_the_phones_sleep() -> None:
    awake = phone_gains.without(*phone_gains.SLEEP)
    assert awake["power.auto_hibern8_idle_us"] == "off"
    assert {key.split(".")[0] for key in awake} == {"power"}
    alone = phone_gains.without(*phone_gains.SLEEP, *phone_gains.TIME)
    assert alone["host_time.nr_requests"] == "unlimited" and alone["write_path.flush_us"] == 0
