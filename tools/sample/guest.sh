#!/bin/sh
# The first and only process of the virtual machine that record.sh starts: makes F2FS on a device-mapper volume,
# as phones have it, runs workload.py on it under blktrace, and hands the result out through /dev/vdc.
set -eux
trap 'echo o >/proc/sysrq-trigger; sleep 60' EXIT

export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mounted() { mountpoint -q "$3" || mount -t "$1" "$2" "$3"; }
mounted proc proc /proc
mounted sysfs sys /sys
mounted devtmpfs dev /dev
mounted debugfs debug /sys/kernel/debug
mounted tmpfs tmp /tmp
modprobe -a dm-mod f2fs virtio_blk

disk=/dev/vdb
dmsetup create data --noudevsync --noudevrules --table "0 $(blockdev --getsz $disk) linear $disk 0"
dmsetup mknodes
volume=/dev/mapper/data
mkfs.f2fs -q $volume
mkdir -p /data /tmp/trace
mount -t f2fs -o noatime,nodiscard $volume /data
python3 /usr/lib/workload.py prepare /data
sync
# No discards while it runs, and none left over: the fstrim at the end is what discards, all that the run has freed.
fstrim /data
echo 3 >/proc/sys/vm/drop_caches

node=$(basename "$(readlink -f /sys/dev/block/"$(stat -Lc '%Hr:%Lr' $volume)")")
blktrace -d /dev/"$node" -a queue -a complete -D /tmp/trace -o trace &
tracer=$!
sleep 3
python3 /usr/lib/workload.py run /data /var/cache/package.deb
kill -INT $tracer
wait $tracer || true

cd /tmp/trace
{
    uname -sr
    . /etc/os-release && echo "$PRETTY_NAME"
    python3 -c 'import platform, sqlite3; print("Python", platform.python_version(), "SQLite", sqlite3.sqlite_version)'
    dpkg-query -W f2fs-tools blktrace dpkg
    dpkg-deb -f /var/cache/package.deb Package Version
    grep /data /proc/mounts
} >versions.txt
tar -cf /dev/vdc trace.blktrace.* versions.txt
sync
