#!/usr/bin/env bash
# Records the bundled sample trace: real software on F2FS in a virtual Debian machine, traced by blktrace inside it.
#
#   sudo tools/sample/record.sh OUTPUT_DIRECTORY [WORK_DIRECTORY]
#
# Runs on Debian 12 with the packages qemu-system-x86, mmdebstrap and e2fsprogs, as root (mmdebstrap), with network for
# Debian's packages and about 6 GB free in WORK_DIRECTORY (default: a temporary directory). The virtual machine makes
# the recording the same everywhere: kernel, file system and tools come from Debian, and no tracing right is needed
# outside. It is emulated (no KVM), which takes about five minutes. Writes OUTPUT_DIRECTORY/trace.N.gz, one per virtual
# CPU, and versions.txt. Every run gives another recording: the times are those of the machine.
set -euo pipefail

out=${1:?usage: record.sh OUTPUT_DIRECTORY [WORK_DIRECTORY]}
work=${2:-$(mktemp -d)}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out" "$work"
out=$(cd "$out" && pwd)

if [ ! -e "$work/root.img" ]; then
    rm -rf "$work/root"
    mmdebstrap --variant=minbase \
        --include=linux-image-amd64,initramfs-tools,kmod,udev,dmsetup \
        --include=f2fs-tools,blktrace,python3-minimal,libpython3-stdlib \
        bookworm "$work/root" http://deb.debian.org/debian
    (cd "$work/root/var/cache" && chroot "$work/root" sh -c \
        'apt-get update -q && cd /var/cache && apt-get download -q perl-modules-5.36 \
            && mv perl-modules-5.36_*.deb package.deb')
    cp "$work"/root/boot/vmlinuz-* "$work/vmlinuz"
    cp "$work"/root/boot/initrd.img-* "$work/initrd"
    truncate -s 2G "$work/root.img"
    mke2fs -q -t ext4 -d "$work/root" "$work/root.img"
    rm -rf "$work/root"
fi
# At every run, so that a work directory can be kept while the scripts change.
debugfs -w -f /dev/stdin "$work/root.img" <<END
rm /usr/sbin/record
rm /usr/lib/workload.py
write $here/guest.sh /usr/sbin/record
write $here/workload.py /usr/lib/workload.py
set_inode_field /usr/sbin/record mode 0100755
END

# vdb is the traced disk, vdc takes the recording out of the machine as a tar file.
rm -f "$work/disk.img" "$work/result.img"
truncate -s 64G "$work/disk.img"
truncate -s 64M "$work/result.img"
qemu-system-x86_64 -accel tcg,thread=multi -smp 2 -m 1G -nographic -no-reboot -nic none \
    -kernel "$work/vmlinuz" -initrd "$work/initrd" \
    -append "root=/dev/vda rw console=ttyS0 quiet init=/usr/sbin/record" \
    -drive "file=$work/root.img,format=raw,if=virtio,snapshot=on" \
    -drive "file=$work/disk.img,format=raw,if=virtio,cache=none,discard=unmap" \
    -drive "file=$work/result.img,format=raw,if=virtio"

rm -rf "$work/result"
mkdir "$work/result"
tar -xf "$work/result.img" -C "$work/result"
rm -f "$out"/trace.*
for file in "$work"/result/trace.blktrace.*; do
    gzip -9 -n -c "$file" >"$out/trace.${file##*.}.gz"
done
cp "$work/result/versions.txt" "$out/versions.txt"
rm -f "$work/disk.img"
ls -l "$out"
