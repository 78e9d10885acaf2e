"""Results are never lost: what happens to files when there is no room, or no permission."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, Command
from small_disk import small_disk
from ufsim import __version__, outputs
from ufsim.cli.exits import Exit
from ufsim.linux.cli import marked

PROGRAM = Path(sys.executable).with_name("ufsim")
JOB = "[j]\nrw=randrw\nbs=4k\niodepth=4\nsize=40m\nio_size=4m\n"
AGE = "rw=randwrite bs=4k iodepth=8 size=100m io_size=200m"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.fio"
    path.write_text(JOB)
    return path


def limited(limit: int, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the program with no file allowed to grow beyond a limit, as on a disk that becomes full."""

    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [str(PROGRAM), *map(str, arguments)]
    variables = {**os.environ, **environment}
    return subprocess.run(
        command, cwd=ROOT, env=variables, preexec_fn=limit_files, capture_output=True, text=True, check=False
    )


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text("{}")
    with pytest.raises(RuntimeError), outputs.replacing(path) as beside:
        beside.write_text("[1, ")
        raise RuntimeError
    assert path.read_text() == "{}"
    with outputs.replacing(path) as beside:
        assert beside.suffix == ".json" and beside.parent == tmp_path
        beside.write_text("[1]")
        assert path.read_text() == "{}"
    assert path.read_text() == "[1]"
    assert list(tmp_path.iterdir()) == [path]


# How files of these kinds begin, and a name for each.
BEGINNINGS = {
    "x.json": b'\n {"a": 1}',
    "x.parquet": b"PAR1\0",
    "x.png": b"\x89PNG\r\n\x1a\n\0",
    "x.pdf": b"%PDF-1.4 \0",
    "x.svg": b"<?xml version='1.0'?>\n<svg>",
    "x.html": b"<!DOCTYPE html>",
    "x.pftrace": b"\x0a\x10\0",
    "x.state": b"ufsim aged state 1\n",
    "x.csv": b"a,b\n1,2\n",
    "x.toml": b"# Found by ufsim tune 0.2.0.\n",
    "x.log": b"12, 3456, 0, 4096, 0\n",
    "x.ftrace": b"# tracer: nop\n#\n# ufsim 0.2.0: ufs on job.fio\n",
    "x.store": b"ufsim store v1\n\0",
}


def test_a_file_takes_the_place_of_its_own_kind_only(tmp_path: Path) -> None:
    replaced = {}
    for name in [*BEGINNINGS, "x.tif", "x"]:
        for other, content in {**BEGINNINGS, "empty": b""}.items():
            path = tmp_path / name
            path.write_bytes(content)
            try:
                outputs.check(path)
                replaced.setdefault(name, set()).add(other)
            except FileExistsError as error:
                assert "what is there is no " in str(error)
    owned = {"x.toml", "x.log", "x.ftrace"}
    texts = {"x.json", "x.svg", "x.html", "x.csv", "empty"} | owned
    # What is text may be a table; what has an ending that nobody knows may be anything but what is known.
    others = {"x.tif": texts | {"x.pftrace"}, "x": texts | {"x.pftrace"}, "x.store": texts | {"x.pftrace"}}
    own = {name: {name, "empty"} for name in BEGINNINGS} | {"x.csv": texts}
    own |= {name: {*owned, "empty"} for name in owned}
    assert replaced == own | others


@pytest.mark.parametrize(
    "text",
    [
        "fio version 2 iolog\n/dev/sda add\n",
        "# tracer: nop\n#\n# entries-in-buffer/entries-written: 3/3\n",
        "# My profile\n[device]\nname = 'for ufsim'\n",
        "the ufsim log\n",
        "12, 3456, 0, 4096, 0, 7\n",
    ],
)
def test_a_text_of_somebody_else_is_not_replaced(tmp_path: Path, text: str) -> None:
    for ending in (".log", ".ftrace", ".toml"):
        path = tmp_path / f"x{ending}"
        path.write_text(text)
        assert outputs.write([(path, outputs.text("new"))]) == [
            f"{path}: not written: what is there is no text of ufsim, and is not replaced"
        ]
        assert path.read_text() == text


def test_texts_of_a_guest_can_be_replaced_by_the_next() -> None:
    events = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 3/3\n  fio-1 [000]"
    for text in (events, "[    0.000000] Linux version 6.1", ""):
        made = marked(text, "events")
        assert outputs.OWN_TEXT.begins(made.encode()) and not outputs.OWN_TEXT.begins(text.encode())
        comment = f"# ufsim {__version__}: events of a guest\n"
        assert made.replace(comment, "") == text
    assert marked(events, "events").startswith("# tracer: nop\n# ufsim ")


