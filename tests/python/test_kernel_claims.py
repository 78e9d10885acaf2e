"""What is measured of the papers' claims in the kernel: the parts of it that need no guest."""

import json
import random
import re
import sqlite3
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import tools.hosts
import ufsim
from tools.docs import hosts, hosts_memory
from tools.docs.measured import DATA
from tools.hosts import gains, memory, mobibench, replays, sources, usage
from tools.hosts.gains import BEFORE_GC, cases, rate
from tools.hosts.traces import MOST_BYTES, PLUG_NS, SUBMIT_NS, Asked, apart, iolog, merged, requests_of, touched
from tools.records import kept

BLOCK = 4096


def test_gc_is_measured_once_it_has_begun() -> None:
    (own,) = (case for case in cases() if case.claim == "hp-ufs.f7.gc")
    assert own.parts == (f"iteration-{BEFORE_GC + 1}",)
    assert own.job.count("[iteration-") == 1
    assert own.age is not None
    # What is measured comes behind as many iterations, in the range that has been aged.
    assert own.age.count("[iteration-") == BEFORE_GC
    assert own.age.count("filename=aged") == 2
    jobs = [{"jobname": name, "read": {"bw_bytes": 0}, "write": {"bw_bytes": 5 << 20}} for name in own.parts]
    assert rate(jobs, own.parts) == 5


def test_the_pages_show_every_claim_that_was_measured() -> None:
    text = "".join(hosts.claims(paper) for paper in ("hp-ufs", "hpb", "map-plus"))
    rows = kept(DATA / "kernel-claims.json")["claims"]
    assert rows
    assert all(f"`{row['claim']}` | {row['about']}" in text for row in rows)


def test_the_page_of_hpbvalve_shows_what_its_phone_has_shown() -> None:
    rows = kept(DATA / "two-hosts-memory.json")["memory"]
    found = hosts_memory.claims(rows)
    assert len(found) == len(hosts_memory.CLAIMS)
    text = hosts.claims("hpbvalve")
    assert all(f"`{row['claim']}` | {row['about']}" in text for row in found)
    assert all(
        f"`{case.name}` | {host}" in hosts_memory.shown(rows) for case in memory.CASES for host in ("Linux", "model")
    )


def test_the_kernel_kills_as_many_apps_as_the_model_and_launches_as_many_cold() -> None:
    for row in kept(DATA / "two-hosts-memory.json")["memory"]:
        both = [row[host] for host in ("kernel", "model")]
        for name in ("kills_of_apps", "cold"):
            assert abs(both[0][name] - both[1][name]) <= 1, (row["case"], row["system_mib"], row["seed"], name)
        # The kernel itself has killed nobody.
        assert both[0]["kernel_kills"] == 0


def test_claims_of_a_phone_are_what_their_words_say() -> None:
    def runs(case: str, value: float, hits: int) -> dict[str, object]:
        names = ("cold_ms", "warm_ms", "loading_ms", "kills_of_apps", "front_reads")
        one = {"cold_ms": value, "warm_ms": None, "launch": [hits, 100 - hits], "front": [2 * hits, 200 - 2 * hits]}
        other = {"cold_ms": 100 + value, "warm_ms": value, "launch": [0, 100], "front": [0, 200]}
        host = {**dict.fromkeys(names, value), "apps": {"AP": one, "CR": other, "UB": other, "IG": other}}
        return {"case": case, "system_mib": memory.SHORT_MIB, "seed": 1, "kernel": host, "model": host}

    rows = [runs("ufs", 20.0, 0), runs("foam", 25.0, 20), runs("hpbvalve", 20.0, 60), runs("ideal", 10.0, 0)]
    found = {(row["claim"], row["about"], row["of"]): row["kernel"] for row in hosts_memory.claims(rows)}

    def shown(claim: str, of: str, about: str = "") -> float:
        (value,) = (
            own for (name, words, whose), (own,) in found.items() if (name, whose) == (claim, of) and about in words
        )
        return value

    assert shown("hpbvalve.f13.launch", "hpbvalve", "mean") == pytest.approx((25 + 3 * 500 / 120) / 4)
    assert shown("hpbvalve.f13.launch", "hpbvalve", "furthest") == pytest.approx(100)
    # One app has no warm launch.
    assert shown("hpbvalve.f13.switching", "hpbvalve", "mean") == pytest.approx(25)
    assert shown("hpbvalve.f13.switching", "foam") == pytest.approx(150)
    assert shown("hpbvalve.f14.first-tenth", "hpbvalve", "misses") == pytest.approx(50)
    assert shown("hpbvalve.f14.first-tenth", "hpbvalve", "best of AP") == pytest.approx(50)
    assert shown("hpbvalve.f14.first-tenth", "hpbvalve", "least") == pytest.approx(0)
    assert shown("hpbvalve.f15.hit-ratio", "hpbvalve", "most") == pytest.approx(40)
    assert shown("hpbvalve.f16.kills", "hpbvalve") == pytest.approx(20)
    assert shown("hpbvalve.f16.kills-vs-ufs", "foam") == pytest.approx(25)


