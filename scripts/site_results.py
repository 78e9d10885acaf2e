"""The reference of results: every field of the JSON report with its type and meaning, read where Rust declares it."""

import re
from dataclasses import dataclass
from pathlib import Path

from site_markdown import code, table

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "crates/lab/src/result.rs"
OPTIONS = ROOT / "crates/lab/src/options.rs"
PHONE = ROOT / "crates/workload/src/report/phone.rs"
OPERATIONS = ROOT / "crates/nand/src/op.rs"

STRUCT = re.compile(
    r"((?:^ *///[^\n]*\n)*)(?:^ *#\[[^\n]*\]\n)*^ *pub struct (\w+) \{\n(.*?)^ *\}$", re.MULTILINE | re.DOTALL
)
FIELD = re.compile(r"((?:^ *///.*\n)+)(?:^ *#\[.*\]\n)*^ *pub (\w+): (.+),$", re.MULTILINE)
# An option of a run that the result repeats: key, type of the echo, and its meaning.
ECHO = re.compile(
    r"^ {4}(\w+)(?: alias \"\w+\")?: [^;]*?echo ([\w<>, ]+) =\s*\|run\|.*?,\s*\"((?:[^\"\\]|\\.)*)\";",
    re.MULTILINE | re.DOTALL,
)
VARIANT = re.compile(r"((?:^ *///.*\n)+)^ *(\w+),$", re.MULTILINE)

UNITS = {
    "ns": "ns",
    "uj": "uJ",
    "bytes": "bytes",
    "seconds": "s",
    "second": "1/s",
    "mib": "MiB",
    "units": "units of 4 KiB",
}


@dataclass(frozen=True)
class Field:
    """A field of a report."""

    name: str
    type: str
    doc: str

    @property
    def unit(self) -> str:
        """Its unit, which the name tells."""
        if self.name.endswith("mib_per_s"):
            return "MiB/s"
        return UNITS.get(self.name.rsplit("_", 1)[-1], "")


def lines(comment: str) -> str:
    """The text of a documentation comment."""
    return " ".join(line.strip().removeprefix("///").strip() for line in comment.splitlines())


def structs(path: Path) -> dict[str, tuple[str, list[Field]]]:
    """The structs of a file by name, each with its documentation and its fields."""
    found = {}
    for about, name, body in STRUCT.findall(path.read_text(encoding="utf-8")):
        fields = [Field(field, kind, lines(doc)) for doc, field, kind in FIELD.findall(body)]
        found[name] = (lines(about), fields)
    return found


def setup() -> list[Field]:
    """What a result repeats of the options of its run."""
    text = OPTIONS.read_text(encoding="utf-8")
    own = structs(OPTIONS)["Setup"][1]
    declared = text[text.index("\noptions! {") :]
    echoed = [Field(key, kind, unescaped(doc)) for key, kind, doc in ECHO.findall(declared)]
    return own + echoed


def unescaped(text: str) -> str:
    """A literal of Rust as it is read."""
    return re.sub(r"\\\n\s*", "", text).replace('\\"', '"')


def json_type(rust: str) -> str:
    """A type as a reader of JSON knows it."""
    if option := re.fullmatch(r"Option<(.+)>", rust):
        return f"{json_type(option[1])} or null"
    if listed := re.fullmatch(r"Vec<(.+)>|\[(.+); \d+\]", rust):
        return f"list of {json_type(listed[1] or listed[2])}"
    if table_of := re.fullmatch(r"BTreeMap<String, (.+)>", rust):
        return f"{json_type(table_of[1])} by name"
    if pair := re.fullmatch(r"\((.+), (.+)\)", rust):
        return f"pair of {json_type(pair[1])} and {json_type(pair[2])}"
    plain = {"String": "text", "bool": "true, false", "f64": "number", "Named": "integer by name"}
    if rust in plain:
        return plain[rust]
    return "integer" if re.fullmatch(r"[ui](8|16|32|64|size)", rust) else f"[{rust}](#{rust.lower()})"


def rows(fields: list[Field]) -> str:
    """A table of fields."""
    return table(
        ("field", "type", "unit", "meaning"),
        ([code(field.name), json_type(field.type), field.unit, field.doc] for field in fields),
    )


def causes() -> str:
    """What an operation of the flash is charged to."""
    text = OPERATIONS.read_text(encoding="utf-8")
    body = text[text.index("pub enum Cause {") :].split("\n}", 1)[0]
    named = [(re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(), lines(doc)) for doc, name in VARIANT.findall(body)]
    return table(("cause", "what is charged to it"), ([code(name), doc] for name, doc in named))


HEAD = """# Results

One result is one JSON object: `Result.data` in Python, an entry of `results` in what `ufsim compare --json` prints and
writes. Its document is `{"ufsim": VERSION, "workload": ..., "results": [...]}`. Names end with their unit. Latency runs
from a request's arrival to its completion; in a timed replay it includes waiting for a tag. How to work with results in
pandas: [Read results in pandas](../howto/pandas.md).

This page is made from the declarations in the sources.

## A result

First what was run:

"""


def reached(fields: list[Field], known: dict[str, tuple[str, list[Field]]]) -> list[str]:
    """The structs that fields lead to, in the order in which a reader meets them."""
    names: list[str] = []
    for field in fields:
        for name in re.findall(r"\w+", field.type):
            if name in known and name not in names:
                names += [name, *(below for below in reached(known[name][1], known) if below not in names)]
    return list(dict.fromkeys(names))


def declared() -> dict[str, tuple[str, list[Field]]]:
    """Every struct that a report may hold. Of two with the same name that of the report counts."""
    found = {}
    for crate in ("workload", "lab"):
        for path in sorted((ROOT / f"crates/{crate}/src").rglob("*.rs")):
            found.update(structs(path))
    return {**found, **structs(PHONE), **structs(RESULT)}


def page() -> str:
    """The page."""
    known = declared()
    own = [field for field in known["RunResult"][1] if field.type != "Setup"]
    text = HEAD + rows(setup()) + "\nThen what came of it:\n\n" + rows(own)
    text += f"\n## Causes\n\nKeys of `nand_time_ns` and `nand_ops`.\n\n{causes()}"
    text += (
        "\n## Objects in a result\n\nEvery counter of `counters.host` and `counters.device` is in [Counters]"
        "(../counters.md).\n"
    )
    for name in reached([*setup(), *own], known):
        about, fields = known[name]
        text += f"\n### {name}\n\n{about}\n\n{rows(fields)}"
    return text


def documented() -> set[str]:
    """Names of all fields of a result; for the test."""
    return {field.name for field in setup()} | {field.name for field in structs(RESULT)["RunResult"][1]}
