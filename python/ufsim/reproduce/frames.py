"""Single values of data frames, with a type."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def cell(table: pd.DataFrame, row: str | int, column: str) -> float:
    """The number in a row and column of a table."""
    return float(table[column].loc[row])
