"""The checks. Each takes the tree and yields findings.

A finding that is accepted stands in ACCEPTED with its reason; an entry that no longer meets a finding is a finding
itself, so the list can only shrink.
"""

import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.tidy import imports, writers
from tools.tidy.rust import body_after, lines_of_literals, strip, without_tests

WIDTH = 120
FILE_LINES = 700
TRAIT_METHODS = 12

# Folders whose traits are seats: what a mapping scheme, a booster and a scheduler implement.
SEATS = ("crates/ftl/src/seat/", "crates/host/src/booster/", "crates/host/src/sched/")

# Crates that may hold unsafe code. All others inherit the workspace's lints, which forbid it.
UNSAFE_CRATES = {"guest", "sqlite", "table"}

# Made by a program, and compared with what it makes by a test.
GENERATED = ("docs/counters.md", "docs/device-facts.md", "docs/profile.md", "docs/run.md")

MACHINE_PATH = re.compile(r"(?<![\w.$/}~-])(?<!\w\")/(?:work|root|home|Users)/\w")
UNFINISHED = re.compile(r"\b(?:todo|unimplemented|dbg)!")
# Words for people and programs at a desk. The project's text is about the project, of which a language model on a
# phone's flash is a workload.
FOREIGN_WORDS = re.compile(r"\b(?:sub-?agents?|AI agents?|chat ?bots?)\b", re.IGNORECASE)

# (check, path): reason. A path ends with "/" if it stands for everything below it.
ACCEPTED: dict[tuple[str, str], str] = {
    ("writers", "crates/files/src/real.rs"): "the place for it",
    ("writers", "crates/explore/src/main.rs"): "a program for people who work on this project",
    ("writers", "crates/guest/src/boot.rs"): "the console of a guest, in a folder that goes with it",
    ("writers", "python/ufsim/linux/session.py"): "what a guest begins with, in a folder that goes with it",
    ("writers", "python/ufsim/outputs.py"): "the place for it",
    ("writers", "python/ufsim/locks.py"): "files that are locked and hold nothing",
    ("writers", "python/ufsim/cli/screen.py"): "standard output",
    ("writers", "python/ufsim/states.py"): "the time of a state's last use",
    ("writers", "papers/ufsim_papers/figure.py"): "a drawing in memory",
}


@dataclass(frozen=True)
class Finding:
    """One thing that is not tidy."""

    check: str
    path: str
    what: str
    line: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what} [{self.check}]"


@dataclass(frozen=True)
class Tree:
    """The text files that git tracks or would add, by path from the project's root."""

    files: dict[str, str]

    @staticmethod
    def of(root: Path) -> "Tree":
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
        files = {}
        for name in sorted(set(listed.split("\0")) - {""}):
            path = root / name
            if path.is_symlink() or not path.is_file() or name.startswith("fuzz/corpus/"):
                continue
            try:
                files[name] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
        return Tree(files)

    def lines(self, *suffixes: str) -> Iterator[tuple[str, int, str]]:
        for path, text in self.files.items():
            if path.endswith(suffixes):
                yield from ((path, number, line) for number, line in enumerate(text.split("\n"), 1))

    def rust(self) -> Iterator[tuple[str, str]]:
        return ((path, text) for path, text in self.files.items() if path.endswith(".rs"))


def width(tree: Tree) -> Iterator[Finding]:
    """Lines of code, comments and prose.

    Tables and links of Markdown, values in TOML and lines of text inside of a literal are as long as they are.
    """
    inside = {path: lines_of_literals(text) for path, text in tree.rust()}
    for path, number, line in tree.lines(".rs", ".py", ".pyi", ".md", ".toml", ".sh", ".yml", "Makefile", ".cff"):
        if len(line) <= WIDTH or path in GENERATED:
            continue
        free = {
            ".md": line.lstrip().startswith("|") or "](" in line or "://" in line,
            ".toml": not line.lstrip().startswith("#"),
            ".rs": number in inside.get(path, ()),
        }
        if not free.get(Path(path).suffix, False):
            yield Finding("width", path, f"{len(line)} characters, {WIDTH} are allowed", number)


def words(tree: Tree) -> Iterator[Finding]:
    """No path of somebody's machine, and nothing about who or what typed the text."""
    for path, number, line in tree.lines(""):
        if path.endswith(("tidy/checks.py", ".lock")):
            continue
        for pattern, what in ((MACHINE_PATH, "path of a machine"), (FOREIGN_WORDS, "not about the project")):
            if found := pattern.search(line):
                yield Finding("words", path, f"{what}: {found[0]}", number)


def unfinished(tree: Tree) -> Iterator[Finding]:
    """Macros that mark what is not done or not meant to stay."""
    for path, text in tree.rust():
        for number, line in enumerate(strip(text).split("\n"), 1):
            if found := UNFINISHED.search(line):
                yield Finding("unfinished", path, found[0], number)


def length(tree: Tree) -> Iterator[Finding]:
    """One subject a file."""
    for path, text in tree.files.items():
        lines = text.count("\n")
        if path.endswith((".rs", ".py")) and lines > FILE_LINES:
            yield Finding("length", path, f"{lines} lines, {FILE_LINES} are allowed", lines)


