"""Machines that have aged and were not switched off (`stay_on`), for several runs each.

Such a machine lies in memory alone: no file holds what a host knows. So a process ages it, and forks for each run,
which finds the machine as it was then. It gives what it would give if it had aged its own. Where there is no `fork`,
every run does.
"""

import contextlib
import json
import os
import select
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ufsim import _core
from ufsim.documents import Document, parse
from ufsim.spec import Spec

# How often a process looks whether it is still wanted.
POLL_SECONDS = 0.2


@dataclass
class Machine:
    """A process with a machine, where it listens, and how many runs it is making."""

    process: subprocess.Popen[bytes]
    address: Path
    users: int = 0


class LeftOn:
    """Up to so many machines that were left on; those go first that have not been used for longest."""

    def __init__(self, most: int = 1) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._machines: dict[str, Machine] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="ufsim-")

    @staticmethod
    def machine(spec: Spec) -> str:
        """Equal for runs that can begin with the same machine: all that they ask of it while it ages."""
        plain = Spec(workload="", scheme=spec.scheme)
        own = ("scheduler", "booster", "mapping", "profile", "seed", "host_memory_mib", "settings", "age", "stay_on")
        return replace(plain, **{name: getattr(spec, name) for name in own}).to_json()

    def simulated(self, spec: Spec) -> Document:
        """The report of a run with `stay_on`."""
        spec.check()
        if not (hasattr(os, "fork") and hasattr(socket, "AF_UNIX")):
            return parse(_core.simulate(spec.to_json()))
        key = self.machine(spec)
        with self._guard:
            machine = self._machines.pop(key, None)
            if machine is not None and machine.process.poll() is not None:
                # Somebody has killed it, or memory ran out: the next one ages anew.
                end(machine)
                machine = None
            machine = machine or self._begun(key)
            self._machines[key] = machine
            machine.users += 1
        try:
            return answer(machine.address, spec)
        finally:
            with self._guard:
                machine.users -= 1

    def close(self) -> None:
        """Switches all machines off."""
        with self._guard:
            for key in list(self._machines):
                end(self._machines.pop(key))
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        self.close()

    def _begun(self, spec: str) -> Machine:
        idle = [key for key, machine in self._machines.items() if machine.users == 0]
        for key in idle[: len(self._machines) + 1 - self._most]:
            end(self._machines.pop(key))
        address = Path(self._folder.name) / str(len(os.listdir(self._folder.name)))
        with socket.socket(socket.AF_UNIX) as listening:
            # Whoever asks from now on waits until the machine has aged.
            listening.bind(str(address))
            listening.listen(64)
            command = [sys.executable, "-c", f"import {__name__} as own; own.main()", str(listening.fileno())]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(listening.fileno(),))
        assert process.stdin is not None
        process.stdin.write(spec.encode() + b"\n")
        process.stdin.flush()
        return Machine(process, address)


def end(machine: Machine) -> None:
    """Ends the process of a machine that makes no run, if it has not ended."""
    machine.process.kill()
    machine.process.communicate()


def answer(address: Path, spec: Spec) -> Document:
    """Asks the process there for a run. Raises what it has raised."""
    text = b""
    with socket.socket(socket.AF_UNIX) as asking, contextlib.suppress(ConnectionError):
        asking.connect(str(address))
        asking.sendall(spec.to_json().encode() + b"\n")
        with asking.makefile("rb") as answering:
            text = answering.read()
    if not text:
        raise _core.SimulationBug("the process of a machine that was left on has ended without an answer")
    told = parse(text.decode())
    if "error" in told:
        raise getattr(_core, told["error"], _core.SimulationBug)(told["text"])
    return told


class Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    """Forks for each run. Ends when the pipe to its standard input does."""

    def __init__(self, descriptor: int, spec: str) -> None:
        super().__init__("", Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = socket.socket(fileno=descriptor)
        self.failed: dict[str, str] = {}
        self.machine: _core.LeftOn | None = None
        try:
            self.machine = _core.LeftOn(spec)
        except Exception as error:
            self.failed = failure(error)

    def service_actions(self) -> None:
        """Looks now and then whether anybody wants it."""
        super().service_actions()
        if select.select([sys.stdin], [], [], 0)[0]:
            raise SystemExit


class Handler(socketserver.StreamRequestHandler):
    """One run, in a process of its own."""

    server: Server

    def handle(self) -> None:
        """Answers one question."""
        with contextlib.suppress(BrokenPipeError):
            self.wfile.write(self.told(self.rfile.readline().decode()).encode())

    def told(self, spec: str) -> str:
        """What a run gives."""
        if self.server.machine is None:
            return json.dumps(self.server.failed)
        try:
            return self.server.machine.simulate(spec)
        except Exception as error:
            return json.dumps(failure(error))


def failure(error: Exception) -> dict[str, Any]:
    """An exception as an answer."""
    return {"error": type(error).__name__, "text": str(error)}


def main() -> None:
    """Ages the machine of the specification that comes first, and serves those who connect."""
    # A simulation does not look at signals: who interrupts all processes wants them to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with Server(int(sys.argv[1]), sys.stdin.readline()) as server:
        server.serve_forever(POLL_SECONDS)
