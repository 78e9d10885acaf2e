"""The reproduction book: verdicts, completeness, and a golden subset of it.

`UFSIM_BLESS=1 .venv/bin/pytest tests/python/test_reproduce.py` writes the golden values anew.
"""

import html
import json
import math
import os
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from conftest import ROOT, Command
from ufsim import ConfigError
from ufsim.reproduce import (
    Book,
    Claim,
    Measured,
    hp_ufs_hpb,
    hpbvalve,
    hpbvalve_result,
    hpbvalve_study,
    load_claims,
    reproduce,
)
from ufsim.reproduce.claims import Outcome
from ufsim.reproduce.figure import Drawn, Missing, Run, Setting
from ufsim.reproduce.map_plus import LOADS
from ufsim.reproduce.registry import FIGURES, select
from ufsim.reproduce.report import report_html, unlisted_html

pytestmark = pytest.mark.slow

GOLDEN = ROOT / "tests" / "golden"
# Figures that take seconds: no device has to be aged for them.
SUBSET = (
    *("hp-ufs/t1", "hp-ufs/f6", "hp-ufs/f11", "hp-ufs/segments", "hpb/f6", "hpb/f7", "hpb/f8", "hpb/f9"),
    *("map-plus/t1", "map-plus/t2", "map-plus/f6", "map-plus/f3"),
    *("msftl/s33", "msftl/f4"),
    *("hpbvalve/f5", "hpbvalve/f15"),
)
# The same of figures that replay real traces.
WITH_TRACES = ("map-plus/f2", "map-plus/f8", "map-plus/f9", "map-plus/f12", "map-plus/f14")


def claim(band: tuple[float, float] | None = (1.0, 8.0)) -> Claim:
    return Claim("a.b.c", "a", "Fig. 1", "a claim", 4.0, "gain_pct", band, "")


def test_a_claim_is_hit_only_if_every_part_is() -> None:
    def verdict(*parts: Measured) -> str:
        return Outcome(claim(), list(parts)).verdict

    assert verdict() == "not yet"
    assert verdict(Measured("a.b.c", 1.0), Measured("a.b.c", 8.0)) == "hit"
    assert verdict(Measured("a.b.c", 0.9)) == "miss"
    assert verdict(Measured("a.b.c", 5.0), Measured("a.b.c", 8.1)) == "miss"
    assert verdict(Measured("a.b.c", 12.0, band=(10, 15))) == "hit"
    assert verdict(Measured("a.b.c", True), Measured("a.b.c", False)) == "miss"
    assert verdict(Measured("a.b.c", float("nan"))) == "miss"


def test_the_claims_are_those_of_the_shared_data(shared: Path) -> None:
    ours = tomllib.loads((ROOT / "python" / "ufsim" / "data" / "claims.toml").read_text())
    assert ours == tomllib.loads((shared / "claims" / "claims.toml").read_text())


def test_every_claim_of_a_paper_with_figures_belongs_to_one() -> None:
    papers = {figure.paper for figure in FIGURES}
    wanted = [claim.id for claim in load_claims() if claim.paper in papers]
    measured = [name for figure in FIGURES for name in figure.claims]
    assert sorted(measured) == sorted(wanted)
    assert len({figure.id for figure in FIGURES}) == len(FIGURES)
    for figure in FIGURES:
        assert len(figure.caption) > 80, f"{figure.id}: a caption tells the mechanism"


def test_unlisted_claims_have_a_value_and_no_verdict() -> None:
    listed = {claim.id for claim in load_claims()}
    units = {name: unit for figure in FIGURES for name, unit in figure.unlisted.items()}
    assert not listed & set(units), "what the data lists belongs to `claims`, where it gets a verdict"
    assert set(units.values()) <= {claim.unit for claim in load_claims()}
    of = next(figure for figure in FIGURES if figure.unlisted)
    name, unit = next(iter(of.unlisted.items()))
    drawn = Drawn(of, measured=[Measured(name, 28.4, "told"), Measured(of.claims[0], 1.0)])
    book = Book([drawn], Setting())
    (value,) = book.unlisted
    assert (value.part.value, value.unit, value.text) == (28.4, unit, "28.4%")
    assert [outcome.claim.id for outcome in book.outcomes if outcome.parts] == [of.claims[0]]
    assert json.loads(book.to_json())["unlisted"] == [{"id": name, "part": "told", "value": 28.4, "unit": unit}]
    assert name in unlisted_html(book.unlisted)


