"""Several logical units: Linux finds a disk for each, and what it does with one reaches no other.

Without the kernel (`make linux`) these tests are skipped, and on CI they fail.
"""

from pathlib import Path

import pytest

import ufsim
from test_linux import kernel  # noqa: F401
from tools.hosts import hpb
from ufsim import linux
from ufsim.linux import cuts
from ufsim.spec import Spec

#: Of 128 MiB, with HPB regions of 32 MiB.
UNITS = {"device.further_lus_mib": "32,32"}
MIB = {"sda": 64, "sdb": 32, "sdc": 32}


def job(tmp_path: Path, text: str, fs: str = "none") -> linux.Job:
    path = tmp_path / "job.sh"
    path.write_text(text)
    return linux.Job(script=path, fs=fs, memory_mib=256)


#: Other data on each disk, written at once; then all of it is read back, and a part of one disk is discarded.
APART = """\
for disk in sda sdb sdc; do
    dd if=/dev/urandom of=/tmp/$disk bs=1M count=6 2> /dev/null
    dd if=/tmp/$disk of=/dev/$disk bs=64k oflag=direct 2> /dev/null &
done
wait
blkdiscard -o 1048576 -l 1048576 /dev/sdb
dd if=/dev/zero of=/tmp/sdb bs=1M seek=1 count=1 conv=notrunc 2> /dev/null
for disk in sda sdb sdc; do
    echo $disk $(cat /sys/block/$disk/size) $(readlink /sys/block/$disk/device | sed 's/.*://') \\
        $(dd if=/dev/$disk bs=64k count=96 iflag=direct 2> /dev/null | cmp - /tmp/$disk && echo same)
done
dd if=/dev/sdb bs=1M skip=31 iflag=direct 2> /dev/null | wc -c
"""


@pytest.mark.parametrize(("scheme", "profile"), [("ufs", "tiny"), ("dftl", "tiny"), ("hpb-linux", "tiny")])
def test_the_kernel_finds_a_disk_for_each_unit(tmp_path, scheme, profile):
    run = linux.run(job(tmp_path, APART), scheme, profile=profile, settings=UNITS)
    assert run.status == 0, run.stderr
    *disks, last = run.stdout.splitlines()
    units = {name: [str(mib * 2048), str(lun), "same"] for lun, (name, mib) in enumerate(MIB.items())}
    assert {line.split()[0]: line.split()[1:] for line in disks} == units
    assert last == str(1 << 20), "the disk ends where the unit does"


#: Reads of two disks, of which the HPB driver of each finds some worth its memory: it looks every 200 ms.
READS = """\
for disk in sda sdb; do
    dd if=/dev/zero of=/dev/$disk bs=1M count=16 oflag=direct 2> /dev/null
done
for turn in 1 2 3; do
    i=0
    while [ $i -lt 20 ]; do
        for disk in sda sdb; do
            dd if=/dev/$disk of=/dev/null bs=4k skip=$((i * 1037 % 4000)) count=8 iflag=direct 2> /dev/null
        done
        i=$((i + 1))
    done
    sleep 0.3
done
for disk in sda sdb sdc; do
    cat /sys/block/$disk/device/hpb_stats/map_req_cnt /sys/block/$disk/device/hpb_stats/hit_cnt
done
"""


def test_hpb_works_for_each_unit(tmp_path):
    run = linux.run(job(tmp_path, READS), "hpb-linux", profile="tiny", settings=hpb.SETTINGS | UNITS)
    assert run.status == 0, run.stderr
    fetched_a, hits_a, fetched_b, hits_b, fetched_c, hits_c = map(int, run.stdout.split())
    assert (fetched_a, fetched_b, fetched_c, hits_c) == (1, 1, 0, 0)
    device = run.result.counters["device"]
    assert min(hits_a, hits_b) > 100
    assert 200 < device["host_entries_used"] <= hits_a + hits_b == run.hpb_stats["hit_cnt"]
    assert device["host_entries_refused"] == device["host_entries_wrong"] == 0


#: Which unit the kernel has found to have the buffer, whether it is on, and its room after each disk was written.
BOOSTED = """\
cd /sys/bus/platform/devices/ufsim
cat device_descriptor/wb_type /sys/block/sd?/device/unit_descriptor/wb_buf_alloc_units wb_on flags/wb_enable
echo 0 > enable_wb_buf_flush
for disk in sda sdb sdc; do
    dd if=/dev/zero of=/dev/$disk bs=1M count=4 oflag=direct 2> /dev/null
    cat attributes/wb_avail_buf
done
"""


def test_write_booster_is_for_the_unit_that_has_it(tmp_path):
    boosted = {"slc.superblocks": 40, "slc.write_booster": True, "slc.dedicated_lu": 1}
    run = linux.run(job(tmp_path, BOOSTED), "ufs", profile="tiny", settings=UNITS | boosted)
    assert run.status == 0, run.stderr
    kind, *sizes, on, enabled, after_a, after_b, after_c = run.stdout.split()
    assert (kind, on, enabled) == ("0x00", "1", "true")
    assert [int(size, 16) > 0 for size in sizes] == [False, True, False]
    room = [int(tenths, 16) for tenths in (after_a, after_b, after_c)]
    assert room[0] == 10 and room[1] == room[2] < 8
    assert run.result.counters["device"]["slc_units_programmed"] == 1024


#: Every block of each disk names its disk and its place.
WRITER = """\
i=0
while [ $i -lt 30 ]; do
    i=$((i + 1))
    echo "sda $i" | dd of="file$i" bs=4k conv=sync,fsync 2> /dev/null
    for disk in sdb sdc; do
        echo "$disk $i" | dd of=/dev/$disk bs=4k seek=$i conv=sync,fsync 2> /dev/null
    done
    echo "durable $i" > /dev/kmsg
done
"""
FOUND = """\
for i in $(sed -n 's/.*durable \\([0-9]*\\)$/\\1/p' "$BEFORE"); do
    [ "$(head -n 1 "file$i")" = "sda $i" ] || exit 1
    for disk in sdb sdc; do
        [ "$(dd if=/dev/$disk bs=4k skip=$i count=1 2> /dev/null | head -n 1)" = "$disk $i" ] || exit 1
    done
done
"""


def test_what_was_durable_on_each_disk_is_there_after_a_power_cut(tmp_path):
    check = tmp_path / "check.sh"
    check.write_text(FOUND)
    spec = Spec(workload="linux", scheme="ufs", profile="tiny", settings=UNITS)
    session = cuts.Cutting(job(tmp_path, WRITER, fs="f2fs"), spec, check)
    asked = cuts.drawn(4, session.turns(), seed=1)
    found = session.cuts(asked, lambda _: None, jobs=2)
    assert [(one.turn, one.found) for one in found] == [(turn, "whole") for turn in asked]


@pytest.mark.parametrize("scheme", ["hp-ufs", "foam", "hpbvalve"])
def test_drivers_of_one_unit_refuse_several(tmp_path, scheme):
    with pytest.raises(ufsim.ConfigError, match=rf'"{scheme}": device.further_lus_mib = \[32, 32\]: must be 0'):
        linux.run(job(tmp_path, "true"), scheme, profile="tiny", settings=UNITS)
