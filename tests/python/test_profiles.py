"""`ufsim profiles` and `ufsim.describe_profile`: checks, derived facts, ceilings, and where values come from."""

import json
import math
import re
import tomllib
from pathlib import Path

import pytest

import ufsim as package
from conftest import Command
from ufsim.devices import profile_toml

VARIANT = """
extends = "hp-ufs"

[nand]
tlc_read_us = 90

[assumed]
"nand.tlc_read_us" = "slower cells"
"""


@pytest.fixture
def variant(tmp_path: Path) -> Path:
    """A profile of one's own that extends a built-in one."""
    path = tmp_path / "slower.toml"
    path.write_text(VARIANT)
    return path


def test_the_list_names_every_profile(ufsim: Command) -> None:
    shown = ufsim("profiles")
    assert shown.returncode == 0
    for name in package.profiles():
        assert re.search(rf"^ *{name} +\d+ [MGT]iB ", shown.stdout, re.MULTILINE), name
    listed = json.loads(ufsim("profiles", "--json").stdout)
    assert [entry["profile"] for entry in listed] == package.profiles()
    large = next(entry for entry in listed if entry["profile"] == "hp-ufs-1tib")
    assert (large["extends"], large["facts"]["usable_bytes"]) == (["hp-ufs"], 1 << 40)


def test_a_profile_is_shown_with_facts_ceilings_and_sources(ufsim: Command) -> None:
    text = ufsim("profiles", "hp-ufs").stdout
    for told in (
        r"usable capacity +128 GiB",
        r"over-provisioning +15\.6 %",
        r"L2P table +128 MiB",
        r"random read 4 KiB, kIOPS .* 133\*",
        r"^\[nand\]",
        r"^tlc_read_us +60 +HP-UFS Table I",
        r"^command_ns +1000 +assumed: the paper gives no firmware time",
    ):
        assert re.search(told, text, re.MULTILINE), told


def test_json_has_what_python_gives(ufsim: Command, variant: Path) -> None:
    told = json.loads(ufsim("profiles", variant, "--json", "--set", "firmware.command_ns=2_000").stdout)
    assert told == package.describe_profile(variant, {"firmware.command_ns": 2000})
    values = {value["key"]: value for value in told["values"]}
    assert values["nand.tlc_read_us"] | {"unit": ""} == {
        "key": "nand.tlc_read_us",
        "value": 90,
        "unit": "",
        "source": "slower cells",
        "assumed": True,
        "profile": str(variant),
    }
    assert (values["firmware.command_ns"]["value"], values["firmware.command_ns"]["source"]) == (
        2000,
        "set for this run",
    )
    assert values["nand.planes"]["profile"] == "hp-ufs"
    read = told["ceilings"]["random_read"]
    assert read["limited_by"] == "die"
    assert read["requests_per_s"] == pytest.approx(8 / 90e-6)
    assert set(read["requests_per_s_by"]) == {"link", "channel", "die", "firmware", "tags"}
    assert set(told["schemes"]) == {scheme["name"] for scheme in package.schemes()}


def test_a_variant_runs_and_can_be_written_as_one_file(ufsim: Command, variant: Path, tmp_path: Path) -> None:
    flat = tmp_path / "flat.toml"
    flat.write_text(ufsim("profiles", variant, "--toml").stdout)
    text = tomllib.loads(flat.read_text())
    assert "extends" not in text
    assert text["nand"]["tlc_read_us"] == 90
    assert text["assumed"]["nand.tlc_read_us"] == "slower cells"
    both = [package.describe_profile(path) for path in (variant, flat)]
    assert both[0]["facts"] == both[1]["facts"]
    assert profile_toml("tiny").startswith("# Profile tiny, as one file.\n")
    results = [
        package.run("samples/formats/fio-3.33.iolog", "ideal", profile=str(path), replay="closed", depth=1)
        for path in (variant, flat)
    ]
    assert results[0].digest == results[1].digest


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there is nothing in it: a profile has extends"),
        (VARIANT.replace("90", '"50"'), 'nand.tlc_read_us = "50": must be 1..=100000, an integer or a list'),
        (VARIANT.replace("90", "50.0"), "nand.tlc_read_us = 50.0: must be 1..=100000, an integer or a list"),
        (VARIANT.replace('"slower cells"', '""'), "must be a non-empty string"),
        (VARIANT.replace("[assumed]\n", "[assumed]\n#"), "nand.tlc_read_us = 90: differs from 60 in hp-ufs"),
        ('extends = "pixel"', 'extends = "pixel": no such profile: must be one of hp-ufs, '),
        ('extends = "./slower.toml"', "goes round: "),
        ("[nand", "line 1: "),
    ],
)
def test_a_wrong_file_is_told_in_one_line(ufsim: Command, variant: Path, text: str, told: str) -> None:
    variant.write_text(text)
    failed = ufsim("profiles", variant)
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert failed.stderr.count("\n") == 1
    assert told in failed.stderr
    assert str(variant) in failed.stderr


