"""The command line from end to end: the installed program, the compiled core, the bundled trace."""

import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest

import blktrace
import ufsim as package
from conftest import ROOT, SAMPLE, Command
from tools.project import UFSIM

SCHEMES = ["ufs", "hpb", "hp-ufs", "ideal"]
WALL_FIELDS = {"wall_seconds", "requests_per_wall_second", "flash_ops_per_wall_second"}
JOB = "rw=randwrite bs=4k size=1m"
PHONE = str(ROOT / "samples" / "phone" / "small.toml")
PERCENTILES = ["min", "p50", "p90", "p99", "p999", "max"]


def document(process, status: int = 0) -> dict:
    assert process.returncode == status, process.stderr
    return json.loads(process.stdout)


def simulated(results: list[dict]) -> list[dict]:
    """Results without the fields that tell how fast this machine was."""
    return [{name: value for name, value in entry.items() if name not in WALL_FIELDS} for entry in results]


def fails(process, *told: str, status: int = 1) -> None:
    """The command has failed with one clear line and nothing on stdout."""
    assert process.returncode == status, process.stderr
    assert process.stdout == ""
    assert process.stderr.startswith("ufsim: error: ")
    assert len(process.stderr.splitlines()) == 1, process.stderr
    for text in told:
        assert text in process.stderr


@pytest.fixture(scope="session")
def compared(ufsim: Command) -> dict:
    """All schemes on the bundled trace, replayed closed, on one thread."""
    return document(ufsim("compare", SAMPLE, "--replay", "closed", "--json", "--jobs", 1))


def test_json_is_one_document_with_a_result_for_each_scheme(compared: dict) -> None:
    assert set(compared) == {"ufsim", "workload", "recorded", "results"}
    assert compared["ufsim"] == package.__version__
    assert compared["workload"] == str(SAMPLE)
    assert [entry["scheme"] for entry in compared["results"]] == SCHEMES


def test_every_scheme_finishes_the_trace(compared: dict) -> None:
    files = [blktrace.read(path) for path in sorted(SAMPLE.glob("trace.*.gz"))]
    requests = sum(1 for file in files for event in file if not event.is_note and event.what == blktrace.QUEUE)
    for entry in compared["results"]:
        assert entry["submitted"] == entry["completed"] == requests


def test_results_are_consistent(compared: dict) -> None:
    for entry in compared["results"]:
        assert entry["iops"] == pytest.approx(entry["completed"] / entry["sim_seconds"])
        kinds = entry["latency_ns"]
        assert sum(kinds[kind]["count"] for kind in ("read", "write", "flush", "trim")) == kinds["all"]["count"]
        assert kinds["all"]["count"] == entry["completed"]
        for values in kinds.values():
            ordered = [values[name] for name in PERCENTILES]
            assert ordered == sorted(ordered)
            assert values["min"] <= values["mean"] <= values["max"]
        waf = entry["waf"]
        assert waf["total"] == pytest.approx(waf["data"] + waf["map"] + waf["gc"])
        assert int(entry["digest"], 16) >= 0
        assert entry["host_dram_limit_bytes"] is None or entry["host_dram_bytes"] >= 0


def test_only_the_ideal_device_spends_no_time_on_its_map(compared: dict) -> None:
    times = {entry["scheme"]: entry["nand_time_ns"] for entry in compared["results"]}
    assert times["ideal"].get("map_read", 0) == 0
    assert all(times[scheme]["map_read"] > 0 for scheme in ("ufs", "hpb"))


def test_neither_threads_nor_repetition_change_a_result(ufsim: Command, compared: dict) -> None:
    again = document(ufsim("compare", SAMPLE, "--replay", "closed", "--json", "--jobs", 2))
    assert simulated(again["results"]) == simulated(compared["results"])