def test_what_is_read_is_not_written_and_no_place_is_written_twice(tmp_path: Path) -> None:
    read, other, hard = tmp_path / "read.toml", tmp_path / "other.toml", tmp_path / "hard.toml"
    read.write_text("")
    os.link(read, hard)
    (tmp_path / "folder").mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "folder")
    outputs.apart([other, tmp_path / "new"], [read, "rw=read size=1m", "\0", ""])
    told = {
        "it is an input of this command": [[read], [hard], [tmp_path / "folder" / ".." / "read.toml"]],
        "another output of this command goes there, too": [
            [other, other],
            [tmp_path / "way" / "new", tmp_path / "folder" / "new"],
        ],
    }
    for why, each in told.items():
        for places in each:
            with pytest.raises(outputs.Unwritten) as failed:
                outputs.apart(places, [read])
            assert failed.value.failures == [f"{places[-1]}: not written: {why}"]


def test_no_command_replaces_what_it_reads(ufsim: Command, tmp_path: Path) -> None:
    # Each of these would run for hours.
    job, base, mine = tmp_path / "job.log", tmp_path / "base.toml", tmp_path / "tuned.toml"
    job.write_text(JOB.replace("io_size=4m", "io_size=900g"))
    base.write_text('# Fitted by ufsim calibrate 0.\n\nextends = "tiny"\n')
    mine.write_text('# Found by ufsim tune 0.\nextends = "base.toml"\n')
    task = tmp_path / "task.toml"
    task.write_text(
        f'[fixed]\nworkload = "{job}"\nprofile = "tuned.toml"\n[bounds]\n"gc.pace" = [1, 2]\n'
        '[aim]\nminimise = "read_p99_ns"\n'
    )
    trace = tmp_path / "trace.csv"
    trace.write_text("time_ns,op,device,sector,bytes,flags,latency_ns,process\n1,read,x,0,4096,,9,p\n")
    there = {path: path.read_bytes() for path in tmp_path.iterdir()}
    fit = ["calibrate", trace, "--profile", mine, "--fit", "nand.tlc_read_us"]
    told = {
        ("run", job, "--profile", "tiny", "--log", job): job,
        ("age", job, "--profile", "tiny", "--out", job): job,
        (*fit, "--out", mine): mine,
        (*fit, "--out", base): base,
        (*fit, "--fit", f"{task}", "--out", task): task,
        (*fit, "--keep", trace): trace,
        ("linux", "--script", job, "--console", job): job,
        ("linux", "--script", task, "--check", job, "--record", job, "--cuts", 1): job,
        ("tune", task, "--out", tmp_path): mine,
    }
    for arguments, path in told.items():
        failed = ufsim(*arguments)
        assert failed.returncode == Exit.NOT_WRITTEN and failed.stdout == ""
        assert failed.stderr == f"ufsim: error: {path}: not written: it is an input of this command\n", arguments
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == there


def test_two_outputs_have_two_places_and_what_is_refused_makes_no_folder(
    ufsim: Command, job: Path, tmp_path: Path
) -> None:
    other, made = tmp_path / "other.fio", tmp_path / "made"
    other.write_text(JOB)
    same, tiny = tmp_path / "same.parquet", ("--profile", "tiny")
    there = sorted(tmp_path.iterdir())
    twice = f"{same}: not written: another output of this command goes there, too"
    several = f"log = '{same}': must be of one workload; there are several"
    for arguments, status, why in (
        (("run", job, *tiny, "--log", same, "--series", same), Exit.NOT_WRITTEN, twice),
        (("compare", job, *tiny, "--schemes", "ufs", "--log", same, "--out", tmp_path, "--name", "same"), 4, twice),
        (("compare", job, other, *tiny, "--log", same, "--out", made), Exit.INPUT, several),
    ):
        failed = ufsim(*arguments)
        assert (failed.returncode, failed.stderr) == (status, f"ufsim: error: {why}\n")
    assert sorted(tmp_path.iterdir()) == there


def test_what_is_no_ordinary_file_is_not_replaced(tmp_path: Path) -> None:
    target, link, pipe = tmp_path / "target.json", tmp_path / "link.json", tmp_path / "pipe.json"
    target.write_text("{}")
    link.symlink_to(target)
    os.mkfifo(pipe)
    (tmp_path / "folder.json").mkdir()
    there = sorted(tmp_path.iterdir())
    told = {
        link: "it is a symbolic link, which is not followed or replaced",
        pipe: "it is no ordinary file, which is not replaced",
        tmp_path / "folder.json": "Is a directory",
        Path("/dev/null"): "it is no ordinary file, which is not replaced",
    }
    for path, why in told.items():
        assert outputs.write([(path, outputs.text("[]"))]) == [f"{path}: not written: {why}"]
        with pytest.raises(outputs.Unwritten, match=why):
            outputs.ready_file(path, outputs.OTHER)
    assert sorted(tmp_path.iterdir()) == there and target.read_text() == "{}"


