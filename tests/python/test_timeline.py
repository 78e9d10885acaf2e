"""Timelines for the Perfetto UI: `ufsim run --timeline`, read back with the messages of Perfetto's package."""

import re
import resource
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

import ufsim as package
from conftest import ROOT, Command
from perfetto_trace import Slice, Timeline, read
from ufsim import observe, outputs

# Overwrites most of the tiny device: map flushes and GC, with reads between.
MIXED = "rw=randrw rwmixread=20 bs=64k iodepth=8 size=112m io_size=170m"
SHORT = "rw=randrw rwmixread=50 bs=16k iodepth=8 size=32m io_size=2m"
CAUSES = {
    "host read": "host_read",
    "host write": "host_write",
    "map read": "map_read",
    "map write": "map_write",
    "GC read": "gc_read",
    "GC write": "gc_write",
    "valid page search": "valid_page_search",
    "erase": "erase",
    "recovery": "recovery",
}
POWER = {
    "power.auto_hibern8_idle_us": 5_000,
    "power.hibern8_enter_us": 100,
    "power.hibern8_exit_us": 200,
}
# Flows of writes stand for their data: src/observe/timeline.rs.
OF_WRITE = 1 << 62


def run(path: Path, job: str, scheme: str = "hp-ufs", **options: object) -> tuple[package.Result, Timeline]:
    """A run on the tiny device, of which everything is measured, and its timeline."""
    given = {"profile": "tiny", "precondition": "none", **options}
    result = package.run(job, scheme, timeline=path, **given)  # type: ignore[arg-type]
    return result, read(path)


def lasts(one: Slice) -> int:
    assert one.end is not None
    return one.end - one.begin


@pytest.mark.parametrize("scheme", ["ufs", "hpb", "hp-ufs", "ideal", "dftl", "msftl"])
def test_dies_are_busy_one_operation_after_another_for_as_long_as_the_result_says(tmp_path: Path, scheme: str) -> None:
    result, timeline = run(tmp_path / "run.pftrace", MIXED, scheme)
    assert result.digest == package.run(MIXED, scheme, profile="tiny", precondition="none").digest
    busy, count = Counter[str](), Counter[str]()
    for one in timeline.of_dies():
        # What runs on when the run ends has no end, and is not in the result either.
        if one.end is not None:
            busy[CAUSES[one.name]] += lasts(one)
            count[CAUSES[one.name]] += 1
    assert busy == {cause: time for cause, time in result.nand_time_ns.items() if time}
    assert count == {cause: sum(kinds.values()) for cause, kinds in result.nand_ops.items() if kinds}
    assert count["erase"] > 0 and (scheme == "ideal" or count["map_write"] > 0)
    for kind in ("die", "channel"):
        for number in range(4):
            on_track = timeline.on(f"{kind} {number}")
            gaps = [after.begin - (before.end or 0) for before, after in pairwise(on_track)]
            assert min(gaps) >= 0
    moved = sum(transfer(int(one.told["units"])) for one in timeline.of_dies() if one.end is not None)
    on_channels = [one for one in timeline.slices if one.track.startswith("channel ") and one.end is not None]
    # Programs under way have passed it; there is one on a die at most.
    assert 0 <= sum(map(lasts, on_channels)) - moved <= 4 * transfer(4)


