"""What a server and its control socket promise beside the device: time limits, clear words, limits of who may come, and
that nobody and nothing keeps it from serving, or from ending."""

import json
import os
import re
import resource
import signal
import socket
import stat
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

import ufsim
from test_serve import BLOCK, FLUSH, READ, UFSIM, Client, connected, ctl, header, serving
from ufsim.cli import app as cli
from ufsim.cli.exits import Exit
from ufsim.cli.options import UsageError
from ufsim.cli.serve import Do, taken
from ufsim.live import control_line
from ufsim.live import server as live
from ufsim.live.server import Control, Server

HELLO = b'{"ok":true,"ufsim":"0"}\n'
FOREIGN = "does not answer as the control socket of ufsim does"
CLOSED = "the server has closed the connection: "

Answer = Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def clients() -> Iterator[None]:
    """Closes them."""
    yield
    while Client.open:
        Client.open.pop().close()


@contextmanager
def fake(path: Path, answer: Answer) -> Iterator[Path]:
    """Something else that listens: it treats the first connection in its way, and keeps it open."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener, ExitStack() as kept:
        listener.bind(str(path))
        listener.listen()
        listener.settimeout(30)

        def serve() -> None:
            # Who was connected leaves when the test is over.
            with suppress(OSError):
                connection = kept.enter_context(listener.accept()[0])
                connection.settimeout(30)
                answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield path
        finally:
            thread.join(60)


def says(*words: bytes) -> Answer:
    """Says these, one for each line that it hears."""

    def answer(connection: socket.socket) -> None:
        with connection.makefile("rb") as lines:
            for word in words:
                lines.readline()
                connection.sendall(word)

    return answer


def greets_as_nbd(connection: socket.socket) -> None:
    connection.sendall(b"NBDMAGICIHAVEOPT\0\3")


def goes_on_and_on(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"x" * 4096)


def dribbles(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"x")
        time.sleep(0.02)


def leaves(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_RDWR)


def left_without_an_answer(connection: socket.socket) -> None:
    says(HELLO, b'{"ok":tr')(connection)
    leaves(connection)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (greets_as_nbd, "is the socket of the NBD exports, not the control socket"),
        (leaves, f"{CLOSED}this is not the control socket of ufsim, or the server is ending, or has too many"),
        (goes_on_and_on, f"{FOREIGN}: a line of more than 64 KiB"),
        (says(b"HTTP/1.1 400 Bad Request\r\n"), FOREIGN),
        (says(b"\xff\xfe\n"), FOREIGN),
        (says(b"[" * 60_000 + b"\n"), FOREIGN),
        (says(b'{"ok":true}\n'), FOREIGN),
        (says(b'{"ok":false}\n'), FOREIGN),
        (says(b"true\n"), FOREIGN),
    ],
)
def test_what_is_no_control_socket_is_told_at_once(tmp_path: Path, answer: Answer, told: str) -> None:
    began = time.monotonic()
    with fake(tmp_path / "c", answer) as path, pytest.raises(OSError) as raised:
        Control(path)
    assert raised.value.filename == str(path)
    assert str(raised.value.strerror).startswith(told)
    assert time.monotonic() - began < 5


def test_silence_is_told_after_five_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    with fake(tmp_path / "c", says()) as path:
        assert cli.execute(["ctl", str(path), "stats"]) == Exit.INPUT
    assert 5 <= time.monotonic() - began < 8
    out, err = capsys.readouterr()
    told = "no answer within 5 s: this is not the control socket of ufsim, or its server is stopped or too busy"
    assert (out, err) == ("", f"ufsim: error: {path}: {told}\n")


@pytest.mark.parametrize("queue", [False, True], ids=["one that dribbles", "one that lets nobody in"])
def test_the_limit_is_for_all_of_the_greeting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, queue: bool) -> None:
    monkeypatch.setattr(control_line, "HELLO_S", 0.5)
    with ExitStack() as until_the_end:
        if queue:
            path = tmp_path / "c"
            listener = until_the_end.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listener.bind(str(path))
            listener.listen(0)
            waits = until_the_end.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            waits.connect(str(path))
        else:
            path = until_the_end.enter_context(fake(tmp_path / "c", dribbles))
        began = time.monotonic()
        with pytest.raises(TimeoutError, match="no answer within"):
            Control(path)
        assert 0.4 < time.monotonic() - began < 4


def test_an_older_server_does_not_know_the_greeting(tmp_path: Path) -> None:
    refusal = b'{"ok":false,"error":"no command: unknown variant `hello`"}\n'
    with (
        fake(tmp_path / "c", says(refusal, b'{"ok":true,"exports":{}}\n')) as path,
        Control(path) as control,
    ):
        assert control.stats() == {}


def test_where_no_server_is_it_is_told_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as gone:
        gone.bind(str(tmp_path / "gone"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(tmp_path / "datagrams"))
        for name, error, told in [
            ("nothing", FileNotFoundError, "no server: there is no such socket"),
            ("file", ConnectionRefusedError, "no server: this is a file, not a socket"),
            ("file/x", OSError, "no server: there is no such socket"),
            ("folder", ConnectionRefusedError, "no server: this is a directory, not a socket"),
            ("gone", ConnectionRefusedError, "no server listens there any more"),
            ("datagrams", OSError, "this is not the control socket of ufsim"),
            ("x" * 200, OSError, "no server: the name is too long for a socket"),
        ]:
            with pytest.raises(error) as raised:
                Control(tmp_path / name)
            assert (raised.value.strerror, raised.value.filename) == (told, str(tmp_path / name))


def test_sockets_of_others_are_told(tmp_path: Path) -> None:
    with fake(tmp_path / "c", says(HELLO)) as path:
        path.chmod(0o600)
        with another_user(), pytest.raises(PermissionError, match="for the user who has started the server"):
            Control(path)
        Control(path).close()


@contextmanager
def another_user() -> Iterator[None]:
    """Somebody else, where that can be."""
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_command_has_a_limit_and_a_late_reply_is_nobodys(tmp_path: Path) -> None:
    with fake(tmp_path / "c", says(HELLO)) as path, Control(path, timeout_s=0.2) as control:
        with pytest.raises(TimeoutError, match=r"has not answered stats within 0\.2 s, and may still do it"):
            control.stats()
        with pytest.raises(OSError, match="the connection to the server is closed"):
            control.stats()
    for wrong in (0.0, 0.09, 86_401.0, float("nan")):
        with pytest.raises(ufsim.ConfigError, match=r"allowed: 0\.1 to 86400 seconds"):
            Control(path, timeout_s=wrong)


def test_what_waits_for_a_device_may_take_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (live.LIMIT_S, live.LIMITS_S) == (30, {"cut": 600, "save": 600})
    monkeypatch.setattr(live, "LIMIT_S", 0.2)

    def is_slow(connection: socket.socket) -> None:
        with connection.makefile("rb") as lines:
            for word in (HELLO, b'{"ok":true,"recovery_ns":{}}\n', b'{"ok":true}\n', b'{"ok":true,"exports":{}}\n'):
                lines.readline()
                time.sleep(0.5 if word is not HELLO else 0)
                connection.sendall(word)

    with fake(tmp_path / "c", is_slow) as path, Control(path) as control:
        assert control.cut() == {}
        control.save(tmp_path / "x.state")
        with pytest.raises(TimeoutError, match="stats"):
            control.stats()


def test_a_closed_connection_is_not_taken_for_the_end(tmp_path: Path) -> None:
    with fake(tmp_path / "c", left_without_an_answer) as path, Control(path) as control:
        with pytest.raises(ConnectionResetError) as raised:
            control.stats()
        assert raised.value.strerror == CLOSED + "it has ended, or had too many control connections"


def test_a_reply_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert control_line.REPLY_BYTES == 64 << 20
    monkeypatch.setattr(control_line, "REPLY_BYTES", 1 << 20)
    long = b'{"ok":true,"exports":{"x":"' + b"x" * (900 << 10) + b'"}}\n'
    with fake(tmp_path / "c", says(HELLO, long, b"x" * (2 << 20))) as path, Control(path) as control:
        assert len(control.stats()["x"]) == 900 << 10
        with pytest.raises(OSError, match="a line of more than 1,024 KiB"):
            control.stats()


def test_top_tells_of_a_server_that_answers_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "LIMIT_S", 0.3)
    with fake(tmp_path / "c", says(HELLO, b'{"ok":true,"exports":{}}\n')) as path:
        assert cli.execute(["top", str(path), "--once", "--interval", "0.1"]) == Exit.INPUT
    told = "the server has not answered stats within 0.3 s, and may still do it"
    assert capsys.readouterr().err == f"ufsim: error: {path}: {told}\n"


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        (["--tcp", "0"], Exit.USAGE, "--tcp lets every user of this machine use the exports"),
        (["--tcp-all-users"], Exit.USAGE, "--tcp-all-users is for --tcp PORT"),
        (["--overwrite"], Exit.USAGE, "--overwrite is for --log FILE"),
        (["--clients", "0"], Exit.INPUT, "clients is 0; allowed: an integer from 1 to 10000"),
        (["--saves", __file__], Exit.INPUT, f"{__file__}: states cannot be saved there: it is no directory"),
    ],
)
def test_options_that_do_not_go_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], status: Exit, told: str
) -> None:
    assert cli.execute(["serve", "--socket", str(tmp_path / "s"), *options]) == status
    error = capsys.readouterr().err
    assert error.startswith(f"ufsim: error: {told}") and error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "value", "told"),
    [
        (Do.MEMORY, "0", "memory in MiB is 0; allowed: an integer from 1 to 65536"),
        (Do.MEMORY, "70000", "memory in MiB is 70000; allowed: an integer from 1 to 65536"),
        (Do.MEMORY, None, "memory takes a number of MiB"),
        (Do.FAULTS, None, "faults takes rates: read=N, program=N, erase=N"),
        (Do.FAULTS, "", "faults takes rates"),
        (Do.FAULTS, "read=x", "'read=x': faults are read=N"),
    ],
)
def test_values_of_commands_are_asked_for(command: Do, value: str | None, told: str) -> None:
    with pytest.raises((UsageError, ufsim.ConfigError), match=re.escape(told)):
        taken(command, value)


def test_all_users_are_told_that_they_may_come(tmp_path: Path) -> None:
    said: list[str] = []
    with serving(tmp_path, "--tcp", "0", "--tcp-all-users", said=said):
        address, who = said[0].split(" ", 1)
        assert who == "(every user of this machine can connect)"
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=30) as client:
            assert client.recv(18, socket.MSG_WAITALL)[:8] == b"NBDMAGIC"
        done = subprocess.run(
            [*UFSIM, "ctl", str(tmp_path / "s"), "stats"], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (Exit.INPUT, "")
        assert done.stderr.endswith("/s: is the socket of the NBD exports, not the control socket\n")


@contextmanager
def stream(kind: str) -> Iterator[int]:
    """A descriptor that takes nothing."""
    if kind == "full disk":
        reads, writes = os.open(os.devnull, os.O_RDONLY), os.open("/dev/full", os.O_WRONLY)
    else:
        reads, writes = os.pipe()
    try:
        if kind == "full pipe":
            os.set_blocking(writes, False)
            with suppress(BlockingIOError):
                while True:
                    os.write(writes, b"x")
            os.set_blocking(writes, True)
        if kind == "broken pipe":
            os.close(reads)
        yield writes
    finally:
        os.close(writes)
        if kind != "broken pipe":
            os.close(reads)


@pytest.mark.parametrize("kind", ["closed", "full disk", "full pipe", "broken pipe"])
@pytest.mark.parametrize("streams", [[2], [1, 2]], ids=["stderr", "both"])
def test_it_serves_without_anybody_who_listens_to_it(tmp_path: Path, kind: str, streams: list[int]) -> None:
    command = [*UFSIM, "serve", "--profile", "tiny", "--clock", "free"]
    command += ["--socket", str(tmp_path / "s"), "--control", str(tmp_path / "c")]
    if kind == "closed":
        command = ["sh", "-c", 'exec "$@" ' + " ".join(f"{number}>&-" for number in streams), "sh", *command]
    with (
        stream(kind) as nowhere,
        subprocess.Popen(command, stdout=nowhere if 1 in streams else subprocess.DEVNULL, stderr=nowhere) as process,
    ):
        try:
            until(lambda: process.poll() is not None or (tmp_path / "c").exists())
            # Each of them is worth a remark.
            for _ in range(300):
                with connected(tmp_path / "s") as wrong:
                    wrong.sendall(b"\xff" * 64)
            client = Client(tmp_path / "s")
            client.write(3, b"x" * BLOCK)
            assert client.read(3) == b"x" * BLOCK
            ctl(tmp_path, "quit")
            assert process.wait(10) == 0
        finally:
            process.kill()


def until(holds: Callable[[], bool]) -> None:
    """Waits until something is so."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_it_ends_without_the_names_of_its_sockets(tmp_path: Path) -> None:
    with serving(tmp_path, "--clock", "free") as process:
        client = Client(tmp_path / "s")
        (tmp_path / "s").unlink()
        (tmp_path / "c").unlink()
        client.write(1, b"x" * BLOCK)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


