# Writes files and their sums, and makes them durable. The console tells which are.
set -e
i=0
while [ $i -lt 30 ]; do
    i=$((i + 1))
    dd if=/dev/urandom of="file$i" bs=4k count=$((i % 5 + 1)) conv=fsync 2> /dev/null
    md5sum "file$i" | dd of="sum$i" conv=fsync 2> /dev/null
    echo "durable $i" > /dev/kmsg
done
