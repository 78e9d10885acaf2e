"""Sweeps: which points a grid has, that each is run once and kept, and what the rows say together."""

import json
import math
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import ufsim as lab
from conftest import ROOT, Command
from ufsim.student import half_width, student
from ufsim.sweeps import grid as grids
from ufsim.sweeps import statistics
from ufsim.sweeps.execute import Turns
from ufsim.sweeps.latin import Range, drawn
from ufsim.sweeps.points import folders_of, labels_of, moved, points_of
from ufsim.sweeps.show import listed

JOB = "rw=randrw bs=4k iodepth=4 size={range_mib}m io_size=1m"
AGE = "rw=randwrite bs=4k size=32m io_size=64m iodepth=16"
FIXED = {"workload": JOB, "profile": "tiny", "precondition": "none", "age": AGE}
SMALL = {"fixed": FIXED, "axes": {"scheme": ["ufs", "hp-ufs"], "range_mib": [8, 32], "seed": [1, 2, 3]}}


def written(tables: dict[str, Any], path: Path) -> Path:
    """A grid as a file; JSON's values are TOML's."""
    lines = []
    for name, fields in tables.items():
        lines += [f"[{name}]", *(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in fields.items())]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> lab.StateCache:
    return lab.StateCache(tmp_path_factory.mktemp("states"))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, cache: lab.StateCache) -> tuple[lab.Sweep, Path]:
    """The small sweep, on two threads."""
    out = tmp_path_factory.mktemp("small")
    return lab.sweep(SMALL, out, jobs=2, cache=cache), out


def test_axes_are_crossed_zips_go_row_by_row_and_samples_with_all() -> None:
    grid = grids.grid_of(
        {
            "fixed": {"workload": "rw=randread bs={size} size=1m"},
            "axes": {"scheme": ["ufs", "hpb"], "gc": {"start_superblocks": [60, 70]}},
            "zip": [{"size": ["4k", "8k", "8k"], "host_memory_mib": [1, 2, "unlimited"]}],
            "sample": {"points": 5, "axes": {"nand.tlc_read_us": [20, 90]}},
        }
    )
    labels = list(labels_of(grid))
    assert len(labels) == 2 * 2 * 3 * 5
    assert list(labels[0]) == ["scheme", "gc.start_superblocks", "size", "host_memory_mib", "nand.tlc_read_us"]
    rows = {(one["size"], one["host_memory_mib"]) for one in labels}
    assert rows == {("4k", 1), ("8k", 2), ("8k", "unlimited")}
    assert len({tuple(one.values())[:4] for one in labels}) == 12
    # The last axis changes fastest.
    assert [one["scheme"] for one in labels] == ["ufs"] * 30 + ["hpb"] * 30


def test_values_reach_the_run() -> None:
    grid = {
        "fixed": {"workload": JOB, "profile": "tiny", "settings": {"gc": {"units_per_step": 32}}},
        "axes": {"range_mib": [8], "host_memory_mib": [1], "scheme.*.segment_kib": [2], "depth": [3]},
    }
    with pytest.raises(lab.OptionError, match="at range_mib=8, host_memory_mib=1"):
        points_of(grids.grid_of(grid))  # a job file has its own depth
    del grid["axes"]["depth"]
    (point,) = points_of(grids.grid_of(grid))
    assert point.spec.workload == JOB.replace("{range_mib}", "8")
    assert point.spec.settings == {"gc.units_per_step": 32, "scheme.*.segment_kib": 2}
    assert point.spec.host_memory_mib == 1


def test_a_latin_hypercube_meets_every_part_of_every_range_once() -> None:
    ranges = (Range("a", 0.0, 1.0), Range("b", 10.0, 1000.0, log=True), Range("c", values=("x", "y")))
    points = drawn(ranges, 40, seed=3)
    assert sorted(int(one["a"] * 40) for one in points) == list(range(40))
    parts = sorted(int(math.log10(one["b"] / 10) / 2 * 40) for one in points)
    assert parts == list(range(40))
    assert [one["c"] for one in points].count("x") == 20
    assert drawn(ranges, 40, seed=3) == points != drawn(ranges, 40, seed=4)
    whole = [one["n"] for one in drawn((Range("n", 1, 4),), 40, seed=1)]
    assert sorted(whole) == [1] * 10 + [2] * 10 + [3] * 10 + [4] * 10


