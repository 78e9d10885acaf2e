"""Life and death of the HP-UFS driver of the kernel: the device is reset and sleeps, and the driver goes and comes.

`make test-linux` takes longer. With `make linux CHECKS=1` the kernel looks at its locks and at its memory meanwhile.
"""

import re
from collections import Counter
from itertools import product

import pandas as pd
import pytest

from test_linux import LONG, complaints, job, kernel  # noqa: F401
from ufsim import linux
from ufsim.observe import Observed

FIO = "fio --clocksource=clock_gettime --name=v --filename=/dev/sda --direct=1 --ioengine=libaio --iodepth=8"
VERIFIED = f"{FIO} --rw=randwrite --bs=4k --size=16m --verify=crc32c --verify_fatal=1 --verify_backlog=0"
WRITE, READ = f"{VERIFIED} --do_verify=0", f"{VERIFIED} --verify_only"
#: A reset of the controller, and with it of the device.
RESET = "echo 0x10000 > /sys/kernel/debug/ufshcd/ufsim/saved_err"
DRIVER = "/sys/bus/platform/drivers/ufsim"
#: The driver goes and comes, and the disk with it.
AGAIN = f"""\
again() {{
    echo ufsim > {DRIVER}/unbind || exit 2
    [ -e /sys/block/sda ] && exit 3
    echo ufsim > {DRIVER}/bind || exit 4
    until [ -b /dev/sda ]; do sleep 0.01; done
}}
"""
ROUNDS, RESETS = (50, 100) if LONG else (2, 5)
SCHEMES = ("hp-ufs", "hpb-linux", "hpbvalve", "ufs")


def sent(trace: str) -> list[tuple[str, int, int]]:
    """Reads and writes as the driver has sent them: kind, first block of 4 KiB, bytes."""
    found = re.findall(r"ufshcd_command: send_req: .* size: (\d+), IS: \d+, LBA: (\d+), opcode: 0x(28|2a)", trace)
    return [("read" if code == "28" else "write", int(lba), int(size)) for size, lba, code in found]


