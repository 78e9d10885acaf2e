"""The package stands beside the product: of ufsim it uses what is public, and its modules form no circle."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import ufsim
import ufsim_papers

ROOT = Path(ufsim_papers.__file__).parent
MODULES = {
    ".".join(("ufsim_papers", *path.relative_to(ROOT).with_suffix("").parts)): path for path in ROOT.rglob("*.py")
}
# Modules of ufsim that other packages may import from; ufsim.commands lists them.
PUBLIC = ("ufsim.commands", "ufsim.outputs", "ufsim.plots", "ufsim.student")


def imported(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """What is imported when the code runs: modules and the names that are taken from them."""
    for node in body:
        match node:
            case ast.ImportFrom(module=str(module)):
                yield from ((module, alias.name) for alias in node.names)
            case ast.Import():
                yield from ((alias.name, "") for alias in node.names)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                pass
            case _:
                yield from imported([child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)])


def known_to(path: Path) -> list[tuple[str, str]]:
    return list(imported(ast.parse(path.read_text(encoding="utf-8")).body))


@pytest.mark.parametrize("name", MODULES)
def test_a_module_takes_what_is_public(name: str) -> None:
    text = MODULES[name].read_text(encoding="utf-8")
    used = [(module, one) for module, one in known_to(MODULES[name]) if module.split(".")[0] == "ufsim"]
    used += [("ufsim", node.attr) for node in ast.walk(ast.parse(text)) if is_of_ufsim(node)]
    for module, one in used:
        if module == "ufsim" and f"ufsim.{one}" not in PUBLIC:
            assert one in ("", "__file__", *ufsim.__all__), f"{name} uses ufsim.{one}"
        elif module != "ufsim":
            assert module in PUBLIC, f"{name} imports {module}"
            names = getattr(import_module(module), "__all__", None)
            assert names is None or one in names, f"{name} takes {one} of {module}"


def is_of_ufsim(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ufsim"


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        names = {one for module, own in known_to(path) for one in (module, f"{module}.{own}")}
        graph[name] = (names & set(MODULES)) - {name}
    order = list(TopologicalSorter(graph).static_order())
    assert len(order) == len(MODULES)
