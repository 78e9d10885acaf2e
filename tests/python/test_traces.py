"""Traces of every format, counted a second time without the project's readers: by pandas, regular expressions and awk.

The originals lie in `../shared/traces`, beside the project; without them these tests are skipped, and fail on CI.
"""

import json
import lzma
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

import ufsim as package
from conftest import ROOT, SAMPLE, Command

FORMATS = ROOT / "samples" / "formats"
MIB = 1 << 20


def counts(info: dict) -> dict:
    return {name: info[name] for name in ("requests", "reads", "writes", "read_bytes", "write_bytes")}


def expected(reads: pd.Series, writes: pd.Series) -> dict:
    """The same counts from lengths in bytes."""
    sums = {"read_bytes": int(reads.sum()), "write_bytes": int(writes.sum())}
    return {"requests": len(reads) + len(writes), "reads": len(reads), "writes": len(writes), **sums}


# requests and the share of writes, as the traces' own manifest prints them
MOBILE = {
    "telegram_precond": (5320, 100.0),
    "telegram_exec": (251879, 90.4),
    "pubg_precond": (51110, 100.0),
    "pubg_exec": (67757, 25.1),
    "genshin_impact_precond": (141152, 100.0),
    "genshin_impact_exec": (91317, 10.5),
}


@pytest.mark.parametrize("name", MOBILE)
def test_mobile_block_io_traces(traces: Path, name: str) -> None:
    path = traces / "pixel6a-technion" / f"{name}.csv.xz"
    frame = pd.read_csv(path)
    info = package.trace_info(path)
    lengths = frame["size"] * 512
    assert info["format"] == "mobile"
    assert counts(info) == expected(lengths[frame.rw_flag == "R"], lengths[frame.rw_flag == "W"])
    assert (info["requests"], round(info["write_ratio"] * 100, 1)) == MOBILE[name]
    assert info["duration_seconds"] == pytest.approx(frame.timestamp.max() - frame.timestamp.min(), abs=1e-6)

    frame = frame.sort_values("timestamp", kind="stable")
    gap = (frame.timestamp * 1e9).round().diff()
    same = (
        frame[["device", "rw_flag", "sector", "size"]] == frame[["device", "rw_flag", "sector", "size"]].shift()
    ).all(axis=1)
    twice = same & (gap < 5e6) & frame.proces.str.startswith("kworker")
    kept = frame[~twice]
    # A gap between requests that stay, as the rules are applied one after the other.
    long = (kept.timestamp * 1e9).round().diff()
    long = long[long > 1000e9]
    cleaned = package.trace_info(path, clean=["duplicates", "gaps"])
    removed = {entry["rule"]: entry for entry in cleaned["cleaned"]}
    assert removed["duplicates"]["count"] == twice.sum()
    assert removed["duplicates"]["bytes"] == frame["size"][twice].sum() * 512
    assert removed["gaps"]["count"] == len(long)
    assert removed["gaps"]["seconds"] == pytest.approx(long.sum() / 1e9, abs=1e-6)
    assert cleaned["requests"] == len(kept)
    print(f"{name}: {len(frame)} requests, {twice.sum()} twice, {len(long)} gaps")


@pytest.mark.parametrize(
    ("name", "requests", "percent"), [("Installing_log181", 17952, 98.3), ("Movie_log121", 4781, 5.4)]
)
def test_nexus_5_traces(traces: Path, name: str, requests: int, percent: float) -> None:
    path = traces / "nexus5-zhou" / f"{name}.txt.xz"
    columns = ["sector", "sectors", "bytes", "flags", "generated", "fetched", "submitted", "finished"]
    frame = pd.read_csv(path, sep=r"\s+", names=columns)
    is_write = frame["flags"] % 2 == 1
    info = package.trace_info(path)
    assert counts(info) == expected(frame.bytes[~is_write], frame.bytes[is_write])
    assert (info["requests"], round(info["write_ratio"] * 100, 1)) == (requests, percent)
    assert info["with_latency"] == requests
    assert info["mean_latency_ns"] == pytest.approx((frame.finished - frame.generated).mean() * 1e9, rel=1e-4)
    packed = package.trace_info(path, clean=["packed"])["cleaned"][0]
    odd = frame.sectors[frame.sectors > 8] % 8
    assert (packed["count"], packed["bytes"]) == ((odd > 0).sum(), odd.sum() * 512)


