"""HP-UFS's SQLite: what is run for it, and what its claims are made of."""

import itertools
import tomllib

import pandas as pd
import pytest

from ufsim_papers.claims import claim_of
from ufsim_papers.figure import Run, Setting
from ufsim_papers.hp_ufs import dummy_files, sqlite
from ufsim_papers.hp_ufs.sqlite import DEFAULT, Setup


def job_of(setup: Setup) -> dict[str, object]:
    """The keys of the job that is run."""
    keys: dict[str, object] = tomllib.loads(sqlite.workload(setup))["sqlite"]
    return keys


def test_the_job_is_that_of_the_authors_scripts_and_conditions_change_one_key_each() -> None:
    usual = job_of(DEFAULT)
    wanted = {"programs": 10, "transactions": 5000, "databases": 3, "tables": 3, "journal_mode": "wal"}
    assert usual.items() >= wanted.items()
    for setup, changed in (
        (Setup(journal=sqlite.ROLLBACK), {"journal_mode": "persist"}),
        (Setup(mount=sqlite.BARRIERS), {"barriers": True}),
        (Setup(host_us=0), {"transaction_cpu_ns": 0}),
        (Setup(host_us=500), {"transaction_cpu_ns": 500_000}),
        (Setup(age=sqlite.RANDOM), {"operations": ["insert"]}),
    ):
        assert job_of(setup) == usual | changed


def test_every_point_is_run() -> None:
    assert len(sqlite.setups((sqlite.TAIL, sqlite.SELECT))) == 2 * 2 * 3
    # One condition each, and the default.
    aged = sqlite.setups((sqlite.MEAN_GC, sqlite.TAIL_GC))
    assert len(aged) == 1 + 1 + 1 + 2 + 1 + 1 + 1
    for setup in aged:
        spec = sqlite.run(setup, "hp-ufs", Setting()).spec
        assert spec.stay_on == (setup.start == "warm")
        assert (spec.host_memory_mib == "unlimited") == (setup.limit == "nothing evicted")
    # A recording of SQLite serves all runs of a journal that follow each other.
    journals = [setup.journal for setup in sqlite.setups((sqlite.SELECT,))]
    assert len(list(itertools.groupby(journals))) == 2


def frame_of(setup: Setup, latencies: dict[str, dict[str, float]], what_if: str = "nothing") -> pd.DataFrame:
    """Runs of the judged schemes: for each the latency of each operation, by the harness's clock twice as long, of all
    programs together three times."""
    rows = []
    for scheme, own in latencies.items():
        row: dict[str, object] = {**setup.labels, "scheme": scheme, "what_if": what_if, "device_gc_victims": 7}
        for operation, ns in own.items():
            for (clock, times), (each, more), name in itertools.product(
                (("", 1), ("harness_", 2)), (("program_", 1), ("", 3)), ("mean", "p999")
            ):
                slower = times if clock and scheme == "hpb" else 1
                row[f"op_{operation}_{clock}{each}{name}_ns"] = ns * slower * (more if scheme == "hpb" else 1)
            row |= {
                f"op_{operation}_count": 50,
                f"op_{operation}_across_seconds": 1,
                f"op_{operation}_duration_ns": 1e9,
            }
        rows.append(row)
    return pd.DataFrame(rows)


def test_cuts_are_of_medians_by_the_clock_of_the_point() -> None:
    theirs = {"insert": 100.0, "update": 100.0, "delete": 100.0, "select": 100.0}
    frame = frame_of(DEFAULT, {"hpb": theirs, "hp-ufs": {**theirs, "insert": 60.0, "update": 90.0, "delete": 95.0}})
    found = {
        (part.at.get(sqlite.CLOCK), part.at.get(sqlite.PERCENTILE)): part.value
        for part in sqlite.over_map(sqlite.TAIL, frame)
        if not part.part and len(part.at) <= 2 and not set(part.at) - {sqlite.CLOCK, sqlite.PERCENTILE}
    }
    assert found[None, None] == pytest.approx(40)
    assert found[sqlite.HARNESS, None] == pytest.approx(70)
    assert found[None, sqlite.TOGETHER] == pytest.approx(80)
    parts = [part for part in sqlite.over_map(sqlite.SELECT, frame) if not part.at]
    assert [part.value for part in parts] == [0.0, True]


