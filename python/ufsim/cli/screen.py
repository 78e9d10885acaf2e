"""What reaches a terminal: no control characters of names in traces, and no text that an encoding cannot hold.

Names of processes and files, and messages that quote them, come from others. A terminal obeys the escape sequences that
they may contain, so every one of their characters that is no text is shown as a symbol instead.
"""

import codecs
import os
import sys
import threading
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

# C0 controls and DEL have symbols of their own; C1 controls and what reverses the direction of writing do not.
SYMBOLS = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
SYMBOLS |= dict.fromkeys((*range(0x80, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F)), 0xFFFD)
SYMBOLS |= dict.fromkeys(range(0x2066, 0x206A), 0xFFFD)
LINES = {code: symbol for code, symbol in SYMBOLS.items() if code not in (0x09, 0x0A)}

# What an encoding without them gets instead.
PLAIN = {"–": "-", "—": "-", "µ": "u", "μ": "u", "×": "x", "…": "...", "±": "+-", "≤": "<=", "≥": ">=", "·": "."}

# A program that goes on waits so long for its lines to be taken.
ASIDE_S = 0.5


def printable(text: str) -> str:
    """The text on one line, with symbols in place of control characters."""
    return text.translate(SYMBOLS)


def say(text: str) -> None:
    """Prints lines on standard output, with symbols in place of other control characters."""
    print(text.translate(LINES))


def say_aside(text: str) -> None:
    """The same for a program that goes on, whether or not standard output takes the lines, or anybody reads them."""
    encoded = f"{text.translate(LINES)}\n".encode(sys.stdout.encoding, sys.stdout.errors or "strict")
    sys.stdout.flush()
    # Past the buffer of standard output, whose lock nobody may hold when the process ends.
    thread = threading.Thread(target=_write_all, args=(sys.stdout.fileno(), encoded), name="ufsim-lines", daemon=True)
    thread.start()
    thread.join(ASIDE_S)


def _write_all(descriptor: int, text: bytes) -> None:
    # There is no better place to say that this one fails.
    with suppress(OSError):
        while text:
            text = text[os.write(descriptor, text) :]


class Screen(Console):
    """A console that prints text as it is: neither markup nor emoji, and no control characters but its own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**({"markup": False, "emoji": False} | options))

    def render_str(self, text: str, **options: Any) -> Text:
        """Text from a string."""
        return super().render_str(text.translate(LINES), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of anything that is printed."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(segment.text.translate(LINES), segment.style)

    def print(self, *objects: Any, **options: Any) -> None:
        """Prints objects. A table that is wider than the terminal is folded; no cell is cut short."""
        for table in objects:
            if isinstance(table, Table):
                tight = self._needed(table) > self.width
                for column in table.columns:
                    column.overflow = "fold"
                    column.no_wrap = column.no_wrap and not tight
        super().print(*objects, **options)

    def _needed(self, table: Table) -> int:
        """The width below which a table loses something: rich cuts columns that are not to be wrapped."""
        endless = self.options.update(width=10_000)
        needed = self.measure(table, options=endless).minimum
        for column in table.columns:
            if column.no_wrap:
                sizes = [self.measure(cell, options=endless) for cell in (column.header, *column.cells)]
                needed += max(size.maximum for size in sizes) - max(size.minimum for size in sizes)
        return needed

    def on_broken_pipe(self) -> None:
        """Nobody reads any more: whoever called is told, and decides."""
        raise BrokenPipeError


def prepare_streams() -> None:
    """Makes standard output and error take any text. Where output is closed, printing fails; closed errors are lost."""
    codecs.register_error("ufsim", _replaced)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:
            # Something has to have the number, or a file would get it, and all that is printed.
            to_nowhere(descriptor, os.O_RDONLY if name == "stdout" else os.O_WRONLY)
            setattr(sys, name, open(descriptor, "w", encoding="utf-8", errors="ufsim", closefd=False))  # noqa: SIM115
        else:
            stream.reconfigure(errors="ufsim")


def to_nowhere(descriptor: int, how: int = os.O_WRONLY) -> None:
    """Lets nothing that is written to a descriptor from now on fail; all of it, if it is opened to be read."""
    nowhere = os.open(os.devnull, how)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Replaces characters that the encoding has not got."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(map(_plain, text)), error.end


def _plain(character: str) -> str:
    """The same in ASCII."""
    if character in PLAIN:
        return PLAIN[character]
    code = ord(character)
    if 0x2400 <= code < 0x2420:  # the symbol of a control character
        return f"^{chr(code - 0x2400 + 64)}"
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a file name that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    similar = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return similar or "?"
