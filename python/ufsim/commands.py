"""Commands of other packages, and what such a command needs of the command line.

A package adds a command to `ufsim` by an entry point of the group `ufsim.commands`: its name is that of the command,
and its object the function that typer makes a command of. Of ufsim it imports what `ufsim.__all__` lists, and the
modules `ufsim.commands`, `ufsim.outputs`, `ufsim.plots` and `ufsim.student`; all else may change.
"""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Annotated

import typer

from ufsim.cli_options import CacheOption, JobsOption, JsonOption, UsageError, run_option
from ufsim.progress import CountDisplay
from ufsim.screen import Screen, say

__all__ = ["CacheOption", "CountDisplay", "JobsOption", "JsonOption", "Screen", "UsageError", "run_option", "say"]

GROUP = "ufsim.commands"
# Commands of packages that are not there by themselves, by the extra of ufsim that brings them.
EXTRAS = {"reproduce": "papers"}
# Such a command takes whatever is typed behind it.
ANYTHING = {"ignore_unknown_options": True}


def add_to(app: typer.Typer) -> None:
    """Adds every command of other packages; one that is not installed says how to get it."""
    installed = {entry.name: entry.load() for entry in entry_points(group=GROUP)}
    for name, command in installed.items():
        app.command(name)(command)
    for name, extra in EXTRAS.items():
        if name not in installed:
            told = f"Not installed: it comes with the extra {extra} of ufsim."
            app.command(name, help=told, context_settings=ANYTHING)(_missing(name, extra))


def _missing(name: str, extra: str) -> Callable[..., None]:
    def command(arguments: Annotated[list[str] | None, typer.Argument(hidden=True)] = None) -> None:
        raise UsageError(f"'{name}' is not installed; pip install 'ufsim[{extra}]' brings it")

    return command