def phone_runs(launch_ms: list[float]) -> pd.DataFrame:
    """Runs of two schemes with these mean launch times, the second scheme's twice as long."""
    rows = [(scheme, seed, ms * times) for seed, ms in enumerate(launch_ms) for scheme, times in (("a", 1), ("b", 2))]
    frame = pd.DataFrame(rows, columns=["scheme", "seed", "launch_ms"])
    return frame.assign(memory_mib=256)


def test_five_outliers_of_twenty_are_left_out_for_all_schemes() -> None:
    times = [100.0 + seed for seed in range(20)]
    times[3], times[8], times[11], times[12], times[19] = 300, 10, 250, 5, 200
    left = hpbvalve.kept(phone_runs(times))
    assert sorted(left["seed"].unique()) == [seed for seed in range(20) if seed not in (3, 8, 11, 12, 19)]
    assert (left.groupby("seed").size() == 2).all()
    assert len(hpbvalve.kept(phone_runs([100.0]))) == 2, "a single one stays"


def test_figures_of_hpb_have_both_policies_and_twenty_sequences() -> None:
    for name in ("f2", "f5", "f6", "f7"):
        (figure,) = select(f"hpbvalve/{name}")
        labels = [point.labels for point in figure.runs(Setting())]
        for scheme in hpbvalve.HPB_POLICIES:
            assert len({label["seed"] for label in labels if label["scheme"] == scheme}) == 20, f"{name}: {scheme}"
    sizes = {(label["scheme"], label["memory_mib"]) for label in labels}
    assert {(hpbvalve.RESERVED, size) for size in hpbvalve_study.SIZES} < sizes


def test_l2p_reads_are_misses_and_what_hpb_fetches() -> None:
    rows = [("ufs", 256, 100, 60, 0), ("foam", 16, 100, 30, 40), ("foam", 256, 90, 10, 20), ("hpbvalve", 256, 1, 1, 1)]
    table = pd.DataFrame(rows, columns=["scheme", "memory_mib", "reads", "map", "fetches"]).assign(app="UB")
    sums = hpbvalve_study.by_size(table, "foam").loc["UB"]
    assert sums["l2p"].to_dict() == {0: 60, 16: 70, 256: 30}
    assert sums["all"].to_dict() == {0: 160, 16: 170, 256: 120}


def test_kills_are_compared_by_sequence_and_spared_apps_are_none() -> None:
    def runs(kills: dict[str, list[int]]) -> pd.DataFrame:
        # For each scheme and sequence so many kills of high priority, one of a service, and one that was averted.
        def listed(count: int) -> str:
            dead = [{"category": 1, "spared": False}] * count
            return json.dumps([*dead, {"category": 5, "spared": False}, {"category": 1, "spared": True}])

        rows = [(scheme, seed, listed(n)) for scheme, counts in kills.items() for seed, n in enumerate(counts)]
        frame = pd.DataFrame(rows, columns=["scheme", "seed", "kills"])
        uses = json.dumps([{"app": app, "launch": 1, "reads": 100} for app in hpbvalve.APPS])
        return frame.assign(uses=uses, memory_mib=256, launch_ms=1.0)

    (figure,) = select("hpbvalve/f16")
    names = ("ufs", "foam", hpbvalve.RESERVED, "hpbvalve")
    counts = ([1, 1, 2], [4, 5, 3], [6, 6, 8], [1, 2, 0])
    measured = figure.measure(runs(dict(zip(names, counts, strict=True))))
    values = [(part.claim.removeprefix("hpbvalve.f16."), part.value) for part in measured[:4]]
    assert values == [("kills", 75.0), ("kills-vs-ufs", 3.0), ("kills", 85.0), ("kills-vs-ufs", 5.0)]
    none = figure.measure(runs({name: [0, 0, 0] for name in names}))
    assert [part.value for part in none[:4]] == [False] * 4, "without kills there is nothing to compare"


