# What writer.sh must find after a power cut: every file that was durable.
for i in $(sed -n 's/.*durable \([0-9]*\)$/\1/p' "$BEFORE"); do
    md5sum -c "sum$i" > /dev/null || exit 1
done
