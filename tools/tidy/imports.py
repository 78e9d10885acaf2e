"""Which files of a crate use which: the graph behind `mod` and `use`, and its circles.

A file uses another if it names an item that the other defines, in a `use` or in a path. Names that a module only passes
on (`pub use child::Item`) lead to the file that defines them. Declaring a module or passing a name on is no use. What
stands in a macro is used by the files that call it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tools.tidy.rust import body_after, strip, test_modules, without_tests

Path = tuple[str, ...]


@dataclass(frozen=True)
class Circle:
    """Files each of which reaches each other one."""

    files: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        by_file = {file: ", ".join(to for of, to in self.edges if of == file) for file in self.files}
        return "; ".join(f"{file} -> {others}" for file, others in by_file.items())


@dataclass
class Module:
    """One file: its place in the tree of modules, what it imports, its macros, and the rest of its text."""

    file: str
    path: Path
    code: str
    imports: list[tuple[Path, str, bool]] = field(default_factory=list)
    macros: dict[str, str] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)

    def passes_on(self) -> dict[str, Path]:
        return {name: path for path, name, _ in self.imports}


_USE = re.compile(r"(?P<public>\bpub(?:\([^)]*\))?\s+)?\buse\s+(?P<tree>[^;]*);")
_PATH = re.compile(r"(?<![\w:])(?:\$?crate|super|self|[a-z_]\w*)(?:\s*::\s*\w+)+")


def circles(sources: dict[str, str], root: str) -> list[Circle]:
    """The strongly connected parts of a crate's files that have more than one file, largest first."""
    return _circles(imports(sources, root))


def room_circles(sources: dict[str, str], root: str) -> list[Circle]:
    """The same of a crate's folders; a file beside them counts as one. The facade at the root is not looked at."""
    edges: dict[str, set[str]] = {}
    for file, used in imports(sources, root).items():
        rooms = {other.partition("/")[0] for other in used}
        edges.setdefault(file.partition("/")[0], set()).update(rooms)
    edges.pop("lib.rs", None)
    return _circles({room: (used & edges.keys()) - {room} for room, used in edges.items()})


def _circles(edges: dict[str, set[str]]) -> list[Circle]:
    parts = [part for part in _strongly_connected(edges) if len(part) > 1]
    inside = [
        Circle(tuple(sorted(part)), tuple((of, to) for of in sorted(part) for to in sorted(edges[of] & set(part))))
        for part in parts
    ]
    return sorted(inside, key=lambda circle: (-len(circle.files), circle.files))


def imports(sources: dict[str, str], root: str) -> dict[str, set[str]]:
    """For each file, named from the crate's `src`, the files that it uses. Files of tests are left out."""
    modules = _modules(sources, root)
    exported = {name: module.path for module in modules.values() for name in module.exported}
    macros = {name: body for module in modules.values() for name, body in module.macros.items()}
    edges: dict[str, set[str]] = {module.file: set() for module in modules.values()}
    for module in modules.values():
        called = "".join(macros[name] for name in re.findall(r"\b(\w+)!", module.code) if name in macros)
        for path in _used(module, called):
            target = _resolve(modules, exported, module.path, path)
            if target is not None and target.file != module.file:
                edges[module.file].add(target.file)
    return edges


def _modules(sources: dict[str, str], root: str) -> dict[Path, Module]:
    modules, tests = {}, set()
    for file, text in sources.items():
        name = file.removeprefix(root)
        parts = list(PurePosixPath(name).with_suffix("").parts)
        if parts[-1] in ("mod", "lib", "main") and (parts[-1] == "mod" or len(parts) == 1):
            parts.pop()
        code = strip(text)
        tests |= {(*parts, module) for module in test_modules(code)}
        module = Module(name, tuple(parts), without_tests(code))
        for use in _USE.finditer(module.code):
            for path, alias in _expand(use["tree"], ()):
                module.imports.append((path, alias, use["public"] is not None))
        module.code = _USE.sub("", module.code)
        _take_macros(module)
        modules[module.path] = module
    tests |= {path for path in modules if path and path[-1].endswith("tests")}
    is_test = [path for path in modules if any(path[: len(test)] == test for test in tests)]
    return {path: module for path, module in modules.items() if path not in is_test}


