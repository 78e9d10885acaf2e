"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table. A column whose title ends with `>` is aligned to the right."""
    titles = [title.removesuffix(">") for title in head]
    rules = ["--:" if title.endswith(">") else "---" for title in head]
    lines = [titles, rules, *([cell(text) for text in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cell(text: str) -> str:
    """A text that does not end its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """A name as it is typed."""
    return f"`{text}`" if text else ""
