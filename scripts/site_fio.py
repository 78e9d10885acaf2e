"""What is said of fio's job files, read where the Rust sources say it."""

import re
from pathlib import Path

from site_markdown import code

FIO = Path(__file__).parents[1] / "crates/workload/src/fio"
# An arm that takes an option's value, with the option's other names.
ARM = re.compile(r'^ +((?:"\w+"(?: \| )?)+) => (?:self\.|\{$)', re.MULTILINE)
DIFFERENCES = "//! # Where this differs from fio\n"


def options() -> str:
    """Every option that is modelled, in the order of the sources, with its other names."""
    found = [re.findall(r"\w+", names) for names in ARM.findall((FIO / "options.rs").read_text(encoding="utf-8"))]
    shown = [code(first) + (f" ({', '.join(map(code, others))})" if others else "") for first, *others in found]
    return f"{', '.join(shown)}."


def differences() -> str:
    """Where fio would do something else: the list at the head of the module."""
    text = (FIO / "mod.rs").read_text(encoding="utf-8").split(DIFFERENCES, 1)[1]
    lines = [line.removeprefix("//!").removeprefix(" ") for line in text.split("\n\n", 1)[0].splitlines()]
    return "\n".join(lines) + "\n"
