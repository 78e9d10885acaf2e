"""`ufsim trace`: what is in a trace, and the same as a file of another format."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

import ufsim
from ufsim.cli.options import JsonOption, UsageError, run_option
from ufsim.cli.screen import Screen
from ufsim.results import tables
from ufsim.results.formats import plural
from ufsim.traces import trace_convert, trace_formats, trace_info, trace_join, trace_to_scenario

app = typer.Typer(
    help="Look into block traces, and convert them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

WRITABLE = ", ".join(entry["name"] for entry in trace_formats() if entry["writable"])

FormatOption = Annotated[str | None, run_option("format")]
DeviceOption = Annotated[str | None, run_option("device")]
CleanOption = Annotated[list[str] | None, run_option("clean")]


@app.command()
def info(
    traces: Annotated[list[str], typer.Argument(metavar="TRACE...", help="Trace files or directories.")],
    format_name: FormatOption = None,
    device: DeviceOption = None,
    clean: CleanOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is in traces: requests, mix, sizes, footprint, duration, burstiness, sequentiality."""
    infos = [trace_info(trace, format=format_name, device=device, clean=clean or ()) for trace in traces]
    if as_json:
        print(json.dumps({"ufsim": ufsim.__version__, "traces": infos}, indent=2))
        return
    tables.print_traces(Screen(), infos)


@app.command()
def convert(
    trace: Annotated[str, typer.Argument(metavar="IN", help="Trace file or directory.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="File to write; it appears when it is complete.")],
    to: Annotated[str, typer.Option("--format", metavar="NAME", help=f"Format to write: {WRITABLE}.")],
    from_format: Annotated[str | None, run_option("format", "--from-format")] = None,
    device: DeviceOption = None,
    clean: CleanOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a trace in another format, and say what that has no room for."""
    converted = trace_convert(trace, out, to, format=from_format, device=device, clean=clean or ())
    if as_json:
        print(json.dumps(converted, indent=2))
        return
    console = Screen(soft_wrap=True, highlight=False)
    console.print(f"{out}: {plural(converted['requests'], 'request')}, {converted['from']} to {converted['to']}")
    for text in converted["lost"]:
        console.print(Text(f"lost: {text}", style="yellow"))
    for text in converted["warnings"]:
        console.print(Text(f"warning: {text}", style="yellow"))


@app.command()
def join(
    traces: Annotated[list[str], typer.Argument(metavar="TRACE...", help="Trace files or directories, in order.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="CSV file to write; it appears when it is complete.")
    ],
    rule: Annotated[
        str,
        typer.Option(
            metavar="RULE", help="merge: all at once; alternate: in turns of --turn; append: one after another."
        ),
    ],
    addresses: Annotated[
        str, typer.Option(metavar="HOW", help="shared: as recorded; stacked: a range of its own for each trace.")
    ],
    turn: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Length of a turn, for --rule alternate.")
    ] = None,
    shift: Annotated[
        str, typer.Option(metavar="SECONDS,...", help="Silence before the first request of each trace.")
    ] = "",
    format_name: FormatOption = None,
    device: DeviceOption = None,
    clean: CleanOption = None,
    as_json: JsonOption = False,
) -> None:
    """Join traces into one that can be replayed, and say in it where it comes from."""
    joined = trace_join(
        traces,
        out,
        rule=rule,
        addresses=addresses,
        turn_seconds=turn,
        shift_seconds=seconds_of(shift),
        format=format_name,
        device=device,
        clean=clean or (),
    )
    if as_json:
        print(json.dumps(joined, indent=2))
        return
    console = Screen(soft_wrap=True, highlight=False)
    console.print(f"{out}: {plural(joined['requests'], 'request')}")
    for line in joined["origin"]:
        console.print(Text(line))
    for text in joined["warnings"]:
        console.print(Text(f"warning: {text}", style="yellow"))


def seconds_of(text: str) -> list[float]:
    """Numbers with commas between."""
    try:
        return [float(part) for part in text.split(",")] if text else []
    except ValueError as error:
        raise UsageError(f"--shift is '{text}'; allowed: seconds with commas between, such as 0,10,20") from error


@app.command("to-scenario")
def to_scenario(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="ftrace text or Perfetto recording of a phone.")],
    out: Annotated[Path, typer.Argument(metavar="SCENARIO.toml", help="Scenario to write; the I/O goes beside it.")],
    device: DeviceOption = None,
    clean: CleanOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a scenario for `ufsim phone` of what a real phone has done: I/O by app, launches, kills."""
    made = trace_to_scenario(trace, out, device=device, clean=clean or ())
    if as_json:
        print(json.dumps(made, indent=2))
        return
    console = Screen(soft_wrap=True, highlight=False)
    launches = f"{made['launches']:,} launch{'' if made['launches'] == 1 else 'es'}"
    told = f"{launches} of {plural(len(made['apps']), 'app')} ({made['cold']} cold), {plural(made['kills'], 'kill')}"
    console.print(f"{made['scenario']}: {told}")
    console.print(
        f"{made['trace']}: {plural(made['requests'], 'request')}, {made['others']:,} of them of no launched app"
    )
    for text in made["warnings"]:
        console.print(Text(f"warning: {text}", style="yellow"))


@app.command()
def formats(as_json: JsonOption = False) -> None:
    """List the formats of traces, in the order in which they are tried."""
    if as_json:
        print(json.dumps(trace_formats(), indent=2))
    else:
        Screen().print(tables.formats_table(trace_formats()))