def test_games_that_are_never_loaded_again_have_no_loading_to_compare() -> None:
    (figure,) = select("hpbvalve/f13")

    def loading(warm: bool) -> float | bool:
        def listed(scheme: int) -> str:
            cold = {"loading_ms": None if warm else 1000.0 + scheme, "start": "warm" if warm else "cold"}
            once = [{"app": app, "launch_ms": 500.0 + scheme, **cold} for app in hpbvalve.APPS]
            again = [
                {"app": app, "launch_ms": 100.0 + scheme, "loading_ms": None, "start": "warm"} for app in ("FB", "UB")
            ]
            return json.dumps([dict(use, launch=2) for use in once + again])

        names = ("ideal", "hpbvalve", "foam", "ufs")
        rows = [(name, seed, listed(20 * at)) for at, name in enumerate(names) for seed in range(3)]
        frame = pd.DataFrame(rows, columns=["scheme", "seed", "uses"]).assign(memory_mib=256, launch_ms=1.0)
        (value,) = (part.value for part in figure.measure(frame) if part.part.startswith("of loading"))
        return value

    assert (loading(warm=True), loading(warm=False)) == (False, 50.0)


def test_switches_are_compared_app_by_app() -> None:
    (figure,) = select("hpbvalve/f13")
    apps = {"ideal": [100.0, 200.0], "hpbvalve": [103.0, 201.0], "foam": [108.0, 204.0]}

    def verdicts(**other: list[float]) -> list[float | bool]:
        warm = pd.DataFrame(apps | other, index=["FB", "TW"])
        return [part.value for part in hpbvalve_result.switching(warm)]

    assert verdicts() == [True, True, True]
    assert verdicts(hpbvalve=[103.0, 205.0]) == [False, True, False]
    assert verdicts(hpbvalve=[107.0, 201.0]) == [True, False, True]
    assert "hpbvalve.f13.switching" in figure.unlisted


def test_an_interval_is_that_of_the_mean() -> None:
    # The jackknife of a mean is its standard error: by hand, values 1, 2, 3, 4 have s = 1.291, s / 2 = 0.6455.
    by_seed = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "n": [1.0] * 4})
    told = hpbvalve.interval(by_seed, lambda sums: float(sums["a"] / sums["n"]))
    assert told == f", 95% interval {2.5 - 2.145 * 0.6455:.2f} .. {2.5 + 2.145 * 0.6455:.2f}"
    lonely = pd.DataFrame({"a": [3.0, 4.0], "n": [0.0, 2.0]})
    none = hpbvalve.interval(lonely, lambda sums: float(sums["a"] / sums["n"]) if sums["n"] else math.nan)
    assert "no 95% interval" in none
    assert hpbvalve.interval(by_seed.head(1), lambda sums: float(sums["a"])) == ""


def test_a_wish_names_a_paper_or_a_figure() -> None:
    assert select(None) == list(FIGURES)
    assert [figure.id for figure in select("hpb")] == ["hpb/f6", "hpb/f7", "hpb/f8", "hpb/f9"]
    assert [figure.id for figure in select("hp-ufs/f11")] == ["hp-ufs/f11"]
    with pytest.raises(ConfigError, match=r"there is no figure or paper 'hpb/f1'; allowed: .*hp-ufs/f6"):
        select("hpb/f1")


def test_hp_ufs_is_compared_with_the_hpb_that_its_paper_describes() -> None:
    for figure in select("hp-ufs"):
        if figure.id in ("hp-ufs/f6", "hp-ufs/f7", "hp-ufs/f8", "hp-ufs/segments"):
            specs = [run.spec for run in figure.runs(Setting(quick=True)) if isinstance(run, Run)]
            assert {spec.scheme for spec in specs} >= {"hpb", "hp-ufs"}, figure.id
            for spec in specs:
                held = {key: value for key, value in spec.settings.items() if "hpb" in key}
                assert held == (hp_ufs_hpb.SETTINGS if spec.scheme == "hpb" else {}), figure.id
    runs = [run for figure in select("hpb") for run in figure.runs(Setting()) if isinstance(run, Run)]
    assert runs and not any(run.spec.settings for run in runs), "its own paper's figures take it as it is"


