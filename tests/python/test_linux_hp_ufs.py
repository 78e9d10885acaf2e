"""HP-UFS with its host in the kernel. Data is verified by fio, and by the oracle of the device.

`make test-linux` takes longer: more resets, more power cuts.
"""

import json

import pytest

from test_linux import CUT, LONG, WRITER, job, kernel, kernel_with_all, script  # noqa: F401
from tools.hosts import hp_ufs
from ufsim import linux
from ufsim.cli.app import execute

FIO = "fio --clocksource=clock_gettime --name=v --filename=/dev/sda --direct=1 --ioengine=libaio --iodepth=16"
#: Random writes of several sizes, and then what was written.
VERIFIED = f"{FIO} --rw=randwrite --bsrange=4k-32k --blockalign=4k --verify=crc32c --do_verify=1 --verify_fatal=1"
STATS = "/sys/block/sda/device/hp_ufs_stats"
RESETS, CUTS = (100, 100) if LONG else (10, 3)


def test_the_host_keeps_the_mapping_and_names_what_is_collected(tmp_path):
    text = f"{FIO} --rw=randwrite --bs=4k --size=100% --io_size=256m --norandommap && {VERIFIED} --io_size=32m"
    run = linux.run(job(tmp_path, text), "hp-ufs", profile="tiny")
    assert run.status == 0, run.stdout + run.console
    host, device = run.hp_ufs_stats, run.result.counters["device"]
    # The host has chosen every victim, and nothing was searched on flash.
    assert device["gc_victims"] > 20
    # One more may be on its way at the end.
    assert device["gc_victims"] <= host["bitmaps_sent"] - host["bitmaps_refused"] <= device["gc_victims"] + 1
    assert device["search_segment_reads"] == device["segment_hits"] == device["segment_misses"] == 0
    # Both count the same exchange.
    assert host["segment_writebacks"] - 1 <= device["segment_writebacks"] <= host["segment_writebacks"]
    assert host["entries_received"] == device["entries_piggybacked"] + device["entries_transferred"]
    assert host["host_seq"] == host["units_applied"] + host["units_discarded"]
    assert device["host_units_written"] + device["gc_units_programmed"] == host["host_seq"]
    assert device["host_entries_wrong"] == 0
    assert host["faults"] == host["resyncs"] == 0


def test_a_cache_of_a_few_segments_loads_and_writes_back(tmp_path):
    params = "/sys/block/sda/device/hp_ufs_params/cache_kib"
    text = f"echo 7 > {params} 2> /dev/null && exit 9\necho 16 > {params}\n{VERIFIED} --size=100% --io_size=24m"
    run = linux.run(job(tmp_path, text), "hp-ufs", profile="tiny")
    assert run.status == 0, run.stdout + run.console
    host = run.hp_ufs_stats
    assert host["dram_bytes"] <= 16 * 1024
    assert host["segment_writebacks_evict"] > 100
    assert host["misses"] > 100
    assert run.result.counters["device"]["host_entries_wrong"] == 0


def test_memory_is_given_back(tmp_path):
    text = f"{FIO} --rw=read --bs=128k --size=64m && cat {STATS}/dram_bytes && echo 2 > /proc/sys/vm/drop_caches"
    run = linux.run(job(tmp_path, f"{text} && cat {STATS}/dram_bytes"), "hp-ufs", profile="tiny")
    assert run.status == 0, run.stdout + run.console
    before, after = (int(line) for line in run.stdout.splitlines() if line.isdigit())
    assert (before, after) == (16 * 4096, 0)
    assert run.hp_ufs_stats["segments_dropped"] == 16


def test_a_reset_loses_nothing(tmp_path):
    text = f"""\
{VERIFIED} --size=100% --io_size={RESETS}m > /tmp/fio 2>&1 &
while kill -0 $! 2> /dev/null; do
    usleep 30000
    echo 0x10000 > /sys/kernel/debug/ufshcd/ufsim/saved_err
done
wait $! || exit 1
dmesg | grep "I/O error" || true
"""
    run = linux.run(job(tmp_path, text), "hp-ufs", profile="tiny")
    assert (run.status, run.stdout) == (0, ""), run.console
    assert run.controller["resets"] >= RESETS
    # Two resets may come before the device has been asked once.
    assert RESETS / 2 < run.hp_ufs_stats["resyncs"] <= run.controller["resets"]
    assert run.hp_ufs_stats["faults"] == 0


@pytest.mark.usefixtures("kernel_with_all")
@pytest.mark.parametrize("fs", ["f2fs", "ext4"])
def test_a_power_cut_loses_nothing(capsys, tmp_path, fs):
    files = ["--script", str(script(tmp_path, WRITER)), "--check", str(CUT / "writer-check.sh")]
    arguments = ["linux", "--profile", "tiny", "--scheme", "hp-ufs", "--fs", fs, "--cuts", str(CUTS), "--json"]
    assert execute([*arguments, *files]) == 0
    assert [one["found"] for one in json.loads(capsys.readouterr().out)["hp-ufs"]] == ["whole"] * CUTS


def test_kernel_and_model_do_the_same_for_the_same_requests():
    found = {row["counter"]: (row["kernel"], row["model"]) for row in hp_ufs.counted()}
    (reads, same_reads), (loads, same_loads) = found["mapped_reads"], found["segment_reads"]
    # One read of the partition table, and a look at all 32 segments when the device was switched on, as it is new.
    assert (reads - 1, loads - 32) == (same_reads, same_loads)
    # The model's host looks at no clock, so its requests are a little earlier, and GC finds other pages.
    ours, theirs = ([kind[n] for kind in (found["segment_writebacks"], found["attests"])] for n in (0, 1))
    assert sum(ours) == pytest.approx(sum(theirs), rel=0.05)
    victims = [sent - refused for sent, refused in zip(found["bitmaps_sent"], found["bitmaps_refused"], strict=True)]
    assert victims[0] == pytest.approx(victims[1], rel=0.05)
    assert found["units_applied"][0] == pytest.approx(found["units_applied"][1], rel=0.02)
    # A trace's requests do not come because others have ended: then fewer victims are offered without need.
    job = hp_ufs.by_own_fio()
    for name in ("bitmaps_sent", "bitmaps_refused"):
        assert found[name][0] == pytest.approx(job[name], rel=0.05), name


@pytest.mark.usefixtures("kernel_with_all")
def test_schemes_are_compared(capsys):
    arguments = ["linux", "--profile", "tiny", "--schemes", "ufs,hpb-linux,hp-ufs", "--fs", "none", "--json"]
    assert execute([*arguments, "--", *FIO.split(), "--rw=randread", "--bs=4k", "--size=4m"]) == 0
    runs = {run["device"]["scheme"]: run["guest"] for run in json.loads(capsys.readouterr().out)}
    assert [bool(runs[name]["hp_ufs_stats"]) for name in ("ufs", "hpb-linux", "hp-ufs")] == [False, False, True]
    assert not runs["hp-ufs"]["hpb_stats"]