def test_unfinished_files_are_made_anew_and_removed_when_nobody_writes_them(tmp_path: Path) -> None:
    path, target = tmp_path / "x.json", tmp_path / "target"
    target.write_text("of somebody else")
    (tmp_path / ".unfinished-0-x.json").symlink_to(target)
    (tmp_path / ".unfinished-1-x.json").write_text("left by a process that died")
    (tmp_path / ".unfinished-3-x.json").write_text("left by another")
    with outputs.replacing(path) as slow:
        assert slow.name == ".unfinished-1-x.json" and slow.read_text() == ""
        slow.write_text("[1]")
        assert outputs.write([(path, outputs.text("[2]"))]) == []
        assert path.read_text() == "[2]"
    assert path.read_text() == "[1]" and target.read_text() == "of somebody else"
    assert {one.name for one in tmp_path.iterdir()} == {"x.json", "target", ".unfinished-0-x.json"}


def test_lines_are_added_whole(tmp_path: Path) -> None:
    path = tmp_path / "answers"
    outputs.append(path, "one")
    with path.open("a") as file:
        file.write("half a li")
    outputs.append(path, "two")
    assert path.read_text() == "one\nhalf a li\ntwo\n"
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(FileExistsError):
        outputs.append(tmp_path / "link", "three")


