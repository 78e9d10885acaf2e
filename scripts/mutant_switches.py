"""Sources that hold many mutants at once, each behind a switch (mutant schemata: Untch, Offutt and Harrold, 1993).

`switched` writes a file anew so that the call `crate::mutant(N)`, which is true for the number that the environment
chooses, decides everywhere between what stands there and the mutant N. An operator is replaced in the tree of
expressions; where brackets are missing this can differ from a replacement in the text.

Comments mark what was written for which mutants: `/*<3,4*/ ... /*>*/` around a place, `/*=3*/ ... /*>*/` around what
mutant 3 alone put there. A mutant that does not compile is found by them (`blamed`).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import tree_sitter_rust
from tree_sitter import Language, Node, Parser

RUST = Language(tree_sitter_rust.language())
COMPARISONS = ("==", "!=", "<", ">", "<=", ">=")
MARK = re.compile(rb"/\*([<=])([0-9,]+)\*/|/\*>\*/")


@dataclass(frozen=True)
class Change:
    """A mutant of a file: `replacement` in place of the bytes from `start`."""

    number: int
    genre: str
    start: int
    replacement: str


def switched(source: bytes, changes: Iterable[Change]) -> tuple[bytes, set[int], set[int]]:
    """The source with a switch for each change. The numbers of changes for which there is no switch, and of those that
    are no program at all.
    """
    tree = Parser(RUST).parse(source)
    sites: dict[int, list[Change]] = {}
    places: list[int] = []
    impossible: set[int] = set()
    unviable: set[int] = set()
    for change in changes:
        node = site(tree.root_node, change)
        if node is None:
            (unviable if is_in_chain(tree.root_node, change) else impossible).add(change.number)
        else:
            sites.setdefault(node.id, []).append(change)
            places.append(node.start_byte)
    root = tree.root_node
    text = Writer(source, sites, places).write(root)
    return source[: root.start_byte] + text + source[root.end_byte :], impossible, unviable


def is_in_chain(root: Node, change: Change) -> bool:
    """True for the && between parts of a let chain: Rust has no other operator there."""
    node = root.descendant_for_byte_range(change.start, change.start + 1)
    return node is not None and node.parent is not None and node.parent.type == "let_chain"


def site(root: Node, change: Change) -> Node | None:
    """The part of the tree that is written anew for a change. None if nobody knows how."""
    node = root.descendant_for_byte_range(change.start, change.start + 1)
    wanted = {
        "BinaryOperator": ("binary_expression", "compound_assignment_expr"),
        "UnaryOperator": ("unary_expression",),
        "FnValue": ("block",),
        "MatchArm": ("match_arm",),
        "MatchArmGuard": ("match_pattern",),
        "StructField": ("field_initializer",),
    }.get(change.genre, ())
    operator = change.genre in ("BinaryOperator", "UnaryOperator")
    while node is not None and node.type not in wanted:
        if operator and node.is_named:
            return None  # The operator belongs to something else: the && of a let chain.
        node = node.parent
        if node is not None and change.genre == "FnValue" and node.type == "block" and not is_body(node):
            node = node.parent
    if node is None or node.type != "match_arm":
        return node
    return node.child_by_field_name("pattern")


def of_sabotage(source: bytes, mutants: Iterable[tuple[int, str]]) -> list[bool]:
    """For each place and genre, whether only a planted defect (a sabotage) gets there. Canaries test those."""
    root = Parser(RUST).parse(source).root_node
    found = (site(root, Change(0, genre, start, "")) for start, genre in mutants)
    return [node is not None and within_sabotage(node, source) for node in found]


def within_sabotage(node: Node, source: bytes) -> bool:
    def speaks(part: Node | None) -> bool:
        return part is not None and b"sabotag" in source[part.start_byte : part.end_byte].lower()

    head = {"unary_expression": node, "match_pattern": node.child(0)}.get(node.type)
    if speaks(head):
        return True
    operands = (node.child_by_field_name(field) for field in ("left", "right"))
    if node.type == "binary_expression" and any(speaks(operand) for operand in operands):
        return True
    while (parent := node.parent) is not None:
        if parent.type == "binary_expression" and parent.children[1].type == "&&":
            other = parent.children[2] if parent.children[0] == node else parent.children[0]
            if speaks(other):
                return True
        if node.type == "match_arm" and parent.parent is not None and parent.parent.type == "match_expression":
            # The pattern without its guard.
            pattern = node.child_by_field_name("pattern")
            head = pattern.child(0) if pattern is not None else None
            chosen = head is not None and source[head.start_byte : head.end_byte] == b"true"
            if speaks(head) or (chosen and speaks(parent.parent.child_by_field_name("value"))):
                return True
        condition = parent.child_by_field_name("condition") if parent.type == "if_expression" else None
        if speaks(condition) and parent.child_by_field_name("consequence") == node:
            return True
        if parent.type == "function_item":
            return documentation(parent, source).startswith(b"/// Sabotage")
        node = parent
    return False


def documentation(function: Node, source: bytes) -> bytes:
    """The first line of what is said of a function."""
    first, line = function, function.prev_sibling
    while line is not None and line.type == "line_comment":
        first, line = line, line.prev_sibling
    return source[first.start_byte : first.end_byte]


def is_body(block: Node) -> bool:
    return block.parent is not None and block.parent.type == "function_item"


class Writer:
    """Writes a tree, with switches at the sites."""

    def __init__(self, source: bytes, sites: Mapping[int, list[Change]], places: Sequence[int]) -> None:
        self.source = source
        self.sites = sites
        self.places = places

    def write(self, node: Node) -> bytes:
        changes = self.sites.get(node.id)
        if changes is None:
            return self.plain(node)
        text = {
            "binary_expression": self.binary,
            "compound_assignment_expr": self.assignment,
            "unary_expression": self.unary,
            "block": self.body,
            "match_pattern": self.arm,
            "field_initializer": self.field,
        }[node.type](node, changes)
        numbers = ",".join(str(change.number) for change in changes)
        return b"/*<%s*/%s/*>*/" % (numbers.encode(), text)

    def plain(self, node: Node) -> bytes:
        """A node that is no site itself."""
        if not any(node.start_byte <= place < node.end_byte for place in self.places):
            return self.source[node.start_byte : node.end_byte]
        text, at = b"", node.start_byte
        for child in node.children:
            text += self.source[at : child.start_byte] + self.write(child)
            at = child.end_byte
        return text + self.source[at : node.end_byte]

    def part(self, node: Node, field: str) -> bytes:
        part = node.child_by_field_name(field)
        assert part is not None, f"{node.type} without {field}"
        return self.write(part) if field != "operator" else self.source[part.start_byte : part.end_byte]

    def binary(self, node: Node, changes: list[Change]) -> bytes:
        left, right, operator = (self.part(node, field) for field in ("left", "right", "operator"))
        if operator in (b"&&", b"||"):
            [change] = changes  # By De Morgan, each side stands once.
            turn = b"crate::mutant(%d) ^ " % change.number
            return b"(%s((%s(%s)) %s (%s(%s))))" % (turn, turn, left, operator, turn, right)
        if operator.decode() in COMPARISONS:
            return b"(match (&(%s), &(%s)) { (a__, b__) => %s })" % (
                *(left, right),
                choice(changes, lambda text: b"*a__ %s *b__" % text, b"*a__ %s *b__" % operator),
            )
        return b"(match ((%s), (%s)) { (a__, b__) => %s })" % (
            *(left, right),
            choice(changes, lambda text: b"a__ %s b__" % text, b"a__ %s b__" % operator),
        )

    def assignment(self, node: Node, changes: list[Change]) -> bytes:
        left, right, operator = (self.part(node, field) for field in ("left", "right", "operator"))
        options = choice(changes, lambda text: b"%s %s r__" % (left, text), b"%s %s r__" % (left, operator))
        return b"{ let r__ = %s; %s }" % (right, options)

    def unary(self, node: Node, changes: list[Change]) -> bytes:
        operator, operand = node.children
        sign = self.source[operator.start_byte : operator.end_byte]
        options = choice(changes, lambda _: b"x__", sign + b"x__")
        return b"(match (%s) { x__ => %s })" % (self.write(operand), options)

    def body(self, node: Node, changes: list[Change]) -> bytes:
        returns = b"".join(
            b"if crate::mutant(%d) { return /*=%d*/%s/*>*/; } " % (one.number, one.number, one.replacement.encode())
            for one in changes
        )
        return b"{ " + returns + self.plain(node)[1:]

    def arm(self, node: Node, changes: list[Change]) -> bytes:
        condition = node.child_by_field_name("condition")
        pattern = self.source[node.start_byte : node.children[0].end_byte]
        guard = b"true" if condition is None else b"(%s)" % self.write(condition)
        for change in changes:
            chosen = b"crate::mutant(%d)" % change.number
            always = change.genre == "MatchArmGuard" and change.replacement == "true"
            guard = b"(%s || %s)" % (chosen, guard) if always else b"(!%s && %s)" % (chosen, guard)
        return b"%s if %s" % (pattern, guard)

    def field(self, node: Node, changes: list[Change]) -> bytes:
        """A field that is left out has the value of the base."""
        name, value = (node.child_by_field_name(field) for field in ("field", "value"))
        entries = node.parent
        literal = entries.parent if entries is not None else None
        bases = [one for one in entries.children if one.type == "base_field_initializer"] if entries else []
        assert literal is not None and name is not None and len(bases) == 1, "a field is left out only beside a base"
        kind, base, named = (
            self.source[one.start_byte : one.end_byte] for one in (literal.children[0], bases[0].children[-1], name)
        )
        left_out = b"{ let base__: %s = %s; base__.%s }" % (kind, base, named)
        text = b"{ %s }" % self.write(value) if value is not None else named
        return b"%s: %s" % (named, choice(changes, lambda _: left_out, text))


def choice(changes: list[Change], mutant: Callable[[bytes], bytes], original: bytes) -> bytes:
    """An expression that is the mutant that was chosen, or else the original."""
    text = b""
    for change in changes:
        changed = mutant(change.replacement.encode())
        text += b"if crate::mutant(%d) { /*=%d*/%s/*>*/ } else " % (change.number, change.number, changed)
    return b"%s{ %s }" % (text, original)


def blamed(text: bytes, offset: int) -> tuple[set[int], bool]:
    """The mutants for which a place of a file was written, and whether one put it there alone."""
    around: list[tuple[set[int], bool]] = []
    for mark in MARK.finditer(text, 0, offset):
        if mark[1] is None:
            around.pop()
        else:
            around.append(({int(number) for number in mark[2].split(b",")}, mark[1] == b"="))
    return around[-1] if around else (set(), False)
