"""How far chance goes: repetitions with other seeds, means with intervals, gains seed by seed."""

import copy
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.container import ErrorbarContainer

import ufsim
from conftest import Command
from ufsim.results import chance, conclusions, doubts, repeats
from ufsim.results.comparison_tables import rows
from ufsim.results.result import Comparison, Result
from ufsim.results.suite import Suite
from ufsim.spec import Spec

TINY = {"profile": "tiny", "precondition": "none"}


def scaled(result: Result, factor: float, seed: int) -> Result:
    """The same with other throughput and latencies, as another seed gives."""
    data = copy.deepcopy(dict(result.data))
    data["seed"] = seed
    data["throughput_mib_per_s"] *= factor
    for latency in filter(None, data["latency_ns"].values()):
        for name in ("mean", "p50", "p99", "p999"):
            latency[name] /= factor
    return Result(data)


@pytest.fixture
def repeated(comparison: Comparison) -> Comparison:
    """Three seeds whose luck is the same for all schemes, but for one that gains in one seed what it loses in another.

    Throughputs of ufs: 100, 120, 80. Gains: mine -20% in each; hp-ufs +50, +60 and -20%.
    """
    luck = (1.0, 1.2, 0.8)
    own: dict[str, tuple[float, ...]] = {"ufs": (1, 1, 1), "mine": (1, 1, 1), "hp-ufs": (1, 1.6 / 1.5, 0.8 / 1.5)}
    results = []
    for result in comparison.results:
        more = [scaled(result, luck[n] * own[result.scheme][n], 7 + n) for n in (1, 2)]
        results.append(replace(result, repeats=tuple(more)))
    return replace(comparison, results=results)


def test_gains_of_times_are_what_they_are_shorter_by() -> None:
    assert chance.gain_percent(200.0, 100.0, shorter=True) == 50.0
    assert chance.gain_percent(200.0, 100.0, shorter=False) == -50.0
    assert chance.gain_percent(0.0, 1.0, shorter=False) is None


def test_luck_that_schemes_have_in_common_does_not_widen_a_gain(repeated: Comparison) -> None:
    ufs, mine, hp_ufs = repeated.results
    rate = lambda result: result.throughput_mib_per_s  # noqa: E731
    # Student's t with two degrees of freedom is 4.303, and 100, 120, 80 have a standard deviation of 20.
    found = chance.estimate(ufs, rate)
    assert found is not None and found.half is not None
    assert found.mean == pytest.approx(ufs.throughput_mib_per_s)
    assert found.half == pytest.approx(4.303 * 0.2 * found.mean / 3**0.5)
    same = chance.gain(ufs, mine, rate, shorter=False)
    assert same is not None and same.differs
    assert (same.mean, same.half) == (pytest.approx(-20.0), pytest.approx(0.0, abs=1e-9))
    lucky = chance.gain(ufs, hp_ufs, rate, shorter=False)
    assert lucky is not None and not lucky.differs
    assert lucky.mean == pytest.approx(30.0)


def test_a_difference_that_may_be_chance_is_printed_as_none(repeated: Comparison) -> None:
    cells = {row.label: row.cells for row in rows(repeated, several=True)}
    gains = cells["  gain over ufs"]
    assert gains[:2] == ["0.0 %", "-20.0 %"]
    assert gains[2].startswith("none, ≤ ") and gains[2].endswith(" %")
    assert " ± " in cells["throughput MiB/s"][0]
    told = conclusions.conclusion(repeated)
    assert told is not None
    assert told.startswith("Throughput against ufs: mine 20.0 % less, hp-ufs no difference seen (at most ")


def test_what_speaks_against_a_winner_is_said(comparison: Comparison) -> None:
    told = conclusions.conclusion(comparison)
    assert told == "Throughput against ufs: mine 20.0 % less, hp-ufs 50.0 % more."
    comparison.results[2].data["latency_ns"]["read"]["p99"] *= 10
    # So few requests say nothing of p99, and a note says that.
    assert conclusions.conclusion(comparison) == told
    comparison.results[0].data["latency_ns"]["read"]["count"] = 1_000
    told = conclusions.conclusion(comparison)
    assert told is not None and "What speaks against hp-ufs: read p99 566.7 % longer." in told
    assert conclusions.conclusion(replace(comparison, results=comparison.results[:1])) is None