def test_run_gives_what_compare_gives(ufsim: Command, compared: dict) -> None:
    alone = document(ufsim("run", SAMPLE, "--scheme", "hpb", "--replay", "closed", "--json"))
    assert simulated(alone["results"]) == simulated(compared["results"][1:2])


def test_python_gives_what_the_command_line_gives(compared: dict) -> None:
    result = package.run(SAMPLE, "hp-ufs", replay="closed")
    assert simulated([dict(result.data)]) == simulated(compared["results"][2:3])


def test_a_timed_replay_takes_the_recorded_time(ufsim: Command, compared: dict) -> None:
    timed = document(ufsim("run", SAMPLE, "--json"))["results"][0]
    assert 30 < timed["sim_seconds"] < 90
    assert compared["results"][2]["sim_seconds"] < timed["sim_seconds"] / 2
    assert timed["digest"] != compared["results"][2]["digest"]


def test_depth_and_profile_keys_reach_the_simulation(ufsim: Command, compared: dict) -> None:
    base = compared["results"][0]
    shallow = document(ufsim("run", SAMPLE, "--scheme", "ufs", "--replay", "closed", "--depth", 1, "--json"))[
        "results"
    ][0]
    assert shallow["iops"] < base["iops"]
    slow = document(
        ufsim("run", SAMPLE, "--scheme", "ufs", "--replay", "closed", "--json", "--set", "nand.tlc_read_us=600")
    )["results"][0]
    assert slow["latency_ns"]["read"]["mean"] > base["latency_ns"]["read"]["mean"]