def test_a_victim_is_spared_if_its_kill_does_not_follow() -> None:
    def acts(text: str) -> list[list[str]]:
        return [word.split(":") for word in text.split()]

    assert memory.spared(acts("skip:1 kill:1 skip:2")) == 1
    assert memory.spared(acts("skip:1 skip:1 kill:1")) == 0
    assert memory.spared(acts("skip:1 skip:2 kill:3 kill:2")) == 2


def test_an_app_computes_between_its_reads() -> None:
    reads = [{"lpa": 7, "units": 1}, {"lpa": 50, "units": 20}]
    assert list(memory.paced("use 10001", reads, 3.0)) == ["use 10001 ~1500 7+1 50+16 66+4"]
    assert list(memory.paced("use 10001", [], 3.0)) == ["use 10001 ~3000 "]
    assert memory.loading_ms({"loading_ms": 900.0, "launch_ms": 400.0}) == 500
    assert memory.loading_ms({"loading_ms": float("nan"), "launch_ms": 400.0}) is None


def test_neighbours_that_come_together_are_one_request() -> None:
    first = Asked(1000, "w", 0, BLOCK)
    near, far = Asked(1000 + PLUG_NS, "w", BLOCK, BLOCK), Asked(1001 + PLUG_NS, "w", BLOCK, BLOCK)
    assert list(merged([first, near])) == [Asked(near.ns, "w", 0, 2 * BLOCK)]
    # A pause, another kind, another place, too much.
    for other in (far, Asked(1000, "r", BLOCK, BLOCK), Asked(1000, "w", 2 * BLOCK, BLOCK)):
        assert list(merged([first, other])) == [first, other]
    large = Asked(1000, "w", BLOCK, MOST_BYTES)
    assert list(merged([first, large])) == [first, large]


def test_large_requests_come_in_parts() -> None:
    own = Asked(7, "r", BLOCK, MOST_BYTES + BLOCK)
    assert list(own.parts()) == [Asked(7, "r", BLOCK, MOST_BYTES), Asked(7, "r", BLOCK + MOST_BYTES, BLOCK)]


def test_no_two_requests_come_at_once() -> None:
    asked = [Asked(ns, "r", n * BLOCK, BLOCK) for n, ns in enumerate((5, 5, 6, 9000))]
    assert [one.ns for one in apart(asked)] == [5, 5 + SUBMIT_NS, 5 + 2 * SUBMIT_NS, 9000]


def test_what_requests_touch_is_written_in_whole_pages_by_address() -> None:
    asked = [Asked(5, "r", 100 * BLOCK, 130 * BLOCK), Asked(6, "w", 512, 4096), Asked(7, "r", 0, BLOCK)]
    found = [(one.at, one.size) for one in touched(asked)]
    assert found == [(0, 2 * BLOCK), (100 * BLOCK, 128 * BLOCK), (228 * BLOCK, 2 * BLOCK)]


