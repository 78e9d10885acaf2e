"""`ufsim serve` and `ufsim ctl`: live devices for other programs."""

import json
import signal
import sys
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

import ufsim
from ufsim import live, metrics
from ufsim.cli_options import UsageError
from ufsim.formats import duration
from ufsim.live import Control, Server
from ufsim.metrics_server import MetricsServer
from ufsim.screen import Screen, say

# Kinds of flash operations that can fail.
FAULTS = ("read", "program", "erase")
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
PortOption = Annotated[
    int | None, typer.Option("--tcp", metavar="PORT", help="Also listen on this port of 127.0.0.1; 0: any.")
]
MetricsOption = Annotated[
    int | None,
    typer.Option("--metrics", metavar="PORT", help="Metrics for Prometheus on this port of 127.0.0.1; 0: any."),
]
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
ExportOption = Annotated[str | None, typer.Option(metavar="NAME", help="Only this export. (default: all)")]


def serve(
    schemes: str, path: Path, clock: Clock, speed: float | None, metrics_port: int | None, options: dict[str, Any]
) -> None:
    """Serves until Ctrl-C, SIGTERM or `ufsim ctl PATH quit`; each of them is an ordinary end."""
    if clock is Clock.FREE and speed is not None:
        raise UsageError("--speed is for --clock real")
    pace = None if clock is Clock.FREE else 1.0 if speed is None else speed
    asked = Asked()
    with ExitStack() as until_the_end:
        server = until_the_end.enter_context(
            Server([one for one in schemes.split(",") if one], path, speed=pace, **options)
        )
        if server.port is not None:
            say(f"nbd://127.0.0.1:{server.port}")
        if metrics_port is not None:
            say(until_the_end.enter_context(MetricsServer(server.stats, metrics_port)).url)
        print("ready", flush=True)
        while not asked.to_end and not server.wait(LOOK_S):
            pass


class Asked:
    """Whether a signal has asked this process to end."""

    def __init__(self) -> None:
        self.to_end = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.to_end = True


def ctl(path: Path, command: Do, value: str | None, export: str | None, *, as_json: bool) -> None:
    """Does a command of the control socket and prints what comes of it."""
    arguments: dict[str, Any] = {} if command is Do.QUIT else {"export": export}
    arguments |= taken(command, value)
    if command is Do.METRICS and as_json:
        raise UsageError("metrics have a format of their own: --json is for the other commands")
    with Control(path) as control:
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
            return {"mib": int(value)}
        case Do.MEMORY:
            raise UsageError("memory takes a number of MiB")
        case Do.FAULTS:
            return {**rates(value or "")}
        case Do.SAVE if value:
            return {"path": str(Path(value).absolute())}
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
            raise UsageError(f"'{word}': faults are read=N, program=N, erase=N, each once, of a million operations")
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
