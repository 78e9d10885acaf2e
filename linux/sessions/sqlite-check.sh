# What sqlite.sh must find after a power cut: every transaction that had returned, at most one more, none in part.
for mode in wal delete; do
    [ -e $mode.db ] || continue
    whole=$(sqlite3 $mode.db "pragma integrity_check")
    [ "$whole" = ok ] || { echo "$mode.db: $whole"; exit 1; }
    last=$(sed -n "s/.*durable $mode \([0-9]*\)$/\1/p" "$BEFORE" | tail -n 1)
    [ -n "$last" ] || continue
    found=$(sqlite3 $mode.db "select count(*), max(n), (select sum(balance) from account) from done")
    [ "$found" = "$last|$last|5000" ] || [ "$found" = "$((last + 1))|$((last + 1))|5000" ] || {
        echo "$mode.db: $last transactions had returned; count, last and sum are $found"
        exit 1
    }
done