def test_the_foil_of_the_claims_with_gc_is_hp_ufs_that_searches() -> None:
    runs = [sqlite.run(sqlite.FOIL_GC, scheme, Setting(), sqlite.SEARCHES) for scheme in sqlite.JUDGED]
    assert [run.spec.settings.get("scheme.hp-ufs.searches_flash") for run in runs] == [None, True]
    latencies = {"hpb": {"insert": 100.0}, "hp-ufs": {"insert": 50.0}}
    found = sqlite.F8_GC.measure(frame_of(sqlite.FOIL_GC, latencies, sqlite.SEARCHES))
    # By the harness's clock, by which HPB takes twice as long here.
    assert [(part.role, part.value) for part in found] == [("foil", 75.0)] * 2
    cold = frame_of(Setup(age="files", limit="20 MB, least recently used"), latencies)
    points = [part for part in sqlite.F8_GC.measure(cold) if part.claim == sqlite.TAIL_GC]
    assert all(part.at["hp-ufs.host-start"] == "cold" for part in points)
    assert {part.at.get(sqlite.CLOCK): part.value for part in points} == {None: 50.0, sqlite.HARNESS: 75.0}


def test_joint_ends_with_gc_are_asked_for() -> None:
    assert sqlite.F8_GC.further is not None
    aged = sqlite.setups((sqlite.MEAN_GC, sqlite.TAIL_GC))
    # The later a set-up comes, the larger is the cut.
    frames = [
        frame_of(setup, {"hpb": {"insert": 100.0}, "hp-ufs": {"insert": 90.0 - 2 * number}})
        for number, setup in enumerate(aged)
    ]
    frame = pd.concat(frames).assign(of_seed=2)
    more = [run for run in sqlite.F8_GC.further(Setting(seed=2), frame) if isinstance(run, Run)]
    assert {run.spec.seed for run in more} == {2} and {run.labels["scheme"] for run in more} == set(sqlite.JUDGED)
    ends = {tuple(run.labels[name] for name in aged[0].labels) for run in more}
    assert ends and not ends & {tuple(setup.labels.values()) for setup in aged}
    # One of the ends is drawn, with the first seed.
    one = Setup(**{name: more[0].labels[name] for name in list(aged[0].labels)[1:]})  # type: ignore[arg-type]
    drawn = frame_of(one, {"hpb": {"insert": 100.0}, "hp-ufs": {"insert": 1.0}})
    seeds = pd.concat([frame, frame.assign(of_seed=3), drawn.assign(of_seed=2)])
    assert [run.labels for run in sqlite.F8_GC.further(Setting(seed=2), seeds)] == [run.labels for run in more]
    asked = [run.labels for run in sqlite.F8_GC.further(Setting(quick=True), frame)]
    assert not asked, "a quick look asks for nothing"


def test_the_foils_are_measured_where_the_paper_is_placed() -> None:
    own = dict.fromkeys(sqlite.OPERATIONS, 100.0)
    usual = frame_of(DEFAULT, {"hpb": own, "hp-ufs": own, "ufs": {**own, "select": 200.0}})
    free = frame_of(DEFAULT, {"hpb": own, "hp-ufs": own}, "mapping")
    parts = sqlite.foils(pd.concat([usual, free]))
    values = {(part.claim, part.part): part.value for part in parts}
    assert values[sqlite.SELECT, ""] == 50.0 and all(part.role == "foil" for part in parts)
    for claim in (sqlite.TAIL, sqlite.SELECT):
        assert {part.part for part in parts if part.claim == claim} == {part.name for part in claim_of(claim).needed}


def test_the_dummy_files_are_those_of_the_authors_scripts() -> None:
    pieces = list(dummy_files.written(1))
    small = [size for _, size in pieces if size <= 102_400]
    assert 240_000 <= len(small) < 240_100, "a small file is written back at once"
    assert min(small) >= 16_384 and sum(small) / len(small) == pytest.approx(61_400, rel=0.01)
    # 600 files of 157 MB on average: 98% of what ext4 leaves of 106 GiB.
    assert sum(size for _, size in pieces) / (1 << 30) == pytest.approx(101.4, abs=2)
    areas = sorted(pieces)
    assert all(first + size <= after for (first, size), (after, _) in itertools.pairwise(areas)), "written once"
    assert areas[0][0] == dummy_files.FIRST_BYTE and areas[-1][0] + areas[-1][1] < 106 << 30


def test_the_quick_book_has_the_schemes_of_the_paper() -> None:
    (f8, _) = sqlite.FIGURES
    assert [run.labels["scheme"] for run in f8.runs(Setting(quick=True))] == ["ufs", "hpb", "hp-ufs", "ideal"]