@pytest.mark.parametrize("mask", [0, 0o077])
def test_sockets_are_for_the_owner_alone(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with Server("ufs", tmp_path / "s", speed=None, profile="tiny", control=tmp_path / "c"):
            modes = [stat.filemode((tmp_path / name).stat().st_mode) for name in "sc"]
    finally:
        os.umask(before)
    assert modes == ["srw-------"] * 2


def test_who_says_nothing_keeps_nobody_out(tmp_path: Path) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with serving(tmp_path, "--clock", "free") as process, ExitStack() as silent:
        before = Client(tmp_path / "s")
        for _ in range(1000):
            for name in "sc":
                silent.enter_context(connected(tmp_path / name))
        began = time.monotonic()
        after = Client(tmp_path / "s")
        after.write(5, b"x" * BLOCK)
        assert before.read(5) == b"x" * BLOCK, "who has been here before stays"
        assert json.loads(ctl(tmp_path, "stats", "--json"))["exports"]["hp-ufs"]["connections"] == 2
        ctl(tmp_path, "quit")
        assert process.wait(10) == 0
        assert time.monotonic() - began < 15


def test_clients_are_limited(tmp_path: Path) -> None:
    with Server("ufs", tmp_path / "s", speed=None, profile="tiny", clients=2):
        first, second = Client(tmp_path / "s"), Client(tmp_path / "s")
        with pytest.raises(ConnectionError):
            Client(tmp_path / "s")
        first.write(0, b"x" * BLOCK)
        second.socket.close()
        until(lambda: comes(tmp_path / "s"))


def comes(path: Path) -> bool:
    """Whether one more client is let in."""
    try:
        return Client(path).read(0) == b"x" * BLOCK
    except ConnectionError:
        return False


@pytest.mark.parametrize("scheme", ["ufs", "hp-ufs", "ideal"])
def test_a_flush_at_a_cut_keeps_what_it_promises(tmp_path: Path, scheme: str) -> None:
    answered = 0
    with Server(scheme, tmp_path / "s", profile="tiny", control=tmp_path / "c"):
        for turn in range(60):
            data = struct.pack(">Q", turn + 1) * (BLOCK // 8)
            with connected(tmp_path / "c") as control:
                client = Client(tmp_path / "s")
                client.write(0, data)
                client.socket.sendall(header(FLUSH, 0, 0))
                control.sendall(b'{"do":"cut"}\n')
                assert json.loads(control.makefile("rb").readline())["ok"]
                try:
                    flushed = client.reply() == 0
                except ConnectionError:
                    flushed = False
            client.socket.close()
            after = Client(tmp_path / "s")
            assert after.read(0) == data or not flushed, f"cut {turn}: the flush was acknowledged"
            after.socket.close()
            answered += flushed
    print(f"{answered} of 60 flushes came before the cut")


def test_slow_clients_cost_no_memory_and_hold_up_nobody(tmp_path: Path) -> None:
    with serving(tmp_path, "--clock", "free") as process:
        client = Client(tmp_path / "s")
        for first in range(0, 4096, 256):
            client.write(first, os.urandom(256 * BLOCK))
        slow = [Client(tmp_path / "s") for _ in range(20)]
        for number, one in enumerate(slow):
            # 64 MiB each, of which they take nothing.
            asked = b"".join(header(READ, (number + i) % 16 << 20, 1 << 20) for i in range(64))
            one.socket.sendall(asked)
        slowest, end = 0.0, time.monotonic() + 3
        while time.monotonic() < end:
            began = time.monotonic()
            assert len(client.read(77)) == BLOCK
            slowest = max(slowest, time.monotonic() - began)
        assert slowest < 1
        status = Path(f"/proc/{process.pid}/status").read_text()
        peak_kib = int(status.partition("VmHWM:")[2].split()[0])
        assert peak_kib < 600 << 10


def test_states_are_saved_only_below_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / "saves"
    folder.mkdir()
    with Server("ufs", tmp_path / "s", speed=None, profile="tiny", control=tmp_path / "c", saves=folder) as server:
        with Control(tmp_path / "c") as control:
            for outside in (tmp_path / "x.state", folder / "../x.state", Path(f"{folder}-x.state")):
                with pytest.raises(ufsim.ConfigError, match=f"must be below {folder}; serve --saves names another"):
                    control.do("save", export=None, path=str(outside))
            control.save(folder / "x.state")
            control.save(folder / "../saves/y.state")
        # Who runs the server may write where they like.
        server.save(tmp_path / "z.state")
    assert sorted(path.name for path in tmp_path.rglob("*.state")) == ["x.state", "y.state", "z.state"]
