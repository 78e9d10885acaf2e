"""Who writes files: in Rust what goes by crates/files, in Python what goes by ufsim/outputs.py.

A writer in Python that is handed an unfinished file calls it `beside`, as `outputs.replacing` does. To that it may
write with whatever writes.
"""

import ast
import re
from collections.abc import Iterator

from tools.tidy.rust import strip, without_tests

RUST = re.compile(r"\b(?:File::create(?:_new)?|File::options|fs::(?:write|rename|copy|hard_link)|OpenOptions)\b")
TESTS = re.compile(r"/(?:tests|\w+_tests)\.rs$|/tests/")
# What writes to a path that it is handed.
TO_PATH = {"to_parquet", "to_csv", "to_feather", "savefig"}
# What writes to the path that it is called on.
ON_PATH = {"write_text", "write_bytes", "touch"}
RENAMES = {"replace", "rename", "hardlink_to"}


def rust(text: str) -> Iterator[tuple[int, str]]:
    """Lines that open files for writing, or rename them, and how."""
    code = without_tests(strip(text))
    for found in RUST.finditer(code):
        yield code.count("\n", 0, found.start()) + 1, found[0]


def python(text: str) -> Iterator[tuple[int, str]]:
    """The same."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and (told := _writes(node)):
            yield node.lineno, told


def _writes(call: ast.Call) -> str | None:
    function, first = call.func, call.args[0] if call.args else None
    if isinstance(function, ast.Name):
        return _opens(call, 1) if function.id == "open" else None
    if not isinstance(function, ast.Attribute):
        return None
    name, on = function.attr, function.value
    of_system = isinstance(on, ast.Name) and on.id == "os"
    if of_system and name in ("open", "replace", "rename", "link"):
        return f"os.{name}"
    if name in ("open", "fdopen"):
        return _opens(call, 1 if of_system else 0)
    if (name in TO_PATH and not _is_beside(first)) or (name in ON_PATH and not _is_beside(on)):
        return name
    # A text's `replace` has two arguments, a frame's `rename` only named ones.
    return name if name in RENAMES and len(call.args) == 1 and not call.keywords else None


def _opens(call: ast.Call, place: int) -> str | None:
    named = [one.value for one in call.keywords if one.arg == "mode"]
    mode = next(iter([*named, *call.args[place : place + 1]]), None)
    if isinstance(mode, ast.Constant) and isinstance(mode.value, str) and set(mode.value) & set("wax+"):
        return f"open with '{mode.value}'"
    return None


def _is_beside(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Name) and node.id == "beside"