@pytest.mark.parametrize(("load", "reads", "writes", "flushes"), [("A", 699, 3727, 1786), ("B", 647, 537, 194)])
def test_ftrace_of_nexus_5(traces: Path, load: str, reads: int, writes: int, flushes: int) -> None:
    path = traces / "nexus5-pocketdata" / f"YCSB_Workload{load}_LogTimingsql.log.xz"
    text = lzma.decompress(path.read_bytes()).decode(errors="replace")
    inserts = re.findall(r"block_rq_insert: 179,0 (\w+) 0 \(\) \d+ \+ (\d+)", text)
    empty = Counter(sectors == "0" for _, sectors in inserts)
    info = package.trace_info(path)
    assert info["format"] == "ftrace"
    assert (info["reads"], info["writes"], info["flushes"]) == (reads, writes, flushes)
    assert info["requests"] == len(inserts) == reads + writes + flushes
    assert info["flushes"] == empty[True]
    assert info["reads"] == sum(rwbs.startswith("R") for rwbs, _ in inserts)
    assert info["fua"] == info["preflushes"] == sum(rwbs == "FWFS" for rwbs, _ in inserts)
    # What completed is what was read: requests may have grown after they were inserted.
    done = re.findall(r"block_rq_complete: 179,0 (R\w*) \(\) \d+ \+ (\d+)", text)
    answered = sum(int(sectors) for _, sectors in done) * 512
    assert 0 <= info["read_bytes"] - answered <= 64 * 1024, "requests still under way at the end"


SERVER = {
    "wsrch-small.trace": 24783,
    "tpcc-small.trace": 6999,
    "financial1_first10k.example.ascii": 10000,
}


@pytest.mark.parametrize("name", SERVER)
def test_server_traces(traces: Path, name: str) -> None:
    path = traces / "server" / f"{name}.xz"
    frame = pd.read_csv(path, sep=r"\s+", names=["time", "device", "lba", "sectors", "type"])
    info = package.trace_info(path)
    lengths = frame.sectors * 512
    assert info["format"] == "mqsim"
    assert info["requests"] == SERVER[name]
    assert counts(info) == expected(lengths[frame.type == 1], lengths[frame.type == 0])
    assert info["duration_seconds"] == pytest.approx((frame.time.max() - frame.time.min()) / 1e9)
    by_device = frame.groupby("device").size()
    assert [(int(d["name"]), d["requests"]) for d in info["devices"]] == list(by_device.items())
    # Ranges of whole MiB, one after another, in the order of the devices.
    ends = (frame.lba + frame.sectors).groupby(frame.device).max()
    sizes = (ends + 2047) // 2048 * 2048
    assert [d["sectors"] for d in info["devices"]] == list(sizes)
    assert [d["first_sector"] for d in info["devices"]] == [0, *sizes.cumsum()[:-1]]
    off = (frame.lba % 8 != 0) | (frame.sectors % 8 != 0)
    head, tail = frame.lba % 8 != 0, (frame.lba + frame.sectors) % 8 != 0
    assert info["unaligned"] == off.sum()
    assert info["partial_writes"] == ((head | tail) & (frame.type == 0)).sum()
    units = (frame.lba + frame.sectors + 7) // 8 - frame.lba // 8
    assert info["widened_bytes"] == (units * 4096 - lengths).sum()
    before = (frame.lba + frame.sectors).shift()
    sequential = (frame.lba == before) & (frame.device == frame.device.shift())
    assert info["sequential_ratio"] == pytest.approx(sequential.sum() / len(frame))


def test_a_server_trace_runs_with_read_modify_write(traces: Path) -> None:
    path = traces / "server" / "financial1_first10k.example.ascii.xz"
    info = package.trace_info(path)
    for depth in (None, 32):
        result = package.run(path, "ufs", replay="closed" if depth else "timed", depth=depth)
        assert result.submitted == result.completed == info["requests"] + info["merge_reads"]
        assert any("read-modify-write" in warning for warning in result.data["warnings"])


def test_phone_flushes_and_fua_reach_the_device(traces: Path) -> None:
    path = traces / "nexus5-pocketdata" / "YCSB_WorkloadB_LogTimingsql.log.xz"
    result = package.run(path, "hp-ufs")
    assert result.latency_ns["flush"]["count"] == 194
    assert result.submitted == result.completed == 1378


@pytest.mark.parametrize(
    ("name", "separator", "columns", "read"),
    [
        ("msr", ",", ["time", "host", "disk", "type", "offset", "bytes", "response"], "Read"),
        ("spc", ",", ["asu", "lba", "bytes", "type", "time"], "r"),
        ("mqsim", " ", ["time", "device", "lba", "sectors", "type"], 1),
    ],
)
def test_samples_of_csv_formats(name: str, separator: str, columns: list[str], read: object) -> None:
    path = FORMATS / f"app-mix.{name}.xz"
    frame = pd.read_csv(path, sep=separator, names=columns)
    lengths = frame.sectors * 512 if name == "mqsim" else frame.bytes
    info = package.trace_info(path)
    assert info["format"] == name
    assert counts(info) == expected(lengths[frame.type == read], lengths[frame.type != read])


