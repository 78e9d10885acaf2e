"""JSON at the border to the compiled core and to files: the only place where it is parsed.

What stands in a document is whatever its sender wrote, so its values are `Any` until a property or function that names
a field gives them a type.
"""

import json
from typing import Any

Document = dict[str, Any]


def parse(text: str) -> Document:
    """A JSON object."""
    document = json.loads(text)
    if not isinstance(document, dict):
        raise TypeError(f"a JSON object is expected, not {text[:40]!r}")
    return document


def parse_list(text: str) -> list[Document]:
    """A JSON list of objects."""
    documents = json.loads(text)
    if not isinstance(documents, list):
        raise TypeError(f"a JSON list is expected, not {text[:40]!r}")
    return documents
