"""Life and death of the driver of HP-UFS in the kernel: the device is reset, goes to sleep, and the driver goes and comes.

`make test-linux` takes longer. With `make linux CHECKS=1` the kernel looks at its locks and at its memory meanwhile.
"""

import re

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
ROUNDS, RESETS = (50, 100) if LONG else (4, 5)
SCHEMES = ("hp-ufs", "hpb-linux", "hpbvalve", "ufs")


def sent(trace: str) -> list[tuple[str, int, int]]:
    """Reads and writes as the driver has sent them: kind, first sector, bytes."""
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
    # Times of completion are those of the log's order; commands are sent in the order of their arrival.
    rows = rows[rows.kind.isin(["read", "write"])].sort_values("arrival_ns", kind="stable")
    logged = [(row.kind, row.sector, row.bytes) for row in rows.itertuples()]
    assert sorted(logged) == sorted(sent(run.trace)[: len(logged)])
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
    cat /sys/kernel/debug/kmemleak
fi
"""
    run = linux.run(job(tmp_path, text), scheme, profile="tiny")
    assert run.status == 0, run.stdout + run.console
    before, after = (int(kib) for kib in re.findall(r"(?m)^(\d+) kB$", run.stdout))
    # A unit of HP-UFS takes 100 KiB and more, a host of ufshcd 40. Some pages hold what else was freed.
    assert before - after < ROUNDS * 16 + 128, run.stdout
    assert "unreferenced object" not in run.stdout
    assert run.controller["power_cycles"] == ROUNDS + 1
    assert not complaints(run.console)


@pytest.mark.parametrize("level", range(6))
@pytest.mark.parametrize("scheme", ["hp-ufs", "hpb-linux"])
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
