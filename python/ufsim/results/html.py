"""Tables as HTML, for notebooks."""

from collections.abc import Sequence
from html import escape


def html_table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column names the rows; the other cells are numbers. All texts are escaped."""
    columns = "".join(f"<th style='text-align:right'>{escape(cell)}</th>" for cell in head)
    lines = [
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        + "".join(f"<td style='text-align:right'>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    ]
    top = f"<thead><tr>{columns}</tr></thead>" if any(head) else ""
    return f"<table><caption>{escape(caption)}</caption>{top}<tbody>{''.join(lines)}</tbody></table>"