def test_a_point_that_is_drawn_again_is_no_repetition(tmp_path: Path) -> None:
    fixed = {"workload": "rw=randwrite bs=4k size=1m", "profile": "tiny", "scheme": "hpb"}
    sweep = lab.sweep({"fixed": fixed, "sample": {"points": 6, "axes": {"host_memory_mib": [1, 2]}}}, tmp_path)
    means = sweep.means()
    assert (sweep.points, list(means["host_memory_mib"]), list(means["seeds"])) == (2, [1, 2], [1, 1])
    assert means["throughput_mib_per_s_ci95"].isna().all()


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({"axis": {}}, r"\[axis\] is no table of a grid; allowed: fixed, axes, zip, sample; did you mean 'axes'"),
        ({"axes": {"scheme": ["ufs"]}}, "no workload"),
        ({"fixed": FIXED, "axes": {"range_mib": [1], "gc.start_superblock": [9]}}, "mean 'gc.start_superblocks'"),
        ({"fixed": FIXED, "axes": {"range_mib": 8}}, r"axes.range_mib is 8; allowed: a list of values"),
        ({"fixed": FIXED, "axes": {"range_mib": [8, 8]}}, "axes.range_mib has 8 twice"),
        ({"fixed": FIXED, "axes": {"range_mib": [8, 8.0]}}, "axes.range_mib has 8 twice"),
        ({"fixed": FIXED, "zip": [{"range_mib": [8, 4, 8], "seed": [1, 2, 1]}]}, "zip has range_mib=8, seed=1 twice"),
        ({"fixed": FIXED, "axes": {"range_mib": [[8]]}}, r"axes.range_mib has \[8\]; allowed: texts, numbers"),
        ({"fixed": FIXED}, r"\{range_mib\} stands in a text; allowed: axes of this grid: none"),
        ({"fixed": FIXED, "axes": {"range_mib": [8], "other": [1]}}, "'other' is no axis or field"),
        ({"fixed": {"workload": "rw=read size={iops}"}, "axes": {"iops": [8]}}, "'iops' is a column of the results"),
        ({"fixed": FIXED, "axes": {"range_mib": [8], "profile": ["tiny"]}}, "'profile' stands twice"),
        ({"fixed": FIXED, "axes": {"range_mib": [8], "seed": ["x"]}}, "seed is 'x'; allowed"),
        ({"fixed": FIXED, "axes": {"range_mib": [8], "seed": [-1]}}, "at range_mib=8, seed=-1: seed is -1; allowed"),
        ({"fixed": FIXED, "axes": {"range_mib": [8], "scheme": ["hpp"]}}, "scheme is 'hpp'; allowed: ufs"),
        ({"fixed": FIXED, "axes": {"range_mib": [8], "nand.planes": [0]}}, "nand.planes"),
        ({"fixed": FIXED, "zip": [{"range_mib": [1, 2], "seed": [1]}]}, "zip.seed has 1 values, and range_mib has 2"),
        ({"fixed": FIXED, "sample": {"points": 0, "axes": {"range_mib": [1, 2]}}}, "sample.points is 0; allowed"),
        ({"fixed": FIXED, "sample": {"points": 1, "axes": {"range_mib": [2, 1]}}}, r"range_mib is {'low': 2"),
        ({"fixed": FIXED, "sample": {"points": 1}}, "sample has no axes"),
        ({"fixed": FIXED, "sample": {"point": 1}}, "sample.point is no field; allowed: points, seed, axes"),
    ],
)
def test_a_wrong_grid_is_refused_before_anything_is_there(tables: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(lab.ConfigError, match=told):
        lab.sweep(tables, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_table_has_a_row_for_each_point_with_what_a_run_gives(small: tuple[lab.Sweep, Path]) -> None:
    sweep, out = small
    frame = pd.read_parquet(out / "results.parquet")
    assert list(frame.columns[:4]) == ["point", "scheme", "range_mib", "seed"]
    assert {"throughput_mib_per_s", "read_p99_ns", "waf_total", "host_dram_bytes", "version"} <= set(frame.columns)
    assert len(frame) == sweep.points == sweep.run == 12
    assert set(frame.version) == {lab.__version__}
    assert not [name for name, kind in frame.dtypes.items() if pd.api.types.is_object_dtype(kind)]
    row = frame[(frame.scheme == "hp-ufs") & (frame.range_mib == 32) & (frame.seed == 2)].iloc[0]
    same = lab.run(
        JOB.format(range_mib=32), "hp-ufs", profile="tiny", precondition="none", age=AGE, seed=2, cache=False
    )
    assert row.digest == same.digest
    assert row.throughput_mib_per_s == same.throughput_mib_per_s


def test_each_state_is_made_once_and_nothing_twice(
    small: tuple[lab.Sweep, Path], cache: lab.StateCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out = small
    assert len(cache.files()) == 2 * 3  # layouts by seeds: ranges share them
    again = lab.sweep(SMALL, out, jobs=1, cache=cache)
    assert again.run == 0
    made = []
    age = lab._core.age
    monkeypatch.setattr(lab._core, "age", lambda spec, path, report: (made.append(path), age(spec, path, report)))
    alone = lab.sweep(SMALL, tmp_path, jobs=3, cache=False)
    assert alone.run == 12
    assert len(made) == 6
    assert not list(tmp_path.glob(".states-*"))
    whole = "results.parquet"
    assert (tmp_path / whole).read_bytes() == (out / whole).read_bytes(), "jobs and caches change no byte"


def test_turns_pass_over_points_whose_state_is_just_being_made() -> None:
    points = points_of(grids.grid_of(SMALL))
    by_seed = sorted(points, key=lambda point: (point.labels["scheme"], point.labels["seed"]))[:4]
    turns = Turns(by_seed, workers=2)  # hp-ufs with seeds 1, 1, 2, 2
    first, second = turns.next(), turns.next()
    assert first == (by_seed[0], by_seed[0].state)
    assert second == (by_seed[2], by_seed[2].state)
    assert by_seed[1].state is not None
    turns.made(by_seed[1].state)
    assert turns.next() == (by_seed[1], None)
    turns.stop()
    assert turns.next() is None


def test_while_states_are_left_one_of_two_workers_makes_one() -> None:
    points = points_of(grids.grid_of({**SMALL, "axes": {"range_mib": [8, 32], "seed": [1, 2, 3]}}))
    points.sort(key=lambda point: str(point.labels["seed"]))
    states = [point.state for point in points[::2]]
    assert len({*states}) == 3
    turns = Turns(points, workers=2)
    assert [turns.next(), turns.next()] == [(points[0], states[0]), (points[2], states[1])]
    turns.made(str(states[0]))
    turns.made(str(states[1]))
    assert turns.next() == (points[4], states[2]), "now, not when everything else is done"
    assert [turns.next(), turns.next()] == [(points[1], None), (points[3], None)]
    turns.made(str(states[2]))
    assert [turns.next(), turns.next()] == [(points[5], None), None]
    alone = Turns(points, workers=1)
    assert alone.next() == (points[0], states[0])
    alone.made(str(states[0]))
    assert alone.next() == (points[1], None), "results first"


def test_a_kill_loses_only_points_under_way(tmp_path: Path, cache: lab.StateCache, ufsim: Command) -> None:
    fixed = {**FIXED, "workload": JOB.replace("io_size=1m", "io_size=24m")}
    grid = written({"fixed": fixed, "axes": {**SMALL["axes"], "seed": [1, 2, 3, 4]}}, tmp_path / "grid.toml")
    out, program = tmp_path / "out", Path(sys.executable).with_name("ufsim")
    environment = {**os.environ, "UFSIM_CACHE": str(cache.directory)}
    command = [str(program), "sweep", str(grid), "--out", str(out), "--jobs", "1"]
    running = subprocess.Popen(command, env=environment)
    deadline = time.monotonic() + 60
    while len(list(out.glob("points/[!.]*.json"))) < 3:
        assert running.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("points/[!.]*.json")}
    assert 3 <= len(kept) < 16
    assert not list(out.glob("results*.parquet"))
    assert ufsim("sweep", "show", out).returncode == 1
    done = subprocess.run([*command, "--json"], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["run"] == 16 - len(kept)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(pd.read_parquet(out / "results.parquet")) == 16


def test_a_failed_point_stops_no_other_and_is_told_with_its_command(tmp_path: Path, ufsim: Command) -> None:
    (tmp_path / "bad.csv").write_text("this is no trace\n")
    fixed = {"profile": "tiny", "scheme": "ufs", "gc.units_per_step": 32}
    axes = {"workload": ["rw=randread bs=4k size=1m", "bad.csv"], "seed": [1, 2]}
    grid = written({"fixed": fixed, "axes": axes}, tmp_path / "grid.toml")
    done = ufsim("sweep", grid, "--out", tmp_path / "out", "--json")
    assert done.returncode == 6, done.stderr
    document = json.loads(done.stdout)
    assert (document["points"], document["done"]) == (4, 2)
    commands = [one["command"] for one in document["failed"]]
    assert len(commands) == 2 and all(f"ufsim: repeat: {command}\n" in done.stderr for command in commands)
    again = ufsim(*shlex.split(commands[0])[1:])
    assert again.returncode == 1 and "bad.csv" in again.stderr
    assert not (tmp_path / "out/results.parquet").exists()
    assert len(pd.read_parquet(tmp_path / "out/results.partial.parquet")) == 2
    shown = ufsim("sweep", "show", tmp_path / "out")
    assert shown.returncode == 0 and "2 of 4 points" in shown.stdout
    (tmp_path / "bad.csv").unlink()
    assert ufsim("sweep", grid, "--out", tmp_path / "out").returncode == 1
    assert (tmp_path / "out/results.partial.parquet").exists(), "a wrong grid touches nothing"


def test_a_result_does_not_say_where_the_grid_lies(tmp_path: Path) -> None:
    trace = "0,0,4096,R\n10,8,4096,W\n"
    found = []
    for name in ("here", "there/deeper"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "job.fio").write_text("[j]\nrw=randread\nbs=4k\nsize=1m\n" + f"# {trace.count(',')}\n")
        grid = written({"fixed": {"workload": "job.fio", "profile": "tiny"}, "axes": {"seed": [1]}}, folder / "g.toml")
        lab.sweep(grid, folder / "out")
        (point,) = (folder / "out/points").glob("*.json")
        found.append((point.name, point.read_bytes(), (folder / "out/results.parquet").read_bytes()))
    assert found[0] == found[1]
    assert json.loads(found[0][1])["workload"] == "job.fio"


def test_folders_of_files_are_told_as_the_grid_names_them() -> None:
    for there, said, told in (
        ("/a/grid/jobs/j.fio", "jobs/j.fio", ("/a/grid/", "")),
        ("/tmp/u/j.fio", "/a/j.fio", ("/tmp/u/", "/a/")),
        ("sub/j.fio", "j.fio", ("sub/", "")),
        ("j.fio", "j.fio", ("", "")),
        ("rw=read size=8m", "rw=read size={n}m", ("", "")),
    ):
        assert folders_of(there, said) == told
    value = {"a": ["/t/u/x: line 3", 4], "b": {"c": "./t/u/x /t/u/y"}}
    assert moved(value, "/t/u/", "") == {"a": ["x: line 3", 4], "b": {"c": "./t/u/x y"}}
    assert moved(value, "", "z/") == value


def test_means_have_intervals_by_student() -> None:
    assert half_width([1.0, 2.0, 6.0]) == pytest.approx(4.303 * math.sqrt(7 / 3))
    assert half_width([5.0]) is None
    assert [student(degrees) for degrees in (1, 4, 30)] == [12.706, 2.776, 2.042]
    # Tables of the distribution.
    tabled = {31: 2.0395, 40: 2.0211, 60: 2.0003, 120: 1.9799}
    assert {degrees: student(degrees) for degrees in tabled} == pytest.approx(tabled, abs=2e-4)
    frame = pd.DataFrame({"a": [1, 1, 1, 2], "seed": [1, 2, 3, 1], "y": [1.0, 2.0, 6.0, 4.0]})
    found = statistics.means(frame, ["a", "seed"], ["y"])
    assert list(found.seeds) == [3, 1]
    assert list(found.y) == [3.0, 4.0]
    assert found.y_ci95[0] == pytest.approx(4.303 * math.sqrt(7 / 3))
    assert math.isnan(found.y_ci95[1])


@pytest.mark.parametrize("axes", [["a", "seed"], []])
def test_means_of_nothing_are_no_rows(axes: list[str]) -> None:
    frame = pd.DataFrame({"a": pd.Series([], dtype="str"), "seed": [], "y": []})
    found = statistics.means(frame, axes, ["y"])
    assert (len(found), list(found)) == (0, [*axes[:1], "seeds", "y", "y_ci95"])


def test_a_sweep_whose_points_have_all_failed_has_no_means(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("no trace\n")
    sweep = lab.sweep({"fixed": {"workload": str(tmp_path / "bad.csv")}, "axes": {"scheme": ["ufs"]}}, tmp_path / "out")
    assert len(sweep.failures) == 1 and len(sweep.means()) == 0


def test_aged_states_lie_where_the_cache_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UFSIM_CACHE", str(tmp_path / "usual"))
    fixed = {"workload": "rw=read bs=4k size=1m", "profile": "tiny", "age": "rw=write bs=4k size=1m", "scheme": "ufs"}
    grid = {"fixed": fixed, "axes": {"seed": [1]}}
    for number, cache in enumerate([str(tmp_path / "text"), tmp_path / "path"]):
        assert not lab.sweep(grid, tmp_path / f"out-{number}", cache=cache).failures
        assert len(list(Path(cache).glob("*.state"))) == 1
    assert not (tmp_path / "usual").exists()


def test_axes_explain_what_an_analysis_of_variance_gives_them() -> None:
    rows = [{"a": a, "b": b, "c": c, "y": 3.0 * a + b} for a in range(3) for b in range(3) for c in "xyz"]
    found = statistics.shares(pd.DataFrame(rows), ["a", "b", "c"], [], "y")
    assert list(found) == ["a", "b", "c"]
    assert found == pytest.approx({"a": 0.9, "b": 0.1, "c": 0.0})
    flat = pd.DataFrame({"a": [1, 2, 3], "y": [0.1, 0.1, 0.1]})
    assert statistics.shares(flat, ["a"], [], "y") == {"a": 0.0}
    drawn_rows = pd.DataFrame([{"a": place / 100, "y": place / 100} for place in range(100)])
    # Ten groups of a straight line leave a hundredth of the variance within them, and chance would be 9/90 of that.
    within = (1 - 1 / 100) / (1 - 1 / 10000)
    expected = 1 - (1 - within) - 9 * (1 - within) / 90
    assert statistics.shares(drawn_rows, ["a"], ["a"], "y")["a"] == pytest.approx(expected)


def test_nothing_beats_a_point_of_the_front() -> None:
    costs, gains = [4.0, 1.0, 2.0, 2.0, 3.0, 1.0], [9.0, 3.0, 5.0, 6.0, 6.0, 3.0]
    assert statistics.front(costs, gains) == [1, 3, 0]


def test_show_prints_means_and_draws(small: tuple[lab.Sweep, Path], ufsim: Command, tmp_path: Path) -> None:
    sweep, out = small
    shown = ufsim("sweep", "show", out, "--out", tmp_path / "pictures", "--y", "write_p99_ns")
    assert shown.returncode == 0, shown.stderr
    for text in ("12 of 12 points, mean ± 95% over 3 seeds", "write p99", "± ", "together, and chance"):
        assert text in shown.stdout
    for name in ("lines", "heat", "pareto", "sensitivity"):
        assert (tmp_path / f"pictures/{name}.png").read_bytes().startswith(b"\x89PNG"), name
    figure = sweep.plot(tmp_path, x="range_mib")["lines"]
    (axes,) = figure.axes
    assert [line.get_label() for line in axes.lines] == ["ufs", "hp-ufs"]
    means = sweep.means().query("scheme == 'ufs'").throughput_mib_per_s
    assert list(axes.lines[0].get_ydata()) == pytest.approx(list(means))
    document = json.loads(ufsim("sweep", "show", out, "--out", tmp_path, "--json").stdout)
    assert len(document["means"]) == 4
    assert document["variance"]["first_order"].keys() == {"scheme", "range_mib", "seed"}
    told = ufsim("sweep", "show", out, "--y", "iop")
    assert told.returncode == 1 and "did you mean 'iops'" in told.stderr


def test_a_heat_map_says_over_what_it_is_a_mean(tmp_path: Path) -> None:
    fixed = {"profile": "tiny", "workload": "rw=randread size=1m bs={bs_kib}k iodepth={deep}"}
    axes = {"bs_kib": [4, 8, 16], "deep": [1, 2], "gc.start_superblocks": [60, 70]}
    figure = lab.sweep({"fixed": fixed, "axes": axes}, tmp_path).plot(tmp_path, by="deep")["heat"]
    assert figure.axes[-1].get_ylabel() == "throughput (MiB/s)", "no axis is left"
    more = {"fixed": fixed, "axes": axes | {"host.tags": [16, 32]}}
    figure = lab.sweep(more, tmp_path / "more").plot(tmp_path, by="deep")["heat"]
    assert figure.axes[-1].get_ylabel().startswith("throughput (MiB/s), mean over host.tags")


def test_statistics_of_nothing_are_refused_and_a_result_that_is_none_is_made_again(
    tmp_path: Path, ufsim: Command
) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text('[fixed]\nprofile = "tiny"\nworkload = "rw=write size=1m"\n[axes]\nscheme = ["ufs", "ideal"]\n')
    out = tmp_path / "out"
    assert ufsim("sweep", grid, "--out", out).returncode == 0
    table = (out / "results.parquet").read_bytes()
    shown = ufsim("sweep", "show", out, "--y", "read_p99_ns")
    assert shown.returncode != 0 and "y is 'read_p99_ns'; allowed: a column that some run" in shown.stderr
    point = min((out / "points").glob("*.json"))
    point.write_text("{}\n")
    again = ufsim("sweep", grid, "--out", out)
    assert again.returncode == 0 and f"{point}: no 'scheme' in it; the run is made again" in again.stderr
    assert (out / "results.parquet").read_bytes() == table


def test_the_grid_among_the_jobs_has_200_points() -> None:
    points = points_of(grids.read_grid(ROOT / "jobs/sweep-host-memory.toml"))
    assert len({point.name for point in points}) == 200
    assert list(points[0].labels) == ["scheme", "host_memory_mib", "range_mib", "seed"]


def test_what_an_axis_changes_nothing_of_is_listed_once() -> None:
    frame = pd.DataFrame(
        {
            "scheme": ["ufs", "ufs", "hp-ufs", "hp-ufs"],
            "host_memory_mib": [1, 2, 1, 2],
            "iops": [5.0, 5.0, 6.0, 7.0],
            "waf": [float("nan")] * 4,
        }
    )
    rows = listed(frame, ["scheme", "host_memory_mib"], ["iops", "waf"])
    assert [named for named, _ in rows] == [["ufs", "any"], ["hp-ufs", "1"], ["hp-ufs", "2"]]
    assert listed(frame[:2], ["scheme"], ["iops"])[0][0] == ["ufs"], "one value of an axis is told"


def test_an_axis_that_is_an_option_and_part_of_a_text_is_told() -> None:
    fixed = {"workload": "rw=randread bs=4k size=8m iodepth={depth}", "profile": "tiny"}
    grid = grids.grid_of({"fixed": fixed, "axes": {"depth": [1, 4]}})
    with pytest.raises(lab.ConfigError, match=r"has no effect .*'depth' is that option as well as \{depth\} in a text"):
        points_of(grid)
