"""Commands of other packages, and what such a command needs of the command line.

A package adds a command to `ufsim` by an entry point of the group `ufsim.commands`: its name is that of the command,
and its object the function that typer makes a command of. Of ufsim it imports what `ufsim.__all__` lists, and the
modules `ufsim.commands`, `ufsim.outputs`, `ufsim.plots` and `ufsim.student`; all else may change.
"""

from importlib.metadata import entry_points
from typing import Annotated

import typer

from ufsim.cli.options import CacheOption, JobsOption, JsonOption, UsageError, run_option
from ufsim.cli.progress import CountDisplay
from ufsim.cli.screen import Screen, say

__all__ = ["CacheOption", "CountDisplay", "JobsOption", "JsonOption", "Screen", "UsageError", "run_option", "say"]

GROUP = "ufsim.commands"
# Commands of packages that are not there by themselves, by the extra of ufsim that brings them.
EXTRAS = {"reproduce": "papers"}
# Where the help lists them.
PANEL = "Of other packages"


def add_to(app: typer.Typer) -> None:
    """Adds every command of other packages; one that is not there, or is broken, says so when it is called."""
    installed = entry_points(group=GROUP)
    for entry in installed:
        try:
            app.command(entry.name, rich_help_panel=PANEL)(entry.load())
        except ImportError as error:
            _refuse(app, entry.name, "Cannot be loaded.", f"'{entry.name}' cannot be loaded: {error}")
    for name, extra in EXTRAS.items():
        if name not in installed.names:
            told = f"'{name}' is not installed; pip install 'ufsim[{extra}]' brings it"
            _refuse(app, name, f"Not installed: it comes with the extra {extra} of ufsim.", told)


def _refuse(app: typer.Typer, name: str, about: str, told: str) -> None:
    """Adds a command that fails with this message, whatever is typed behind it."""

    @app.command(name, help=about, rich_help_panel=PANEL, context_settings={"ignore_unknown_options": True})
    def _command(_arguments: Annotated[list[str] | None, typer.Argument(hidden=True)] = None) -> None:
        raise UsageError(told)
