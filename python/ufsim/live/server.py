"""Live devices: a server of NBD exports, and the control socket of a server that runs elsewhere."""

import errno
import json
import logging
import os
from collections.abc import Sequence
from os import PathLike, fspath
from types import TracebackType
from typing import Any, Self

from ufsim import _core
from ufsim.live.control_line import ControlLine
from ufsim.names import check_range
from ufsim.runner import Progress
from ufsim.spec import Spec, scheme_names
from ufsim.states import Report, StateCache

notes = logging.getLogger("ufsim")

# Clients of a server at a time, if nothing else is said.
CLIENTS = 100
# A reply comes within this time. Those that wait for a device that recovers, on the real clock, take theirs.
LIMIT_S = 30.0
LIMITS_S = {"cut": 600.0, "save": 600.0}


# Limits of host memory that can be set.
MEMORY_MIB = (1, 65_536)


class _Commands:
    """What can be asked of a server."""

    def do(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Does a command, and gives its reply. Raises `ConfigError` if it is refused."""
        reply: dict[str, Any] = self._exchange({"do": command} | arguments)
        if not reply["ok"]:
            raise _core.ConfigError(reply["error"])
        return reply

    def _exchange(self, command: dict[str, Any]) -> Any:
        raise NotImplementedError

    def stats(self, export: str | None = None) -> dict[str, Any]:
        """Counters and latencies of each export."""
        exports: dict[str, Any] = self.do("stats", export=export)["exports"]
        return exports

    def cut(self, export: str | None = None) -> dict[str, int]:
        """Cuts the power, and waits for the recovery: how long it has taken, in simulated nanoseconds, by export."""
        took: dict[str, int] = self.do("cut", export=export)["recovery_ns"]
        return took

    def set_memory(self, mib: int, export: str | None = None) -> None:
        """Sets the limit of host memory."""
        check_range("memory_mib", mib, *MEMORY_MIB)
        self.do("memory", export=export, mib=mib)

    def set_faults(self, *, read: int = 0, program: int = 0, erase: int = 0, export: str | None = None) -> None:
        """From now on so many of a million flash operations fail."""
        rates = {"read": read, "program": program, "erase": erase}
        checked = {kind: check_range(kind, rate, 0, 100_000) for kind, rate in rates.items()}
        self.do("faults", export=export, **checked)

    def save(self, path: str | PathLike[str], export: str | None = None) -> None:
        """Switches the only export, or this one, off and on, and writes its aged state to a file, for `state` of a run.

        Requests that come meanwhile wait. What was under way ends before, and everything comes to flash.
        """
        self.do("save", export=export, path=os.path.abspath(path))

    def quit(self) -> None:
        """Ends the server in an ordinary way."""
        self.do("quit")


class Control(_Commands):
    """The control socket of a server.

    A server that does not answer as one within 5 s is refused with an `OSError` that says what is there. A command that
    is not answered within `timeout_s` raises `TimeoutError`, and the server may still do it; without this argument the
    limit is 600 s for `cut` and `save`, and 30 s for all others. After an error the connection is closed.
    """

    def __init__(self, path: str | PathLike[str], *, timeout_s: float | None = None) -> None:
        if timeout_s is not None and not 0.1 <= timeout_s <= 86_400:
            raise _core.ConfigError(f"timeout_s is {timeout_s}; allowed: 0.1 to 86400 seconds")
        self._timeout_s = timeout_s
        self._line = ControlLine(path)

    def _exchange(self, command: dict[str, Any]) -> Any:
        limit_s = LIMITS_S.get(command["do"], LIMIT_S) if self._timeout_s is None else self._timeout_s
        return self._line.exchange(command, limit_s)

    def close(self) -> None:
        """Closes the connection; the server goes on."""
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def reporting(spec: Spec, progress: Progress | None) -> Report | None:
    """What ageing reports to, for somebody who wants to know the scheme."""
    if progress is None:
        return None

    def report(done: int, total: int | None, sim_ns: int, phase: str) -> None:
        progress(spec.scheme, phase, done, total, sim_ns)

    return report


class Server(_Commands):
    """Serves live devices, one for each scheme, until `end`.

    `store` is a file that keeps the data of the only scheme; without it, data is in memory and ends with the server.
    `log` is a file that gets every arrival, as a trace; `replay` repeats it. `overwrite` replaces one that is there.
    Sockets are for this user alone. A `tcp_port` of 127.0.0.1 (0: any) is another matter: every user of this machine
    can connect to it, read and write. States that are saved through the control socket lie below `saves`, or else below
    the working directory. At most `clients` are connected at a time, 1 to 10,000.
    `speed` is the number of simulated seconds in a second; `None` is the free clock. Other options are those of a run.
    With `age` or `from_state` the device has been in use: what was written then reads as zeroes. States are kept in
    `cache`, if there is one; `progress` is called as that of `ufsim.run`, while devices age.
    """

    def __init__(
        self,
        schemes: str | Sequence[str],
        path: str | PathLike[str],
        *,
        speed: float | None = 1.0,
        store: str | PathLike[str] | None = None,
        log: str | PathLike[str] | None = None,
        control: str | PathLike[str] | None = None,
        tcp_port: int | None = None,
        saves: str | PathLike[str] | None = None,
        clients: int = CLIENTS,
        read_only: bool = False,
        overwrite: bool = False,
        cache: StateCache | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> None:
        if speed is not None and not 0.001 <= speed <= 1000:
            raise _core.ConfigError(f"speed = {speed}: must be 0.001..=1000")
        if tcp_port is not None:
            check_range("tcp_port", tcp_port, 0, 65_535)
        if saves is not None and not os.path.isdir(saves):
            raise OSError(errno.ENOTDIR, "states cannot be saved there: it is no directory", fspath(saves))
        specs = [Spec(scheme=scheme, workload="", **options) for scheme in scheme_names(schemes)]
        if cache is not None:
            specs = [cache.aged(spec, reporting(spec, progress)) for spec in specs]
        wanted = {
            "specs": [json.loads(spec.to_json()) for spec in specs],
            "store": None if store is None else fspath(store),
            "log": None if log is None else fspath(log),
            "socket": fspath(path),
            "control": None if control is None else fspath(control),
            "tcp_port": tcp_port,
            "saves": os.path.abspath(os.curdir if saves is None else saves),
            "clients": check_range("clients", clients, 1, 10_000),
            "speed": speed,
            "read_only": read_only,
        }
        if overwrite:
            wanted["overwrite"] = True
        self._server = _core.Server(json.dumps(wanted))

    @property
    def port(self) -> int | None:
        """The TCP port, if there is one."""
        return self._server.port()

    def wait(self, seconds: float) -> bool:
        """Waits so many seconds at most. True if the server is to end."""
        return self._server.wait(seconds)

    def _exchange(self, command: dict[str, Any]) -> Any:
        return json.loads(self._server.control(json.dumps(command)))

    def end(self) -> None:
        """Ends in an ordinary way: requests under way are answered, and everything comes to flash."""
        self._server.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def replay(log: str | PathLike[str], scheme: str, **options: Any) -> dict[str, Any]:
    """Repeats a server's log of arrivals on a new device. Gives its state afterwards, in the form of `stats`.

    With the scheme, the profile and the options of that server, the same happens: its digest is the same.
    """
    told, whole = _core.replay_arrivals(Spec(scheme=scheme, workload="", **options).to_json(), fspath(log))
    if not whole:
        notes.warning("%s: ends within a line, as after a kill; the whole lines were repeated", fspath(log))
    stats: dict[str, Any] = json.loads(told)
    return stats
