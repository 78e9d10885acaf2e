"""Table III of HP-UFS: which workloads Figs. 9 and 10 show, where they come from, and which of them claims count."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest

from ufsim_papers.figure import Figure, Setting
from ufsim_papers.hp_ufs.apps import (
    APPS,
    ELSEWHERE,
    F9,
    F9_TIMED,
    F10,
    GENERATED,
    OTHERS,
    RECORDED,
    STATES,
    elsewhere,
    others,
)
from ufsim_papers.hp_ufs.writes import SCHEMES

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


def frame_of(columns: list[tuple[str, str]]) -> pd.DataFrame:
    """Runs whose numbers differ from one to the next, so that a mean over other ones would differ, too."""
    runs = itertools.product(STATES, columns, SCHEMES)
    rows = []
    for number, (state, (source, app), scheme) in enumerate(runs, 1):
        nand = {f"nand_{cause}_ns": float(number * place) for place, cause in enumerate(CAUSES, 1)}
        if scheme in ("hp-ufs", "ideal"):
            nand["nand_valid_page_search_ns"] = 0.0
        labels = {"state": state, "app": app, "source": source, "scheme": scheme}
        counters = {name: float(number + place) for place, name in enumerate(COUNTERS)}
        rows.append(
            labels | {"throughput_mib_per_s": 100.0 + number**0.5, "sim_seconds": 1.0 + number} | nand | counters
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
        assert len(runs) == len(TABLE_III) * len(SCHEMES) * len(STATES)
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


def test_claims_count_the_five_recorded_workloads_and_no_other() -> None:
    everything = frame_of(ALL)
    # A trace of another app would be recorded by the authors, and still is none of the five.
    everything.loc[everything["app"] == "YT", "source"] = RECORDED
    five = everything[everything["app"].isin(list(APPS.values()))]
    for figure in (F9, F10):
        measured = figure.measure(everything)
        assert measured == figure.measure(five)
        assert {part.claim for part in measured} == set(figure.claims)
    assert {(part.part, part.role) for part in F9.measure(everything)} == {("five of nine workloads", "beside")}


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
