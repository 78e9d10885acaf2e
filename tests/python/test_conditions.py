"""What is said of a run: what it was, what it did not exercise, and which measure leads."""

from ufsim.results import conditions
from ufsim.results.result import Comparison, Result


def test_a_replay_at_recorded_times_is_judged_by_latency(comparison: Comparison) -> None:
    assert conditions.leads_with(comparison.results) == "throughput"
    for replay, lead in (("timed", "latency"), ("queued", "latency"), ("fio", "throughput"), ("phone", "throughput")):
        for result in comparison.results:
            result.data["replay"] = replay
        assert conditions.leads_with(comparison.results) == lead


def test_a_database_is_judged_by_its_transactions(comparison: Comparison) -> None:
    for result in comparison.results:
        result.data["replay"] = "sqlite"
        result.data["operations"] = [{"name": "insert"}]
    assert conditions.leads_with(comparison.results) == "operations"


def test_everything_that_was_chosen_is_told(comparison: Comparison) -> None:
    comparison.results[1].data["host_dram_limit_bytes"] = None
    for result in comparison.results:
        result.data["set"] = {"nand.tlc_read_us": "90", "host.memory_mib": "20"}
    comparison.results[2].data["scheduler"] = "map-plus"
    told = conditions.described(comparison.results)
    assert told == {
        "profile": "phone.toml with nand.tlc_read_us=90",
        "ageing": "rw=randwrite size=1g",
        "host memory": "unlimited (mine), 20 MiB (hp-ufs)",
        "workload": "trace as fast as depth 8 allows (closed)",
        "precondition": "footprint",
        "seed": "7",
        "parts": "scheduler map-plus (hp-ufs)",
    }


def test_a_long_ageing_job_is_cut_and_has_no_comments() -> None:
    text = "# why\n[fill]\nrw=write\nsize = 4g\n; ufsim: warmup\n[more]\nfilename=x\n" + "bs=4k\n" * 40
    short = conditions.job_text(text)
    assert short.startswith("[fill] rw=write size=4g [more] bs=4k bs=4k")
    assert len(short) <= conditions.AGEING_WIDTH
    assert short.endswith("…")


def test_what_was_not_exercised_is_said_with_whose(comparison: Comparison) -> None:
    for result in comparison.results:
        for kind in ("read", "write"):
            result.data["latency_ns"][kind]["count"] = 10_000
    assert conditions.notes(comparison.results) == []
    comparison.results[0].data["nand_ops"] = {"host_write": {"program": 3}}
    assert conditions.notes(comparison.results) == ["ufs: GC never ran"]
    for result in comparison.results:
        result.data["age"] = None
    assert conditions.notes(comparison.results)[0].startswith("the device was fresh")


def test_a_limit_of_host_memory_without_a_booster_is_said_to_change_nothing(comparison: Comparison) -> None:
    told = "the limit of host memory changes nothing: no scheme here has a booster"
    without, *others = comparison.results
    without.data["booster"] = "none"
    for result in others:
        result.data["booster"] = "hpb"
    without.data["set"] = {}
    assert told not in conditions.notes([without])
    for result in comparison.results:
        result.data["set"] = {"host.memory_mib": "7"}
    assert told in conditions.notes([without])
    assert told not in conditions.notes(comparison.results), "it limits the others"


def test_a_limit_of_host_memory_that_changes_is_told_with_its_times(comparison: Comparison) -> None:
    result = comparison.results[0]
    result.data["booster"] = "hp-ufs"
    result.data["host_memory_mib"] = "20, 500ms=5,1.5min = unlimited"
    assert conditions.host_memory_text(result) == "20 MiB, 5 MiB from 500ms on, unlimited from 1.5min on"


def test_failed_requests_are_warnings(comparison: Comparison) -> None:
    comparison.results[1].data["failed"] = 12
    assert conditions.warnings(comparison.results)[0] == "mine: 12 of 1,000 requests ended with an error"


def test_what_differs_between_workloads_says_on_which(comparison: Comparison) -> None:
    other = [Result({**result.data, "replay": "fio", "depth": None}) for result in comparison.results]
    told = conditions.described_suite({"a": comparison.results, "b": other})
    assert told["workload"] == "trace as fast as depth 8 allows (closed) (a), fio job (b)"
    assert told["seed"] == "7"
    assert conditions.merged({"a": ["x", "y"], "b": ["x"]}) == ["x", "a: y"]
