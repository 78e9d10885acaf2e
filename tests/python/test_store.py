"""`ufsim store`: files of `serve --store` that are whole, damaged, saved, and those that are refused."""

import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from test_serve import BLOCK, FLUSH, UFSIM, Client
from ufsim.live.server import Server

UNITS = range(40, 60)
# Where a store of the profile `tiny` has its table.
TABLE = 8192


def value(unit: int) -> bytes:
    """A block that is like no other."""
    return unit.to_bytes(4, "little") * (BLOCK // 4)


def serve(place: Path, store: Path) -> Server:
    return Server("ufs", place / "s", speed=None, profile="tiny", store=store)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a few units, made under a umask that forbids nothing."""
    path = tmp_path / "data"
    before = os.umask(0)
    try:
        server = serve(tmp_path, path)
    finally:
        os.umask(before)
    with server:
        client = Client(tmp_path / "s")
        for unit in UNITS:
            client.write(unit, value(unit))
        assert client.ask(FLUSH) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path


def ufsim(*words: object) -> subprocess.CompletedProcess[str]:
    command = [*UFSIM, "store", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def read_back(place: Path, store: Path) -> dict[int, bytes]:
    with serve(place, store):
        client = Client(place / "s")
        return {unit: client.read(unit) for unit in UNITS}


def damaged(store: Path, change: Callable[[bytearray], object]) -> Path:
    data = bytearray(store.read_bytes())
    change(data)
    store.write_bytes(data)
    return store


def test_a_whole_store_is_said_to_be_whole(store: Path) -> None:
    done = ufsim("check", store)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{store}: whole, 20 units of a device of ")
    found = json.loads(ufsim("check", store, "--json").stdout)
    assert found["units"] == 20 and found["device_bytes"] % BLOCK == 0


def test_a_damaged_store_is_refused_and_the_rest_is_saved(store: Path, tmp_path: Path) -> None:
    last = store.read_bytes().rindex(value(UNITS[-1]))
    damaged(store, lambda data: data.__setitem__(last, data[last] ^ 1))
    before = store.read_bytes()
    for command in (["check", store], ["check", store, "--json"]):
        done = ufsim(*command)
        assert done.returncode == 1, done.stderr
        assert "data: is damaged: 1 of 20 units are lost: 59; `ufsim store rescue OLD NEW` saves" in done.stderr
    with pytest.raises(ValueError, match="1 of 20 units are lost: 59"):
        serve(tmp_path, store)
    new = tmp_path / "rescued"
    done = ufsim("rescue", store, new)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split() for line in done.stdout.splitlines() if line.split()[:1] in (["kept"], ["lost"])] == [
        ["kept", "19"],
        ["lost", "1", "59"],
        ["lost", "without", "a", "trace", "0"],
    ]
    assert store.read_bytes() == before
    assert read_back(tmp_path, new) == {unit: value(unit) for unit in UNITS[:-1]} | {UNITS[-1]: bytes(BLOCK)}
    again = ufsim("rescue", store, new)
    assert again.returncode == 1 and "is there already" in again.stderr
    told = json.loads(ufsim("rescue", store, tmp_path / "other", "--json").stdout)
    assert (told["units_kept"], told["units_lost"], told["units_lost_unnamed"]) == (19, [[59, 1]], 0)


@pytest.mark.parametrize("kind", ["cut short", "no table", "no records", "a bit of an entry"])
def test_no_damage_is_opened_as_zeroes(store: Path, tmp_path: Path, kind: str) -> None:
    def change(data: bytearray) -> None:
        match kind:
            case "cut short":
                del data[len(data) // 2 :]
            case "no table":
                data[TABLE : TABLE + BLOCK] = bytes(BLOCK)
            case "no records":
                data[64:BLOCK] = bytes(BLOCK - 64)
                data[BLOCK + 64 : 2 * BLOCK] = bytes(BLOCK - 64)
            case _:
                data[TABLE + 16] ^= 4

    damaged(store, change)
    with pytest.raises(ValueError, match="is damaged: "):
        serve(tmp_path, store)
    assert ufsim("check", store).returncode == 1


def test_what_cannot_be_opened_or_written_is_told(store: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(store)
    assert "is a symbolic link" in ufsim("check", link).stderr
    with pytest.raises(ValueError, match="is a symbolic link"):
        serve(tmp_path, link)
    done = ufsim("rescue", store, tmp_path / "nowhere" / "new")
    assert done.returncode == 4 and "nowhere" in done.stderr
    assert ufsim("check", tmp_path / "missing").returncode == 1
    assert ufsim("check", Path(__file__)).returncode == 1
