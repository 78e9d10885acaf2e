"""Reads the part of PromQL that the dashboard is written in: which metrics and labels does a query use?

Selectors with matchers and ranges, functions, aggregations (`sum by (a, b) (...)`), arithmetic (`/ on (a) group_left`),
numbers and parentheses. Anything else is an error. Variables of Grafana may stand in ranges and in strings.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""\s*(?:
    (?P<name>[A-Za-z_:][\w:]*) | (?P<number>\d+(?:\.\d+)?) | (?P<string>"(?:[^"\\]|\\.)*") |
    (?P<range>\[(?:\$__rate_interval|\d+[smhd])\]) | (?P<sign>=~|!~|!=|[-+*/(){},=])
    )""",
    re.VERBOSE,
)
FUNCTIONS = {"rate", "increase"}
AGGREGATIONS = {"sum", "max", "min", "avg"}


@dataclass
class Use:
    """A metric in a query."""

    metric: str
    # (label, operator, value)
    matchers: list[tuple[str, str, str]] = field(default_factory=list)
    # Labels by which its values are grouped.
    grouped_by: set[str] = field(default_factory=set)
    # Labels that both sides of an operator have to have in common.
    joined_on: set[str] = field(default_factory=set)


def uses(query: str) -> list[Use]:
    """The metrics that a query uses, in order. Raises `ValueError` if it is no query."""
    reader = Reader(query)
    found = list(reader.expression())
    if reader.here[1]:
        raise ValueError(f"{query}: {reader.here[1]!r} is too much")
    for use in found:
        use.joined_on = reader.joined
    return found


class Reader:
    """Reads one query from left to right."""

    def __init__(self, query: str) -> None:
        self.query, self.tokens, at = query, [], 0
        self.joined: set[str] = set()
        while query[at:].strip():
            token = TOKEN.match(query, at)
            if token is None:
                raise ValueError(f"{query}: {query[at:]!r} is no PromQL")
            self.tokens.append((str(token.lastgroup), token[str(token.lastgroup)]))
            at = token.end()
        self.tokens.append(("end", ""))
        self.here = self.tokens.pop(0)

    def next(self) -> str:
        text = self.here[1]
        self.here = self.tokens.pop(0)
        return text

    def take(self, wanted: str) -> str:
        """The next token, which has to be this sign or of this sort."""
        if wanted not in self.here:
            raise ValueError(f"{self.query}: {self.here[1]!r} where {wanted} has to be")
        return self.next()

    def expression(self) -> Iterator[Use]:
        yield from self.term()
        while self.here[1] in ("+", "-", "*", "/"):
            self.next()
            self.matching()
            yield from self.term()

    def matching(self) -> None:
        """`on (labels) group_left`, which names labels of both sides."""
        if self.here[1] == "on":
            self.next()
            self.take("(")
            self.joined |= set(self.listed(")"))
            if self.here[1] == "group_left":
                self.next()

    def term(self) -> Iterator[Use]:
        if self.here[0] == "number":
            self.next()
        elif self.here[1] == "(":
            yield from self.parenthesis()
        else:
            yield from self.named(self.take("name"))

    def parenthesis(self) -> Iterator[Use]:
        self.take("(")
        yield from self.expression()
        self.take(")")

    def named(self, name: str) -> Iterator[Use]:
        if name in FUNCTIONS:
            yield from self.parenthesis()
        elif name in AGGREGATIONS:
            labels: list[str] = []
            if self.here[1] == "by":
                self.next()
                self.take("(")
                labels = list(self.listed(")"))
            for use in list(self.parenthesis()):
                use.grouped_by |= set(labels)
                yield use
        else:
            yield self.selector(name)

    def listed(self, end: str) -> Iterator[str]:
        while self.here[1] != end:
            yield self.take("name")
            if self.here[1] != end:
                self.take(",")
        self.take(end)

    def selector(self, name: str) -> Use:
        use = Use(name)
        if self.here[1] == "{":
            self.next()
            while self.here[1] != "}":
                label = self.take("name")
                if self.here[1] not in ("=", "!=", "=~", "!~"):
                    raise ValueError(f"{self.query}: {self.here[1]!r} after the label {label}")
                use.matchers.append((label, self.next(), self.take("string")[1:-1]))
                if self.here[1] != "}":
                    self.take(",")
            self.take("}")
        if self.here[0] == "range":
            self.next()
        return use
