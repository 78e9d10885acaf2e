"""The software whose block I/O the bundled sample trace holds: see record.sh.

`prepare MOUNT` fills a fresh file system with a hundred applications' databases, files and allocated, unwritten media;
`run MOUNT DEB` is what is traced: a messenger and a browser on SQLite, settings files, a gallery that reads cold files,
a package that is unpacked, read and half removed, each a process of its own, under memory pressure; then fstrim.
"""

import hashlib
import os
import random
import sqlite3
import subprocess
import sys
import time
from multiprocessing import Process
from pathlib import Path

APPS = 100
MEDIA_BYTES = 500 << 20
SECONDS = 38


def begin(name: str) -> None:
    """Sets the name of this process and waits for the others to have theirs.

    A trace notes a process's name once, at the first event while it runs, be it an interrupt meant for another.
    """
    Path("/proc/self/comm").write_text(name)
    time.sleep(1)


def think(rng: random.Random, mean_ms: float) -> None:
    """Waits as a person or a network does: exponentially distributed."""
    time.sleep(rng.expovariate(1000 / mean_ms))


def blob(rng: random.Random, size: int) -> bytes:
    return rng.randbytes(size)


def write_durably(path: Path, data: bytes) -> None:
    """Replaces a small file as settings are replaced on phones: write, fsync, rename, fsync of the directory."""
    temporary = path.with_suffix(".tmp")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    directory = os.open(path.parent, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def prepare(mount: Path) -> None:
    rng = random.Random(1)
    for number in range(APPS):
        app = mount / f"app{number:02}"
        (app / "files").mkdir(parents=True)
        database = sqlite3.connect(app / "main.db")
        database.execute("pragma journal_mode = wal")
        database.execute("create table item (id integer primary key, key text, time integer, body blob)")
        database.execute("create index item_key on item (key)")
        rows = ((hashlib.md5(str(i).encode()).hexdigest(), i, blob(rng, rng.randint(50, 900))) for i in range(4000))
        with database:
            database.executemany("insert into item (key, time, body) values (?, ?, ?)", rows)
        database.close()
        for i in range(40):
            (app / "files" / f"{i:03}").write_bytes(blob(rng, rng.randint(2_000, 120_000)))
        # Space that music and pictures would take: it spreads the applications over the device.
        with open(app / "media", "wb") as file:
            os.posix_fallocate(file.fileno(), 0, MEDIA_BYTES)


def messenger(mount: Path, end: float) -> None:
    """Small durable transactions and look-ups in one database in WAL mode with automatic checkpoints."""
    begin("messenger")
    rng = random.Random(2)
    database = sqlite3.connect(mount / "app00" / "main.db", isolation_level=None)
    database.execute("pragma synchronous = full")
    database.execute("pragma wal_autocheckpoint = 200")
    while time.monotonic() < end:
        database.execute("begin immediate")
        for _ in range(rng.randint(1, 3)):
            key = hashlib.md5(rng.randbytes(8)).hexdigest()
            body = blob(rng, rng.randint(50, 1500))
            database.execute("insert into item (key, time, body) values (?, ?, ?)", (key, time.time_ns(), body))
        database.execute("update item set time = ? where id = ?", (time.time_ns(), rng.randint(1, 4000)))
        database.execute("commit")
        if rng.random() < 0.3:
            prefix = f"{rng.randrange(256):02x}"
            query = "select body from item where key between ? and ? limit 8"
            database.execute(query, (prefix, prefix + "g")).fetchall()
        think(rng, 60)
    database.execute("pragma wal_checkpoint(truncate)")
    database.close()


def browser(mount: Path, end: float) -> None:
    """A cache of files with its index in a rollback-journal database; old entries are deleted."""
    begin("browser")
    rng = random.Random(3)
    home = mount / "app01"
    cache = home / "cache"
    cache.mkdir(exist_ok=True)
    database = sqlite3.connect(home / "index.db", isolation_level=None)
    database.execute("pragma journal_mode = truncate")
    database.execute("create table if not exists entry (name text primary key, size integer)")
    names: list[str] = []
    while time.monotonic() < end:
        database.execute("begin")
        for _ in range(rng.randint(2, 8)):
            name = hashlib.sha1(rng.randbytes(8)).hexdigest()
            size = rng.randint(1_000, 90_000)
            (cache / name).write_bytes(blob(rng, size))
            database.execute("insert into entry values (?, ?)", (name, size))
            names.append(name)
        while len(names) > 150:
            old = names.pop(rng.randrange(50))
            (cache / old).unlink()
            database.execute("delete from entry where name = ?", (old,))
        database.execute("commit")
        think(rng, 400)
    database.close()


def settings(mount: Path, end: float) -> None:
    """Services of all applications rewriting settings files and logging to small databases."""
    begin("settings")
    rng = random.Random(4)
    while time.monotonic() < end:
        app = mount / f"app{rng.randrange(APPS):02}"
        write_durably(app / "settings.xml", blob(rng, rng.randint(300, 12_000)))
        if rng.random() < 0.5:
            database = sqlite3.connect(app / "main.db")
            with database:
                key = hashlib.md5(rng.randbytes(8)).hexdigest()
                database.execute("insert into item (key, time, body) values (?, 0, ?)", (key, blob(rng, 200)))
            database.close()
        think(rng, 160)


def gallery(mount: Path, end: float) -> None:
    """Reads files and database rows of all applications, most of them cold."""
    begin("gallery")
    rng = random.Random(5)
    while time.monotonic() < end:
        app = mount / f"app{rng.randrange(APPS):02}"
        for _ in range(rng.randint(1, 3)):
            (app / "files" / f"{rng.randrange(40):03}").read_bytes()
        database = sqlite3.connect(app / "main.db")
        for _ in range(4):
            database.execute("select body from item where id = ?", (rng.randint(1, 4000),)).fetchone()
        database.close()
        think(rng, 150)


def memory_pressure(end: float) -> None:
    """Drops clean cached pages now and then, as a phone short of memory does."""
    begin("pressure")
    while time.monotonic() < end:
        time.sleep(6)
        Path("/proc/sys/vm/drop_caches").write_text("3")


def installer(mount: Path, deb: Path) -> None:
    """Unpacks a package, starts it (reads every file), and later removes half of it."""
    begin("installer")
    rng = random.Random(6)
    time.sleep(5)
    target = mount / "installed"
    target.mkdir()
    subprocess.run(["dpkg-deb", "-x", deb, target], check=True)
    subprocess.run(["sync", "-f", target], check=True)
    time.sleep(8)
    Path("/proc/sys/vm/drop_caches").write_text("3")
    files = sorted(path for path in target.rglob("*") if path.is_file() and not path.is_symlink())
    for path in files:
        if rng.random() < 0.6:
            path.read_bytes()
    time.sleep(6)
    for path in files[::2]:
        path.unlink()
    subprocess.run(["sync", "-f", target], check=True)


def run(mount: Path, deb: Path) -> None:
    end = time.monotonic() + SECONDS
    processes = [Process(target=work, args=(mount, end)) for work in (messenger, browser, settings, gallery)]
    processes += [Process(target=memory_pressure, args=(end,)), Process(target=installer, args=(mount, deb))]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    if any(process.exitcode for process in processes):
        sys.exit("a part of the workload failed")
    subprocess.run(["sync", "-f", mount], check=True)
    # Discards what the run has freed, as phones do at night.
    subprocess.run(["fstrim", mount], check=True)


def main() -> None:
    match sys.argv[1:]:
        case ["prepare", mount]:
            prepare(Path(mount))
        case ["run", mount, deb]:
            run(Path(mount), Path(deb))
        case _:
            sys.exit("usage: workload.py prepare MOUNT | run MOUNT DEB")


if __name__ == "__main__":
    main()
