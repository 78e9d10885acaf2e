"""Jobs wherever a job file goes: inline, under any name, with parts that stand elsewhere; inputs without an end."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import ufsim as lab
from conftest import Command
from ufsim import _core
from ufsim.results.formats import workload_name

JOB = "rw=randwrite bs=4k size=2m"
TEXT = "[job]\nrw=randwrite\nbs=4k\nsize=2m\n"


@pytest.fixture(scope="module")
def from_file(tmp_path_factory: pytest.TempPathFactory) -> lab.Result:
    path = tmp_path_factory.mktemp("jobs") / "a.fio"
    path.write_text(TEXT)
    return lab.run(path, "ufs", profile="tiny")


def test_an_inline_job_is_the_job_of_a_file(from_file: lab.Result) -> None:
    for job in (
        JOB,
        f"fio --name=job {JOB.replace(' ', ' --')}".replace("--rw", "rw"),
        TEXT,
        TEXT.replace("[job]\n", ""),
    ):
        result = lab.run(job, "ufs", profile="tiny")
        assert result.digest == from_file.digest, job
        assert result.workload == job


def test_a_job_file_has_any_name(from_file: lab.Result, tmp_path: Path) -> None:
    for name in ("job", "job.ini", "job.txt"):
        path = tmp_path / name
        path.write_text("\ufeff; what it is\n\n" + TEXT)
        assert lab.run(path, "ufs", profile="tiny").digest == from_file.digest, name


def test_inline_jobs_on_the_command_line(ufsim: Command, from_file: lab.Result, tmp_path: Path) -> None:
    run = ufsim("run", JOB, "--scheme", "ufs", "--profile", "tiny", "--json")
    assert json.loads(run.stdout)["results"][0]["digest"] == from_file.digest, run.stderr
    made = ufsim("compare", JOB, "--schemes", "ufs,ideal", "--profile", "tiny", "--out", tmp_path)
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "rw-randwrite-bs-4k-size-2m.json").is_file(), list(tmp_path.iterdir())
    wrong = ufsim("run", "rw=sideways size=1m", "--profile", "tiny")
    assert wrong.returncode != 0
    assert 'options:2: rw="sideways" is not allowed; allowed: read, write' in wrong.stderr.replace("\n", " ")


def test_files_of_inline_jobs_have_names() -> None:
    assert workload_name(JOB) == "rw-randwrite-bs-4k-size-2m"
    assert "/" not in workload_name("rw=read filename=/dev/sda:/dev/sdb")
    assert workload_name("jobs/a.fio") == "a.fio"
    assert len(workload_name(JOB * 100)) <= 80
    assert _core.is_inline_job(JOB) and not _core.is_inline_job("jobs/a.fio")


def test_what_stands_elsewhere_decides_the_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "age").write_text("[a]\nrw=randwrite\ninclude common\nsize=${AGE_SIZE}\n")
    (tmp_path / "common").write_text("bs=4k\n")
    options = {"profile": "tiny", "age": str(tmp_path / "age")}
    monkeypatch.setenv("AGE_SIZE", "4m")
    aged = lab.run(JOB, "ufs", **options)
    assert aged.age == "[a]\nrw=randwrite\nbs=4k\nsize=4m\n"
    assert aged.digest == lab.run(JOB, "ufs", profile="tiny", age=aged.age).digest, (
        "the result says how to make it again"
    )
    monkeypatch.delenv("AGE_SIZE")
    with pytest.raises(lab.ConfigError, match='no variable "AGE_SIZE"'):
        lab.run(JOB, "ufs", **options)


def test_ramp_time_leaves_out_the_beginning(from_file: lab.Result) -> None:
    ramped = lab.run(f"{JOB} ramp_time=2ms time_based runtime=20ms", "ufs", profile="tiny")
    first, whole = (lab.run(f"{JOB} time_based runtime={ms}ms", "ufs", profile="tiny") for ms in (2, 22))
    assert 0 < first.completed < ramped.completed
    assert first.completed + ramped.completed == whole.completed
    with pytest.raises(lab.ConfigError, match="every job ended within its ramp_time"):
        lab.run(f"{JOB} ramp_time=1h", "ufs", profile="tiny")


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), resource.RLIM_INFINITY))
import ufsim as lab
from ufsim import _core
try:
    {call}
except (lab.ConfigError, ValueError) as error:
    print(error)
"""

# Of address space: Python with its libraries maps most of it.
MEMORY = 4 << 30


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/zero and a limit of memory")
@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("lab.run('/dev/zero', 'ufs', profile='tiny')", "/dev/zero: no trace format fits its beginning"),
        *(
            (f"lab.run('/dev/zero', 'ufs', profile='tiny', format='{name}')", "/dev/zero: ")
            for name in (form["name"] for form in json.loads(_core.trace_formats()))
        ),
        ("lab.run('FOLDER/endless.fio', 'ufs', profile='tiny')", "has more than 16777216 bytes"),
        ("lab.run('FOLDER/endless.toml', 'ufs', profile='tiny')", "has more than 16777216 bytes"),
        ("lab.run('rw=read size=1m', 'ufs', profile='FOLDER/endless.toml')", "has more than 16777216 bytes"),
        ("lab.run('rw=read size=1m', 'ufs', profile='tiny', age='FOLDER/endless.fio')", "has more than 16777216 bytes"),
        ("lab.run('rw=read size=1m', 'ufs', profile='tiny', from_state='/dev/zero')", "/dev/zero: "),
        ("lab.run('read_iolog=/dev/zero', 'ufs', profile='tiny')", "/dev/zero: line 1, column 1: "),
    ],
)
def test_inputs_without_an_end_are_refused(call: str, told: str, tmp_path: Path) -> None:
    """A line without an end once grew to 21 GB."""
    for name in ("endless.fio", "endless.toml"):
        (tmp_path / name).symlink_to("/dev/zero")
    program = LIMITED.format(call=call.replace("FOLDER", str(tmp_path)))
    command = [sys.executable, "-c", program, str(MEMORY)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=os.environ)
    assert told in done.stdout, done.stderr[-2000:]
    assert done.stdout.count("\n") == 1


def test_the_limit_of_memory_is_one(tmp_path: Path) -> None:
    """Without it the test above could not fail."""
    program = LIMITED.format(call="bytearray(5 << 30)")
    done = subprocess.run([sys.executable, "-c", program, str(MEMORY)], capture_output=True, text=True, check=False)
    assert "MemoryError" in done.stderr
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != MEMORY


def test_requests_of_clones_have_no_process() -> None:
    requests = lab.run("rw=read bs=4k size=64k numjobs=3", "ideal", profile="tiny", log=True).requests()
    assert len(requests) == 48
    assert set(requests["process"]) == {""}
