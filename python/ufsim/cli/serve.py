"""`ufsim serve` and `ufsim ctl`: live devices for other programs."""

import json
import os
import signal
import sys
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

import ufsim
from ufsim.cli.options import UsageError
from ufsim.cli.progress import ProgressDisplay
from ufsim.cli.screen import Screen, say, say_aside
from ufsim.live import metrics, punctual
from ufsim.live import server as live
from ufsim.live.server import Control, Server
from ufsim.names import check_range
from ufsim.results.formats import duration

# Kinds of flash operations that can fail.
FAULTS = ("read", "program", "erase")
RATES = "read=N, program=N, erase=N, each once, of a million operations"
# Between two looks whether a signal has come.
LOOK_S = 0.1


class Clock(StrEnum):
    """How time passes."""

    REAL = "real"
    FREE = "free"


class Do(StrEnum):
    """What `ufsim ctl` can ask for."""

    STATS = "stats"
    CUT = "cut"
    MEMORY = "memory"
    FAULTS = "faults"
    SAVE = "save"
    METRICS = "metrics"
    QUIT = "quit"


ServeSchemesOption = Annotated[
    str, typer.Option("--scheme", metavar="NAME,...", help="Schemes: an export for each. The first has no name, too.")
]
SocketOption = Annotated[Path, typer.Option(metavar="PATH", help="Unix socket of the NBD exports.")]
ClockOption = Annotated[
    Clock,
    typer.Option(
        help="real: a reply leaves when the device would have given it, never earlier; free: as fast as it goes."
    ),
]
SpeedOption = Annotated[
    float | None, typer.Option(metavar="X", help="Simulated seconds in a second of the real clock. (default: 1)")
]
StoreOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Keep the data in this file, for the next time. (default: memory)")
]
ArrivalsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write every arrival to this file, as a trace in ufsim's CSV.")
]
LogArgument = Annotated[
    Path, typer.Argument(metavar="LOG", exists=True, dir_okay=False, help="What serve --log has written.")
]
ControlOption = Annotated[Path | None, typer.Option(metavar="PATH", help="Control socket, for ufsim ctl.")]
SavesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The control socket may save states below this directory. (default: the working directory)"
    ),
]
ClientsOption = Annotated[int, typer.Option(metavar="N", help="Clients at a time, 1 to 10000.")]
PortOption = Annotated[
    int | None,
    typer.Option(
        "--tcp",
        metavar="PORT",
        help="Also listen on this port of 127.0.0.1 (0: any), to which every user of this machine can connect: needs"
        " --tcp-all-users.",
    ),
]
AllUsersOption = Annotated[
    bool, typer.Option("--tcp-all-users", help="Every user of this machine may use the exports, by the port of --tcp.")
]
MetricsOption = Annotated[
    int | None,
    typer.Option(
        "--metrics",
        metavar="PORT",
        help="Metrics for Prometheus on this port of 127.0.0.1 (0: any); every user of this machine can read them.",
    ),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace the log that is there.")]
ReadOnlyOption = Annotated[bool, typer.Option("--read-only", help="Refuse writes and trims.")]
PathArgument = Annotated[Path, typer.Argument(metavar="PATH", help="The control socket.")]
DoArgument = Annotated[Do, typer.Argument(metavar="COMMAND", help="stats, cut, memory, faults, save, metrics or quit.")]
ValueArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[MIB|FAULTS|FILE]",
        help="memory: the limit in MiB; faults: failing flash operations of a million, as read=1000,program=0,erase=0;"
        " save: the file of the aged state.",
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="S",
        help="Seconds to wait for the answer, 0.1 to 86400. (default: 600 for cut and save, 30 for the others)",
    ),
]
ExportOption = Annotated[str | None, typer.Option(metavar="NAME", help="Only this export. (default: all)")]


def agreed(given: dict[str, Any], *, tcp_all_users: bool) -> dict[str, Any]:
    """Options of a server, if they go together."""
    if given["tcp_port"] is not None and not tcp_all_users:
        raise UsageError("--tcp lets every user of this machine use the exports; if that is meant, add --tcp-all-users")
    if given["tcp_port"] is None and tcp_all_users:
        raise UsageError("--tcp-all-users is for --tcp PORT")
    if given["overwrite"] and given["log"] is None:
        raise UsageError("--overwrite is for --log FILE")
    return given


