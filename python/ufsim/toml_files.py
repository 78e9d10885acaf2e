"""TOML files of people: whichever editor has written them."""

import codecs
import tomllib
from pathlib import Path
from typing import Any

from ufsim import _core

# Byte order marks, and the encodings that they announce.
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def toml_tables(place: Path, shown: str) -> dict[str, Any]:
    """The tables of a file in UTF-8, or in UTF-16 with a byte order mark; `shown` is its name in messages."""
    text = place.read_bytes()
    encoding = next((encoding for mark, encoding in MARKS.items() if text.startswith(mark)), "utf-8")
    try:
        return tomllib.loads(text.decode(encoding).replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _core.ConfigError(f"{shown}: {error}") from error