def test_tables_and_documents_have_means_and_intervals(repeated: Comparison, tmp_path: Path) -> None:
    table = repeated.table()
    assert table["seeds"].tolist() == [3, 3, 3]
    assert table.loc["hp-ufs", "gain_percent"] == pytest.approx(30.0)
    assert table.loc["hp-ufs", "gain_percent_ci95"] > 30
    assert Comparison.from_json(repeated.to_json()) == repeated
    document = repeated.to_dict()
    assert document["over_seeds"][2]["gain_percent"] == pytest.approx(30.0)
    suite = Suite([repeated])
    assert Suite.from_json(suite.to_json()).comparisons == suite.comparisons
    gains = suite.gains()
    assert gains.loc[("throughput_mib_per_s", "example"), "hp-ufs_ci95"] > 30
    figure = repeated.plot(tmp_path / "several.png")
    drawn = [sum(isinstance(one, ErrorbarContainer) for one in axes.containers) for axes in figure.axes]
    assert drawn == [3, 12, 12, 12, 4, 0], "four statistics of each scheme; trims are one's, NAND time has no chance"
    suite.plot(tmp_path / "suite.png")


def test_one_seed_has_no_interval(comparison: Comparison) -> None:
    table = comparison.table()
    assert table["seeds"].tolist() == [1, 1, 1]
    assert table["gain_percent_ci95"].isna().all()
    assert "over_seeds" not in comparison.to_dict()


def test_what_draws_at_random_is_run_with_five_seeds(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "ufsim")
    fresh = Spec(workload="rw=randread size=1m", scheme="ufs", **TINY)
    assert repeats.count_of([fresh], None) == 1
    aged = replace(fresh, age="rw=randwrite size=4m")
    assert repeats.count_of([fresh, aged], None) == repeats.DEFAULT
    assert "drawn at random: ageing): 10 runs instead of 2" in caplog.text
    assert repeats.count_of([replace(fresh, age="rw=write size=4m")], None) == 1
    assert repeats.count_of([replace(fresh, profile="pixel4")], None) == repeats.DEFAULT
    assert repeats.count_of([replace(fresh, settings={"faults.read_per_million": 10})], None) == repeats.DEFAULT
    assert repeats.count_of([aged], 2) == 2
    with pytest.raises(ufsim.ConfigError, match="seeds is 0; allowed"):
        repeats.count_of([aged], 0)
    with pytest.raises(ufsim.ConfigError, match="must be at most 18446744073709551615 with the 2 behind it"):
        repeats.repeated([replace(fresh, seed=2**64 - 2)], 3)


def test_repetitions_are_the_runs_of_these_seeds(tmp_path: Path) -> None:
    job, log = "rw=randwrite size=1m", tmp_path / "log.parquet"
    done = ufsim.compare(job, ["ufs", "ideal"], seeds=3, seed=4, **TINY)
    for result in done:
        alone = [ufsim.run(job, result.scheme, seed=seed, **TINY).digest for seed in (4, 5, 6)]
        assert [one.digest for one in result.each_seed] == alone
    # Only the first seed is logged.
    logged = ufsim.run(job, "ufs", seeds=2, seed=4, log=log, **TINY)
    assert logged.digest == done["ufs"].digest
    assert log.exists()


def test_the_command_line_says_how_far_chance_goes(ufsim: Command, tmp_path: Path) -> None:
    words = ("compare", "rw=randwrite size=2m", "--schemes", "ufs,ideal", "--profile", "tiny", "--out", tmp_path)
    one = ufsim(*words)
    assert "one seed (workload drawn at random): --seeds 5 says how far chance goes" in " ".join(one.stdout.split())
    several = ufsim(*words, "--seeds", "3")
    assert "seed: 1 to 3, means ± 95%" in " ".join(several.stdout.split())
    assert "one seed" not in several.stdout
    refused = ufsim("run", "rw=randwrite size=2m", "--profile", "tiny", "--seeds", "2", "--fio-json")
    assert refused.returncode == 2 and "--fio-json is for one seed" in refused.stderr


