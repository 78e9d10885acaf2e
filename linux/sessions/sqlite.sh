# Transactions of SQLite in both kinds of journal. The console tells which have returned: they are durable.
# Not synchronous=full: with that, the end of a journal that is deleted is not durable when the statement returns.
set -e
for mode in wal delete; do
    {
        echo "pragma journal_mode=$mode; pragma synchronous=extra; begin;"
        echo "create table account(id integer primary key, balance integer, note blob); create table done(n integer);"
        echo "insert into account select value, 100, randomblob(300) from generate_series(1, 50); commit;"
        n=0
        while [ $n -lt 40 ]; do
            n=$((n + 1))
            echo "begin; update account set balance = balance - $n where id = $((n * 7 % 50 + 1));"
            echo "update account set balance = balance + $n where id = $((n * 11 % 50 + 1));"
            echo "insert into done values ($n); commit;"
            echo ".once /dev/kmsg"
            echo "select 'durable $mode $n';"
        done
    } > /tmp/$mode.sql
    sqlite3 $mode.db < /tmp/$mode.sql > /dev/null
done
