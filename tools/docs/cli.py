"""The reference of the command line, made from the application itself."""

from collections.abc import Iterator
from typing import Any

import typer

from ufsim_papers.markdown import code, table

# Values of an option, by the type that it is read as.
KINDS = {"int": "a whole number", "float": "a number", "path": "a path"}

HEAD = """# Command line

Made from the commands themselves; `ufsim COMMAND --help` says the same. What options of a run mean in Python and in
JSON stands in [Options of a run](../run.md).

"""


def page() -> str:
    """The page."""
    from ufsim.cli.app import app

    root: Any = typer.main.get_command(app)
    return HEAD + "\n".join(section(name, command) for name, command in commands("ufsim", root))


def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Every command below a group, in the order in which help shows them."""
    below = getattr(command, "commands", None)
    if below is None:
        yield name, command
        return
    # The name of a group's default command is left out.
    default = getattr(command, "default", None)
    for word, found in below.items():
        yield from commands(name if word == default else f"{name} {word}", found)


def section(name: str, command: Any) -> str:
    """One command with its arguments and options."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and one.name != "help"]
    usage = " ".join([name, *(spelling(one) for one in arguments), *(["[OPTIONS]"] if options else [])])
    text = f"## {name}\n\n{command.help or ''}\n\n```\n{usage}\n```\n\n"
    if arguments:
        text += table(("argument", "meaning"), ([code(spelling(one)), one.help or ""] for one in arguments)) + "\n"
    if options:
        rows = ([flags(one), allowed(one), default(one), one.help or ""] for one in options)
        text += table(("option", "allowed", "default", "meaning"), rows)
    return text


def spelling(argument: Any) -> str:
    """An argument as a usage line shows it."""
    name = argument.metavar or argument.name.upper()
    return name if argument.required or name.startswith("[") else f"[{name}]"


def flags(option: Any) -> str:
    """All spellings of an option, with what follows it."""
    value = "" if option.is_flag or not option.metavar else f" {option.metavar}"
    return ", ".join(code(flag + value) for flag in [*option.opts, *option.secondary_opts])


def allowed(option: Any) -> str:
    """Choices, or the kind of value."""
    choices = getattr(option.type, "choices", None)
    if choices:
        return ", ".join(code(str(choice)) for choice in choices)
    return "" if option.is_flag else KINDS.get(option.type.name, "a text")


def default(option: Any) -> str:
    """What counts if the option is not given."""
    if option.required:
        return "must be given"
    value = option.default
    if option.is_flag:
        return code(option.opts[0]) if value and option.secondary_opts else ""
    return code(str(value)) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def known_options() -> dict[str, set[str]]:
    """Every command with the spellings that it knows; for the check of examples."""
    from ufsim.cli.app import app

    root: Any = typer.main.get_command(app)
    found = {}
    for name, command in commands("ufsim", root):
        found[name] = {flag for one in command.params for flag in [*one.opts, *one.secondary_opts]} | {"--help", "-h"}
    return found
