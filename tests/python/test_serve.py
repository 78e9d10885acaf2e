"""Live devices: `ufsim serve` and `ufsim ctl` as processes, and the same in Python, with a small client of its own."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

import ufsim
from small_disk import small_disk
from ufsim.live.server import Control, Server, replay

BLOCK = 4096
READ, WRITE, DISC, FLUSH = 0, 1, 2, 3
UFSIM = [sys.executable, "-c", "from ufsim.cli.app import main; main()"]


def header(kind: int, offset: int, length: int, flags: int = 0) -> bytes:
    """A request without its data."""
    return struct.pack(">IHHQQI", 0x25609513, flags, kind, 7, offset, length)


def connected(path: Path) -> socket.socket:
    """A connection to a socket; where many want one, it waits."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 60, 0))
    made.connect(str(path))
    return made


class Client:
    """A client that asks for one thing after the other."""

    open: ClassVar[list[socket.socket]] = []

    def __init__(self, path: Path, export: str = "") -> None:
        self.socket = connected(path)
        self.open.append(self.socket)
        self.socket.settimeout(60)
        assert self.take(18)[:16] == b"NBDMAGICIHAVEOPT"
        name = export.encode()
        self.socket.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", 1, len(name)) + name)
        self.size, self.flags = struct.unpack(">QH", self.take(10))

    def take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise ConnectionError
            data += piece
        return data

    def ask(self, kind: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0) -> int:
        """The error number."""
        self.socket.sendall(header(kind, offset, length, flags) + data)
        return self.reply()

    def reply(self) -> int:
        """The error number in the next reply, which is simple."""
        magic, error, cookie = struct.unpack(">IIQ", self.take(16))
        assert (magic, cookie) == (0x67446698, 7)
        return int(error)

    def write(self, block: int, data: bytes, flags: int = 0) -> None:
        assert self.ask(WRITE, block * BLOCK, len(data), data, flags) == 0

    def read(self, block: int, blocks: int = 1) -> bytes:
        assert self.ask(READ, block * BLOCK, blocks * BLOCK) == 0
        return self.take(blocks * BLOCK)

    def tries(self, block: int) -> int:
        """The error number of a read."""
        error = self.ask(READ, block * BLOCK, BLOCK)
        if error == 0:
            self.take(BLOCK)
        return error


@pytest.fixture(autouse=True)
def clients() -> Iterator[None]:
    """Closes them."""
    yield
    while Client.open:
        Client.open.pop().close()


