"""Linux as the host. Without its kernel (`make linux`) these tests are skipped, and on CI they fail.

`make test-linux` takes longer: more repeats of more jobs, more resets, more power cuts.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import ufsim
from live_disks import until
from tools.hosts import hpb, map_plus, sqlite
from tools.project import UFSIM
from ufsim import linux
from ufsim.cli.app import execute
from ufsim.linux import cpio, cuts
from ufsim.linux.cli import starved
from ufsim.linux.place import newest
from ufsim.linux.session import Device, after_cut, manifest
from ufsim.observe import Observed
from ufsim.spec import Spec

#: Reads, of which a HPB driver finds some worth its memory: it looks every 200 ms.
READS = """\
dd if=/dev/zero of=/dev/sda bs=1M count=16 oflag=direct 2> /dev/null
for turn in 1 2 3; do
    i=0
    while [ $i -lt 20 ]; do
        dd if=/dev/sda of=/dev/null bs=4k skip=$((i * 1037 % 4000)) count=8 iflag=direct 2> /dev/null
        i=$((i + 1))
    done
    sleep 0.3
done
"""

#: Sessions whose power is cut, and what must be found then.
CUT = Path(__file__).parents[2] / "linux/sessions"
WRITER, SQLITE = ((CUT / f"{name}.sh").read_text() for name in ("writer", "sqlite"))
FIO = "fio --clocksource=clock_gettime --name=r --rw=randrw --bs=4k --size=8m --fsync=8 --ioengine=libaio --iodepth=8"
LONG = os.environ.get("UFSIM_LINUX") == "long"
REPEATS, RESETS, ABORTS, CUTS = (10, 100, 100, 200) if LONG else (2, 10, 10, 4)
#: Jobs that are repeated: file system and script.
REPEATED = {"f2fs": ("f2fs", WRITER), "sqlite": ("f2fs", SQLITE)}
if LONG:
    REPEATED |= {"ext4": ("ext4", WRITER), "sqlite on ext4": ("ext4", SQLITE), "fio": ("f2fs", FIO)}


@pytest.fixture(scope="module", autouse=True)
def kernel() -> Iterator[None]:
    """Fails on CI, and skips elsewhere, if there is no kernel. Of one that has not all, what it has not is skipped."""
    if not (newest() / "manifest.json").exists():
        told = "no kernel for ufsim linux: make linux builds it"
        pytest.fail(told) if os.environ.get("UFSIM_CLIENTS") == "all" else pytest.skip(told)
    check = Device._check_kernel

    def skips(device: Device, kernel: str) -> None:
        try:
            check(device, kernel)
        except ufsim.ConfigError as error:
            pytest.skip(str(error))

    with pytest.MonkeyPatch.context() as patch:
        if not has_all():
            patch.setattr(Device, "_check_kernel", skips)
        yield


def has_all() -> bool:
    """Whether the kernel is one with HPB and HP-UFS."""
    return str(manifest()["kernel"]).startswith("linux-source-6.1 ")


@pytest.fixture
def kernel_with_all() -> None:
    """For the command line, which makes an exit status of whatever is raised."""
    if not has_all():
        pytest.skip(f"{manifest()['kernel']} has no HPB and no HP-UFS")


def script(tmp_path: Path, text: str, name: str = "job.sh") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def job(tmp_path: Path, text: str, **options) -> linux.Job:
    return linux.Job(script=script(tmp_path, text), **{"fs": "none", "memory_mib": 256, **options})


def entries(job: linux.Job) -> dict[str, bytes]:
    return {entry.path: entry.data for entry in job.entries(job.fs)}


def test_files_of_one_name_and_words_that_name_none_reach_the_guest(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.fio").write_text(folder)
    words = ("cat", str(tmp_path / "a" / "x.fio"), str(tmp_path / "b" / "x.fio"), "echo " + 300 * "x", "\udcff")
    found = entries(linux.Job(command=words, fs="none"))
    line = found["job/job"].decode(errors="surrogateescape")
    assert [found[path[1:]] for path in re.findall(r"/job/files/[^']*", line)] == [b"a", b"b"]
    assert line.endswith(f"'{words[3]}' '\udcff'\n")


def test_folders_of_one_name_are_refused(tmp_path):
    folders = (tmp_path / "a" / "x", tmp_path / "b" / "x")
    for folder in folders:
        folder.mkdir(parents=True)
    with pytest.raises(ufsim.ConfigError, match="has the name of"):
        linux.Job(command=("true",), fs="none", folders=folders).check()


@pytest.mark.parametrize(
    ("check", "lost"),
    [(None, False), ("", False), ("test $(cat $BEFORE) = console", False), ("set -e\nfalse\ntrue", True)],
)
def test_what_looks_at_a_file_system_after_a_cut_fails_with_the_caller(tmp_path, check, lost):
    given = None if check is None else script(tmp_path, check)
    found = entries(after_cut(linux.Job(command=("true",), fs="ext4"), given, "console"))
    for name in ("own", "before"):
        (tmp_path / name).write_bytes(found[f"job/{name}"])
    # Up to where it looks at the disk itself.
    text = found["job/check"].decode().replace("/job/", f"{tmp_path}/").partition("cd /\n")[0]
    assert (subprocess.run(["sh", "-c", text], check=False).returncode != 0) == lost


def complaints(console: str) -> list[str]:
    """Lines of a kernel that has found something wrong in itself, but for what User Mode Linux does with its maps."""
    return re.findall(r".*(?:BUG|WARNING: (?!suspicious RCU)|INFO: |Oops|corruption).*", console)


def test_an_engine_that_no_guest_can_use_ends_fio_with_a_line(tmp_path):
    text = "fio --name=a --ioengine=rbd --size=1m --rbdname=x --pool=x --clientname=x\n"
    run = linux.run(job(tmp_path, text), "ufs", profile="tiny")
    assert run.status == 127
    assert "rados_create: a guest has no librados.so.2" in run.stderr + run.stdout


def test_hpb_of_the_kernel_and_of_the_device_tell_the_same(tmp_path):
    # With little SRAM the device needs the entries that the kernel has.
    small = hpb.SETTINGS
    run = linux.run(job(tmp_path, READS), "hpb-linux", profile="tiny", settings=small)
    assert run.status == 0, run.stderr
    device, kernel = run.result.counters["device"], run.hpb_stats
    assert kernel["map_req_cnt"] == run.result.counters["host"]["internal_commands"] == 1
    # The partition table was read before the job.
    assert kernel["hit_cnt"] + kernel["miss_cnt"] == device["host_units_read"] + 1
    assert 200 < device["host_entries_used"] <= kernel["hit_cnt"]
    assert device["host_entries_refused"] == device["host_entries_wrong"] == 0
    plain = linux.run(job(tmp_path, READS), "ufs", profile="tiny", settings=small)
    assert plain.hpb_stats == {}
    assert plain.result.bytes == run.result.bytes
    assert plain.result.counters["device"]["segment_misses"] > 2 * device["segment_misses"]


def test_what_the_guest_has_traced_is_what_the_device_has_logged(tmp_path):
    log = tmp_path / "log.parquet"
    run = linux.run(job(tmp_path, READS, trace=True), "hpb-linux", profile="tiny", observed=Observed(log=log))
    issued = re.compile(r"block_rq_issue: 8,0 ([A-Z]+) (\d+) \(.*?\) (\d+) \+ (\d+)")
    traced = [found.groups() for found in issued.finditer(run.trace)]
    import pandas as pd

    rows = pd.read_parquet(log)
    assert len(rows) > 300
    kinds = {"read": "R", "write": "W", "flush": "F", "trim": "D"}
    logged = [(kinds[row.kind], row.sector, row.bytes // 512) for row in rows.itertuples()]
    seen = [(kind[0], int(sector), int(count)) for kind, _, sector, count in traced]
    seen, logged = ([one for one in them if one[0] in "RW"] for them in (seen, logged))
    assert seen == logged[: len(seen)]
    text = script(tmp_path, run.trace, "trace.txt")
    read = ufsim.trace_info(str(text), device="8:0")
    assert read["requests"] >= len(rows) * 0.99


@pytest.mark.parametrize(("control", "slack"), [("device", 0), ("host", 0.2)])
def test_the_model_of_hpb_counts_what_the_kernels_driver_counts(control, slack):
    kernel, model = hpb.counted(control, 0.0)
    # The read of the partition table came before the trace. With host control it is a matter of phases.
    assert kernel["miss_cnt"] + kernel["hit_cnt"] == model["miss_cnt"] + model["hit_cnt"] + 1
    for name in ("hit_cnt", "rcmd_active_cnt"):
        assert kernel[name] == pytest.approx(model[name], rel=slack), name
    assert kernel["map_req_cnt"] == pytest.approx(model["map_req_cnt"], rel=3 * slack)


@pytest.mark.parametrize(("fs", "mode"), [("f2fs", "truncate"), ("ext4", "persist")])
def test_transactions_ask_for_the_same_with_real_and_modelled_file_systems(monkeypatch, fs, mode):
    monkeypatch.setattr(sqlite, "TRANSACTIONS", 20)
    case = sqlite.Case(fs, mode, "update")
    kernel, model = sqlite.by_kernel(case), sqlite.by_model(case)
    assert (kernel["flushes"], kernel["fua"]) == (model["flushes"], model["fua"])
    assert kernel["mean_us"] == pytest.approx(model["mean_us"], rel=0.02)


#: What the kernel has found out about WriteBooster and set, and the buffer before and after a write and its flush.
BOOSTED = """\
cd /sys/bus/platform/devices/ufsim
cat device_descriptor/wb_type device_descriptor/wb_shared_alloc_units wb_on
cat flags/wb_enable flags/wb_flush_en flags/wb_flush_during_h8 health_descriptor/eol_info
%s
dd if=/dev/zero of=/dev/sda bs=1M count=8 oflag=direct 2> /dev/null
cat attributes/wb_avail_buf
%s
sleep 5
cat attributes/wb_flush_status attributes/wb_avail_buf
"""


def test_the_kernel_steers_write_booster(tmp_path):
    boosted = {"slc.superblocks": 40, "slc.write_booster": True}
    kept, flushed = "echo 0 > enable_wb_buf_flush", "echo 1 > enable_wb_buf_flush"
    run = linux.run(job(tmp_path, BOOSTED % (kept, flushed)), "ufs", profile="tiny", settings=boosted)
    assert run.status == 0, run.stderr
    kind, size, on, *flags, eol, after_write, status, after_flush = run.stdout.split()
    device = run.result.counters["device"]
    assert [kind, on, *flags, eol] == ["0x01", "1", "true", "true", "true", "0x01"]
    assert int(size, 16) > 0 and device["slc_units_programmed"] >= 2048
    # A flush leaves less than a superblock of 80 units, of which the buffer has 40.
    assert int(after_write, 16) < 9 and (int(status, 16), int(after_flush, 16)) == (3, 9)
    assert 0 < device["slc_units_programmed"] - device["gc_units_programmed"] < 80
    off = linux.run(job(tmp_path, BOOSTED % ("echo 0 > wb_on", "")), "ufs", profile="tiny", settings=boosted)
    assert off.result.counters["device"]["slc_units_programmed"] == 0


def test_the_scheduler_is_that_of_the_scheme(tmp_path):
    show = job(tmp_path, "cat /sys/block/sda/queue/scheduler")
    runs = [linux.run(show, "ufs", profile="tiny", scheduler=name) for name in ("noop", "mq-deadline")]
    assert ["[none]" in run.stdout for run in runs] == [True, False]
    assert "[mq-deadline]" in runs[1].stdout


@pytest.mark.parametrize("scheduler", map_plus.SCHEDULERS)
def test_the_schedulers_of_map_plus_do_as_their_models(scheduler):
    row = map_plus.compared(scheduler)
    for name, count in row["kernel"].items():
        # The first read of each burst of 32 is sent before the model sees the others.
        assert count == pytest.approx(row["model"][name], abs=row["reads"] / 32), name
    # A read that is out of its place moves those behind it in its burst; RoW has no choice among reads.
    assert row["same"] == 1 if scheduler == "row" else row["same"] > 0.6
    assert scheduler == "row" or row["kernel"]["prioritised"] > 400


@pytest.mark.parametrize("scheduler", ["row", "map-plus"])
def test_a_queued_request_can_become_a_part_of_another(tmp_path, scheduler, kernel_with_all):
    """Bursts of 32 writes to neighbours: one that is inserted joins one that waits, and both join a third."""
    fio = "fio --clocksource=clock_gettime --name=m --filename=/dev/sda --rw=randwrite --bs=4k --size=512k --direct=1"
    bursts = "--ioengine=libaio --iodepth=32 --iodepth_batch_submit=32 --iodepth_batch_complete_min=32 --loops=20"
    text = f"{fio} {bursts} --verify=crc32c\ncat /sys/block/sda/stat\n"
    run = linux.run(job(tmp_path, text), "ufs", profile="tiny", scheduler=scheduler)
    assert run.status == 0, run.stderr + run.console
    merged = int(run.stdout.splitlines()[-1].split()[5])
    assert merged > 500 and not complaints(run.console)


def test_a_scheduler_can_ask_what_the_mapping_cache_holds(tmp_path):
    """The cache has 2048 entries, so 8 MiB are in it; hits are known from the answers alone."""
    how = {"profile": "emmc-map-plus", "scheduler": "hp"}
    fill = "fio --clocksource=clock_gettime --name=w --rw=write --bs=4k --size=8m --filename=/dev/sda --direct=1"
    again = fill.replace("--rw=write", "--rw=randread --iodepth=8 --ioengine=libaio --number_ios=600 --verify=crc32c")
    asks = {"scheme.*.cache_knowledge": "poll", "scheme.*.poll_requests": 200}
    run = linux.run(job(tmp_path, f"{fill} --verify=crc32c --do_verify=0\n{again}"), "dftl", settings=asks, **how)
    assert run.status == 0, run.stderr
    assert 10 <= int(run.iosched["queries"]) <= 14
    assert int(run.iosched["prioritised"]) >= 400
    assert run.iosched["cache_entries"] == "2048"
    lent = {"scheme.hp.cache_knowledge": "full"}
    with pytest.raises(ufsim.GuestError, match="does not take queue/iosched/cache_knowledge = full"):
        linux.run(job(tmp_path, "true"), "dftl", settings=lent, **how)


@pytest.mark.parametrize(
    ("scheme", "profile", "scheduler"),
    [
        ("hpb-linux", "tiny", None),
        ("foam", "tiny", None),
        ("hp-ufs", "tiny", None),
        ("dftl", "emmc-map-plus", "map-plus"),
    ],
)
def test_the_kernel_has_nothing_to_complain_about(tmp_path, scheme, profile, scheduler):
    """Much more with `make linux CHECKS=1`. What User Mode Linux does with its own maps is suspicious in each."""
    mixed = FIO.replace("--fsync=8", "--fsync=32 --loops=2 --verify=crc32c")
    run = linux.run(job(tmp_path, mixed, fs="f2fs"), scheme, profile=profile, scheduler=scheduler)
    assert run.status == 0, run.stderr
    assert not complaints(run.console)


def test_a_shell_does_what_its_lines_say_however_fast_they_come(tmp_path):
    lines = [
        "cd /tmp",
        "x=5",
        "sleep 10",
        "echo it is $x in $(pwd)",
        "dd if=/dev/zero of=/mnt/f bs=4k count=9",
        "exit 3",
    ]
    told = []
    for pause in (0, 0.2):
        log = tmp_path / f"{pause}.parquet"
        command = ["ufsim", "linux", "--shell", "--scheme", "ufs", "--profile", "tiny", "--log", str(log)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        with subprocess.Popen([Path(sys.executable).with_name(command[0]), *command[1:]], **pipes) as shell:
            for line in lines:
                time.sleep(pause)
                shell.stdin.write(f"{line}\n")
                shell.stdin.flush()
            out, _ = shell.communicate(timeout=120)
        assert shell.returncode == 3
        told.append((out[: out.index("the job has ended")], log.read_bytes()))
    assert "it is 5 in /tmp" in told[0][0]
    assert told[0] == told[1]


@pytest.mark.parametrize("name", REPEATED)
def test_every_run_is_the_same_to_the_byte(tmp_path, name):
    fs, text = REPEATED[name]
    first, *others = (linux.run(job(tmp_path, text, fs=fs), "ufs", profile="tiny") for _ in range(REPEATS))
    assert first.status == 0, first.stderr
    for other in others:
        assert (other.console, other.stdout, other.at_ns, other.turns) == (
            first.console,
            first.stdout,
            first.at_ns,
            first.turns,
        )
        assert other.result.digest == first.result.digest


@pytest.mark.parametrize(("fs", "name"), [("f2fs", "writer"), ("ext4", "sqlite")])
def test_what_was_durable_is_there_after_a_power_cut(tmp_path, fs, name):
    text = (CUT / f"{name}.sh").read_text()
    spec = Spec(workload="linux", scheme="ufs", profile="tiny")
    session = cuts.Cutting(job(tmp_path, text, fs=fs), spec, CUT / f"{name}-check.sh")
    kept = tmp_path / "cuts.jsonl"
    asked = cuts.drawn(CUTS, session.turns(), seed=1)
    found = session.cuts(asked, lambda _: None, jobs=2, kept=kept)
    assert [(one.turn, one.found) for one in found] == [(turn, "whole") for turn in asked]
    lines = kept.read_text()
    assert session.cuts(asked[:3], lambda _: None, kept=kept) == found[:3]
    assert kept.read_text() == lines, "nothing is repeated"
    assert session.cut_at(found[1].at_ns) == found[1]


def test_what_is_lost_is_told(tmp_path):
    spec = Spec(workload="linux", scheme="ufs", profile="tiny")
    session = cuts.Cutting(job(tmp_path, WRITER, fs="f2fs"), spec, script(tmp_path, "echo gone; false\n", "check.sh"))
    last = session.turns()[-20]
    assert [(one.found, one.told) for one in session.cuts([last], lambda _: None)] == [("lost", "gone\n")]
    with pytest.raises(ufsim.ConfigError, match="cut = 1000000: the session has ended before that turn"):
        session.cuts([1_000_000], lambda _: None)


@pytest.mark.parametrize(
    ("scheme", "options", "told"),
    [
        ("hpb-linux", {}, r'scheme = "hpb-linux": its booster is hpb-linux, and linux-source-6.12 .* has no HPB;'),
        ("foam", {}, r'scheme = "foam": its booster is foam, and linux-source-6.12 .* has no HPB;'),
        ("hp-ufs", {}, r'scheme = "hp-ufs": .* has no HP-UFS;'),
        ("dftl", {"scheduler": "row"}, r'scheduler = "row": linux-source-6.12 .* has no such scheduler;'),
    ],
)
def test_a_kernel_does_not_pretend_to_have_what_it_has_not(tmp_path, monkeypatch, scheme, options, told):
    monkeypatch.setattr("ufsim.linux.session.manifest", lambda: {"kernel": "linux-source-6.12 6.12.117-1"})
    with pytest.raises(ufsim.ConfigError, match=f"{told} make linux builds 6.1, which has"):
        linux.run(job(tmp_path, "true"), scheme, profile="tiny", **options)


def test_the_kernel_recovers_from_errors_in_mid_load(tmp_path):
    text = f"""\