def test_figures_without_their_traces_say_where_to_get_them(tmp_path: Path) -> None:
    needs = (
        ("hp-ufs/f9", None, "github.com/s3yonsei/hpufs_public"),
        ("hp-ufs/f9", tmp_path, "--traces must name"),
        ("map-plus/f9", None, "needs the phone traces of the HP-UFS authors"),
        ("msftl/f2", None, "traces of a Nexus 5 (github.com/RVerschoren"),
    )
    for wish, traces, told in needs:
        book = reproduce(wish, Setting(quick=True, traces=traces))
        assert told in book.figures[0].missing
        assert told in report_html(book)
        assert {outcome.verdict for outcome in book.outcomes} == {"not yet"}


@pytest.fixture(scope="module")
def quick_books() -> list:
    # Many figures only write: a scheme that lost data would score the same without the read-back.
    return [reproduce(wish, Setting(quick=True, verify=True), jobs=2) for wish in SUBSET]


def compare_with_golden(books: list, file: str) -> None:
    measured = {
        f"{outcome.claim.id} [{part.part}]": part.value
        for book in books
        for outcome in book.outcomes
        for part in outcome.parts
    }
    if "UFSIM_BLESS" in os.environ:
        (GOLDEN / file).write_text(json.dumps(measured, indent=2) + "\n")
    golden = json.loads((GOLDEN / file).read_text())
    assert measured.keys() == golden.keys()
    for name, value in measured.items():
        assert value == pytest.approx(golden[name], rel=1e-12), name


def test_a_subset_of_the_book_gives_its_golden_values(quick_books: list) -> None:
    compare_with_golden(quick_books, "scorecard.json")


def test_figures_of_real_traces_give_their_golden_values(traces: Path) -> None:
    books = [reproduce(wish, Setting(quick=True, traces=traces, verify=True), jobs=2) for wish in WITH_TRACES]
    compare_with_golden(books, "scorecard_traces.json")


def test_every_figure_of_the_subset_is_drawn_with_its_data(quick_books: list, tmp_path: Path) -> None:
    for book in quick_books:
        report = book.write(tmp_path)
        text = report.read_text()
        drawn = book.figures[0]
        stem = drawn.figure.id.replace("/", "-")
        assert {path.name for path in tmp_path.glob(f"{stem}*")} == {f"{stem}.parquet", f"{stem}.png"}
        assert text.count("<figure>") == 1 and text.count("<svg") == 1
        assert html.escape(drawn.figure.caption)[:60] in text
        for name in drawn.figure.claims:
            assert name in text
    scorecard = json.loads((tmp_path / "scorecard.json").read_text())
    assert len(scorecard["claims"]) == len(load_claims())


def test_the_command_line_prints_the_scorecard(ufsim: Command, tmp_path: Path) -> None:
    shown = ufsim("reproduce", "hpb/f7", "--quick", "--out", tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "hpb.f7.neutral" in shown.stdout and "report:" in shown.stdout
    assert "map-plus" not in shown.stdout
    document = json.loads(ufsim("reproduce", "hpb/f7", "--quick", "--verify", "--json", "--out", tmp_path).stdout)
    verdicts = {entry["id"]: entry["verdict"] for entry in document["claims"]}
    assert verdicts["hpb.f7.neutral"] in ("hit", "miss") and verdicts["map-plus.f9.read"] == "not yet"
    wrong = ufsim("reproduce", "hpx")
    assert wrong.returncode == 1 and "no figure or paper 'hpx'" in wrong.stderr


def test_every_trace_of_map_plus_says_where_it_comes_from() -> None:
    for load in LOADS.values():
        with pytest.raises(Missing, match=r"github\.com/"):
            Setting().trace(*load.parts)