def _take_macros(module: Module) -> None:
    while found := re.search(r"(#\[macro_export\]\s*(?:#\[[^\]]*\]\s*)*)?\bmacro_rules!\s*(\w+)", module.code):
        body, end = body_after(module.code, found.end())
        module.macros[found[2]] = body
        if found[1]:
            module.exported.add(found[2])
        module.code = module.code[: found.start()] + module.code[end:]


def _expand(tree: str, prefix: Path) -> Iterator[tuple[Path, str]]:
    """The paths of a use tree, each with the name that it gets: `a::{b, c as d}` is `a::b` and `a::c`."""
    tree = tree.strip()
    head, brace, rest = tree.partition("{")
    segments = tuple(part.strip() for part in head.split("::") if part.strip())
    if brace:
        for branch in _branches(rest[: rest.rindex("}")]):
            yield from _expand(branch, prefix + segments)
        return
    if not segments:
        return
    last, _, alias = segments[-1].partition(" as ")
    path = prefix + segments[:-1] + (() if last == "self" and prefix + segments[:-1] else (last.strip(),))
    yield path, alias.strip() or path[-1]


def _branches(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for at, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def _used(module: Module, called: str) -> Iterator[Path]:
    """The paths in a file, `called` being the bodies of the macros that it calls."""
    code = module.code + called
    for path, name, public in module.imports:
        if not public or re.search(rf"\b{re.escape(name)}\b", code):
            yield path
    for found in _PATH.finditer(code):
        yield tuple(part.strip() for part in found[0].lstrip("$").split("::"))


def _resolve(
    modules: dict[Path, Module], exported: dict[str, Path], at: Path, path: Path, depth: int = 0
) -> Module | None:
    """The file that defines what a path names, seen from a module; None for other crates and local names."""
    head, rest = path[0], path[1:]
    if head == "crate":
        here: Path = ()
        if rest and rest[0] in exported:
            return modules[exported[rest[0]]]
    elif head == "self":
        here = at
    elif head == "super":
        here = at[:-1]
        while rest and rest[0] == "super":
            here, rest = here[:-1], rest[1:]
    elif (*at, head) in modules:
        here = (*at, head)
    else:
        return None
    while rest and (*here, rest[0]) in modules:
        here, rest = (*here, rest[0]), rest[1:]
    module = modules.get(here)
    if module is None or not rest or rest[0] in module.macros or depth > 8:
        return module
    passed = module.passes_on()
    if rest[0] in passed and passed[rest[0]] != path:
        further = _resolve(modules, exported, here, passed[rest[0]] + rest[1:], depth + 1)
        # A name from another crate that this file passes on is not this file's.
        return further if further is not None or not _local(modules, here, passed[rest[0]]) else module
    for glob, name, public in module.imports:
        if name == "*" and public:
            further = _resolve(modules, exported, here, glob[:-1] + rest[:1], depth + 1)
            if further is not None and re.search(rf"\b{re.escape(rest[0])}\b", further.code):
                return further
    return module


def _local(modules: dict[Path, Module], at: Path, path: Path) -> bool:
    return path[0] in ("crate", "self", "super") or (*at, path[0]) in modules


def _strongly_connected(edges: dict[str, set[str]]) -> set[tuple[str, ...]]:
    """The parts of a graph in which each node is reached from each other one."""
    reached = {node: _reached(edges, node) for node in edges}
    return {tuple(sorted(other for other in reached[node] if node in reached[other])) for node in edges}


def _reached(edges: dict[str, set[str]], start: str) -> set[str]:
    """What can be reached from a node, the node itself included."""
    found, left = {start}, [start]
    while left:
        more = edges[left.pop()] - found
        found |= more
        left.extend(more)
    return found