def test_the_sample_of_blkparse_is_the_beginning_of_the_recording() -> None:
    path = FORMATS / "app-mix.blkparse.xz"
    queued = re.findall(r" Q +([A-Z]+) (?:(\d+) \+ (\d+))?", lzma.decompress(path.read_bytes()).decode())
    info = package.trace_info(path)
    assert info["requests"] == len(queued) == 2500
    of = {kind: sum(512 * int(n or 0) for rwbs, _, n in queued if rwbs.lstrip("F")[0] == kind) for kind in "RWD"}
    assert (info["read_bytes"], info["write_bytes"], info["trim_bytes"]) == (of["R"], of["W"], of["D"])
    assert (info["read_bytes"], info["write_bytes"]) == (10854400, 9670656), "as awk counts"
    assert info["fua"] == sum(rwbs.startswith("FWF") for rwbs, _, n in queued if n)


def test_the_sample_of_fio_has_the_numbers_of_fios_report() -> None:
    info = package.trace_info(FORMATS / "fio-3.33.iolog")
    numbers = {"requests": 313, "reads": 148, "writes": 152, "read_bytes": 1646080, "write_bytes": 1648640}
    assert (counts(info), info["flushes"]) == (numbers, 13)
    assert info["duration_seconds"] == pytest.approx(8.030, abs=1e-3), "milliseconds of fio's report"


def test_a_converted_trace_runs_as_the_original(ufsim: Command, tmp_path: Path) -> None:
    out = tmp_path / "app-mix.csv"
    converted = ufsim("trace", "convert", SAMPLE, out, "--format", "csv")
    assert converted.returncode == 0, converted.stderr
    assert "19,832 requests, blktrace to csv" in converted.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["app-mix.csv"]
    frame = pd.read_csv(out, comment="#")
    assert Counter(frame.op) == {"read": 9682, "write": 7531, "flush": 1423, "trim": 1196}
    for replay in ("timed", "closed"):
        # A plug belongs to a CPU, and a CSV does not tell on which one a request came.
        options = {"replay": replay, "merge": "off"}
        digests = {package.run(trace, "hp-ufs", **options).data["digest"] for trace in (SAMPLE, out)}
        assert len(digests) == 1


def test_convert_says_what_is_lost(ufsim: Command, tmp_path: Path) -> None:
    done = ufsim("trace", "convert", SAMPLE, tmp_path / "x", "--format", "msr", "--json")
    answer = json.loads(done.stdout)
    assert (answer["from"], answer["to"], answer["requests"]) == ("blktrace", "msr", 19832)
    assert "1423 flushes left out" in answer["lost"]
    assert "1196 trims left out" in answer["lost"]
    assert len((tmp_path / "x").read_text().splitlines()) == 9682 + 7531


def test_info_prints_a_table_and_json(ufsim: Command) -> None:
    shown = ufsim("trace", "info", SAMPLE, FORMATS / "fio-3.33.iolog")
    assert shown.returncode == 0, shown.stderr
    for text in ("blktrace", "iolog", "19,832", "313", "sequential ratio", "footprint MiB", "13.7 %"):
        assert text in shown.stdout
    document = json.loads(ufsim("trace", "info", "--json", SAMPLE).stdout)
    assert document["traces"][0]["requests"] == 19832
    listed = json.loads(ufsim("trace", "formats", "--json").stdout)
    assert {"blktrace", "msr", "csv"} <= {entry["name"] for entry in listed}
    assert "MSR Cambridge" in ufsim("trace", "formats").stdout


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        ("0,1,512,r,0.0\n0,1,512,x,0.1\n", [], "line 2, column 9: opcode is 'x'; allowed: r, R, w or W"),
        ("hello\n", [], "no trace format fits its beginning; tried blktrace, perfetto, vscsi"),
        ("hello\n", ["--format", "spc"], "line 1, column 1: ASU is 'hello'; allowed: a whole number"),
        ("0,1,512,r,0.0\n", ["--format", "zip"], 'format = "zip": must be one of blktrace, perfetto, vscsi, blkparse'),
        ("0,1,512,r,0.0\n", ["--clean", "all"], 'clean = "all": must be one of duplicates, gaps, packed, pages'),
        ("0,1,512,r,0.0\n", ["--device", "3"], "no requests of device 3; the trace has requests of: 0"),
        ("", [], "no requests among 0 events"),
        (
            "# tracer: nop\n a-1 [000] .... 1.0: sched_switch: x\n",
            [],
            "no requests among 1 events (sched_switch 1); format ftrace needs events block_rq_issue",
        ),
    ],
)
def test_wrong_files_and_options_are_named(
    ufsim: Command, tmp_path: Path, text: str, options: list[str], told: str
) -> None:
    path = tmp_path / "t.spc"
    path.write_text(text)
    for command in (["trace", "info"], ["run", "--scheme", "ufs"]):
        process = ufsim(*command, path, *options)
        assert (process.returncode, process.stdout) == (1, "")
        assert len(process.stderr.splitlines()) == 1
        assert told in process.stderr