def test_compare_prints_a_table_and_writes_its_files(ufsim: Command, tmp_path: Path) -> None:
    process = ufsim("compare", SAMPLE, "--schemes", "ufs,hp-ufs", "--out", tmp_path / "made", "--name", "pair")
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""
    for text in ("throughput MiB/s", "gain over ufs", "read p99.9", "write mean", "write amplification"):
        assert text in process.stdout
    assert f"picture: {tmp_path}/made/pair.png" in process.stdout
    assert (tmp_path / "made" / "pair.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "made" / "pair.parquet").stat().st_size > 0
    saved = json.loads((tmp_path / "made" / "pair.json").read_text())
    assert [entry["scheme"] for entry in saved["results"]] == ["ufs", "hp-ufs"]


def test_fio_json_has_the_shape_of_fio(ufsim: Command) -> None:
    fio = document(ufsim("run", SAMPLE, "--fio-json"))
    assert fio["fio version"].startswith("fio-3")
    for job in fio["jobs"]:
        for direction in ("read", "write", "trim"):
            assert {"io_bytes", "bw", "iops", "runtime", "total_ios", "clat_ns", "lat_ns"} <= set(job[direction])
    assert sum(job["read"]["total_ios"] for job in fio["jobs"]) > 0


def test_fio_json_has_what_programs_that_draw_it_read(ufsim: Command, tmp_path: Path) -> None:
    """Each of these keys is read by fio-plot 1.1 without asking whether it is there."""
    job = tmp_path / "job.fio"
    job.write_text("[global]\nbs=8k\nsize=64m\n[a]\nrw=randread\niodepth=4\nnumjobs=2\ngroup_reporting\n")
    (drawn,) = document(ufsim("run", job, "--profile", "tiny", "--fio-json"))["jobs"]
    assert {name: drawn["job options"][name] for name in ("rw", "bs", "iodepth", "numjobs")} == {
        "rw": "randread",
        "bs": "8k",
        "iodepth": "4",
        "numjobs": "2",
    }
    read = drawn["read"]
    assert {"bw", "iops", "iops_stddev", "lat_ns"} <= set(read) and read["iops_samples"] > 1
    assert read["iops_min"] <= read["iops_mean"] <= read["iops_max"]
    assert read["iops_mean"] == pytest.approx(read["iops"], rel=0.1)
    bins = [share for unit in ("ns", "us", "ms") for share in drawn[f"latency_{unit}"].values()]
    assert len(bins) == 32 and sum(bins) == pytest.approx(100)
    assert drawn["usr_cpu"] == drawn["sys_cpu"] == 0


def test_a_job_file_runs(ufsim: Command, tmp_path: Path) -> None:
    job = tmp_path / "mixed.fio"
    job.write_text("[mixed]\nrw=randrw\nbs=4k\nsize=64m\nio_size=8m\niodepth=4\ndirect=1\n")
    result = document(ufsim("run", job, "--json"))["results"][0]
    assert result["completed"] == 2048
    assert result["latency_ns"]["read"]["count"] + result["latency_ns"]["write"]["count"] == 2048


def test_schemes_and_profiles_are_listed(ufsim: Command) -> None:
    listed = json.loads(ufsim("schemes", "--json").stdout)
    assert [scheme["name"] for scheme in listed] == [scheme["name"] for scheme in package.schemes()]
    assert set(SCHEMES) <= {scheme["name"] for scheme in listed}
    table = ufsim("schemes").stdout
    assert all(scheme["mapping"] in table for scheme in listed)
    assert "[nand]" in ufsim("profiles", "hp-ufs").stdout
    assert ufsim("--version").stdout == f"ufsim {package.__version__}\n"


def test_a_wrong_scheme_is_told_the_allowed_ones(ufsim: Command) -> None:
    fails(
        ufsim("compare", SAMPLE, "--schemes", "ufs,hbp"),
        "'hbp'",
        "ufs, hpb, ufs-tuned, hpb-tuned, ufs-compressed, leaftl, hpb-linux, foam, hpbvalve, hp-ufs, hpbvalve-hp-ufs, "
        "ideal, dftl, cdftl, tpftl, sftl, base-dftl, mini-page, msftl",
    )


def test_a_missing_workload_is_named(ufsim: Command, tmp_path: Path) -> None:
    fails(ufsim("run", tmp_path / "nowhere"), f"{tmp_path}/nowhere", "no such file")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--set", "nand.no_such_key=1"], ["nand.no_such_key"]),
        (["--set", "nand.planes=0"], ["nand.planes", "0", "1..=6"]),
        (["--set", "nand.planes=many"], ["nand.planes", "many"]),
        (["--host-memory", "-3"], ["host_memory_mib", "-3"]),
        (["--profile", "no-such-profile"], ["no-such-profile", "hp-ufs"]),
        (["--depth", "0"], ["depth", "0", "1 to 65536"]),
        (["--device", "8:16"], ["8:16"]),
        (["--booster", "turbo"], ["booster", "turbo", "hp-ufs"]),
    ],
)
def test_wrong_values_are_named_with_what_is_allowed(ufsim: Command, arguments: list[str], told: list[str]) -> None:
    fails(ufsim("run", SAMPLE, "--replay", "closed", *arguments), *told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", str(SAMPLE), "--replay", "fast"], "'timed'"),
        (["run", str(SAMPLE), "--set", "planes"], "SECTION.KEY=VALUE"),
        (["run", str(SAMPLE), "--speed", "9"], "--speed"),
        (["compare", str(SAMPLE), "--name", "../up"], "--name"),
        (["compare"], "WORKLOAD"),
        (["crash", "--case", "3", "--runs", "10"], "--runs has no effect with --case"),
        (["run", JOB, "--fio-json=foo"], "--fio-json is 'foo'; allowed: plus, or nothing"),
        (["simulate"], "simulate"),
    ],
)
def test_wrong_usage_has_status_two(ufsim: Command, arguments: list[str], told: str) -> None:
    fails(ufsim(*arguments), told, status=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", JOB, "--panel", "trim"],
        ["compare", JOB, "--name", "foo"],
        ["phone", PHONE, "--log"],
        ["phone", PHONE, "--name", "foo"],
    ],
)
def test_what_concerns_files_is_refused_where_none_are_written(ufsim: Command, arguments: list[str]) -> None:
    failed = ufsim(*arguments, "--json")
    option = next(word for word in arguments if word.startswith("--"))
    told = f"ufsim: error: {option} has no effect with --json and without --out\n"
    assert (failed.returncode, failed.stderr) == (2, told)


