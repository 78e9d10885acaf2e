"""`ufsim store`: whether a file that keeps the data of a live device is whole, and what can be saved of one."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

import ufsim
from ufsim import _core, outputs
from ufsim.cli.options import JsonOption
from ufsim.cli.screen import Screen, say
from ufsim.documents import parse

app = typer.Typer(
    help="Check the files of `ufsim serve --store`, and save what is whole in a damaged one.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Runs of lost units that are printed; --json has all.
MOST_RUNS = 20

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="What serve --store has written.")]
OldArgument = Annotated[Path, typer.Argument(metavar="OLD", help="The store. It stays as it is.")]
NewArgument = Annotated[Path, typer.Argument(metavar="NEW", help="File to write; it appears when it is complete.")]
BytesOption = Annotated[
    int | None,
    typer.Option("--bytes", metavar="N", min=4096, help="Size of the device, if the store does not tell it any more."),
]


@app.command()
def check(path: FileArgument, as_json: JsonOption = False) -> None:
    """Read all of a store, and say whether it is whole. If not, the error says what is lost, with status 1."""
    found = parse(_core.check_store(path))
    if as_json:
        print(json.dumps({"ufsim": ufsim.__version__} | found, indent=2))
    else:
        say(f"{path}: whole, {found['units']:,} units of a device of {found['device_bytes']:,} bytes")


@app.command()
def rescue(old: OldArgument, new: NewArgument, size: BytesOption = None, as_json: JsonOption = False) -> None:
    """Write what is whole in a store to a new one, and say what is lost. Also takes over stores of earlier versions.

    A unit whose last data is damaged is lost, and reads as zeroes, also if older data of it is there.
    """
    try:
        rescued = parse(_core.rescue_store(old, new, size))
    except OSError as error:
        raise outputs.Unwritten([str(error)]) from error
    if as_json:
        print(json.dumps({"ufsim": ufsim.__version__} | rescued, indent=2))
    else:
        Screen().print(table(new, rescued))


def table(new: Path, rescued: dict[str, Any]) -> Table:
    """What was kept and lost."""
    drawn = Table(box=box.SIMPLE_HEAVY, title=str(new), title_justify="left", pad_edge=False)
    drawn.add_column("what")
    drawn.add_column("units", justify="right")
    drawn.add_column("which")
    drawn.add_row("kept", f"{rescued['units_kept']:,}", "may have older data" if rescued["may_be_old"] else "")
    lost = rescued["units_lost"]
    drawn.add_row("lost", f"{sum(count for _, count in lost):,}", runs(lost))
    unnamed = rescued["units_lost_unnamed"]
    if unnamed is None:
        drawn.add_row("lost without a trace", "?", "the file does not tell how many units it held")
    else:
        drawn.add_row("lost without a trace", f"{unnamed:,}", "")
    return drawn


def runs(lost: list[tuple[int, int]]) -> str:
    """Runs of units in words."""
    told = [str(first) if count == 1 else f"{first}..={first + count - 1}" for first, count in lost[:MOST_RUNS]]
    more = [f"and {len(lost) - MOST_RUNS:,} more runs"] if len(lost) > MOST_RUNS else []
    return ", ".join(told + more)
