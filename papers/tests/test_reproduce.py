"""The reproduction book: verdicts, completeness, and a golden subset of it.

`UFSIM_BLESS=1 .venv/bin/pytest papers/tests/test_reproduce.py` writes the golden values anew.
"""

import html
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest

from ufsim import ConfigError, RunStore
from ufsim_papers import scorecard
from ufsim_papers.book import planned, reproduce
from ufsim_papers.claims import load_claims
from ufsim_papers.figure import Point, Run, Setting
from ufsim_papers.hp_ufs import hpb
from ufsim_papers.hpbvalve import result, study
from ufsim_papers.hpbvalve import runs as hpbvalve
from ufsim_papers.intervals import Value
from ufsim_papers.measuring import Means, key, measured
from ufsim_papers.registry import FIGURES, select
from ufsim_papers.report import report_html

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent
Command = Callable[..., CompletedProcess[str]]
# Figures that take seconds: no device has to be aged for them.
SUBSET = (
    *("hp-ufs/t1", "hp-ufs/f6", "hp-ufs/f11", "hp-ufs/segments", "hpb/f6", "hpb/f7", "hpb/f8", "hpb/f9"),
    *("map-plus/t1", "map-plus/t2", "map-plus/f6", "map-plus/f3"),
    *("msftl/s33", "msftl/f4"),
    *("hpbvalve/f5", "hpbvalve/f15"),
)
# Claims of these figures that --quick measures by the same runs as the whole book, if for fewer points.
SAME_RUNS = {
    *("hp-ufs.f6.randwrite-16g", "hp-ufs.f6.cache-20mb", "hp-ufs.f11.segments-dominate"),
    *("hpb.f6.random-read", "hpb.f7.neutral", "map-plus.t1.sequences", "map-plus.t2.rb-vs-bs", "map-plus.f6.waiting"),
    *("msftl.s33.directory", "hp-ufs.f11.recovery"),
}
# The same of figures that replay real traces.
WITH_TRACES = ("map-plus/f2", "map-plus/f8", "map-plus/f9", "map-plus/f12", "map-plus/f14")


def test_every_figure_has_a_name_and_tells_its_mechanism() -> None:
    assert len({figure.id for figure in FIGURES}) == len(FIGURES)
    for figure in FIGURES:
        assert len(figure.caption) > 80, f"{figure.id}: a caption tells the mechanism"


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


def test_l2p_reads_are_misses_and_what_hpb_fetches() -> None:
    rows = [("ufs", 256, 100, 60, 0), ("foam", 16, 100, 30, 40), ("foam", 256, 90, 10, 20), ("hpbvalve", 256, 1, 1, 1)]
    table = pd.DataFrame(rows, columns=["scheme", "memory_mib", "reads", "map", "fetches"]).assign(app="UB")
    sums = study.by_size(table, "foam").loc["UB"]
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
    values_of = figure.measure(runs(dict(zip(names, counts, strict=True))))
    values = [(part.claim.removeprefix("hpbvalve.f16."), part.value) for part in values_of[:4]]
    same = runs({name: [1, 1, 2] for name in names})
    assert str(figure.measure(same)[0].value) == "0.0", "no fewer, and not minus none"
    assert values == [("kills", 75.0), ("kills-vs-ufs", 3.0), ("kills", 85.0), ("kills-vs-ufs", 5.0)]
    without = runs({name: [0, 0, 0] for name in names})
    for none in (without, without.assign(kills="[]")):
        parts = figure.measure(none)
        assert [part.value for part in parts[:4]] == [None] * 4, "without kills there is nothing to compare"
        assert [part.value for part in parts[4:]] == [0, False] and not figure.draw(none).axes[0].lines
    assert [part.seeds for part in values_of] == [3] * len(values_of)
    ratio = values_of[3].interval
    # Without one of the three sequences 14 of 3, 14 of 3 and 12 of 2: 4.667 twice and 6; Student's t is 4.303.
    assert ratio is not None and ratio.coverage_percent == 95
    assert (ratio.high - 5) / 4.303 == pytest.approx((2 / 3 * (2 * 0.4444**2 + 0.8889**2)) ** 0.5, rel=1e-3)


def test_games_that_are_never_loaded_again_have_no_loading_to_compare() -> None:
    (figure,) = select("hpbvalve/f13")

    def loading(warm: bool) -> Value:
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
        (value,) = (part.value for part in figure.measure(frame) if part.part == "of loading")
        return value

    assert (loading(warm=True), loading(warm=False)) == (None, 50.0)


