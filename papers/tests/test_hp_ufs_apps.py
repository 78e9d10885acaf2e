"""Table III of HP-UFS: which workloads Figs. 9 and 10 show, where they come from, and which of them claims count."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest

from ufsim_papers.book import once
from ufsim_papers.claims import claim_of
from ufsim_papers.figure import Figure, Run, Setting
from ufsim_papers.hp_ufs.apps import (
    APPS,
    AT_HAND,
    AT_ONCE,
    ELSEWHERE,
    F9,
    F9_TIMED,
    FOILS,
    GENERATED,
    JUDGED,
    NINE,
    OTHERS,
    POINTS,
    RECORDED,
    STATES,
    elsewhere,
    others,
    where_placed,
)
from ufsim_papers.hp_ufs.breakdown import COUNTERS as BY_COUNTERS
from ufsim_papers.hp_ufs.breakdown import DIES, F10, F10_GC, account
from ufsim_papers.hp_ufs.points import ALL as NOTHING_EVICTED
from ufsim_papers.hp_ufs.points import DRAWN, LIMIT, LIMITED, PLACED, WARM, At, labels
from ufsim_papers.hp_ufs.writes import SCHEMES
from ufsim_papers.maps import needed

# Table III, and the two workloads that the text adds.
TABLE_III = {"CR", "GI", "FB", "IN", "X", "GM", "CH", "YT", "Cp", "Cv", "Cpv", "AI", "AU"}
CAUSES = ("host_write", "map_read", "map_write", "valid_page_search")
# What reasons of claims are told with.
COUNTERS = (
    "device_exclusive_ns",
    "device_gc_units_programmed",
    "device_data_units_programmed",
    "device_gc_victims",
    "device_search_segment_reads",
    "device_segment_writes",
    "device_map_flush_ns",
    "device_search_ns",
    "host_segment_reads",
)


def folder_of_traces(root: Path, names: list[str], cpus: int = 8) -> Path:
    """Folders of traces with empty files: where they are is all that counts here."""
    for name in names:
        folder = root / "pixel4-hpufs" / name
        folder.mkdir(parents=True)
        for cpu in range(cpus):
            (folder / f"trace.{cpu}").touch()
    return root


def frame_of(columns: list[tuple[str, str]], at: At = DRAWN, schemes: tuple[str, ...] = SCHEMES) -> pd.DataFrame:
    """Runs whose numbers differ from one to the next, so that a mean over other ones would differ, too."""
    runs = itertools.product(STATES, columns, schemes)
    rows = []
    for number, (state, (source, app), scheme) in enumerate(runs, 1):
        nand = {f"nand_{cause}_ns": float(number * place) for place, cause in enumerate(CAUSES, 1)}
        if scheme in ("hp-ufs", "ideal"):
            nand["nand_valid_page_search_ns"] = 0.0
        named = {"state": state, "app": app, "source": source, "scheme": scheme, **labels(at)}
        counters = {name: float(number + place) for place, name in enumerate(COUNTERS)}
        rows.append(
            named | {"throughput_mib_per_s": 100.0 + number**0.5, "sim_seconds": 1.0 + number} | nand | counters
        )
    return pd.DataFrame(rows)


FIVE = [(RECORDED, app) for app in APPS.values()]
ALL = [*FIVE, *((GENERATED, name) for name, _ in OTHERS.values()), (ELSEWHERE, "AI"), (ELSEWHERE, "Cpv")]


def test_every_workload_of_the_paper_has_a_column(tmp_path: Path) -> None:
    setting = Setting(traces=folder_of_traces(tmp_path, list(APPS)))
    for figure in (F9, F10):
        runs = figure.runs(setting)
        assert {run.labels["app"] for run in runs} == TABLE_III
        sources = {(run.labels["app"], run.labels["source"]) for run in runs}
        assert sources == {(app, source) for source, app in ALL if source != ELSEWHERE}
        assert len(once(runs)) == len(TABLE_III) * len(SCHEMES) * len(STATES)
    # The times of generated requests are nobody's.
    assert {run.labels["app"] for run in F9_TIMED.runs(setting)} == set(APPS.values())


def test_a_trace_goes_before_a_description_if_every_file_is_there(tmp_path: Path) -> None:
    traces = folder_of_traces(tmp_path, [*APPS, "youtube"])
    folder_of_traces(tmp_path, ["camera-video"], cpus=7)
    source = {column.name: column.source for column in others(Setting(traces=traces))}
    assert source.pop("YT") == RECORDED
    assert set(source.values()) == {GENERATED} and "Cv" in source
    assert not elsewhere(Setting(traces=traces))
    (tmp_path / "nexus5-zhou").mkdir()
    (tmp_path / "nexus5-zhou" / "Movie_log121.txt.xz").touch()
    assert [column.name for column in elsewhere(Setting(traces=traces))] == ["Cpv"]


def test_of_fewer_than_the_nine_workloads_nothing_is_judged() -> None:
    everything = frame_of(ALL)
    five = everything[everything["app"].isin(list(APPS.values()))]
    for figure in (F9, F10_GC):
        measured = figure.measure(everything)
        assert measured == figure.measure(five)
        assert {part.claim for part in measured} == set(figure.claims)
        assert {part.role for part in measured} == {"beside"}
    assert {part.part for part in F9.measure(everything)} == {"five of nine workloads"}


def test_the_nine_workloads_are_measured_at_every_point_and_with_each_left_out() -> None:
    nine = [(RECORDED, app) for app in NINE]
    frames = [frame_of([*nine, (GENERATED, "Cv")], at, JUDGED) for at in POINTS if at[LIMIT] == LIMITED]
    frames += [frame_of(nine, at, JUDGED[:-1]) for at in POINTS if at[LIMIT] == NOTHING_EVICTED]
    frames.append(frame_of(nine, PLACED, tuple(FOILS)))
    whole = pd.concat(frames)
    for figure in (F9, F10_GC):
        measured = figure.measure(whole)
        for name in figure.claims:
            claim = claim_of(name)
            own = [part for part in measured if part.claim == name and part.role == "point"]
            there = {claim.place(part.at) for part in own}
            assert there == {place for place in needed(claim) if "apps and SQLite" not in place}, name
            assert {part.part for part in own} >= {part.name for part in claim.needed}, name
            assert any(part.role == "foil" for part in measured if part.claim == name), name
    cases = {part.case for part in F9.measure(whole) if part.claim == "hp-ufs.f9.gc-geomean" and part.role == "point"}
    assert cases == {"", *(f"without {app}" for app in NINE)}


def test_a_further_seed_has_what_its_claims_need_where_the_paper_s_set_up_is_placed(tmp_path: Path) -> None:
    names = {name: own for own, (name, _) in OTHERS.items()}
    traces = folder_of_traces(tmp_path, [*APPS, *(names[app] for app in NINE if app in names)])
    under_gc, gain = "hp-ufs.f9.gc-geomean", ("hpb", "hp-ufs")
    runs = where_placed(Setting(traces=traces, seed=9), {under_gc, "hp-ufs.abs.gap-to-ideal"})
    found = {tuple(run.labels[name] for name in ("state", "app", "scheme")) for run in runs}
    assert found == set(itertools.product(["GC"], NINE, gain)) and len(runs) == len(found)
    assert all(run.spec.seed == 9 and labels(PLACED).items() <= run.labels.items() for run in runs)
    frame = frame_of([(RECORDED, app) for app in NINE], PLACED, gain)
    measured = F9.measure(frame[frame["state"] == "GC"])
    assert {(part.claim, part.role) for part in measured} == {(under_gc, "point")}
    assert all(part.at == PLACED for part in measured) and len(measured) == 1 + len(NINE)
    assert not where_placed(Setting(traces=traces), ())


def test_every_point_of_the_maps_is_run_where_the_nine_are_at_hand(tmp_path: Path) -> None:
    names = {name: own for own, (name, _) in OTHERS.items()}
    setting = Setting(traces=folder_of_traces(tmp_path, [*APPS, *(names[app] for app in NINE if app in names)]))
    assert F9.judged is not None
    runs = [run for run in once(F9.judged(setting)) if isinstance(run, Run)]
    assert {run.labels["app"] for run in runs} == set(NINE)
    of_ideal = [run for run in runs if run.labels["scheme"] == "ideal"]
    assert len(of_ideal) == len(STATES) * len(NINE) * 4
    assert len(runs) == len(STATES) * len(NINE) * 2 * len(POINTS) + len(of_ideal) + len(NINE) * len(FOILS)
    for run in runs:
        spec, labels_of = run.spec, run.labels
        assert spec.stay_on == (labels_of["host-start"] == WARM)
        assert spec.host_memory_mib == ("unlimited" if labels_of["host-limit"] == NOTHING_EVICTED else 20)
        published = spec.settings.get("what_if.metadata_programs") == "as-published"
        assert published == (labels_of["continuation"] == "as published")
    (at_once,) = {run.spec.scheme for run in runs if run.labels["scheme"] == AT_ONCE}
    assert at_once == "hp-ufs"
    # Fig. 10's claims speak of GC: of its runs without it only those beside them are made, and none of Ideal.
    under_gc = [run for run in once(F10_GC.runs(setting)) if isinstance(run, Run)]
    assert {run.labels["scheme"] for run in under_gc} == {"hpb", "hp-ufs", AT_HAND}
    assert {run.spec.to_json() for run in under_gc} <= {run.spec.to_json() for run in runs}
    own = [run for run in under_gc if run.labels["state"] == "GC"]
    assert len(own) == len(NINE) * (2 * len(POINTS) + 1)
    beside = [run for run in under_gc if run.labels["state"] == "no GC"]
    assert len(beside) == len(NINE) * 2
    assert all(run.labels.items() >= labels(PLACED).items() for run in beside)


def test_the_prototype_charges_hpb_for_the_firmware_and_hp_ufs_for_a_64th_of_a_program() -> None:
    run = pd.Series(
        {
            "nand_host_write_ns": 600.0,
            "nand_map_write_ns": 300.0,
            "nand_valid_page_search_ns": 100.0,
            "device_map_flush_ns": 50.0,
            "device_search_ns": 350.0,
            "device_segment_writes": 2.0,
        }
    )
    dies = account(run, DIES, host_writes=False)
    assert (dies.share, dies.search_share) == (30, 10)
    theirs = account(run, BY_COUNTERS, host_writes=False)
    # 600 ns of eight dies are 75 ns on a clock.
    assert (theirs.share, theirs.search_share) == pytest.approx((100 * 50 / 475, 100 * 350 / 475))
    ours = account(run, BY_COUNTERS, host_writes=True)
    assert ours.written == pytest.approx(2 * 2343.75)


@pytest.mark.parametrize("figure", [F9, F10])
def test_drawings_say_where_requests_come_from(figure: Figure) -> None:
    drawing = figure.draw(frame_of(ALL))
    assert len(drawing.axes) == len(STATES)
    for axes in drawing.axes:
        texts = [text.get_text() for text in axes.texts] + [label.get_text() for label in axes.get_xticklabels()]
        assert {RECORDED, GENERATED, ELSEWHERE} <= set(texts)
        assert set(texts) >= TABLE_III
    if figure is F9:
        hatched = [bar for bar in drawing.axes[0].patches if bar.get_hatch()]
        assert len(hatched) == len(OTHERS) * len(SCHEMES)
    # One column is enough for a drawing of --quick.
    figure.draw(frame_of([FIVE[0], (GENERATED, "YT")]))


def test_the_two_accounts_of_gc_are_drawn_where_the_paper_lies_or_of_the_five() -> None:
    nine = [(RECORDED, app) for app in NINE]
    frames = [frame_of(nine, at, ("hpb", "hp-ufs")) for at in POINTS]
    for frame in (pd.concat(frames), frame_of(FIVE)):
        left, right = F10_GC.draw(frame).axes
        writers = [app for app in dict.fromkeys(frame["app"]) if app != "GI"]
        for axes in (left, right):
            assert [label.get_text() for label in axes.get_xticklabels()] == writers
            assert len(axes.containers) == 2


@pytest.mark.slow
def test_a_bundled_description_runs_on_the_command_line(
    ufsim: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    replay = ("--replay", "closed", "--depth", 8, "--per-cpu-streams")
    done = ufsim("run", "papers/hp-ufs/jobs/f9-youtube.toml", "--scheme", "hp-ufs", *replay, "--verify", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["results"][0]
    assert (result["replay"], result["failed"]) == ("closed", 0)
    shown = ufsim("run", "papers/hp-ufs/jobs/f9-youtube.toml", "--scheme", "ideal", *replay)
    assert "generated requests as fast as depth 8 allows" in " ".join(shown.stdout.split())
    info = json.loads(ufsim("trace", "info", "papers/hp-ufs/jobs/f9-youtube.toml", "--json").stdout)["traces"][0]
    assert (info["format"], info["requests"]) == ("generated", result["completed"])
    # Table III: 5 and 111 MB.
    assert (info["read_bytes"], info["write_bytes"]) == (5_000 << 10, 111_000 << 10)
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[generated]\n[activity.a]\nkib = 6\n")
    failed = ufsim("run", wrong, "--scheme", "ufs")
    assert failed.returncode == 1
    told = failed.stderr.replace("\n", " ")
    assert "activity.a.kib = 6: must be a multiple of 4" in told and "Traceback" not in told
