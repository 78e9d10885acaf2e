"""The reference of results: every field of the JSON report with its type and meaning, as Rust declares it."""

import json
import re
from functools import cache
from typing import Any

from ufsim import _core
from ufsim_papers.markdown import code, table

Schema = dict[str, Any]

UNITS = {
    "ns": "ns",
    "uj": "uJ",
    "bytes": "bytes",
    "seconds": "s",
    "second": "1/s",
    "mib": "MiB",
    "units": "units of 4 KiB",
}
WORDS = {"string": "text", "boolean": "true, false", "null": "null", "number": "number", "integer": "integer"}


@cache
def declared() -> dict[str, Any]:
    """What the program tells."""
    told: dict[str, Any] = json.loads(_core.declared())
    return told


def unit(name: str) -> str:
    """A field's unit, which its name tells."""
    return "MiB/s" if name.endswith("mib_per_s") else UNITS.get(name.rsplit("_", 1)[-1], "")


def kind(schema: Schema) -> str:
    """A type as a reader of JSON knows it."""
    if reference := schema.get("$ref"):
        name = reference.rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if parts := schema.get("anyOf"):
        return " or ".join(map(kind, parts))
    if parts := schema.get("prefixItems"):
        return f"pair of {' and '.join(map(kind, parts))}"
    told = schema["type"]
    if told == "array":
        return f"list of {kind(schema['items'])}"
    if told == "object":
        return f"{kind(schema['additionalProperties'])} by name"
    return " or ".join(WORDS[word] for word in (told if isinstance(told, list) else [told]))


def fields(schema: Schema) -> dict[str, Schema]:
    """The fields of an object, in the order of their declaration, which only the list of required ones has kept."""
    order = {name: place for place, name in enumerate(schema.get("required", []))}
    names = sorted(schema["properties"], key=lambda name: order.get(name, len(order)))
    return {name: schema["properties"][name] for name in names}


def rows(told: dict[str, Schema]) -> str:
    """A table of fields."""
    return table(
        ("field", "type", "unit", "meaning"),
        ([code(name), kind(one), unit(name), one.get("description", "")] for name, one in told.items()),
    )


def reached(schema: Schema, objects: dict[str, Schema]) -> list[str]:
    """The objects that fields lead to, in the order in which a reader meets them."""
    names: list[str] = []
    for one in fields(schema).values():
        for name in re.findall(r"#/\$defs/(\w+)", json.dumps(one)):
            names += [name, *reached(objects[name], objects)]
    return list(dict.fromkeys(names))


HEAD = """# Results

One result is one JSON object: `Result.data` in Python, an entry of `results` in what `ufsim compare --json` prints and
writes. Its document is `{"ufsim": VERSION, "workload": ..., "results": [...]}`. Names end with their unit. Latency runs
from a request's arrival to its completion; in a timed replay it includes waiting for a tag. How to work with results in
pandas: [Read results in pandas](../howto/pandas.md).

This page is made from the declarations in the sources.

## A result

First what was run:

"""


def page() -> str:
    """The page."""
    setup, result = declared()["setup"], declared()["result"]
    objects = result["$defs"]
    own = {name: one for name, one in fields(result).items() if name not in setup["properties"]}
    causes = table(("cause", "what is charged to it"), ([code(name), about] for name, about in declared()["causes"]))
    text = HEAD + rows(fields(setup)) + "\nThen what came of it:\n\n" + rows(own)
    text += f"\n## Causes\n\nKeys of `nand_time_ns` and `nand_ops`.\n\n{causes}"
    text += (
        "\n## Objects in a result\n\nEvery counter of `counters.host` and `counters.device` is in [Counters]"
        "(../counters.md).\n"
    )
    for name in reached(result, objects):
        text += f"\n### {name}\n\n{objects[name].get('description', '')}\n\n{rows(fields(objects[name]))}"
    return text
