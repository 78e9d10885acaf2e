"""`ufsim explain`: what bands of latencies are made of."""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import ufsim as package
from conftest import Command
from ufsim.plots.explain import STAGE_COLOURS, explain_figure
from ufsim.results.explain import BEHIND, COLUMNS, Log, if_free, in_words, made_of

JOB = "rw=randrw rwmixread=50 bs=16k iodepth=8 size=64m io_size=24m"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Logs of two schemes."""
    folder = tmp_path_factory.mktemp("logs")
    package.compare(JOB, ["ufs", "ideal"], profile="tiny", log=folder / "log.parquet")
    return [folder / f"log-{scheme}.parquet" for scheme in ("ufs", "ideal")]


def made(path: Path, latencies: list[int], stages: dict[str, list[int]], ended: list[int] | None = None) -> Path:
    """A log with these latencies of reads and these stages, made by hand from one that was written."""
    package.run("rw=randread bs=4k size=1m io_size=" + f"{4 * len(latencies)}k", "ideal", profile="tiny", log=path)
    table = parquet.read_table(path)
    values = {"latency_ns": latencies, **{column: [0] * len(latencies) for column in COLUMNS.values()}}
    values |= {COLUMNS[stage]: times for stage, times in stages.items()}
    if ended is not None:
        values["completion_ns"] = ended
    for name, numbers in values.items():
        table = table.set_column(
            table.schema.get_field_index(name), table.schema.field(name), pa.array(numbers, pa.uint64())
        )
    parquet.write_table(table, path)
    return path


def test_bands_are_cut_at_percentiles_and_add_up(tmp_path: Path) -> None:
    """Of 1000 requests one takes 10 ms in a map flush; the others take 100 us in the flash."""
    flash = [100_000] * 999 + [100_000]
    held = [0] * 999 + [9_900_000]
    latencies = [a + b for a, b in zip(flash, held, strict=True)]
    log = Log(made(tmp_path / "log.parquet", latencies, {"flash_read": flash, "map_flush": held}))
    bands = log.bands(log.chosen("read"))
    assert [(band.name, band.requests) for band in bands] == [
        ("fastest 50%", 500), ("50 to 90%", 400), ("90 to 99%", 90), ("99 to 99.9%", 9), ("slowest 0.1%", 1)
    ]  # fmt: skip
    assert bands[0].shares() == {"flash_read": 1.0}
    assert bands[-1].shares() == {"map_flush": pytest.approx(0.99), "flash_read": pytest.approx(0.01)}
    assert made_of(bands[-1]) == "map flush 99%"
    told = in_words(bands[-1], "read")
    assert told.startswith("slowest 0.1% of reads, 10.0 ms in the mean: 99% in the device, while a map flush held")
    [worst] = log.slowest(log.chosen("read"), 1)
    assert (worst["latency_ns"], worst["stages"]) == (10_000_000, {"map_flush": 9_900_000, "flash_read": 100_000})


def test_there_may_be_more_bands_than_a_byte_counts(tmp_path: Path) -> None:
    log = Log(made(tmp_path / "log.parquet", list(range(1, 401)), {"flash_read": list(range(1, 401))}))
    bands = log.bands(log.chosen("read"), [place / 2 for place in range(1, 200)])
    assert [band.mean_ns for band in bands] == [2 * place + 1.5 for place in range(200)]
    assert [band.stages["flash_read"] for band in bands] == [band.mean_ns for band in bands]


def test_bands_of_a_run_hold_every_measured_request(logs: list[Path]) -> None:
    for path in logs:
        log = Log(path)
        for kind in log.kinds():
            rows = log.chosen(kind)
            bands = log.bands(rows)
            assert sum(band.requests for band in bands) == len(rows)
            for band in bands:
                assert sum(band.stages.values()) == pytest.approx(band.mean_ns)
            total = sum(band.mean_ns * band.requests for band in bands)
            assert total == pytest.approx(rows.latency_ns.sum())


def test_the_command_tells_and_draws(ufsim: Command, logs: list[Path], tmp_path: Path) -> None:
    done = ufsim("explain", *logs, "--slowest", 2, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ufs: reads" in done.stdout and "ideal: writes" in done.stdout and "slowest 0.1%" in done.stdout
    assert done.stdout.count(" of 4 units at ") == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log-ufs-reads.png", "log-ufs-writes.png"]
    found = json.loads(ufsim("explain", *logs, "--json", "--kind", "write", "--slowest", 1).stdout)
    assert set(found["bands"]) == {"write"} and set(found["slowest"]) == {"ufs", "ideal"}
    band = found["bands"]["write"]["ufs"][-1]
    assert sum(band["stages"].values()) == pytest.approx(band["mean_ns"])


def test_a_bar_has_a_part_for_each_stage_that_took_time(logs: list[Path]) -> None:
    log = Log(logs[0])
    bands = log.bands(log.chosen("write"))
    figure = explain_figure({"ufs": bands}, "write")
    heights = [patch.get_height() for patch in figure.axes[0].patches]
    assert sum(heights) == pytest.approx(len(bands))
    assert set(STAGE_COLOURS) == set(COLUMNS) and len(set(STAGE_COLOURS.values())) == len(COLUMNS)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda path: path.write_text("no log"), "must be a .parquet file that `ufsim run --log` has written"),
        (lambda path: pd.DataFrame({"a": [1]}).to_parquet(path), "it does not say what was run"),
    ],
)
def test_a_file_that_is_no_log_is_refused(ufsim: Command, tmp_path: Path, change: object, told: str) -> None:
    path = tmp_path / "log.parquet"
    assert callable(change)
    change(path)
    done = ufsim("explain", path)
    assert done.returncode == 1 and told in done.stderr.replace("\n", " "), done.stderr
    assert "Traceback" not in done.stderr


def test_what_a_log_has_not_is_said(ufsim: Command, logs: list[Path]) -> None:
    done = ufsim("explain", logs[0], "--kind", "trim")
    assert done.returncode == 1 and "kind is 'trim'; allowed: read, write" in done.stderr
    done = ufsim("explain", logs[0], "--process", "nobody")
    assert done.returncode == 1 and "process is 'nobody'; allowed: no name, as this log has none" in done.stderr
    done = ufsim("explain", logs[0], "--slowest", "-1")
    assert done.returncode == 1 and "slowest is -1" in done.stderr


def test_what_if_runs_it_again_with_free_work(ufsim: Command, tmp_path: Path) -> None:
    """Writes under GC: without the time of GC they wait less, and the log itself stays as it is."""
    job = "rw=randwrite bs=4k iodepth=8 size=100m io_size=200m"
    package.run(job, "ufs", profile="tiny", seed=4, log=tmp_path / "log.parquet")
    done = ufsim("explain", tmp_path / "log.parquet", "--what-if", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert list(document["what_if"]) == ["gc", "mapping"]
    of = {name: bands["write"]["ufs"] for name, bands in document["what_if"].items()}
    charged = document["bands"]["write"]["ufs"]
    assert [band["requests"] for band in of["gc"]] == [band["requests"] for band in charged]
    assert charged[-1]["stages"]["meta_gc"] > of["mapping"][-1]["stages"]["meta_gc"] > 0
    assert of["mapping"][-1]["mean_ns"] < charged[-1]["mean_ns"]
    told = ufsim("explain", tmp_path / "log.parquet", "--what-if", "--out", tmp_path)
    assert "GC free" in told.stdout and "mapping free" in told.stdout, told.stdout


def test_a_log_of_another_version_is_not_run_again(ufsim: Command, tmp_path: Path) -> None:
    path = made(tmp_path / "log.parquet", [100], {"flash_read": [100]})
    table = parquet.read_table(path)
    run = json.loads(table.schema.metadata[b"ufsim"]) | {"version": "0.0.1"}
    parquet.write_table(table.replace_schema_metadata({b"ufsim": json.dumps(run)}), path)
    done = ufsim("explain", path, "--what-if", "--out", tmp_path)
    assert done.returncode == 1 and "must be of this version" in done.stderr


def test_the_tail_of_fig_7_under_gc_is_named(tmp_path: Path) -> None:
    """HP-UFS Fig. 7 on a small device: what makes p99.9 are steps of GC that hold the front end."""
    job = "rw=randwrite bs=4k iodepth=1 numjobs=8 size=12m io_size=24m group_reporting"
    package.run(job, "hp-ufs", profile="tiny", precondition="touched", log=tmp_path / "log.parquet")
    log = Log(tmp_path / "log.parquet")
    bands = log.bands(log.chosen("write"))
    assert next(iter(bands[-1].shares())) == "gc"


def test_a_request_behind_others_has_their_root(tmp_path: Path) -> None:
    stages = {"gc": [100_000, 0], "queue": [0, 90_000], "flash_read": [0, 11_000]}
    # The second arrives 10 us after the first, which GC holds for 100 us, and reads for 11 us when that has ended.
    log = Log(made(tmp_path / "log.parquet", [100_000, 101_000], stages, ended=[100_000, 111_000]))
    roots = log.roots(log.chosen("read"), 50.0)
    assert list(roots) == ["gc", "flash_read"]
    assert (roots["gc"].share, roots["gc"].behind) == pytest.approx((90 / 101, 90 / 101))
    assert (roots["flash_read"].share, roots["flash_read"].behind) == pytest.approx((11 / 101, 0))
    every = log.roots(log.chosen("read"), 100.0)
    assert (every["gc"].share, every["gc"].behind) == pytest.approx((190 / 201, 90 / 201))


def test_roots_are_the_whole_time_of_the_slowest(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    package.run("rw=randrw bs=4k size=16m iodepth=16 io_size=32m", "ufs", profile="tiny", log=path)
    log = Log(path)
    for kind in log.kinds():
        roots = log.roots(log.chosen(kind), 1.0)
        assert sum(root.share for root in roots.values()) == pytest.approx(1)
        assert not set(roots) & set(BEHIND), "something completes while they wait"


def test_a_log_of_one_seed_is_run_again_with_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An aged device draws at random, so that a run without `seeds` would be five."""
    shared = {"profile": "tiny", "age": "rw=randwrite bs=4k size=16m", "cache": tmp_path / "states"}
    package.run("rw=randread bs=4k size=1m", "ufs", seeds=1, log=tmp_path / "log.parquet", **shared)
    with caplog.at_level("INFO", "ufsim"):
        if_free(Log(tmp_path / "log.parquet"), tmp_path)
    assert "seeds" not in caplog.text