def test_results_that_stand_on_sand_say_so(comparison: Comparison) -> None:
    first, second, third = comparison.results
    for result in comparison.results:
        result.data["counters"] = {"device": {"gc_steps": 0, "gc_urgent_steps": 0, "gc_victims": 0, "map_flushes": 0}}
        result.data["latency_ns"]["read"]["count"] = result.data["latency_ns"]["write"]["count"] = 20_000
    assert doubts.doubts(comparison.results) == []
    first.data["counters"]["device"] |= {"gc_steps": 336, "gc_urgent_steps": 326, "gc_victims": 12}
    second.data["counters"]["device"] |= {"gc_steps": 336, "gc_urgent_steps": 10, "gc_victims": 300}
    first.data["latency_ns"]["write"]["count"] = 400
    assert doubts.doubts(comparison.results) == [
        "GC was at its reserve (urgent steps: ufs 326 of 336): latencies hang on how full the device is",
        "percentiles rest on few events (GC victims: ufs 12): a longer run says more",
        "p99 and p99.9 of 400 writes rest on fewer than ten requests",
    ]
    first.data["latency_ns"]["write"]["count"] = 1_000
    assert doubts.few_requests(comparison.results) == "p99.9 of 1,000 writes rests on fewer than ten requests"
    first.data["latency_ns"]["read"]["count"] = 999
    told = "p99 and p99.9 of 999 reads, p99.9 of 1,000 writes rest on fewer than ten requests"
    assert doubts.few_requests(comparison.results) == told
    third.data["drawn"] = ["ageing"]
    assert (
        doubts.one_seed(comparison.results) == "one seed (ageing drawn at random): --seeds 5 says how far chance goes"
    )
    first.data["replay"] = "phone"
    assert doubts.one_seed(comparison.results) == (
        "one seed (ageing drawn at random): another --seed says how far chance goes"
    )


def test_a_queue_that_grows_to_the_end_is_seen(comparison: Comparison) -> None:
    result = comparison.results[0]
    result.data.update(replay="timed", sim_seconds=8.0)
    column = {"requests": [10, 10, 10, 10], "latency_sum_ns": [10_000_000] * 3 + [10 * 600_000_000]}
    result.data["over_time"] = {"interval_ns": 2_000_000_000, "kinds": {"read": column}}
    assert doubts.endless_queue([result]) == (
        "the queue grew as long as the run went on (mean latency of the last quarter: 600 ms): "
        "latencies say how long the run was"
    )
    column["latency_sum_ns"][-1] = 10 * 300_000_000
    assert doubts.endless_queue([result]) is None
    result.data["replay"] = "closed"
    assert doubts.endless_queue([result]) is None


def test_recorded_times_of_another_device_are_seen() -> None:
    # The phone of the sample took 0.3 ms for a read.
    sample = Path(__file__).parents[2] / "samples/app-mix"
    told = doubts.other_device(ufsim.compare(sample, ["ufs"]).results)
    assert told is not None and told.startswith("the recorded times are of another device (read p50 297 µs there, ")
    assert doubts.other_device(ufsim.compare(sample, ["ufs"], profile="pixel4", seeds=1).results) is None
    assert doubts.other_device(ufsim.compare(sample, ["ufs"], replay="closed").results) is None


def test_data_laid_out_anew_on_an_aged_device_are_told(tmp_path: Path) -> None:
    job = tmp_path / "reads.fio"
    job.write_text("[reads]\nrw=randread\nbs=4k\nsize=16m\n")
    aged = ufsim.run(job, scheme="ufs", profile="tiny", seeds=1, age="used")
    assert doubts.laid_out_anew([aged]) == (
        "32 writes laid the workload's data out in order after ageing: "
        "--precondition none leaves the device as it was aged"
    )
    assert doubts.laid_out_anew([ufsim.run(job, scheme="ufs", profile="tiny", seeds=1)]) is None
    assert doubts.laid_out_anew([ufsim.run(job, profile="tiny", seeds=1, age="used", precondition="none")]) is None