dd if=/dev/zero of=/dev/sda bs=1M count=8 oflag=direct 2> /dev/null
i=0
while [ $i -lt {RESETS} ]; do
    dd if=/dev/sda of=/dev/null bs=64k count=100 iflag=direct 2> /dev/null &
    echo 0x10000 > /sys/kernel/debug/ufshcd/ufsim/saved_err
    wait
    i=$((i + 1))
done
dmesg | grep -c "I/O error"
"""
    run = linux.run(job(tmp_path, text), "ufs", profile="tiny")
    assert run.controller["resets"] >= RESETS
    assert run.stdout.strip() == "0", run.console


def test_the_kernel_aborts_what_takes_too_long(tmp_path):
    # 31 reads of 64 KiB at a time take 1.3 s. The kernel gives them 10 ms, and looks once a second.
    text = f"""\
seq 1 1200000 | head -c 8388608 > /tmp/data
dd if=/tmp/data of=/dev/sda bs=1M oflag=direct 2> /dev/null
echo 1 > /sys/block/sda/queue/io_timeout
aborts=0
while [ $aborts -lt {ABORTS} ]; do
    for part in $(seq 0 30); do
        dd if=/dev/sda bs=64k skip=$((part * 4)) count=4 iflag=direct 2> /dev/null > /tmp/part.$part &
    done
    wait
    for part in $(seq 0 30); do cat /tmp/part.$part; done | cmp -n $((31 * 4 * 65536)) /tmp/data - || exit 1
    dmesg -c > /tmp/said
    grep "I/O error" /tmp/said && exit 1
    found=$(grep -c "Device abort" /tmp/said)
    aborts=$((aborts + found))
    [ $found -gt 0 ] || exit 1