def test_a_failed_conversion_leaves_nothing(ufsim: Command, tmp_path: Path) -> None:
    path = tmp_path / "t.spc"
    path.write_text("0,1,512,r,0.0\n0,1,512,x,0.1\n")
    failed = ufsim("trace", "convert", path, tmp_path / "out", "--format", "csv")
    assert failed.returncode == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.spc"]
    assert ufsim("trace", "convert", path, tmp_path / "out", "--format", "nexus5").returncode == 1
    assert ufsim("trace", "info", tmp_path / "none").stderr.endswith("none': no such file or directory\n")


@pytest.mark.parametrize("name", ["formats/session-ufs.txt.xz", "formats/session-ufs.pftrace", "phone/session.pftrace"])
def test_recordings_of_phones_are_converted(ufsim: Command, tmp_path: Path, name: str) -> None:
    """The second count is of the text from which the samples were made."""
    text = (ROOT / "samples" / "phone" / "session.txt").read_text()
    issued = re.findall(r"block_rq_issue: 259,5 (\w+) \d+ \(\) (\d+) \+ (\d+)", text)
    done = ufsim("trace", "convert", ROOT / "samples" / name, tmp_path / "out.csv", "--format", "csv")
    assert done.returncode == 0, done.stderr
    frame = pd.read_csv(tmp_path / "out.csv", comment="#")
    assert list(zip(frame.sector, frame.bytes // 512, strict=True)) == [(int(at), int(n)) for _, at, n in issued]
    assert list(frame.op == "read") == [rwbs.startswith("R") for rwbs, _, _ in issued]
    assert frame.latency_ns.notna().all()


def test_vscsi_is_recognised_in_both_versions() -> None:
    for name in ("app-mix.vscsi1.xz", "app-mix.vscsi2.xz"):
        info = package.trace_info(FORMATS / name)
        assert (info["format"], counts(info)) == ("vscsi", counts(package.trace_info(FORMATS / "app-mix.msr.xz")))


def test_perfetto_and_text_make_the_same_scenario(ufsim: Command, tmp_path: Path) -> None:
    made = {}
    for name in ("session.txt", "session.pftrace"):
        out = tmp_path / name / "s.toml"
        out.parent.mkdir()
        done = ufsim("trace", "to-scenario", ROOT / "samples" / "phone" / name, out)
        assert done.returncode == 0, done.stderr
        made[name] = (out.read_text(), out.with_suffix(".csv").read_text())
    assert made["session.txt"] == made["session.pftrace"]


# Requests at 0 and at 300 GiB: for the default device, of 128 GiB, too far apart.
FAR = "0 0 8 8 0\n1000000 0 629145600 8 1\n2000000 0 629145608 8 0\n"


def test_a_trace_beyond_the_device_is_told_what_helps_and_folded(ufsim: Command, tmp_path: Path) -> None:
    path = tmp_path / "far.mqsim"
    path.write_text(FAR)
    refused = ufsim("run", "--scheme", "ufs", path)
    assert refused.returncode != 0
    for told in ("ends beyond the device", "--profile ufs-4.0-512 is large enough", "--fold puts the ranges"):
        assert told in refused.stderr
    folded = ufsim("run", "--scheme", "ufs", "--fold", path)
    assert folded.returncode == 0, folded.stderr
    assert "folded from 307,201 to 65 MiB" in " ".join(folded.stdout.split())
    result = package.run(path, "ufs", fold=True)
    assert result.data["fold"] == {"granule_mib": 64, "ranges": 2, "from_mib": 307201, "to_mib": 65}
    assert any(warning.startswith("folded: 2 ranges of 64 MiB") for warning in result.data["warnings"])
    assert package.run(SAMPLE, "ufs", fold=True).data["fold"] is None, "what fits stays where it is"
    job = tmp_path / "j.fio"
    job.write_text("[a]\nrw=read\nsize=1m\n")
    assert "fold" in ufsim("run", "--scheme", "ufs", "--fold", job).stderr


def test_gaps_are_hinted_at(ufsim: Command, tmp_path: Path) -> None:
    path = tmp_path / "gap.mqsim"
    path.write_text("0 0 8 8 0\n2000000000000 0 8 8 1\n")
    for options, told in (([], True), (["--clean", "gaps"], False)):
        shown = " ".join(ufsim("trace", "info", path, *options).stdout.split())
        assert ("--clean gaps removes them" in shown) == told, shown
