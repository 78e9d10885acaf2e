"""Help of `ufsim crash`: what devices can be made to break."""

from typing import Any

from typer.core import TyperCommand

from ufsim import _core

# Widest column of names.
NAMES = 25


class ListsSabotages(TyperCommand):
    """A command whose help ends with every sabotage and what the device does then."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes the help, the list no wider than 80 columns."""
        super().format_help(ctx, formatter)
        with formatter.section("Sabotages, and what the device does then"):
            formatter.write_dl(_core.crash_sabotages(), col_max=NAMES)
        with formatter.section("Sabotages of --whole, and what happens then"):
            formatter.write_dl(_core.crash_sabotages(whole=True), col_max=NAMES)