def seats(tree: Tree) -> Iterator[Finding]:
    """A trait of a seat asks few questions, and what it answers by default is an answer."""
    for folder in SEATS:
        traits = 0
        for path, text in tree.rust():
            if not path.startswith(folder):
                continue
            code = without_tests(strip(text))
            for trait in re.finditer(r"\btrait\s+(\w+)", code):
                traits += 1
                line = code.count("\n", 0, trait.start()) + 1
                body, _ = body_after(code, trait.end())
                methods = re.findall(r"\bfn\s+(\w+)", re.sub(r"\{[^{}]*\}", "", _outermost(body)))
                if len(methods) > TRAIT_METHODS:
                    what = f"trait {trait[1]} has {len(methods)} methods, {TRAIT_METHODS} are allowed"
                    yield Finding("seats", path, what, line)
                if found := re.search(r"\b(?:panic|unreachable|unimplemented|todo)!", body):
                    yield Finding("seats", path, f"a default of trait {trait[1]} calls {found[0]}", line)
        if not traits:
            yield Finding("seats", folder, "no trait found: has the seat moved?")


def _outermost(body: str) -> str:
    """What stands at the first level of a block: bodies of functions become `{}`."""
    kept, depth = [], 0
    for character in body:
        depth -= character == "}"
        if depth == 0:
            kept.append(character)
        depth += character == "{"
    return "".join(kept)


def circles(tree: Tree) -> Iterator[Finding]:
    """Files of a crate that import each other in a circle of more than three: see imports.py."""
    sources = dict(tree.rust())
    for crate in sorted({path.split("/")[1] for path in sources if re.match(r"crates/\w+/src/", path)}):
        root = f"crates/{crate}/src/"
        for circle in imports.circles({p: t for p, t in sources.items() if p.startswith(root)}, root):
            if len(circle.files) > 3:
                yield Finding("circles", root, f"{len(circle.files)} files import each other: {circle}")


def rooms(tree: Tree) -> Iterator[Finding]:
    """No two folders of the FTL import each other, at whatever distance."""
    root = "crates/ftl/src/"
    sources = {path: text for path, text in tree.rust() if path.startswith(root)}
    for circle in imports.room_circles(sources, root):
        yield Finding("rooms", root, f"folders import each other: {circle}")


def manifests(tree: Tree) -> Iterator[Finding]:
    """Every crate has the workspace's lints, and the citation names the version."""
    workspace = tomllib.loads(tree.files["Cargo.toml"])
    for path, text in tree.files.items():
        crate = re.fullmatch(r"crates/(\w+)/Cargo.toml", path)
        if not crate:
            continue
        lints = tomllib.loads(text).get("lints", {})
        if crate[1] not in UNSAFE_CRATES:
            if lints != {"workspace": True}:
                yield Finding("manifests", path, "inherit the workspace's lints")
        elif lints.get("clippy") != workspace["workspace"]["lints"]["clippy"]:
            yield Finding("manifests", path, "its clippy lints differ from the workspace's")
    version = workspace["workspace"]["package"]["version"]
    if f"\nversion: {version}\n" not in tree.files["CITATION.cff"]:
        yield Finding("manifests", "CITATION.cff", f"the version is {version}")


def suites(tree: Tree) -> Iterator[Finding]:
    """A file of tests that the suite beside it does not name is never compiled."""
    for path, text in tree.rust():
        if path.endswith("/tests/suite.rs"):
            folder = path.removesuffix("suite.rs")
            beside = (name.removeprefix(folder) for name in tree.files if name.startswith(folder))
            for name in sorted(name for name in beside if re.fullmatch(r"\w+\.rs", name) and name != "suite.rs"):
                if f"mod {name.removesuffix('.rs')};" not in text:
                    yield Finding("suites", folder + name, "suite.rs does not name it, so it is never run")


def who_writes(tree: Tree) -> Iterator[Finding]:
    """Files are written by what writes them whole, and by nothing else: see writers.py."""
    for path, text in tree.files.items():
        if re.match(r"crates/\w+/src/.*\.rs$", path) and not writers.TESTS.search(path):
            found, place = writers.rust(text), "crates/files"
        elif re.match(r"(python/ufsim|papers/ufsim_papers)/.*\.py$", path):
            found, place = writers.python(text), "ufsim.outputs"
        else:
            continue
        for line, what in found:
            yield Finding("writers", path, f"{what}: {place} writes files", line)


QUOTED = re.compile(r"^<!-- as in (\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def quotations(tree: Tree) -> Iterator[Finding]:
    """A block of Markdown under `<!-- as in FILE -->` is that file; every file of an example is shown somewhere."""
    shown = set()
    for path, text in tree.files.items():
        if not path.endswith(".md"):
            continue
        blocks = list(QUOTED.finditer(text))
        if len(blocks) != text.count("<!-- as in "):
            yield Finding("quotations", path, "a comment '<!-- as in FILE -->' needs a block of code below it")
        for block in blocks:
            shown.add(block[1])
            if tree.files.get(block[1]) != block[2]:
                line = text.count("\n", 0, block.start()) + 1
                yield Finding("quotations", path, f"the block differs from {block[1]}", line)
    for path in tree.files:
        if path.startswith("examples/") and not path.endswith(".lock") and path not in shown:
            yield Finding("quotations", path, "no document shows this file: <!-- as in FILE -->")


CHECKS = (width, words, unfinished, length, seats, circles, rooms, manifests, suites, who_writes, quotations)


def findings(tree: Tree, accepted: dict[tuple[str, str], str]) -> list[Finding]:
    """What is not tidy and not accepted, and what is accepted without need."""
    met, left = set(), []
    for check in CHECKS:
        for finding in check(tree):
            key = next((key for key in accepted if _covers(key, finding)), None)
            if key is None:
                left.append(finding)
            met.add(key)
    unmet = (key for key in accepted if key not in met)
    return left + [
        Finding(check, path, "accepted in checks.py, but there is nothing to accept") for check, path in unmet
    ]


def _covers(key: tuple[str, str], finding: Finding) -> bool:
    check, path = key
    return check == finding.check and (finding.path == path or (path.endswith("/") and finding.path.startswith(path)))
