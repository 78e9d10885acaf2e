"""The phones' profiles, and what the documentation says of their fits."""

import json
import tomllib
from pathlib import Path

import pytest

import ufsim
from ufsim.devices import describe_profile

ROOT = Path(__file__).parents[2]
PHONES = sorted(path.stem for path in (ROOT / "profiles/fits").glob("*.toml"))
# A fit has seen one seed, whose luck it takes for the phone's: losses of other seeds lie up to 17% apart. A fit that no
# longer holds is much worse.
DRIFT = 1.2


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


def test_a_phone_in_use_keeps_the_goals_of_its_profile_for_most_applications() -> None:
    told = committed("pixel4-used")
    assert told["parameters"] == [], "nothing is fitted"
    missed = {one["trace"] for one in told["scores"] if one["statistic"] != "over_8ms" and one["verdict"] == "miss"}
    assert len({one["trace"] for one in told["scores"]} - missed) >= 4


@pytest.mark.parametrize("phone", PHONES)
def test_a_phones_fit_still_holds(phone: str, traces: Path) -> None:
    folder, clean = {"pixel4": ("pixel4-hpufs", []), "nexus5": ("nexus5-zhou", ["packed", "pages"])}[phone]
    told = {one["name"]: one["loss"] for one in committed(phone)["traces"]}
    paths = [str(path) for path in sorted((traces / folder).iterdir()) if path.name in told]
    assert len(paths) == len(told)
    done = ufsim.calibrate(paths, profile=phone, precondition="touched", clean=clean, seeds=1)
    for name, loss in done.losses.items():
        assert loss < DRIFT * told[name], f"{name}: {loss:.3f} now, {told[name]:.3f} when it was fitted"