def test_an_output_directory_that_is_a_file_is_named(ufsim: Command, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    fails(ufsim("compare", SAMPLE, "--out", tmp_path / "taken"), f"{tmp_path}/taken", status=4)


def test_an_unknown_job_option_is_named_with_its_line(ufsim: Command, tmp_path: Path) -> None:
    job = tmp_path / "wrong.fio"
    job.write_text("[job]\nrw=randread\nsize=1m\nbogus=1\n")
    fails(ufsim("run", job), f"{job}:4", "bogus")


def test_a_trace_that_is_cut_off_is_read_up_to_there_and_told(ufsim: Command, tmp_path: Path) -> None:
    whole = gzip.decompress((SAMPLE / "trace.0.gz").read_bytes())
    (tmp_path / "trace.0").write_bytes(whole[:-20])
    [info] = document(ufsim("trace", "info", tmp_path, "--json"))["traces"]
    told = [line for line in info["warnings"] if "the file ends within it" in line]
    assert len(told) == 1 and f"{tmp_path}/trace.0: event " in told[0]
    (tmp_path / "trace.0").write_bytes(whole[:20])
    fails(ufsim("run", tmp_path), f"{tmp_path}/trace.0", "offset")


def test_a_foreign_file_is_named_with_its_offset(ufsim: Command, tmp_path: Path) -> None:
    (tmp_path / "trace.0").write_bytes(b"this is no trace of block requests, but a text of some length.\n")
    fails(ufsim("run", tmp_path), f"{tmp_path}/trace.0", "offset 0")


@pytest.mark.parametrize("action", [None, blktrace.COMPLETE])
def test_a_trace_without_requests_is_an_error(ufsim: Command, tmp_path: Path, action: int | None) -> None:
    events = b"" if action is None else blktrace.event(1, 1000, 8, 4096, action | blktrace.WRITE)
    (tmp_path / "trace.0").write_bytes(events)
    fails(ufsim("run", tmp_path), str(tmp_path), "request")


def test_a_directory_without_trace_files_is_an_error(ufsim: Command, tmp_path: Path) -> None:
    fails(ufsim("run", tmp_path), str(tmp_path))


def test_a_request_beyond_the_device_is_named_with_its_event(ufsim: Command, tmp_path: Path) -> None:
    inside = blktrace.event(1, 1000, 8, 4096, blktrace.QUEUE | blktrace.WRITE)
    beyond = blktrace.event(2, 2000, 1 << 40, 4096, blktrace.QUEUE | blktrace.WRITE)
    (tmp_path / "trace.0").write_bytes(inside + beyond)
    fails(ufsim("run", tmp_path), "trace.0", "event 2", str(1 << 40))


def test_no_file_is_written_after_a_failure(ufsim: Command, tmp_path: Path) -> None:
    fails(ufsim("compare", SAMPLE, "--out", tmp_path, "--set", "nand.planes=0"))
    assert list(tmp_path.iterdir()) == []


def test_a_read_back_changes_nothing_and_tells_what_it_found(ufsim: Command) -> None:
    run = ["run", "rw=randwrite bs=4k iodepth=8 size=40m", "--scheme", "hp-ufs", "--profile", "tiny"]
    plain, verified = (document(ufsim(*run, "--json", *more))["results"][0] for more in ((), ("--verify",)))
    assert (plain.pop("verified"), verified.pop("verified")) == (None, {"data_units": 10240, "trimmed_units": 0})
    for result in (plain, verified):
        for measured in ("wall_seconds", "requests_per_wall_second", "flash_ops_per_wall_second"):
            del result[measured]
    assert plain == verified
    # A narrow terminal may break the line.
    shown = " ".join(ufsim(*run, "--verify").stdout.split())
    assert "read back: 10,240 units with data and 0 trimmed, all right" in shown


def faulty_runs(ufsim: Command, *arguments: object) -> list[dict]:
    """The same run twice; failed requests have an exit status of their own, and the results are printed."""
    return [document(ufsim("run", SAMPLE, *arguments), status=3) for _ in range(2)]


def test_flash_that_fails_fails_requests_and_nothing_else(ufsim: Command) -> None:
    arguments = ["--replay", "closed", "--scheme", "hp-ufs", "--json"]
    faults = ["read", "program", "erase"]
    settings = [text for kind in faults for text in ("--set", f"faults.{kind}_per_million=3000")]
    runs = [document(ufsim("run", SAMPLE, *arguments)), *faulty_runs(ufsim, *arguments, *settings)]
    whole, faulty, again = (run["results"][0] for run in runs)
    assert whole["failed"] == 0
    assert faulty["submitted"] == faulty["completed"] == whole["completed"]
    assert 0 < faulty["failed"] < faulty["submitted"] / 50
    assert faulty["counters"]["device"]["program_failures"] > 0
    assert faulty["digest"] == again["digest"]
    fails(ufsim("run", SAMPLE, "--set", "faults.read_per_million=100001"), "faults.read_per_million", "0..=100000")


def test_failed_requests_are_in_the_table_and_the_status(ufsim: Command, tmp_path: Path) -> None:
    process = ufsim("compare", SAMPLE, "--replay", "closed", "--schemes", "ufs,ideal", "--out", tmp_path,
                    "--set", "faults.read_per_million=3000")  # fmt: skip
    assert process.returncode == 3
    assert "requests ended with an error" in process.stdout
    assert any(line.strip().startswith("failed") for line in process.stdout.splitlines())
    assert (tmp_path / "app-mix.json").exists()


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A small job with random places, of which fio would repeat the order in every run."""
    path = tmp_path / "job.fio"
    path.write_text("[mixed]\nrw=randrw\nbs=4k\nsize=16m\nio_size=4m\niodepth=4\n")
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["--depth", "8"],
        ["--replay", "timed"],
        ["--per-cpu-streams"],
        ["--clean", "gaps"],
        ["--format", "csv"],
        ["--device", "8:0"],
    ],
)
def test_options_of_traces_are_refused_on_a_job_file(ufsim: Command, job: Path, arguments: list[str]) -> None:
    fails(ufsim("run", job, *arguments), arguments[0], "has no effect on a fio job file", status=2)
    name = arguments[0].removeprefix("--").replace("-", "_")
    values = {"depth": 8, "per_cpu_streams": True, "clean": ["gaps"]}
    with pytest.raises(package.OptionError, match=name):
        package.run(job, "ufs", **{name: values.get(name, arguments[-1])})


def test_a_depth_is_refused_on_a_timed_replay_before_any_ageing(ufsim: Command) -> None:
    arguments = ["--depth", "4", "--age", "rw=randwrite bs=4k size=100g"]
    fails(ufsim("run", SAMPLE, *arguments), "--depth", "timed", "queued or closed", status=2)


def test_a_seed_makes_another_run_of_a_job_and_warns_where_nothing_is_random(ufsim: Command, job: Path) -> None:
    first, second, again = (document(ufsim("run", job, "--seed", seed, "--json"))["results"][0] for seed in (1, 2, 2))
    assert first["digest"] != second["digest"] == again["digest"]
    assert second["warnings"] == first["warnings"] == []
    job.write_text("[straight]\nrw=write\nsize=4m\n")
    for workload in (job, SAMPLE):
        told = document(ufsim("run", workload, "--seed", 2, "--json"))["results"][0]["warnings"]
        assert "seed = 2 changes nothing: no part of this run is random" in told


def test_several_workloads_make_a_suite(ufsim: Command, job: Path, tmp_path: Path) -> None:
    process = ufsim("compare", job, SAMPLE, "--schemes", "ufs,ideal", "--out", tmp_path / "out")
    assert process.returncode == 0, process.stderr
    for text in ("throughput MiB/s: ufs", "read p99: ufs", "job.fio", "app-mix", "geometric mean"):
        assert text in process.stdout
    saved = json.loads((tmp_path / "out" / "suite.json").read_text())
    assert [entry["workload"] for entry in saved["suite"]] == [str(job), str(SAMPLE)]
    assert (tmp_path / "out" / "suite.png").read_bytes().startswith(b"\x89PNG")
    assert set(saved["geometric_mean"]["read_p99_ns"]) == {"ufs", "ideal"}
    alone = document(ufsim("run", job, SAMPLE, "--scheme", "ufs", "--json"))
    assert [entry["results"][0]["digest"] for entry in alone["suite"]] == [
        entry["results"][0]["digest"] for entry in saved["suite"]
    ]


def test_all_schemes_are_compared_by_one_word(ufsim: Command, job: Path, tmp_path: Path) -> None:
    process = ufsim("compare", job, "--schemes", "all", "--out", tmp_path)
    assert process.returncode == 0, process.stderr
    assert all(scheme["name"] in process.stdout for scheme in package.schemes())
    assert max(map(len, process.stdout.split("picture:")[0].splitlines())) <= 80


def test_a_timed_replay_leads_with_latency(ufsim: Command, tmp_path: Path) -> None:
    text = ufsim("compare", SAMPLE, "--schemes", "ufs,ideal", "--out", tmp_path).stdout
    text = " ".join(text.split())
    assert text.index("read mean") < text.index("gain over ufs") < text.index("throughput MiB/s")
    assert "trace at its recorded times" in text
    assert "the device was fresh" in text
    assert "GC never ran" in text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--depth", "8.5"], "'--depth': must be a whole number from 1 to 65536"),
        (["--seed", "abc"], "'--seed': must be a whole number from 0 to 18446744073709551615"),
        (["--replay", "fast"], "'--replay': 'fast' is not one of 'timed', 'queued', 'closed'"),
        (["--set", "tlc_read_us=90"], "did you mean nand.tlc_read_us?"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_allowed(ufsim: Command, arguments: list[str], told: str) -> None:
    process = ufsim("run", JOB, "--profile", "tiny", *arguments)
    assert process.returncode == 2 and told in process.stderr and "Value error" not in process.stderr


@pytest.mark.parametrize("environment", [{"MPLBACKEND": "nonsense"}, {"COLUMNS": "0"}, {"COLUMNS": "x", "LINES": "0"}])
def test_the_environment_of_other_programs_ends_no_run(environment: dict[str, str], tmp_path: Path) -> None:
    command = [*UFSIM, "compare", JOB, "--profile", "tiny", "--schemes", "ufs,ideal", "--out", str(tmp_path)]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "throughput" in done.stdout, done.stderr
    assert list(tmp_path.glob("*.png"))


def test_options_without_quotes_are_one_workload(ufsim: Command) -> None:
    shown = document(ufsim("run", "rw=randread", "bs=4k", "size=1m", "--profile", "tiny", "--json"))
    assert [one["workload"] for one in shown["results"]] == ["rw=randread bs=4k size=1m"]
    two = document(ufsim("run", "size=1m", "size=2m", "--profile", "tiny", "--json"))
    assert [one["workload"] for one in two["suite"]] == ["size=1m", "size=2m"], "the same option twice is another job"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_grid_of_any_editor_is_read(ufsim: Command, tmp_path: Path, encoding: str) -> None:
    text = f'[fixed]\nworkload = "{JOB}"\nprofile = "tiny"\n[axes]\nscheme = ["ufs"]\n'
    (tmp_path / "grid.toml").write_text(text, encoding=encoding)
    done = ufsim("sweep", "run", tmp_path / "grid.toml", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