def test_misses_that_cost_nothing_leave_nothing_to_remove() -> None:
    table = pd.DataFrame({"foam": [100.0, 200.0], "hpbvalve": [101.0, 202.0], "ideal": [100.0, 200.0]})
    assert result.removed(table) is None
    assert result.removed(table.assign(ideal=[90.0, 190.0])) == pytest.approx(-15)


def test_switches_are_compared_app_by_app() -> None:
    (figure,) = select("hpbvalve/f13")
    apps = {"ideal": [100.0, 200.0], "hpbvalve": [103.0, 201.0], "foam": [108.0, 204.0]}

    def verdicts(**other: list[float]) -> list[Value]:
        warm = pd.DataFrame(apps | other, index=["FB", "TW"])
        return [part.value for part in result.switching(warm)]

    assert verdicts() == [True, True, True]
    assert verdicts(hpbvalve=[103.0, 205.0]) == [False, True, False]
    assert verdicts(hpbvalve=[107.0, 201.0]) == [True, False, True]
    assert verdicts(foam=[108.0, float("nan")]) == [True, True, True], "TW is not in the background everywhere"
    assert verdicts(foam=[float("nan")] * 2) == [None]
    assert "hpbvalve.f13.switching" in figure.claims


def test_further_seeds_run_what_claims_need_and_nothing_else(traces: Path) -> None:
    setting = Setting(seeds=3, traces=traces)
    for figure in FIGURES:
        points = planned(figure, setting).points
        repeated = bool(figure.claims) and figure.chance == "seed"
        assert list(points) == ([1, 2, 3] if repeated else [1]), figure.id
        for seed in list(points)[1:]:
            assert {run.spec.seed for run in points[seed] if isinstance(run, Run)} == {seed}, figure.id
            assert len(points[seed]) <= len(points[1]), figure.id


def test_a_result_is_named_by_what_it_depends_on(tmp_path: Path) -> None:
    trace, other = tmp_path / "a", tmp_path / "b"
    for path in (trace, other):
        path.write_text("the same requests")
    store, made = RunStore(tmp_path / "runs"), list[str]()

    def kept(**inputs: object) -> None:
        store.kept(inputs, lambda: {"nth": made.append("") or len(made)})

    for inputs in ({"workload": str(trace)}, {"workload": str(other)}):
        kept(seed=1, **inputs)
    assert len(made) == 1, "the file's contents count, not its place"
    kept(seed=2, workload=str(trace))
    trace.write_text("other requests")
    kept(seed=1, workload=str(other))
    assert len(made) == 2


def test_what_was_interrupted_goes_on_where_it_stopped(tmp_path: Path) -> None:
    made: list[int] = []

    def point(number: int, fails: bool) -> Point:
        def measure() -> dict[str, int]:
            if fails:
                raise KeyboardInterrupt
            made.append(number)
            return {"value": number}

        return Point({"number": number}, measure, inputs={"number": number})

    store = RunStore(tmp_path / "runs")
    points = [point(number, fails=number == 2) for number in range(4)]
    assert set(measured(points[:2], Means(1, store=store))) == {key(one) for one in points[:2]}
    again = [point(number, fails=False) for number in range(4)]
    rows = measured(again, Means(2, store=store))
    assert sorted(row["value"] for row in rows.values()) == [0, 1, 2, 3]
    assert sorted(made) == [0, 1, 2, 3], "the first two were not measured again"
    damaged = next((tmp_path / "runs").glob("*.json"))
    damaged.write_text("{")
    measured(again, Means(1, store=store))
    assert len(made) == 5, "a damaged result is made again"


def test_a_wish_names_a_paper_or_a_figure() -> None:
    assert select(None) == list(FIGURES)
    assert [figure.id for figure in select("hpb")] == ["hpb/f6", "hpb/f7", "hpb/f8", "hpb/f9"]
    assert [figure.id for figure in select("hp-ufs/f11")] == ["hp-ufs/f11"]
    with pytest.raises(ConfigError, match=r"there is no figure or paper 'hpb/f1'; allowed: .*hp-ufs/f6"):
        select("hpb/f1")


