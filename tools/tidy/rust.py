"""Just enough of Rust's grammar: text without comments and literals, and blocks by their braces."""

import re

_TOKEN = re.compile(
    r"""
    (?P<line>//[^\n]*)
  | (?P<block>/\*)
  | (?P<raw>\b(?:b|c)?r(?P<hashes>\#*)"(?s:.*?)"(?P=hashes))
  | (?P<string>(?:\b[bc])?"(?:\\(?s:.)|[^"\\])*")
  | (?P<char>(?:\bb)?'(?:\\(?:x..|u\{[^}]*\}|.)|[^'\\\n])')
    """,
    re.VERBOSE,
)


def lines_of_literals(text: str) -> set[int]:
    """Numbers of the lines that lie wholly inside a literal and that no backslash could break."""
    lines: set[int] = set()
    at = 0
    while found := _TOKEN.search(text, at):
        at = _block_comment_end(text, found.end()) if found["block"] else found.end()
        if found["string"] or found["raw"]:
            first = text.count("\n", 0, found.start()) + 1
            within = found[0].split("\n")[1:-1]
            lines.update(number for number, line in enumerate(within, first + 1) if not line.endswith("\\"))
    return lines


def strip(text: str) -> str:
    """The text with comments and literals emptied; lines stay where they are."""
    kept, at = [], 0
    while found := _TOKEN.search(text, at):
        kept.append(text[at : found.start()])
        at = _block_comment_end(text, found.end()) if found["block"] else found.end()
        gone = text[found.start() : at]
        literal = '""' if found["string"] or found["raw"] else "' '" if found["char"] else ""
        kept.append(literal + "\n" * gone.count("\n"))
    return "".join(kept) + text[at:]


def _block_comment_end(text: str, at: int) -> int:
    depth = 1
    for mark in re.compile(r"/\*|\*/").finditer(text, at):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)


def body_after(code: str, at: int) -> tuple[str, int]:
    """What stands between the next brace and its partner, and where the partner ends."""
    start = code.index("{", at)
    depth = 0
    for brace in re.compile(r"[{}]").finditer(code, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return code[start + 1 : brace.start()], brace.end()
    return code[start + 1 :], len(code)


def without_tests(code: str) -> str:
    """Stripped code without the items under `#[cfg(test)]`; lines stay where they are."""
    while found := re.search(r"#\[cfg\(test\)\]", code):
        end = re.compile(r"[;{]").search(code, found.end())
        if end is None:
            return code[: found.start()]
        last = end.end() if end[0] == ";" else body_after(code, end.start())[1]
        code = code[: found.start()] + "\n" * code.count("\n", found.start(), last) + code[last:]
    return code


def test_modules(code: str) -> set[str]:
    """Modules that stripped code declares under `#[cfg(test)]` and that have a file of their own."""
    return set(re.findall(r"#\[cfg\(test\)\](?:\s*#\[[^\]]*\])*\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;", code))