@contextmanager
def serving(place: Path, *options: str, said: list[str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """A server that is ready. `said` gets the addresses that it prints before."""
    command = [*UFSIM, "serve", "--profile", "tiny", "--socket", str(place / "s"), "--control", str(place / "c")]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            while (line := process.stdout.readline()) != "ready\n":
                assert said is not None and "://" in line, line
                said.append(line.strip())
            yield process
        finally:
            process.kill()


def ctl(place: Path, *words: str) -> str:
    done = subprocess.run([*UFSIM, "ctl", str(place / "c"), *words], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Names of sockets are short."""
    assert len(str(tmp_path)) < 100
    return tmp_path


def test_a_server_is_used_controlled_and_ended(place: Path) -> None:
    with serving(place, "--scheme", "ufs,hp-ufs", "--clock", "free") as process:
        client = Client(place / "s", "hp-ufs")
        client.write(3, b"x" * 2 * BLOCK, flags=1)
        client.write(9, b"y" * BLOCK)
        assert client.read(3, 2) == b"x" * 2 * BLOCK
        assert client.ask(READ, 5, BLOCK) == 22
        told = json.loads(ctl(place, "stats", "--json"))["exports"]
        assert told["hp-ufs"]["requests"]["write"]["done"] == 2
        assert told["ufs"]["requests"]["write"]["done"] == 0
        assert "recovered in" in ctl(place, "cut", "--export", "hp-ufs")
        with pytest.raises(ConnectionError):
            client.read(3)
        assert Client(place / "s", "hp-ufs").read(3) == b"x" * BLOCK
        assert "1 failed" not in ctl(place, "stats")
        ctl(place, "memory", "2", "--export", "hp-ufs")
        ctl(place, "faults", "read=100000", "--export", "hp-ufs")
        again = Client(place / "s", "hp-ufs")
        assert {again.tries(3) for _ in range(200)} == {0, 5}
        ctl(place, "faults", "read=0", "--export", "hp-ufs")
        assert {again.tries(3) for _ in range(200)} == {0}
        ctl(place, "quit")
        assert process.wait(30) == 0
    assert not (place / "s").exists() and not (place / "c").exists()


def test_the_aged_state_is_saved_while_clients_go_on(place: Path) -> None:
    with serving(place, "--scheme", "ufs,hp-ufs", "--saves", str(place)) as process:
        client = Client(place / "s", "hp-ufs")
        for block in range(0, 2000, 7):
            client.write(block, bytes([block % 251]) * BLOCK)
        ctl(place, "save", "--export", "hp-ufs", str(place / "old.state"))
        assert client.read(14) == bytes([14]) * BLOCK, "the connection is still there, and so is what was not flushed"
        with Control(place / "c") as control:
            with pytest.raises(ufsim.ConfigError, match="name the export: ufs, hp-ufs"):
                control.save(place / "two.state")
            with pytest.raises(ufsim.ConfigError, match=r"nowhere/x.state"):
                control.save(place / "nowhere/x.state", "ufs")
            assert control.stats("hp-ufs")["hp-ufs"]["cuts"] == 0
            with pytest.raises(ufsim.ConfigError, match="must be below"):
                control.do("save", export="ufs", path="here.state")
        assert client.ask(FLUSH) == 0, "a state that cannot be written costs the device nothing"
        ctl(place, "quit")
        assert process.wait(30) == 0
    assert sorted(path.name for path in place.glob("*.state*")) == ["old.state"]
    state = {"from_state": place / "old.state", "precondition": "none"}
    run = ufsim.run("rw=randread bs=4k size=4m number_ios=100", "hp-ufs", profile="tiny", verify=True, **state)
    assert run.verified["data_units"] == len(range(0, 2000, 7))
    assert run.age == "ufsim serve"


def test_who_waits_for_the_end_keeps_nobody_out(place: Path) -> None:
    with Server("ufs", place / "s", profile="tiny", speed=None) as server:
        waited: list[bool] = []
        waiter = threading.Thread(target=lambda: waited.append(server.wait(60)))
        waiter.start()
        began = time.monotonic()
        assert server.stats()["ufs"]["ready"]
        assert time.monotonic() - began < 30
        server.quit()
        waiter.join(60)
        assert waited == [True]
    with pytest.raises(ufsim.ConfigError, match="the server has ended"):
        server.stats()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_an_ordinary_end(place: Path, number: signal.Signals) -> None:
    with serving(place, "--clock", "real", "--store", str(place / "data")) as process:
        client = Client(place / "s")
        client.write(7, b"z" * BLOCK)
        process.send_signal(number)
        assert process.wait(30) == 0
    with serving(place, "--store", str(place / "data")):
        assert Client(place / "s").read(7) == b"z" * BLOCK


def test_what_was_flushed_survives_kills(place: Path) -> None:
    expected: dict[int, bytes] = {}
    for turn in range(4):
        with serving(place, "--clock", "free", "--store", str(place / "data")) as process:
            client = Client(place / "s")
            for block, data in expected.items():
                assert client.read(block) == data
            for i in range(60):
                block, data = (i * 37 + turn * 11) % 200, os.urandom(BLOCK)
                client.write(block, data)
                expected[block] = data
            assert client.ask(FLUSH) == 0
            for i in range(20):
                client.write(300 + i, os.urandom(BLOCK))
            process.send_signal(signal.SIGKILL)
            process.wait(30)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--scheme", "nonsense"], "scheme = "),
        (["--scheme", "ufs,hpb", "--store", "data"], "store: it is that of one scheme, and there are 2"),
        (["--clock", "free", "--speed", "2"], "--speed is for --clock real"),
        (["--speed", "0"], "speed = 0.0: must be 0.001..=1000"),
        (["--store", __file__], "is no store of ufsim"),
        (["--tcp", "70000", "--tcp-all-users"], "tcp_port"),
    ],
)
def test_wrong_options_are_told(place: Path, options: list[str], told: str) -> None:
    command = [*UFSIM, "serve", "--profile", "tiny", "--socket", str(place / "s"), *options]
    before = Path(__file__).read_bytes()
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (1, 2) and told in done.stderr, done.stderr
    assert Path(__file__).read_bytes() == before


def test_a_server_in_python(place: Path) -> None:
    with Server("ufs", place / "s", speed=None, profile="tiny", control=place / "c", read_only=True) as server:
        client = Client(place / "s")
        assert client.flags & 2
        assert client.ask(WRITE, 0, BLOCK, bytes(BLOCK)) == 1
        with Control(place / "c") as control:
            assert control.stats()["ufs"]["connections"] == 1
            assert control.cut()["ufs"] > 0
            with pytest.raises(ufsim.ConfigError, match="no export"):
                control.stats("hpb")
            with pytest.raises(ufsim.ConfigError, match="no command"):
                control.do("dance")
        assert server.stats()["ufs"]["cuts"] == 1
        with pytest.raises(ufsim.ConfigError, match="s: another server listens there"):
            Server("ufs", place / "s", profile="tiny")
    with pytest.raises(OSError, match="no server"):
        Control(place / "c")


def test_the_real_clock_is_not_early(place: Path) -> None:
    with Server("ufs", place / "s", speed=0.02, profile="tiny") as server:
        client = Client(place / "s")
        client.write(0, b"x" * BLOCK, flags=1)
        before = server.stats()["ufs"]["requests"]["read"]["done"]
        began = time.monotonic_ns()
        client.read(0)
        took = time.monotonic_ns() - began
        read = server.stats()["ufs"]["requests"]["read"]
        assert read["done"] == before + 1
        assert took >= read["latency"]["max_ns"] * 0.999 / 0.02


def test_a_log_of_arrivals_is_repeated_and_is_a_trace(place: Path) -> None:
    with Server("hp-ufs", place / "s", speed=None, profile="tiny", log=place / "log.csv") as server:
        client = Client(place / "s")
        for i in range(50):
            client.write(i * 7, b"x" * BLOCK, flags=i % 2)
            client.read(i * 7)
        stats = server.stats()["hp-ufs"]
    again = replay(place / "log.csv", "hp-ufs", profile="tiny")
    words = [*UFSIM, "replay", place / "log.csv", "--scheme", "hp-ufs", "--profile", "tiny"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert f"digest {again['digest']}" in told
    assert (again["digest"], again["requests"]) == (stats["digest"], stats["requests"])
    result = ufsim.run(str(place / "log.csv"), "hp-ufs", profile="tiny", precondition="none")
    assert result.completed == 100
    (place / "log.csv").write_text("something else\n")
    with pytest.raises(ufsim.ConfigError, match="line 1: must be the header"):
        replay(place / "log.csv", "hp-ufs", profile="tiny")


def test_a_device_in_use_is_served_and_its_log_is_repeated(place: Path) -> None:
    aged = {"profile": "tiny", "age": "rw=randwrite bs=4k size=96m iodepth=8"}
    with Server("hp-ufs", place / "s", speed=None, log=place / "log.csv", **aged) as server:
        client = Client(place / "s")
        assert client.read(3) == bytes(BLOCK), "what was written before has no bytes"
        for i in range(50):
            client.write(i * 7, bytes([i]) * BLOCK)
        assert server.do("cut")["recovery_ns"]["hp-ufs"] > 0
        client = Client(place / "s")
        assert client.read(7) in (bytes(BLOCK), b"\1" * BLOCK)
        client.write(9, b"y" * BLOCK, flags=1)
        assert client.read(9) == b"y" * BLOCK
        stats = server.stats()["hp-ufs"]
    fresh = {"profile": "tiny"}
    with Server("hp-ufs", place / "s", speed=None, **fresh) as server:
        new = server.stats()["hp-ufs"]
    assert stats["digest"] != new["digest"]
    assert replay(place / "log.csv", "hp-ufs", **aged)["digest"] == stats["digest"]


def test_a_state_is_served_and_a_store_with_data_is_not_aged(place: Path) -> None:
    state = place / "used.state"
    words = [*UFSIM, "age", "rw=randwrite bs=4k size=96m", "--scheme", "ufs", "--profile", "tiny", "--out", state]
    subprocess.run(words, check=True, capture_output=True)
    with Server("ufs", place / "s", speed=None, profile="tiny", from_state=str(state)):
        assert Client(place / "s").read(0) == bytes(BLOCK)
    with Server("ufs", place / "s", speed=None, profile="tiny", store=place / "data"):
        Client(place / "s").write(0, b"x" * BLOCK, flags=1)
    with pytest.raises(ufsim.ConfigError, match="store: it has data, and an aged device"):
        Server("ufs", place / "s", speed=None, profile="tiny", store=place / "data", from_state=str(state))


def test_two_hundred_clients_at_a_time(place: Path) -> None:
    with serving(place, "--scheme", "hp-ufs", "--clock", "free", "--clients", "201"):
        many = [Client(place / "s") for _ in range(200)]
        # One asks for much and reads nothing of it: the others do not wait for it.
        slow = Client(place / "s")
        slow.socket.sendall(b"".join(header(READ, 0, 1 << 20) for _ in range(64)))
        for number, client in enumerate(many):
            client.socket.sendall(header(WRITE, number * BLOCK, BLOCK) + bytes([number]) * BLOCK)
        assert [client.reply() for client in many] == [0] * 200
        for number, client in enumerate(many):
            # What another one has written.
            client.socket.sendall(header(READ, (number + 1) % 200 * BLOCK, BLOCK))
        for number, client in enumerate(many):
            assert client.reply() == 0
            assert client.take(BLOCK) == bytes([(number + 1) % 200]) * BLOCK
        # Half of them leave in the middle of a write; what they began changes nothing.
        for number, client in enumerate(many[::2]):
            client.socket.sendall(header(WRITE, 2 * number * BLOCK, BLOCK) + b"!" * 100)
            client.socket.close()
        slow.socket.close()
        assert [many[1].read(number) for number in range(200)] == [bytes([number]) * BLOCK for number in range(200)]
        until = time.monotonic() + 30
        with Control(place / "c") as control:
            while (open_now := control.stats()["hp-ufs"]["connections"]) != 100:
                assert time.monotonic() < until, open_now
                time.sleep(0.05)


def test_a_full_disk_fails_writes_and_keeps_what_was_flushed(place: Path) -> None:
    with small_disk(place / "disk", kib=4096) as disk:
        options = ["--scheme", "hp-ufs", "--clock", "free", "--store", str(disk / "data")]
        with serving(place, *options):
            client, written = Client(place / "s"), 0
            while (error := client.ask(WRITE, written * BLOCK, BLOCK, filled(written), flags=1)) == 0:
                written += 1
            assert (error, 0 < written < 1024) == (28, True)
            # Reads go on, and so do writes once there is room.
            assert [client.read(block) for block in range(written)] == [filled(block) for block in range(written)]
            assert client.ask(WRITE, written * BLOCK, BLOCK, filled(written), flags=1) == 28
            subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
            assert client.ask(WRITE, written * BLOCK, BLOCK, filled(written), flags=1) == 0
            while client.ask(WRITE, written * BLOCK, BLOCK, filled(written), flags=1) == 0:
                written += 1
        # It was killed on a full disk.
        with serving(place, *options):
            client = Client(place / "s")
            assert [client.read(block) for block in range(written)] == [filled(block) for block in range(written)]


def filled(block: int) -> bytes:
    """A block that is like no other."""
    return struct.pack(">I", block) * (BLOCK // 4)