def test_figures_add_up_in_a_report_and_are_written_for_print(tmp_path: Path) -> None:
    def made(*words: str) -> list[str]:
        program = Path(sys.executable).with_name("ufsim")
        command = [program, "reproduce", *words, "--quick", "--out", tmp_path, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        told: list[str] = json.loads(done.stdout)["figures"]
        return told

    assert made("hpb/f6", "--format", "pdf,csv,tex") == ["hpb/f6"]
    assert {path.suffix for path in tmp_path.glob("hpb-f6.*")} == {".parquet", ".pdf", ".csv", ".tex"}
    text = (tmp_path / "hpb-f6.tex").read_text()
    assert text.startswith("\\begin{tabular}{rlr") and "read\\_mean\\_ns" in text
    assert made("hpb/f9") == ["hpb/f6", "hpb/f9"], "the report of the directory has both"
    assert "hpb/f6" in (tmp_path / "report.html").read_text()
    assert made("hpb/f9", "--seed", "2") == ["hpb/f9"], "other options begin another report"


def test_hp_ufs_is_compared_with_the_hpb_that_its_paper_describes() -> None:
    for figure in select("hp-ufs"):
        if figure.id in ("hp-ufs/f6", "hp-ufs/f7", "hp-ufs/f8", "hp-ufs/segments"):
            specs = [run.spec for run in figure.runs(Setting(quick=True)) if isinstance(run, Run)]
            assert {spec.scheme for spec in specs} >= {"hpb", "hp-ufs"}, figure.id
            for spec in specs:
                held = {key: value for key, value in spec.settings.items() if "hpb" in key}
                assert held == (hpb.SETTINGS if spec.scheme in ("hpb", "hpb-tuned") else {}), figure.id
    own = [run for figure in select("hpb") for run in figure.runs(Setting()) if isinstance(run, Run)]
    assert own and not any(run.spec.settings for run in own), "its own paper's figures take it as it is"


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
        f"{outcome.claim.id} [{at}: {part.name}]": part.value
        for book in books
        for outcome in book.outcomes
        for at, reading in enumerate(outcome.readings)
        for part in reading.parts
    }
    if "UFSIM_BLESS" in os.environ:
        (GOLDEN / file).write_text(json.dumps(measured, indent=2) + "\n")
    golden = json.loads((GOLDEN / file).read_text())
    assert measured.keys() == golden.keys()
    for name, value in measured.items():
        assert value == pytest.approx(golden[name], rel=1e-12), name


def test_a_subset_of_the_book_gives_the_values_of_the_committed_scorecard(quick_books: list) -> None:
    committed = {outcome.claim.id: outcome for outcome in scorecard.committed().outcomes}
    compared = set()
    for outcome in (outcome for book in quick_books for outcome in book.outcomes if outcome.claim.id in SAME_RUNS):
        for reading, before in zip(outcome.readings, committed[outcome.claim.id].readings, strict=True):
            kept = {part.name: part.values[1] for part in before.parts}
            for part in reading.parts:
                assert part.values[1] == pytest.approx(kept[part.name], rel=1e-12), f"{outcome.claim.id}, {part.name}"
                compared.add(outcome.claim.id)
    assert compared == SAME_RUNS


def test_a_subset_of_the_book_gives_its_golden_values(quick_books: list) -> None:
    compare_with_golden(quick_books, "quick.json")


def test_figures_of_real_traces_give_their_golden_values(traces: Path) -> None:
    books = [reproduce(wish, Setting(quick=True, traces=traces, verify=True), jobs=2) for wish in WITH_TRACES]
    compare_with_golden(books, "quick_traces.json")


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
    written = json.loads((tmp_path / "scorecard.json").read_text())
    assert len(written["claims"]) == len(load_claims())


def test_the_command_line_prints_the_scorecard(ufsim: Command, tmp_path: Path) -> None:
    shown = ufsim("reproduce", "hpb/f7", "--quick", "--out", tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "hpb.f7.neutral" in shown.stdout and "report:" in shown.stdout
    assert "map-plus" not in shown.stdout
    document = json.loads(ufsim("reproduce", "hpb/f7", "--quick", "--verify", "--json", "--out", tmp_path).stdout)
    verdicts = {entry["id"]: entry["verdict"] for entry in document["claims"]}
    assert verdicts["hpb.f7.neutral"] == "not yet", "one seed gives no verdict"
    (reading,) = next(entry["readings"] for entry in document["claims"] if entry["id"] == "hpb.f7.neutral")
    assert reading["name"] == "as set up" and reading["in_band"] is True and reading["interval"] is None
    wrong = ufsim("reproduce", "hpx")
    assert wrong.returncode == 1 and "no figure or paper 'hpx'" in wrong.stderr
