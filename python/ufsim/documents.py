"""JSON at the border to the compiled core and to files: the only place where it is parsed.

What stands in a document is whatever its sender wrote, so its values are `Any` until a property or function that names
a field gives them a type.
"""

import json
import math
from typing import Any

Document = dict[str, Any]


def for_core(value: Any) -> str:
    """JSON for the core. A number that JSON has not, such as inf, is a text there: the core names it, and its range."""
    return json.dumps(_in_json(value))


def _in_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_in_json(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


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