done
"""
    run = linux.run(job(tmp_path, text), "ufs", profile="tiny", settings={"nand.tlc_read_us": 20_000})
    assert run.status == 0, run.stdout + run.console
    assert run.controller["aborted_slots"] >= ABORTS


@pytest.mark.parametrize(
    ("more", "cost", "most_us"),
    [
        # Each of 100 reads costs its own system call, and not those of fio's three looks at the clock.
        ("", linux.CpuCost(syscall_ns=1_000_000), 2000),
        # Who waits for the clock in a loop gets there, also where processors are free.
        ("--thinktime=1000 --thinktime_spin=1000", linux.CpuCost(), 1100),
    ],
)
def test_reading_the_clock_is_no_system_call_but_takes_time(tmp_path, more, cost, most_us):
    text = f"fio --clocksource=clock_gettime --name=r --filename=/dev/sda --rw=read --bs=4k --direct=1 --size=4m {more}"
    text += " --number_ios=100 --output-format=json --output=/tmp/out; grep -m 1 job_runtime /tmp/out"
    run = linux.run(job(tmp_path, text, cpu_cost=cost), "ufs")
    runtime = int(re.findall(r"[0-9]+", run.stdout)[0])
    assert 100 <= runtime <= 100 * most_us / 1000, run.stdout


def test_a_folder_of_the_host_can_be_read(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "note").write_text("read me")
    text = "cat /host/shared/note; echo x > /host/shared/new"
    run = linux.run(job(tmp_path, text, folders=[tmp_path / "shared"]), "ufs")
    assert run.stdout == "read me"
    assert run.status != 0


@pytest.mark.parametrize(
    ("cost", "least"),
    [
        (linux.CpuCost(syscall_ns=1000), 2000 * 1000),
        (linux.CpuCost(page_ns=1000), 1000 * 1000),
        (linux.CpuCost(register_ns=1000), 1000 * 5 * 1000),
    ],
)
def test_processors_can_cost_time(tmp_path, cost, least):
    # A read and a write for each block. What is read from memory is copied; what is read from the disk needs registers.
    text = "dd if=/dev/zero of=/tmp/x bs=4k count=1000; dd if=/tmp/x of=/dev/null bs=4k count=1000"
    if cost.register_ns:
        text = "dd if=/dev/sda of=/dev/null bs=4k count=1000 iflag=direct"
    free, dear = (
        linux.run(job(tmp_path, text, cpu_cost=one), "ufs", profile="tiny") for one in (linux.CpuCost(), cost)
    )
    assert dear.to_json()["guest"]["cpu_cost"] == cost._asdict()
    assert dear.at_ns - free.at_ns > least


def test_a_driver_that_starves_is_told():
    assert starved({"rcmd_active_cnt": 3, "map_req_cnt": 0})
    assert not starved({"rcmd_active_cnt": 3, "map_req_cnt": 1})
    assert not starved({})


def test_a_guest_that_dies_is_told_with_the_end_of_its_console(tmp_path, monkeypatch):
    built = tmp_path / "built"
    built.mkdir()
    (built / "linux").write_text("#!/bin/sh\necho it has not worked\nexit 3\n")
    (built / "linux").chmod(0o755)
    (built / "initrd").write_bytes(b"")
    (built / "manifest.json").write_text('{"kernel": "linux-source-6.1 0", "digests": {}}')
    monkeypatch.setattr("ufsim.linux.session.newest", lambda: built)
    with pytest.raises(ufsim.GuestError, match=r"(?s)the guest has died \(exit status: 3\).*it has not worked"):
        linux.run(job(tmp_path, "true"), "ufs", profile="tiny")
    console = tmp_path / "console"
    assert execute(["linux", "--profile", "tiny", "--console", str(console), "--", "true"]) == 7
    assert "it has not worked\n" in console.read_text()


def test_a_guest_that_computes_ends_with_its_simulator(tmp_path):
    spin = script(tmp_path, "while :; do :; done")
    run = [*UFSIM, "linux", "--scheme", "ufs", "--profile", "tiny", "--fs", "none", "--script", str(spin)]
    with subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as simulator:
        until(lambda: any(used > 0.5 for used in of_guest(simulator.pid).values()))
        groups = {stat(process)[2] for process in of_guest(simulator.pid)}
        simulator.kill()
    killed = time.monotonic()
    until(lambda: not any(stat(process)[2] in groups for process in processes()))
    assert groups and time.monotonic() - killed < 2


def of_guest(simulator: int) -> dict[Path, float]:
    """Processes of a simulator's guest, and the seconds for which their programs have computed."""
    ours = [process for process in processes() if stat(process)[1] == str(simulator)]
    groups = {stat(process)[2] for process in ours} - {str(os.getpgrp())}
    found = {process: stat(process) for process in processes()}
    tick = os.sysconf("SC_CLK_TCK")
    return {process: int(told[11]) / tick for process, told in found.items() if told[2] in groups}


