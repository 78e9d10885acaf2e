"""Tests that may go on for as long as anybody likes. All but `device` can be stopped, and go on later."""

import os
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

Jobs = Annotated[int, typer.Option(min=1, help="blocks of cases at a time")]
Record = Annotated[Path | None, typer.Option(help="file for what the finished soak tells")]
PROCESSORS = os.cpu_count() or 1


@app.command()
def cuts(
    cuts: Annotated[int, typer.Option("--cuts", min=1)] = 1_000_000,
    jobs: Jobs = PROCESSORS,
    state: Annotated[Path, typer.Option(help="file for what has been done")] = Path("out/soak-state.json"),
    record: Record = None,
) -> None:
    """The campaign of power cuts, until there were so many cuts."""
    from tools.soak.cases import soak_cases

    raise typer.Exit(soak_cases(cuts, jobs, state, record, whole=False))


@app.command()
def whole(
    steps: Annotated[int, typer.Option(min=1)] = 10_000_000,
    jobs: Jobs = PROCESSORS,
    state: Annotated[Path, typer.Option(help="file for what has been done")] = Path("out/whole-state.json"),
    record: Record = None,
) -> None:
    """Server, clients, disk and device simulated together, until there were so many steps."""
    from tools.soak.cases import soak_cases

    raise typer.Exit(soak_cases(steps, jobs, state, record, whole=True))


@app.command()
def guest(
    scheme: Annotated[list[str], typer.Option(help="schemes, each with all sessions")],
    cuts: Annotated[int, typer.Option("--cuts", min=1, help="most cuts of a session")] = 1_000_000,
    jobs: Jobs = PROCESSORS,
    state: Annotated[Path, typer.Option(help="file for what has been done")] = Path("out/guest-cuts.jsonl"),
    record: Record = None,
) -> None:
    """Power cuts along sessions of Linux; needs make linux. A record keeps the sessions of other schemes."""
    from tools.soak.guest import soak_sessions

    raise typer.Exit(soak_sessions(scheme, cuts, jobs, state, record))


@app.command()
def device(
    minutes: Annotated[float, typer.Option(help="at least so long")] = 20.0,
    cuts: Annotated[int, typer.Option(help="at least so many power cuts")] = 30,
    kills: Annotated[int, typer.Option(help="kills of the server, spread among the cuts")] = 3,
    scheme: Annotated[str, typer.Option()] = "hp-ufs",
    profile: Annotated[str, typer.Option()] = "hp-ufs",
    area: Annotated[int, typer.Option(metavar="MIB", help="size of each of the four areas")] = 64,
    flushes: Annotated[bool, typer.Option(help="without flushes this has to end with 1")] = True,
) -> None:
    """fio on a live device with power cuts and kills of its server; ends with 1 at the first wrong block."""
    from tools.soak.devices import soak_device

    soak_device(scheme, profile, area, minutes, cuts, kills, flushes=flushes)