def test_requests_of_a_trace_are_its_reads_and_writes(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text(
        "time_ns,op,device,sector,bytes,flags,latency_ns,process\n"
        "0,write,sd,8,4096,,,a\n1000,flush,sd,0,0,,,a\n2000,write,sd,16,4096,,,a\n900000,read,sd,8,4096,,,a\n"
    )
    assert requests_of(trace) == [Asked(2000, "w", BLOCK, 2 * BLOCK), Asked(900000, "r", BLOCK, BLOCK)]


def test_the_guests_program_replays_at_the_requests_times(tmp_path: Path) -> None:
    disk, asked = tmp_path / "disk", tmp_path / "requests"
    disk.write_bytes(bytes(16 * BLOCK))
    lines = ["0 w 0 4096", "20000000 r 4096 8192", "20000000 w 32768 4096", "60000000 r 0 4096"]
    asked.write_text("\n".join(lines) + "\n")
    program = tmp_path / "replay"
    program.write_bytes(replays.program())
    program.chmod(0o700)
    done = subprocess.run([program, asked, disk, "1"], check=True, capture_output=True, text=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [(kind, due) for kind, due, *_ in rows] == [(line.split()[1], line.split()[0]) for line in lines]
    for _, due, submitted, ended in rows:
        assert int(due) <= int(submitted) <= int(ended)
    # One at a time: the third waits outside for the second.
    assert int(rows[1][3]) <= int(rows[2][2])
    asked.write_text("5 w 0 4096\n4 w 0 4096\n")
    late = subprocess.run([program, asked, disk, "1"], capture_output=True, text=True)
    assert late.returncode == 1
    assert late.stderr == "replay: line 2: it is due before the line above\n"


def test_the_mean_of_traces_is_of_those_that_have_such_requests() -> None:
    told = {"row": {"read": 200.0, "write": 50.0}, "map-plus": {"read": 150.0, "write": 55.0}}
    assert replays.cut(told, "read") == 25
    assert replays.cut(told, "write") == pytest.approx(-10)
    rows = list(replays.rows_of("WS", {"kernel": {"read": 25.04}, "model": {"read": 20.0}}))
    assert [(row["claim"], row["kernel"], row["model"]) for row in rows] == [("map-plus.f9.read", [25.0], [20.0])]


def test_mobibench_in_the_guest_writes_a_row_in_every_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mobibench, "TRANSACTIONS", 20)
    monkeypatch.chdir(tmp_path)
    for operation, rows in (("insert", 20), ("update", 20), ("select", 20), ("delete", 0)):
        sql = [line for line in mobibench.statements(operation, 1).splitlines() if not line.startswith(".")]
        with sqlite3.connect("file:main.db", uri=True, isolation_level=None) as database:
            for statement in sql:
                database.execute(statement).fetchall()
            tables = [f"{name}.tblMyList{n}" for name in ("main", "db1", "db2") for n in range(3)]
            counts = [database.execute(f"select count(*) from {table}").fetchone()[0] for table in tables]
            assert counts == [rows] * 9
            assert database.execute("pragma db2.journal_mode").fetchone() == ("wal",)
        assert sum("Value" in line or "delete" in line for line in sql if " where " in line or "values" in line) == 180
    # It deletes the same row in all tables of a database, and others in other databases; and it comes last.
    rows_of = [re.findall(rf"delete from {table} where id=(\d+);", "\n".join(sql)) for table in tables]
    assert rows_of[0] == rows_of[1] == rows_of[2]
    assert rows_of[0] != rows_of[3] != rows_of[6]
    assert mobibench.OPERATIONS[-1] == "delete"
    # Another seed has other rows.
    assert mobibench.statements("delete", 1) != mobibench.statements("delete", 2)


def test_claims_of_mobibench_are_those_of_the_device() -> None:
    told = [{claim for claim, *_ in mobibench.claims_of(case)} for case in mobibench.CASES]
    nogc = {"hp-ufs.f8.insert-tail-nogc", "hp-ufs.f8.select-neutral"}
    assert told == [nogc, nogc, {"hp-ufs.f8.insert-avg-gc", "hp-ufs.f8.insert-tail-gc"}]
    sides = {"hp-ufs": {"insert": {"mean": 60.0}}, "hpb-linux": {"insert": {"mean": 80.0}}}
    assert mobibench.cut(sides, "insert", "mean") == 25


def test_each_seed_of_mobibench_is_one_run_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def run(*_: object, seed: int, seeds: int, **__: object) -> SimpleNamespace:
        asked.append((seed, seeds))
        return SimpleNamespace(operations=[])

    monkeypatch.setattr(mobibench.ufsim, "run", run)
    # By default an aged device is run five times.
    mobibench.by_model(mobibench.CASES[-1], "hp-ufs", 3)
    assert asked == [(3, 1)]


def test_an_application_is_a_job_for_each_processor(tmp_path: Path) -> None:
    assert set(usage.CLAIMS) == set(usage.STATES)
    draw = random.Random(1)
    logs = {
        f"cpu{n}": iolog(Asked(0, "w", draw.randrange(4096) * BLOCK, BLOCK) for _ in range(50))
        for n in range(usage.CPUS)
    }
    for name, text in logs.items():
        (tmp_path / f"{name}.iolog").write_text(text)
    run = ufsim.run(usage.job_file(logs, str(tmp_path)), "ufs", profile="tiny", precondition="none")
    assert run.data["latency_ns"]["write"]["count"] == 50 * usage.CPUS
    assert usage.rate("fio: note\n" + run.to_fio_json()) == pytest.approx(
        sum(one["write"]["bw_bytes"] for one in json.loads(run.to_fio_json())["jobs"]) / 2**20
    )


def test_a_record_keeps_what_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def row(claim: str, gain: float) -> dict[str, object]:
        return {"claim": claim, "about": "a", "of": "x", "over": "y", "kernel": [gain], "model": [gain]}

    record = tmp_path / "record.json"
    for found in ([row("hpb.f6", 1.0), row("hpb.f8", 2.0)], [row("hpb.f8", 3.0)]):
        monkeypatch.setattr(sources, "measured", lambda only, traces, found=found: iter(found))
        done = CliRunner().invoke(tools.hosts.app, ["claims", "--record", str(record), "--only", "hpb"])
        assert done.exit_code == 0, done.output
    rows = kept(record)["claims"]
    assert [(one["claim"], one["kernel"]) for one in rows] == [("hpb.f6", [1.0]), ("hpb.f8", [3.0])]
    assert all(one["version"] == ufsim.__version__ for one in rows)


def test_only_what_is_asked_for_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(gains, "gained", lambda case: asked.append(case.claim) or {"claim": case.claim})
    for host in ("kernel", "model"):
        monkeypatch.setitem(mobibench.HOSTS, host, lambda case, *_: pytest.fail(f"{case} is measured"))
    assert {row["claim"] for row in sources.measured("hpb.f8", None)} == {"hpb.f8.mixed"}
    # Claims of traces need a folder of them.
    assert list(sources.measured("map-plus", None)) == []
    assert set(asked) == {"hpb.f8.mixed"}