@pytest.mark.parametrize(
    "arguments",
    [["--toml"], ["--set", "firmware.command_ns=2_000"], ["hp-ufs", "--toml", "--json"], ["hp-ufs", "--speed"]],
)
def test_wrong_usage(ufsim: Command, arguments: list[str]) -> None:
    assert ufsim("profiles", *arguments).returncode == 2


def test_a_misspelt_profile_is_told_with_the_right_one() -> None:
    for call in (package.describe_profile, profile_toml):
        with pytest.raises(package.ConfigError, match=r"profile is 'tinny'; allowed: .*; did you mean 'tiny'\?"):
            call("tinny")


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_what_json_has_not_is_told_with_its_key(value: float) -> None:
    told = f'nand.planes = "{value}": must be 1..=6'
    for call in (package.describe_profile, profile_toml):
        with pytest.raises(package.ConfigError, match=re.escape(told)):
            call("tiny", {"nand.planes": value})
    job = "rw=read bs=4k size=1m"
    with pytest.raises(package.ConfigError, match=re.escape(told)):
        package.run(job, "ufs", profile="tiny", settings={"nand.planes": value})
    with pytest.raises(package.ConfigError, match=rf'host_memory_mib = "{value}": .*MIB is 1..=65536'):
        package.run(job, "ufs", profile="tiny", host_memory_mib=value)


def test_what_cannot_run_on_a_device_is_said(ufsim: Command) -> None:
    text = ufsim("profiles", "emmc-map-plus", "--set", "scheme.cdftl.cache_kib=4").stdout
    assert "scheme cdftl cannot run on this device: scheme.cdftl.cache_kib = 4: must be at least 8" in text


def test_the_version_names_the_sources(ufsim: Command, tmp_path: Path) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\+[0-9a-f]{16}", package.__version__)
    assert ufsim("--version").stdout == f"ufsim {package.__version__}\n"
    result = package.run("samples/formats/fio-3.33.iolog", "ideal", profile="tiny", replay="closed", depth=1)
    assert result.version == package.__version__


@pytest.mark.parametrize(("parent", "capacity", "mib"), [("ufs-4.0-512", "256g", 262_144), ("ufs21", "512G", 1 << 19)])
def test_a_device_of_another_size_is_a_profile_to_begin_with(
    parent: str, capacity: str, mib: int, ufsim: Command, tmp_path: Path
) -> None:
    made = ufsim(
        "profiles", parent, "--capacity", capacity, "--set", "nand.page_kib=8", "--set", "sram.write_through=true"
    )
    path = tmp_path / "mine.toml"
    path.write_text(made.stdout)
    device = package.describe_profile(path)
    assert device["extends"][0] == parent
    assert device["facts"]["usable_bytes"] == mib << 20
    assert not any(device["schemes"].values()), "every scheme runs on it"
    base = package.describe_profile(parent)["facts"]
    assert device["facts"]["overprovision_ratio"] == pytest.approx(base["overprovision_ratio"], abs=0.01)
    values = {value["key"]: value for value in device["values"]}
    assert values["nand.page_kib"]["value"] == 8 and values["nand.page_kib"]["assumed"]
    assert values["sram.write_through"]["value"] is True


def test_what_is_no_size_or_fits_no_device_is_told(ufsim: Command) -> None:
    assert (
        "capacity is 'large'; allowed: a size such as 128g" in ufsim("profiles", "ufs21", "--capacity", "large").stderr
    )
    assert "block numbers travel in 16 bits" in ufsim("profiles", "hp-ufs", "--capacity", "1t").stderr
    small = ufsim("profiles", "ufs-4.0-512", "--capacity", "64m").stderr.replace("\n", " ")
    assert "capacity is '64m', and superblocks have 1056 MiB" in small and "another size" in small, small
    assert "--capacity" in ufsim("profiles", "--capacity", "64g").stderr