def on_wire(nbytes: int, mib_per_s: int) -> int:
    """Nanoseconds, with the rate rounded to whole bytes in a microsecond."""
    return -(-nbytes * 1000 // round(mib_per_s * (1 << 20) / 1e6))


def transfer(units: int) -> int:
    """Nanoseconds on a channel of profiles/tiny.toml."""
    return on_wire(units * 4096, 800)


@pytest.mark.parametrize("scheme", ["ufs", "hpb", "hp-ufs", "dftl"])
def test_flows_lead_from_requests_to_the_operations_for_them(tmp_path: Path, scheme: str) -> None:
    _, timeline = run(tmp_path / "run.pftrace", SHORT, scheme)
    requests = timeline.on("requests")
    by_flow = {flow: one for one in requests for flow in one.flows}
    served = defaultdict(set)
    for one in timeline.of_dies():
        assert set(one.flows) <= set(by_flow), one
        if one.name in ("host read", "host write"):
            assert one.flows, one
        for flow in one.flows:
            request = by_flow[flow]
            assert request.name == ("write" if flow >= OF_WRITE else "read")
            assert request.begin <= one.begin
            if request.name == "read" and request.end is not None:
                assert one.end is not None and one.end <= request.end
            served[flow].add(one.name)
    written = [one for one in requests if one.name == "write"]
    # 16 KiB are a half of a row: only the last write may wait for the other half.
    programmed = [one for one in written if "host write" in served[one.flows[1]]]
    assert len(programmed) >= len(written) - 16 and all(len(one.flows) == 2 for one in written)


def test_flows_lead_through_the_map_units_that_a_read_needs(tmp_path: Path) -> None:
    job = "rw=randread bs=4k iodepth=4 size=64m io_size=1m"
    result, timeline = run(tmp_path / "run.pftrace", job, "dftl", precondition="footprint")
    map_reads = [one for one in timeline.of_dies() if one.name == "map read"]
    assert len(map_reads) == result.nand_ops["map_read"]["read"] > 0
    requests = {one.flows[0]: one for one in timeline.on("requests")}
    for one in map_reads:
        (waiting, *_) = (requests[flow] for flow in one.flows)
        (data,) = (die for die in timeline.of_dies() if die.name == "host read" and die.flows == waiting.flows)
        assert waiting.begin < one.begin and one.end <= data.begin < waiting.end  # type: ignore[operator]


def test_requests_are_those_of_the_log(tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    _, timeline = run(tmp_path / "run.pftrace", SHORT, "ufs", log=tmp_path / "log.parquet")
    log = parquet.read_table(tmp_path / "log.parquet").to_pandas()
    logged = {
        (row.kind, row.arrival_ns, row.completion_ns, row.lba_units, row.units, row.latency_ns)
        for row in log.itertuples()
    }
    told = ("lba_units", "units", "latency_ns")
    shown = {
        (one.name, one.begin, one.end, *(one.told.get(name, 0) for name in told)) for one in timeline.on("requests")
    }
    assert shown == logged and len(shown) == len(log) == 128


def test_every_track_has_its_name_and_its_place(tmp_path: Path) -> None:
    _, timeline = run(tmp_path / "run.pftrace", SHORT)
    assert timeline.process == f"hp-ufs: {SHORT}"
    groups = {name: parent for name, parent in timeline.parents.items() if not name.startswith("SRAM: ")}
    flash = {f"{kind} {number}": "flash" for kind in ("die", "channel") for number in range(4)}
    assert groups == {
        **dict.fromkeys(["host", "link", "firmware", "flash"], "run"),
        **dict.fromkeys(["requests", "queue depth", "commands in flight", "host cache"], "host"),
        **dict.fromkeys(["to the device", "to the host"], "link"),
        **dict.fromkeys(["firmware thread", "jobs", "map flush beside commands"], "firmware"),
        **dict.fromkeys(["commands queued", "change log", "free superblocks", "SRAM in use"], "firmware"),
        **dict.fromkeys(["flash operations", *flash], "flash"),
    }
    assert timeline.units["host cache"] == "bytes" and timeline.units["change log"] == "entries"


def test_counters_are_within_their_bounds_and_end_as_the_run_does(tmp_path: Path) -> None:
    result, timeline = run(tmp_path / "run.pftrace", MIXED)
    most = {name: max(value for _, value in values) for name, values in timeline.values.items()}
    assert most["queue depth"] == 8 and 1 <= most["commands in flight"] <= 32
    assert most["SRAM in use"] <= 256 // 4 and 0 < most["change log"] <= 128
    assert timeline.values["host cache"][-1][1] == result.host_dram_bytes
    assert timeline.values["free superblocks"][-1][1] == result.counters["device"]["free_superblocks"]
    owners = [name for name in timeline.values if name.startswith("SRAM: ")]
    assert len(owners) == 6
    last = {name: values[-1] for name, values in timeline.values.items()}
    assert len({at for at, _ in last.values()}) == 1, "all counters are told at the end"
    assert sum(last[name][1] for name in owners) == last["SRAM in use"][1]
    jobs = Counter(one.name for one in timeline.on("jobs") if one.end is not None)
    assert jobs["GC step"] in (result.counters["device"]["gc_steps"], result.counters["device"]["gc_steps"] - 1)


def test_a_single_read_takes_the_times_of_the_profile(tmp_path: Path) -> None:
    """One unit, from a device where nothing else happens. Times are those of profiles/tiny.toml."""
    job = "rw=read bs=4k size=4k"
    result, timeline = run(tmp_path / "run.pftrace", job, "ideal", precondition="footprint")
    (request,) = timeline.on("requests")
    (down,), (up,) = timeline.on("to the device"), timeline.on("to the host")
    (thread,) = timeline.on("firmware thread")
    (die,), (channel,) = timeline.of_dies(), [one for one in timeline.slices if one.track.startswith("channel ")]
    # COMMAND UPIU; DATA IN UPIU with a unit, and RESPONSE UPIU.
    assert (down.begin, lasts(down), lasts(up)) == (0, on_wire(32, 2200), on_wire(32 + 4096 + 32, 2200))
    assert (thread.begin, lasts(thread)) == (down.end + 500, 1_000)  # type: ignore[operator]
    assert (die.begin, lasts(die)) == (thread.begin, 60_000 + transfer(1))
    assert (channel.begin, channel.end) == (die.begin + 60_000, die.end)
    # The firmware's time for the command is added when it is answered.
    assert up.begin == die.end + 1_000  # type: ignore[operator]
    assert (request.begin, request.end) == (0, up.end + 500)  # type: ignore[operator]
    assert lasts(request) == request.told["latency_ns"] == pytest.approx(result.latency_ns["read"]["max"], rel=1e-3)
    assert [one.name for one in (request, down, up, thread, die, channel)] == ["read"] * 4 + ["host read"] * 2
    assert die.flows == request.flows and len(die.flows) == 1
    assert timeline.values["queue depth"][:2] == [(0, 1), (request.end, 0)]
    assert [value for _, value in timeline.values["SRAM: data of reads"]][:3] == [0, 1, 0]


def test_a_window_shows_what_overlaps_it(tmp_path: Path) -> None:
    _, whole = run(tmp_path / "whole.pftrace", MIXED)
    middle = [one.begin + lasts(one) // 2 for one in whole.on("jobs") if one.name == "GC step" and one.end is not None]
    first, last = middle[0], middle[-1]
    result, part = run(tmp_path / "part.pftrace", MIXED, timeline_window=f"{first / 1000}us..{last / 1000}us")
    assert result.warnings == []

    def clipped(one: Slice) -> tuple[object, ...]:
        end = one.end if one.end is not None and one.end <= last else None
        return (one.track, one.name, max(one.begin, first), end)

    def shown(timeline: Timeline, tracks: str) -> list[tuple[object, ...]]:
        inside = [
            one
            for one in timeline.slices
            if re.match(tracks, one.track) and one.begin < last and (one.end is None or one.end > first)
        ]
        return sorted(map(clipped, inside), key=repr)

    for tracks in ("die", "channel", "requests", "jobs"):
        assert shown(part, tracks) == shown(whole, tracks) != [], tracks
    times = [at for values in part.values.values() for at, _ in values]
    assert (min(times), max(times)) == (first, last)
    for name, values in part.values.items():
        before = [value for at, value in whole.values[name] if at < first]
        assert values[0][1] == before[-1], name


def test_too_many_events_end_a_timeline_with_a_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe, "MOST_EVENTS", 500)
    result, timeline = run(tmp_path / "run.pftrace", SHORT)
    (notice,) = result.warnings
    found = re.fullmatch(
        r"the timeline ends at ([\d.]+) s of ([\d.]+) s, after (\d+) events; --timeline-window \(timeline_window\) "
        r"takes another part of the run",
        notice,
    )
    assert found, notice
    ended, events = round(float(found[1]) * 1e9, -3), int(found[3])
    last = max(at for values in timeline.values.values() for at, _ in values)
    assert 500 <= events < 600 and abs(last - ended) <= 500 and last < 1e9 * result.sim_seconds
    assert result.digest == package.run(SHORT, "hp-ufs", profile="tiny", precondition="none").digest


def test_a_window_after_the_run_is_said(tmp_path: Path) -> None:
    result, timeline = run(tmp_path / "run.pftrace", SHORT, timeline_window="10s..")
    assert timeline.slices == [] and result.warnings[0].startswith("the timeline is empty: the run ended after 0.0")


def test_power_states_follow_each_other(tmp_path: Path) -> None:
    job = "rw=randread bs=4k size=1m io_size=64k thinktime=40ms"
    result, timeline = run(tmp_path / "run.pftrace", job, "ufs", settings=POWER)
    states = timeline.on("link state")
    assert all(before.end == after.begin for before, after in pairwise(states))
    last = max(at for values in timeline.values.values() for at, _ in values)
    spent = Counter[str]()
    for one in states:
        spent[one.name] += (one.end if one.end is not None else last) - one.begin
    told = result.power_states().set_index("state")["time_s"] * 1e9
    for state in ("busy", "idle", "hibern8", "waking"):
        assert spent[state] == pytest.approx(told[state], abs=1) and spent[state] > 0, state


def test_a_phone_shows_its_apps(tmp_path: Path) -> None:
    path, scenario = tmp_path / "run.pftrace", ROOT / "samples" / "phone" / "small.toml"
    result = package.run(str(scenario), "hpb", timeline=path, timeline_window="..10s")
    timeline = read(path)
    uses = result.uses().query("at_s < 10")
    shown = [(one.name, one.begin / 1e9) for one in timeline.on("apps")]
    assert shown == list(zip(uses["app"], uses["at_s"], strict=True))


def test_schemes_that_are_compared_have_files_of_their_own_and_the_same_bytes(tmp_path: Path) -> None:
    for jobs in (1, 2):
        (tmp_path / str(jobs)).mkdir()
        path = tmp_path / str(jobs) / "out.pftrace"
        package.compare(SHORT, ["ufs", "ideal"], profile="tiny", jobs=jobs, timeline=path)
    for name in ("out-ufs.pftrace", "out-ideal.pftrace"):
        one, two = (tmp_path / str(jobs) / name for jobs in (1, 2))
        assert one.read_bytes() == two.read_bytes()
    assert len(list((tmp_path / "1").iterdir())) == 2


def test_the_command_writes_the_file(ufsim: Command, tmp_path: Path) -> None:
    path = tmp_path / "run.pftrace"
    done = ufsim("run", SHORT, "--profile", "tiny", "--timeline", path, "--timeline-window", "..1ms")
    assert done.returncode == 0, done.stderr
    assert read(path).of_dies()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"timeline": "x.json"}, "timeline = 'x.json': must be the path of a file that ends with .pftrace"),
        ({"timeline": "x.pftrace", "timeline_window": "1s"}, 'timeline_window = "1s": must be FROM..TO'),
        ({"timeline_window": "..1s"}, "--timeline-window (timeline_window) has no effect without --timeline"),
    ],
)
def test_what_can_not_be_a_timeline_is_said_before_anything_runs(given: dict[str, str], told: str) -> None:
    with pytest.raises(package.ConfigError, match=re.escape(told)):
        package.run(SHORT, "ufs", profile="tiny", **given)  # type: ignore[arg-type]


def test_a_full_disk_is_an_error_that_leaves_nothing(tmp_path: Path) -> None:
    path, limits = tmp_path / "run.pftrace", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, limits[1]))
    try:
        with pytest.raises(outputs.Unwritten, match=f"{path}: not written: File too large") as caught:
            package.run(SHORT, "ufs", profile="tiny", timeline=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())
    assert caught.value.done.digest == package.run(SHORT, "ufs", profile="tiny").digest