def test_a_file_that_fails_takes_no_other_with_it(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    steps = [
        (tmp_path / "a.json", outputs.text("{}")),
        (tmp_path / "b.parquet", fail),
        (tmp_path / "c.png", outputs.text("p")),
    ]
    assert outputs.write(steps) == [f"{tmp_path}/b.parquet: not written: No space left on device"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "c.png"]


@pytest.mark.parametrize("place", ["/dev/null/x", "/proc/nowhere", "TAKEN"])
@pytest.mark.parametrize("command", ["compare", "phone", "age", "reproduce"])
def test_places_are_checked_before_anything_is_simulated(
    ufsim: Command, job: Path, tmp_path: Path, place: str, command: str
) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    out = place.replace("TAKEN", str(taken))
    # Each of these would run for hours.
    job.write_text(JOB.replace("io_size=4m", "io_size=900g"))
    arguments = {
        "compare": ["compare", job, "--profile", "tiny", "--out", out],
        "phone": ["phone", "samples/phone/nine-apps.toml", "--out", out],
        "age": ["age", AGE.replace("200m", "900g"), "--profile", "tiny", "--out", f"{out}/x.state"],
        "reproduce": ["reproduce", "hp-ufs", "--out", out],
    }[command]
    failed = ufsim(*arguments)
    assert failed.returncode == Exit.NOT_WRITTEN
    assert failed.stdout == ""
    named = f"{out}/x.state" if command == "age" else out
    assert failed.stderr.startswith(f"ufsim: error: {named}: not written: ") and failed.stderr.count("\n") == 1


def test_what_is_not_to_be_replaced_is_told_before_anything_is_simulated(
    ufsim: Command, job: Path, tmp_path: Path
) -> None:
    # Each of these would run for hours.
    job.write_text(JOB.replace("io_size=4m", "io_size=900g"))
    (tmp_path / "x.parquet").write_bytes(b"ufsim store v1\n\0")
    (tmp_path / "c.png").symlink_to(job)
    (tmp_path / "said").write_text("of somebody else")
    os.mkfifo(tmp_path / "x.state")
    told = {
        ("linux", "--console", tmp_path / "said", "--", "true"): "what is there is no text of ufsim",
        ("run", job, "--profile", "tiny", "--log", tmp_path / "x.parquet"): "what is there is no Parquet file",
        ("compare", job, "--profile", "tiny", "--out", tmp_path, "--name", "c"): "c.png: not written: it is a symbolic",
        ("age", AGE.replace("200m", "900g"), "--profile", "tiny", "--out", tmp_path / "x.state"): "no ordinary file",
    }
    for arguments, why in told.items():
        failed = ufsim(*arguments)
        assert failed.returncode == Exit.NOT_WRITTEN and failed.stdout == ""
        assert failed.stderr.startswith(f"ufsim: error: {tmp_path}") and why in failed.stderr


def test_a_disk_that_becomes_full_loses_no_table(job: Path, tmp_path: Path) -> None:
    # Room for the probe, the document and the Parquet file, but not for the picture.
    ended = limited(70_000, "compare", job, "--profile", "tiny", "--schemes", "ufs,ideal", "--out", tmp_path / "made")
    assert ended.returncode == Exit.NOT_WRITTEN
    assert "throughput MiB/s" in ended.stdout and "picture:" not in ended.stdout
    assert ended.stderr == f"ufsim: error: {tmp_path}/made/job.fio.png: not written: File too large\n"
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["job.fio.json", "job.fio.parquet"]
    assert len(json.loads((tmp_path / "made" / "job.fio.json").read_text())["results"]) == 2


def test_with_json_the_document_is_printed_all_the_same(job: Path, tmp_path: Path) -> None:
    made = tmp_path / "made"
    ended = limited(70_000, "compare", job, "--profile", "tiny", "--schemes", "ufs,ideal", "--json", "--out", made)
    assert ended.returncode == Exit.NOT_WRITTEN
    assert len(json.loads(ended.stdout)["results"]) == 2
    assert ended.stderr.startswith("ufsim: error: ") and ended.stderr.count("\n") == 1


def test_a_really_full_disk_is_told_line_by_line(ufsim: Command, job: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 96) as disk:
        ended = ufsim("compare", job, "--profile", "tiny", "--schemes", "ufs,ideal", "--out", disk)
        assert ended.returncode == Exit.NOT_WRITTEN
        assert "throughput MiB/s" in ended.stdout
        assert ended.stderr == f"ufsim: error: {disk}/job.fio.png: not written: No space left on device\n"
        assert sorted(path.name for path in disk.iterdir()) == ["job.fio.json", "job.fio.parquet"]
        left = os.statvfs(disk)
        (disk / "rest").write_bytes(bytes(left.f_bavail * left.f_bsize))
        failed = ufsim("compare", job, "--profile", "tiny", "--out", disk)
        assert failed.returncode == Exit.NOT_WRITTEN, "found before the run: no room for the probe"
        assert failed.stderr == f"ufsim: error: {disk}: not written: No space left on device\n"
        assert failed.stdout == ""


def test_a_file_for_a_directory_that_is_not_there_is_refused(ufsim: Command, job: Path, tmp_path: Path) -> None:
    log = tmp_path / "new" / "log.parquet"
    ended = ufsim("run", job, "--profile", "tiny", "--log", log)
    assert ended.returncode == Exit.NOT_WRITTEN
    assert ended.stderr == f"ufsim: error: {log}: not written: there is no directory '{log.parent}'\n"
    assert not log.parent.exists()


@pytest.mark.slow
def test_a_phone_keeps_what_there_is_room_for(tmp_path: Path) -> None:
    ended = limited(70_000, "phone", "samples/phone/small.toml", "--schemes", "ufs,ideal", "--out", tmp_path)
    assert ended.returncode == Exit.NOT_WRITTEN
    assert "cold launches" in ended.stdout
    assert ended.stderr.startswith(f"ufsim: error: {tmp_path}/small")
    assert (tmp_path / "small-apps.parquet").exists()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_book_keeps_what_can_be_written(ufsim: Command, tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    ended = ufsim("reproduce", "map-plus/t1", "--quick", "--out", tmp_path)
    assert ended.returncode == Exit.NOT_WRITTEN
    assert "beside them 1 of conformance" in " ".join(ended.stdout.split()) and "report:" not in ended.stdout
    assert ended.stderr == f"ufsim: error: {tmp_path}/report.html: not written: Is a directory\n"
    written = {"scorecard.json", "map-plus-t1.parquet", "map-plus-t1.png", "report.html", "runs"}
    assert {path.name for path in tmp_path.iterdir()} == written


def test_a_state_that_does_not_fit_is_told(tmp_path: Path) -> None:
    out = tmp_path / "x.state"
    ended = limited(70_000, "age", AGE, "--profile", "tiny", "--out", out)
    assert ended.returncode == Exit.NOT_WRITTEN
    assert ended.stderr == f"ufsim: error: {out}: File too large (os error 27)\n"
    assert list(tmp_path.iterdir()) == []


def test_a_cache_without_room_costs_no_result(ufsim: Command, job: Path, tmp_path: Path) -> None:
    arguments = ["run", job, "--scheme", "ufs", "--profile", "tiny", "--age", AGE, "--seeds", "1", "--json"]
    whole = json.loads(ufsim(*arguments, "--no-cache").stdout)["results"][0]
    ended = limited(70_000, *arguments, UFSIM_CACHE=str(tmp_path / "cache"))
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["results"][0]["digest"] == whole["digest"]
    assert ended.stderr.startswith(f"ufsim: warning: {tmp_path}/cache/segment-log-")
    assert ended.stderr.endswith("File too large (os error 27); the state is not kept\n")
    assert list((tmp_path / "cache").iterdir()) == []
    for cache in ("/dev/null/x", "/proc/nowhere"):
        ended = limited(1 << 30, *arguments, UFSIM_CACHE=cache)
        assert ended.returncode == 0
        assert json.loads(ended.stdout)["results"][0]["digest"] == whole["digest"]
        assert ended.stderr.startswith(f"ufsim: warning: {cache}: not written: ") and ended.stderr.count("\n") == 1