@pytest.mark.parametrize("scheme", ["hp-ufs", "ufs"])
def test_a_log_goes_on_after_a_reset_of_the_device(tmp_path, scheme):
    text = f"""\
echo 1 > /sys/module/ufsim/parameters/device_reset
{VERIFIED} --sync=1 --io_size={RESETS}m --norandommap --randrepeat=1 > /tmp/fio 2>&1 &
while kill -0 $! 2> /dev/null; do usleep 50000; {RESET}; done
wait $! || {{ cat /tmp/fio; exit 1; }}
"""
    log, series = tmp_path / "log.parquet", tmp_path / "series.parquet"
    observed = Observed(log=log, series=series, step="100ms")
    run = linux.run(job(tmp_path, text, trace=True), scheme, profile="tiny", observed=observed)
    assert run.status == 0, run.stdout + run.console
    cycles = run.controller["power_cycles"]
    assert cycles >= RESETS
    rows = pd.read_parquet(log)
    rows = rows[rows.kind.isin(["read", "write"])]
    logged = Counter((row.kind, row.sector // 8, row.bytes) for row in rows.itertuples())
    traced = Counter(sent(run.trace))
    assert not logged - traced
    # After a reset the unit answers one command by telling of that. Its own commands are HP-UFS's first.
    assert (traced - logged).total() <= (0 if scheme == "hp-ufs" else cycles)
    assert rows.failed.sum() > 0
    # The device has counted from 0 again after each reset, and the result has all of it.
    counted = run.result.counters["device"]
    rows_of_series = pd.read_parquet(series)
    assert rows_of_series.host_units_written.sum() == counted["host_units_written"]
    assert counted["host_units_written"] >= rows[(rows.kind == "write") & ~rows.failed].bytes.sum() // 4096
    if scheme == "hp-ufs":
        # Two resets in a row are one to it, if the first did not come to its end.
        assert cycles / 2 < run.hp_ufs_stats["rebuilds"] <= cycles
        assert run.hp_ufs_stats["faults"] == 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_driver_goes_and_comes(tmp_path, scheme):
    free = "echo 3 > /proc/sys/vm/drop_caches; sleep 1; sed -n 's/MemFree: *//p' /proc/meminfo"
    text = f"""\
{AGAIN}
{WRITE} > /tmp/fio 2>&1 || exit 1
again
{free}
for round in $(seq {ROUNDS}); do
    {READ} > /tmp/fio 2>&1 || {{ cat /tmp/fio; exit 5; }}
    {WRITE} > /tmp/fio 2>&1 || exit 6
    again
done
{free}
if [ -e /sys/kernel/debug/kmemleak ]; then
    echo scan > /sys/kernel/debug/kmemleak; sleep 6; echo scan > /sys/kernel/debug/kmemleak
    cat /sys/kernel/debug/kmemleak; echo scanned
fi
"""
    run = linux.run(job(tmp_path, text), scheme, profile="tiny")
    assert run.status == 0, run.stdout + run.console
    if "scanned" in run.stdout:
        assert "unreferenced object" not in run.stdout
    else:
        # A unit of HP-UFS takes 100 KiB and more, one of HPB 60 in pages that kmemleak does not know, a host of ufshcd
        # 40. Some pages hold what else was freed.
        before, after = (int(kib) for kib in re.findall(r"(?m)^(\d+) kB$", run.stdout))
        assert before - after < ROUNDS * 16 + 128, run.stdout
    assert run.controller["power_cycles"] == ROUNDS + 1
    assert not complaints(run.console)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_driver_goes_while_it_looks_for_its_units(tmp_path, scheme):
    text = f"""\
{AGAIN}
{WRITE} > /tmp/fio 2>&1 || exit 1
for round in $(seq 0 {ROUNDS * 5}); do
    echo ufsim > {DRIVER}/unbind || exit 2
    echo ufsim > {DRIVER}/bind || exit 3
    usleep $((round * {2000 // ROUNDS}))
done
again
{READ} > /tmp/fio 2>&1 || {{ cat /tmp/fio; exit 5; }}
"""
    run = linux.run(job(tmp_path, text), scheme, profile="tiny")
    assert run.status == 0, run.stdout + run.console
    assert not complaints(run.console)


@pytest.mark.parametrize(
    ("scheme", "profile", "scheduler", "settings", "file"),
    [
        ("hpbvalve", "tiny", None, {"scheme.hpbvalve.profile_apps": 7}, "device/hpbvalve/profile_apps"),
        ("dftl", "emmc-map-plus", "map-plus", {"scheme.map-plus.queue": 77}, "queue/iosched/queue"),
    ],
)
def test_a_disk_that_comes_again_can_be_set_again(tmp_path, scheme, profile, scheduler, settings, file):
    text = f"""\
{AGAIN}
cat /sys/block/sda/{file}
again
cat /sys/block/sda/{file} 2> /dev/null || echo gone
set-disk || exit 1
cat /sys/block/sda/{file}
"""
    run = linux.run(job(tmp_path, text), scheme, profile=profile, scheduler=scheduler, settings=settings)
    assert run.status == 0, run.stdout + run.console
    before, between, after = run.stdout.split()
    assert before == after == str(next(iter(settings.values()))) != between


# Levels of runtime power management (rpm_lvl): the default, and the one at which the device loses its power.
LEVELS = range(6) if LONG else (3, 5)


# The last one is for kernels without HPB.
@pytest.mark.parametrize(("scheme", "level"), [*product(("hp-ufs", "hpb-linux"), LEVELS), ("ufs", 5)])
def test_the_device_sleeps_and_wakes(tmp_path, scheme, level):
    text = f"""\
ufs=/sys/bus/platform/devices/ufsim
echo {level} > $ufs/rpm_lvl || exit 2
for unit in /sys/class/scsi_device/*/device; do
    echo 100 > $unit/power/autosuspend_delay_ms
    echo auto > $unit/power/control
done
{WRITE} > /tmp/fio 2>&1 || exit 1
for round in $(seq {ROUNDS}); do
    sleep 3
    cat $ufs/power/runtime_status
    {READ} > /tmp/fio 2>&1 || {{ cat /tmp/fio; exit 3; }}
    {WRITE} > /tmp/fio 2>&1 || exit 4
done
{READ} > /tmp/fio 2>&1 || exit 5
for unit in /sys/class/scsi_device/*/device; do echo on > $unit/power/control; done
"""
    run = linux.run(job(tmp_path, text), scheme, profile="tiny")
    assert run.status == 0, run.stdout + run.console
    assert run.stdout.split() == ["suspended"] * ROUNDS
    # Only at the last level the device loses its power.
    assert run.controller["power_cycles"] >= ROUNDS if level == 5 else run.controller["power_cycles"] == 0
    if scheme == "hp-ufs":
        assert run.hp_ufs_stats["rebuilds"] == run.controller["power_cycles"]
        assert run.hp_ufs_stats["faults"] == 0
    assert not complaints(run.console)


@pytest.mark.parametrize("kind", ["failslab", "fail_page_alloc"])
@pytest.mark.parametrize("scheme", SCHEMES[:3])
def test_a_kernel_that_is_refused_memory_goes_on(tmp_path, scheme, kind):
    """Only a kernel of `make linux CHECKS=1` can be refused memory."""
    text = f"""\
fail=/sys/kernel/debug/{kind}
[ -e $fail ] || {{ echo none; exit 0; }}
{AGAIN}
echo -1 > $fail/times; echo 0 > $fail/verbose
# What may wait for memory is not refused: all else goes on without, and nothing may fail for it.
{WRITE} > /tmp/fio 2>&1 || exit 1
echo 10 > $fail/probability
{READ} > /tmp/fio 2>&1; read=$?
{WRITE} > /tmp/fio 2>&1; write=$?
echo 0 > $fail/probability
[ $read = 0 ] && [ $write = 0 ] || {{ cat /tmp/fio; exit 5; }}
# Whatever a driver that comes asks for is refused at some time. It comes, or it does not, and then it comes again.
echo Y > $fail/task-filter; echo N > $fail/ignore-gfp-wait
[ -e $fail/min-order ] && echo 0 > $fail/min-order
echo 1 > $fail/interval; echo 100 > $fail/probability
refused=0
for n in $(seq 0 {400 if LONG else 40}); do
    echo ufsim > {DRIVER}/unbind
    echo $((n * {300 if kind == "failslab" else 1})) > $fail/space
    echo 1 > $fail/times; echo 1 > /proc/self/make-it-fail
    echo ufsim > {DRIVER}/bind 2> /dev/null || refused=$((refused + 1))
    echo 0 > /proc/self/make-it-fail
    echo 0 > $fail/times
    [ -e {DRIVER}/ufsim ] || echo ufsim > {DRIVER}/bind || exit 6
    until [ -b /dev/sda ]; do sleep 0.01; done
done
echo "refused $refused"
{READ} > /tmp/fio 2>&1 || {{ cat /tmp/fio; exit 7; }}
"""
    run = linux.run(job(tmp_path, text), scheme, profile="tiny")
    if run.stdout == "none\n":
        pytest.skip("this kernel cannot be refused memory: make linux CHECKS=1")
    assert run.status == 0, run.stdout + run.console
    assert int(run.stdout.removeprefix("refused ")) > 0
    assert not complaints(run.console)


@pytest.mark.parametrize("kind", ["failslab", "fail_page_alloc"])
def test_a_scheduler_that_is_refused_memory_goes_on(tmp_path, kind):
    """Its notices and queries are lost, or it does not come; requests are not. `make linux CHECKS=1`, too."""
    deep = "--iodepth=64 --iodepth_batch_submit=32 --iodepth_batch_complete_min=32"
    write, read = WRITE.replace("--iodepth=8", deep), READ.replace("--iodepth=8", deep)
    # Bytes, or pages, that are more than all that is refused here.
    most, rounds = 8000 if kind == "failslab" else 150, 300 if LONG else 60
    text = f"""\
fail=/sys/kernel/debug/{kind}
queue=/sys/block/sda/queue
[ -e $fail ] || {{ echo none; exit 0; }}
echo -1 > $fail/times; echo 0 > $fail/verbose
[ -e $fail/min-order ] && echo 0 > $fail/min-order
# What may wait for memory is not refused.
echo 30 > $fail/probability
echo 100 > $queue/iosched/poll_requests
for knowledge in lru poll; do
    echo $knowledge > $queue/iosched/cache_knowledge
    {write} > /tmp/fio 2>&1; write=$?
    {read} > /tmp/fio 2>&1; read=$?
    [ $read = 0 ] && [ $write = 0 ] || {{ echo 0 > $fail/probability; cat /tmp/fio; exit 5; }}
done
echo 0 > $fail/probability
cat $queue/iosched/notices $queue/iosched/notices_lost $queue/iosched/queries
# Under load the scheduler comes and gets another cache, and from some allocation on one or all of these are refused.
(until [ -e /tmp/end ]; do {read} > /tmp/fio 2>&1 || exit 1; done) &
load=$!
echo Y > $fail/task-filter; echo N > $fail/ignore-gfp-wait
echo 1 > $fail/interval; echo 100 > $fail/probability
refused=0
for n in $(seq 0 {rounds}); do
    echo none > $queue/scheduler || exit 6
    echo $((n / 2 * {2 * most // rounds})) > $fail/space
    [ $((n % 2)) = 0 ] && times=1 || times=-1
    (echo 1 > /proc/self/make-it-fail; echo $times > $fail/times; echo map-plus > $queue/scheduler) 2> /dev/null ||
        refused=$((refused + 1))
    echo 0 > $fail/times
    echo map-plus > $queue/scheduler || exit 7
    (echo 1 > /proc/self/make-it-fail; echo $times > $fail/times; echo 4096 > $queue/iosched/cache_entries) 2> /dev/null
    echo 0 > $fail/times
    grep -q "\\[map-plus\\]" $queue/scheduler || exit 8
done
touch /tmp/end
wait $load || {{ cat /tmp/fio; exit 9; }}
echo "$refused"
"""
    run = linux.run(job(tmp_path, text), "dftl", profile="emmc-map-plus", scheduler="map-plus")
    if run.stdout == "none\n":
        pytest.skip("this kernel cannot be refused memory: make linux CHECKS=1")
    assert run.status == 0, run.stdout + run.console
    notices, lost, queries, refused = (int(word) for word in run.stdout.split())
    assert min(notices, queries, refused) > 0
    assert lost > 0 or kind == "fail_page_alloc"
    assert not complaints(run.console)
