"""The reproduction book: verdicts, completeness, and a golden subset of it.

`UFSIM_BLESS=1 .venv/bin/pytest papers/tests/test_reproduce.py` writes the golden values anew.
"""

import html
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest

import ufsim
from ufsim import ConfigError, RunStore
from ufsim_papers import scorecard
from ufsim_papers.book import planned, reproduce
from ufsim_papers.claims import load_claims
from ufsim_papers.figure import Point, Run, Setting
from ufsim_papers.hp_ufs import hpb
from ufsim_papers.hpbvalve import result, setups, study
from ufsim_papers.hpbvalve import runs as hpbvalve
from ufsim_papers.intervals import Value
from ufsim_papers.judged import Outcome, Part
from ufsim_papers.map_plus import loads
from ufsim_papers.measuring import Means, digest_of, key, measured
from ufsim_papers.registry import FIGURES, select
from ufsim_papers.report import report_html

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent
Command = Callable[..., CompletedProcess[str]]
# Figures that take seconds: no device has to be aged for them.
SUBSET = (
    *("hp-ufs/t1", "hp-ufs/f6", "hp-ufs/f11", "hpb/f6", "hpb/f7", "hpb/f8", "hpb/f9"),
    *("map-plus/t1", "map-plus/t2", "map-plus/f6", "map-plus/f3"),
    *("msftl/s33", "msftl/f4"),
    "hpbvalve/f15",
)
# Claims of these figures that --quick measures by the same runs as the whole book, if for fewer points.
SAME_RUNS = {
    *("hp-ufs.f6.cache-20mb", "hp-ufs.f11.segments-dominate"),
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
            dead = [{"category": 1, "adj": 700, "spared": False}] * count
            service = {"category": 5, "adj": 930, "spared": False}
            return json.dumps([*dead, service, {"category": 1, "adj": 700, "spared": True}])

        rows = [(scheme, seed, listed(n)) for scheme, counts in kills.items() for seed, n in enumerate(counts)]
        frame = pd.DataFrame(rows, columns=["scheme", "seed", "kills"])
        uses = json.dumps([{"app": app, "launch": 1, "reads": 100} for app in hpbvalve.APPS])
        return frame.assign(uses=uses, memory_mib=256, launch_ms=1.0, **hpbvalve.USUAL.labels())

    (figure,) = select("hpbvalve/f16")
    names = ("ufs", hpbvalve.RESERVED, "hpbvalve")
    counts = ([1, 1, 2], [6, 6, 8], [1, 2, 2])

    def values(frame: pd.DataFrame) -> dict[tuple[str, str], Value]:
        found = [part for part in figure.measure(frame) if part.role == "point" and not part.at]
        return {(part.claim.removeprefix("hpbvalve.f16."), part.part): part.value for part in found}

    found = values(runs(dict(zip(names, counts, strict=True))))
    assert found["kills", ""] == 75.0 and found["kills-vs-ufs", ""] == 5.0
    assert found["kills-vs-ufs", "UFS has the fewest kills in every category"] is True
    same = values(runs({name: [1, 1, 2] for name in names}))
    assert str(same["kills", ""]) == "0.0", "no fewer, and not minus none"
    none = values(runs({name: [0, 0, 0] for name in names}).assign(kills="[]"))
    assert none["kills", ""] is none["kills-vs-ufs", ""] is None, "without kills there is nothing to compare"
    assert none["reads", ""] == none["reads", "UFS+HPB over UFS"] == 0
    ratio = next(
        part.interval
        for part in figure.measure(runs(dict(zip(names, counts, strict=True))))
        if part.claim == "hpbvalve.f16.kills-vs-ufs" and part.role == "point" and not part.part
    )
    # Without one of the three sequences 14 of 3, 14 of 3 and 12 of 2: 4.667 twice and 6; Student's t is 4.303.
    assert ratio is not None and ratio.coverage_percent == 95
    assert (ratio.high - 5) / 4.303 == pytest.approx((2 / 3 * (2 * 0.4444**2 + 0.8889**2)) ** 0.5, rel=1e-3)


def test_misses_that_cost_nothing_leave_nothing_to_remove() -> None:
    table = pd.DataFrame({hpbvalve.HPB: [100.0, 200.0], "hpbvalve": [101.0, 202.0], "ideal": [100.0, 200.0]})
    assert result.removed(table) is None
    assert result.removed(table.assign(ideal=[90.0, 190.0])) == pytest.approx(-15)


def test_switches_are_compared_app_by_app() -> None:
    apps = {"ideal": [100.0, 200.0], "hpbvalve": [103.0, 201.0], hpbvalve.HPB: [108.0, 204.0]}

    def values(**other: list[float]) -> list[Value]:
        warm = pd.DataFrame(apps | {name.replace("foam", hpbvalve.HPB): own for name, own in other.items()})
        return [part.value for part in result.switching(warm.set_axis(["FB", "TW"]))]

    assert values() == pytest.approx([3.0, True, 8.0])
    assert values(hpbvalve=[103.0, 205.0])[1] is False
    assert values(foam=[108.0, float("nan")]) == pytest.approx([3.0, True, 8.0]), "TW is not there in every system"
    assert values(foam=[float("nan")] * 2) == []


def test_a_phone_is_a_scenario_with_its_own_numbers() -> None:
    phone = setups.Setup(density=1.5, system_mib=5000, cold=True, use_s=11.6)
    scenario = tomllib.loads(phone.scenario("hpbvalve/nine-apps.toml"))
    assert scenario["phone"] | {"rounds": 8, "use_s": 11.6, "cold_starts": True} == scenario["phone"]
    assert scenario["memory"]["system_mib"] == 5000 and scenario["memory"]["effective_mib"] == 10_995
    assert scenario["io"]["launch_reads_per_chunk"] == scenario["io"]["run_reads_per_chunk"] == 1.5
    at = {"hpbvalve.memory-of-hpb": "taken and freed by the timer", "hpbvalve.density": 15.1}
    assert setups.setup_of(at, phone) == replace(phone, reserved=False, density=15.1)


def test_runs_that_no_condition_tells_apart_are_one() -> None:
    phones = (hpbvalve.USUAL, replace(hpbvalve.USUAL, reserved=False, policy="hpb-linux", relief=False))

    def runs(scheme: str) -> set[str]:
        both = [hpbvalve.points(Setting(), (scheme,), repeats=range(1), setup=setup)[0] for setup in phones]
        assert len({tuple(point.labels.items()) for point in both}) == 2
        return {json.dumps(point.inputs) for point in both}

    assert len(runs("ufs")) == len(runs("foam")) == 1
    assert len(runs("hpbvalve")) == 2, "relief asks what is given back"


def test_a_read_of_the_phone_takes_what_it_should() -> None:
    settings = setups.Setup().settings()
    job = "[r]\nrw=randread\nbs=4k\nsize=1g\nnumber_ios=200\n"
    times = {}
    for scheme in ("ideal", "ufs"):
        found = ufsim.run(job, scheme, profile="hpbvalve", settings=settings, seeds=1)
        assert isinstance(found, ufsim.Result)
        times[scheme] = found.data["latency_ns"]["read"]["max"]
    assert times["ideal"] == pytest.approx(110_000, rel=0.02), "back to back, as of recorded phones"
    assert times["ufs"] == pytest.approx(220_000, rel=0.02), "a miss is one more of the same"


def test_further_seeds_run_what_claims_need_and_nothing_else(traces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # By how much times are stretched is found by runs, and is the same for every seed.
    monkeypatch.setattr(loads, "stretch", lambda *_: 1)
    setting = Setting(seeds=2, traces=traces)
    for figure in FIGURES:
        points = planned(figure, setting).points
        repeated = bool(figure.claims) and figure.chance == "seed"
        assert list(points) == ([1, 2] if repeated else [1]), figure.id
        for seed in list(points)[1:]:
            assert {run.spec.seed for run in points[seed] if isinstance(run, Run)} <= {seed}, figure.id
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


def test_sources_are_all_modules_under_their_names(tmp_path: Path) -> None:
    def found(**modules: str) -> str:
        package = tmp_path / str(len(list(tmp_path.iterdir()))) / "package"
        for name, text in modules.items():
            file = package / f"{name.replace('__', '/')}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return digest_of(package)

    first = found(a="1", room__b="2")
    assert found(a="1", room__b="2") == first
    others = [found(a="1", room__b="3"), found(a="1", room__c="2"), found(a="12", room__b=""), found(a="1")]
    assert len({first, *others}) == 5


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
    with pytest.raises(
        ConfigError, match=r"there is no figure or paper 'hpb/f1'; allowed: hpb/f6, hpb/f7, hpb/f8, hpb/f9$"
    ):
        select("hpb/f1")


def test_a_directory_of_traces_that_is_not_there_is_told(ufsim: Command, tmp_path: Path) -> None:
    ended = ufsim("reproduce", "hpb/f7", "--traces", tmp_path / "mistyped", "--out", tmp_path / "out")
    assert ended.returncode == 2 and "--traces" in ended.stderr and "does not exist" in ended.stderr
    assert not (tmp_path / "out").exists()


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
    own = [run for figure in select("hpb") for run in figure.runs(Setting(quick=True)) if isinstance(run, Run)]
    own = [run for run in own if not run.labels.get("foil")]
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
        assert {outcome.class_ for outcome in book.outcomes} == {"open", "conformance"}


# One process makes the books for all of these tests.
with_quick_books = pytest.mark.xdist_group("quick_books")


@pytest.fixture(scope="module")
def quick_books() -> list:
    # Without the read-back. Among tests of the simulator are small runs of the same kinds that have it.
    return [reproduce(wish, Setting(quick=True), jobs=2) for wish in SUBSET]


def parts_of(outcome: Outcome) -> dict[str, Part]:
    """Everything that was measured of a claim, by point, role and part."""
    own = {
        f"{outcome.claim.place_text(point.place)} {point.case}: {part.name}": part
        for point in outcome.points.values()
        for part in point.parts
    }
    others = {f"{role}: {part.name}": part for role in ("foil", "shown", "beside") for part in getattr(outcome, role)}
    return own | others


def compare_with_golden(books: list, file: str) -> None:
    measured = {
        f"{outcome.claim.id} [{name}]": part.value
        for book in books
        for outcome in book.outcomes
        for name, part in parts_of(outcome).items()
    }
    if "UFSIM_BLESS" in os.environ:
        (GOLDEN / file).write_text(json.dumps(measured, indent=2) + "\n")
    golden = json.loads((GOLDEN / file).read_text())
    assert measured.keys() == golden.keys()
    for name, value in measured.items():
        assert value == pytest.approx(golden[name], rel=1e-12), name


@with_quick_books
def test_a_subset_of_the_book_gives_the_values_of_the_committed_scorecard(quick_books: list) -> None:
    committed = {outcome.claim.id: parts_of(outcome) for outcome in scorecard.committed().outcomes}
    compared = set()
    for outcome in (outcome for book in quick_books for outcome in book.outcomes if outcome.claim.id in SAME_RUNS):
        for name, part in parts_of(outcome).items():
            kept = committed[outcome.claim.id][name]
            assert part.values[1] == pytest.approx(kept.values[1], rel=1e-12), f"{outcome.claim.id}, {name}"
            compared.add(outcome.claim.id)
    assert compared == SAME_RUNS


@with_quick_books
def test_a_subset_of_the_book_gives_its_golden_values(quick_books: list) -> None:
    compare_with_golden(quick_books, "quick.json")


def test_figures_of_real_traces_give_their_golden_values(traces: Path) -> None:
    books = [reproduce(wish, Setting(quick=True, traces=traces), jobs=2) for wish in WITH_TRACES]
    compare_with_golden(books, "quick_traces.json")


@with_quick_books
def test_every_figure_of_the_subset_is_drawn_with_its_data(quick_books: list, tmp_path: Path) -> None:
    for book in quick_books:
        report = book.write(tmp_path)
        text = report.read_text()
        drawn = book.figures[0]
        stem = drawn.figure.id.replace("/", "-")
        assert {path.name for path in tmp_path.glob(f"{stem}*")} == {f"{stem}.parquet", f"{stem}.png"}
        # The claims' maps are drawn above the figure, where there are some.
        assert text.count("<figure>") == 1 and text.count("<svg") in (1, 2)
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
    (entry,) = (own for own in document["claims"] if own["id"] == "hpb.f7.neutral")
    assert entry["class"] == "open" and entry["points"][0]["state"] == "not measured", "one seed gives no class"
    (part, *_) = entry["points"][0]["parts"]
    assert part["case"] == "seqread" and part["interval"] is None