def serve(
    schemes: str, path: Path, clock: Clock, speed: float | None, metrics_port: int | None, options: dict[str, Any]
) -> None:
    """Serves until Ctrl-C, SIGTERM or `ufsim ctl PATH quit`; each of them is an ordinary end."""
    if clock is Clock.FREE and speed is not None:
        raise UsageError("--speed is for --clock real")
    pace = None if clock is Clock.FREE else 1.0 if speed is None else speed
    asked = Asked()
    with ExitStack() as until_the_end:
        with ProgressDisplay() as progress:
            server = Server([one for one in schemes.split(",") if one], path, speed=pace, progress=progress, **options)
        until_the_end.enter_context(server)
        lines = []
        if server.port is not None:
            lines.append(f"nbd://127.0.0.1:{server.port} (every user of this machine can connect)")
        if metrics_port is not None:
            from ufsim.live.metrics_server import MetricsServer

            lines.append(until_the_end.enter_context(MetricsServer(server.stats, metrics_port)).url)
        say_aside("\n".join([*lines, "ready"]))
        while not asked.to_end and not server.wait(LOOK_S):
            pass
        # Whoever has ended it by `ctl PATH quit` can ask for stats before.
        for name, stats in (server.stats() if asked.to_end else {}).items():
            if late := punctual.warning(stats):
                say_aside(f"{name}: {late}")


class Asked:
    """Whether a signal has asked this process to end."""

    def __init__(self) -> None:
        self.to_end = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.to_end = True


def ctl(
    path: Path, command: Do, value: str | None, *, export: str | None, timeout: float | None, as_json: bool
) -> None:
    """Does a command of the control socket and prints what comes of it."""
    arguments: dict[str, Any] = {} if command is Do.QUIT else {"export": export}
    arguments |= taken(command, value)
    if command is Do.METRICS and as_json:
        raise UsageError("metrics have a format of their own: --json is for the other commands")
    with Control(path, timeout_s=timeout) as control:
        if command is Do.METRICS:
            sys.stdout.write(metrics.exposition(control.stats(export))[0].decode())
            return
        reply = control.do(command.value, **arguments)
    if as_json:
        print(json.dumps({"ufsim": ufsim.__version__} | reply, indent=2))
    elif command is Do.CUT:
        for name, took in reply["recovery_ns"].items():
            say(f"{name}: power cut; recovered in {duration(took)}")
    elif command is Do.STATS:
        tell(reply["exports"])


def taken(command: Do, value: str | None) -> dict[str, int | str]:
    """What a command takes, from the words of the command line."""
    match command:
        case Do.MEMORY if value is not None and value.isascii() and value.isdigit():
            return {"mib": check_range("memory in MiB", int(value), *live.MEMORY_MIB)}
        case Do.MEMORY:
            raise UsageError("memory takes a number of MiB")
        case Do.FAULTS if value:
            return {**rates(value)}
        case Do.FAULTS:
            raise UsageError(f"faults takes rates: {RATES}; those that are left out become 0")
        case Do.SAVE if value:
            return {"path": os.path.abspath(value)}
        case Do.SAVE:
            raise UsageError("save takes the name of a file")
        case _ if value is not None:
            raise UsageError(f"{command.value} takes no value")
    return {}


def rates(words: str) -> dict[str, int]:
    """Rates of faults, by kind of operation."""
    found: dict[str, int] = {}
    for word in filter(None, words.split(",")):
        kind, _, number = word.partition("=")
        if kind not in FAULTS or kind in found or not (number.isascii() and number.isdigit()):
            raise UsageError(f"'{word}': faults are {RATES}")
        found[kind] = int(number)
    return found


def replay(log: Path, scheme: str, options: dict[str, Any], *, as_json: bool) -> None:
    """Repeats a log of arrivals and prints the state of the device afterwards."""
    stats = live.replay(log, scheme, **options)
    if as_json:
        print(json.dumps({"ufsim": ufsim.__version__, "exports": {scheme: stats}}, indent=2))
    else:
        tell({scheme: stats})


def tell(exports: dict[str, Any]) -> None:
    """A few lines for each export."""
    screen = Screen()
    for name, stats in exports.items():
        state = "ready" if stats["ready"] else "recovering"
        sim = f"{stats['sim_ns'] / 1e9:.3f} s simulated, digest {stats['digest']}"
        screen.print(f"{name}: {state}, {sim}", highlight=False)
        for kind, of in stats["requests"].items():
            if of["done"] + of["failed"]:
                latency = of["latency"]
                times = f"p50 {duration(latency['p50_ns'])}, p99 {duration(latency['p99_ns'])}"
                screen.print(f"  {kind}: {of['done']:,} done, {of['failed']:,} failed, {times}", highlight=False)
        ratios = {"hit ratio": stats["hit_ratio"], "WAF": stats["waf"]}
        told = [f"{what} {value:.3f}" for what, value in ratios.items() if value is not None]
        told.append(f"host DRAM {stats['host_dram_bytes'] / (1 << 20):.1f} MiB")
        screen.print(f"  {', '.join(told)}, {stats['checked_units']:,} units checked", highlight=False)
        if late := punctual.warning(stats):
            screen.print(f"  {late}", highlight=False)