def processes() -> list[Path]:
    """All that have not ended."""
    return [process for process in Path("/proc").glob("[0-9]*") if stat(process)[0] not in "XZ"]


def stat(process: Path) -> list[str]:
    """Its state, the process that made it, its group, and so on (proc(5), from field 3 on)."""
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["X", "", "", *["0"] * 9]


def test_without_a_kernel_one_line_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("ufsim.linux.session.newest", lambda: tmp_path / "nothing")
    with pytest.raises(ufsim.ConfigError, match="no kernel is there; make linux builds it"):
        linux.run(job(tmp_path, "true"), "ufs", profile="tiny")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--scheme", "hpb", "--", "true"], "but amphibian, with none, hpb-linux, foam, hpbvalve or hp-ufs"),
        (["--fs", "xfs", "--", "true"], 'fs = "xfs": must be one of f2fs, ext4, none'),
        (
            ["--scheme", "hp-ufs", "--set", "scheme.hp-ufs.write_after_entries=100", "--", "true"],
            'scheme.hp-ufs.write_after_entries = 100: must be "asked" with ufsim linux',
        ),
        ([], "one of a command after --, --script FILE and --shell must be given"),
        (["--shell", "--", "true"], "one of a command after --, --script FILE and --shell must be given"),
        (["--shell", "--json"], "--shell is for one scheme, and without --json"),
        (["--shell", "--cuts", "3"], "--shell and cuts exclude each other"),
        (["--memory", "1", "--", "true"], "memory = 1: must be 256..=16384 MiB"),
        (["--cpu-cost", "many", "--", "true"], "--cpu-cost is 'many'; allowed: SYSCALL_NS,REGISTER_NS,PAGE_NS"),
        (["--cut-at", "1 day", "--", "true"], "--cut-at is '1 day'; allowed: TURN from 1 on, such as 120, or a time"),
        (["--cut-at", "0", "--", "true"], "--cut-at is '0'"),
        (["--cut-at", "9" * 23, "--", "true"], "--cut-at is '9999"),
        (["--cut-at", "1s", "--record", "cuts.json", "--", "true"], "--record has no effect with a time as --cut-at"),
        (["--cuts", "-1", "--", "true"], "--cuts is -1; allowed: at least 1"),
        (["--every-cut", "--console", "console.txt", "--", "true"], "--console has no effect with power cuts"),
        (["--every-cut", "--no-cache", "--", "true"], "--no-cache has no effect with power cuts"),
        (["--folder", "/", "--", "true"], "folder = '/': must be a folder with a name"),
        (["--cuts", "3", "--every-cut", "--", "true"], "--cuts, --cut-at and --every-cut exclude each other"),
        (["--check", "x", "--", "true"], "--check has no effect without --cuts, --cut-at or --every-cut"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(capsys, arguments, told):
    assert execute(["linux", *arguments]) in (1, 2)
    assert told in capsys.readouterr().err


@pytest.mark.usefixtures("kernel_with_all")
def test_the_command_line_gives_job_device_and_guest(capsys, tmp_path):
    file = script(tmp_path, "hello\n", "words")
    assert execute(["linux", "--profile", "tiny", "--json", "--", "cat", str(file)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["job"]["stdout"] == "hello\n"
    assert told["guest"]["ended"] == "halted"
    assert set(told["guest"]["digests"]) >= {"linux", "busybox", "fio", "sqlite3"}
    assert told["device"]["scheme"] == "hpb-linux"


def test_archives_are_what_cpio_reads(tmp_path):
    entries = [cpio.directory("a"), cpio.file("a/b", b"content"), cpio.link("c", "a/b")]
    (tmp_path / "x.cpio").write_bytes(cpio.archive(entries))
    subprocess.run(["busybox", "cpio", "-idm", "-F", "x.cpio"], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "c").read_text() == "content"
