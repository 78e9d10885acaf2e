"""Options of commands, made from the declarations in `ufsim._options`, and how their texts are read."""

import inspect
import re
import tomllib
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from ufsim._options import Options, Setting
from ufsim.spec import key_names
from ufsim.traces import clean_rules, trace_formats

# What a declaration can not know: names that the core lists.
LISTED = {
    "format": f"One of {', '.join(entry['name'] for entry in trace_formats())}.",
    "clean": f"One of {', '.join(clean_rules())}.",
}
# Groups of options in the help of a command; the others come first.
TRACES, PARTS, OUTPUT, RUNNING = "How traces are read", "Parts of the system", "Output", "How it runs"
PANELS = {
    **dict.fromkeys(("merge", "per_cpu_streams", "repeat", "device", "format", "clean", "fold"), TRACES),
    **dict.fromkeys(("scheduler", "booster", "mapping"), PARTS),
    **dict.fromkeys(("verify", "from_state", "cut_at"), RUNNING),
}
# Commands that take several of what is one in a run.
SEVERAL = {"workload": ("run", "compare")}
FIELDS = {option.name: option for option in fields(Options)}
TYPES = get_type_hints(Options)

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.", rich_help_panel=OUTPUT)
]
SchemesOption = Annotated[
    str, typer.Option(metavar="NAME,...", help="Schemes with commas between, or all; gains are over the first.")
]
SeedsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Run with so many seeds, from --seed on, and say how far chance goes: means with 95% intervals, gains "
        "seed by seed. (default: 5 where ageing, faults, host time or the link draw at random, otherwise 1)",
    ),
]
CacheOption = Annotated[
    bool, typer.Option(rich_help_panel=RUNNING, help="Keep states of aged devices, and use those that are there.")
]
LogOption = Annotated[
    Path | None,
    typer.Option(
        "--log",
        rich_help_panel=OUTPUT,
        metavar="FILE.parquet",
        help="Also write every request with its stages to this file; FILE-SCHEME.parquet with several schemes. "
        "FILE.ftrace is a text of ftrace instead, FILE.log a latency log of fio. Of several seeds this, timeline and "
        "series are of the first.",
    ),
]
TimelineOption = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=OUTPUT,
        metavar="FILE.pftrace",
        help="Also write what dies, channels, link and firmware did, for the Perfetto UI; FILE-SCHEME.pftrace with "
        "several schemes.",
    ),
]
WindowOption = Annotated[
    str | None,
    typer.Option(
        "--timeline-window",
        rich_help_panel=OUTPUT,
        metavar="FROM..TO",
        help="The part of the run that the timeline shows, such as 2s..2.5s after the workload began. (default: all)",
    ),
]
SeriesOption = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=OUTPUT,
        metavar="FILE.parquet",
        help="Also write throughput, latencies, WAF, caches and queues for each interval of a step; "
        "FILE-SCHEME.parquet with several schemes.",
    ),
]
StepOption = Annotated[
    str | None,
    typer.Option(rich_help_panel=OUTPUT, metavar="TIME", help="Length of an interval of the series. (default: 100ms)"),
]
JobsOption = Annotated[
    int | None, typer.Option(rich_help_panel=RUNNING, metavar="N", help="Runs at a time. (default: one per processor)")
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        rich_help_panel=OUTPUT,
        metavar="DIR",
        help="Directory for the picture, JSON and Parquet. (default: out; with --json: none)",
    ),
]
PanelOption = Annotated[
    Literal["speed", "read", "write", "flush", "trim", "nand"] | None,
    typer.Option(rich_help_panel=OUTPUT, help="Draw one panel only. (default: all)"),
]
NameOption = Annotated[
    str | None,
    typer.Option(rich_help_panel=OUTPUT, metavar="NAME", help="Name of those files. (default: the workload's)"),
]


class UsageError(Exception):
    """A command line that means nothing."""


def takes(name: str, **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command, in place of its parameter `options`, the options of a run that are declared for it.

    The command gets them as a dictionary: the arguments of `ufsim.spec.Spec`. `defaults` replaces declared defaults.
    """
    taken = [option for option in FIELDS.values() if name in option.metadata["commands"]]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        for own in inspect.signature(command, eval_str=True).parameters.values():
            added = [parameter(option, name, defaults) for option in taken] if own.name == "options" else [own]
            parameters += [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in added]

        def with_options(**arguments: Any) -> None:
            options = {option.name: read(option, arguments.pop(option.name)) for option in taken}
            command(**arguments, options=options)

        with_options.__name__, with_options.__doc__ = command.__name__, command.__doc__
        with_options.__annotations__ = {one.name: one.annotation for one in parameters}
        with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return with_options

    return decorate


def parameter(option: Field[Any], command: str, defaults: dict[str, Any]) -> inspect.Parameter:
    """An option as a parameter of a command."""
    default = defaults.get(option.name, option.default)
    if default is MISSING:
        default = None if option.default_factory is not MISSING else inspect.Parameter.empty
    form: Any = Annotated  # the type is not known before
    if command in SEVERAL.get(option.name, ()):
        declared = option.metadata
        several = typer.Argument(metavar=f"{declared['metavar']}...", help=f"{declared['help']} Several make a suite.")
        annotation = form[list[str], several]
    else:
        annotation = form[text_type(option), run_option(option.name)]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def run_option(name: str, flag: str | None = None) -> Any:
    """What typer has to know of an option of a run, by its name in `ufsim.RunOptions`; `flag` replaces its spelling."""
    declared = FIELDS[name].metadata
    help_text = " ".join(filter(None, [declared["help"], LISTED.get(name)]))
    metavar = declared["metavar"] or None
    spelling = flag or declared["flag"]
    if not spelling:
        return typer.Argument(metavar=metavar, help=help_text)
    return typer.Option(spelling, metavar=metavar, help=help_text, rich_help_panel=PANELS.get(name))


def text_type(option: Field[Any]) -> Any:
    """The type that the command line reads; `read` makes the field's type of it."""
    if option.name == "host_memory_mib":
        return str | None
    if option.default_factory is not MISSING:
        return list[str] | None
    return TYPES[option.name]


def read(option: Field[Any], given: Any) -> Any:
    """What an argument of the command line means."""
    if option.name == "host_memory_mib":
        return None if given is None else parse_value(given)
    if option.default_factory is dict:
        return parse_settings(given)
    if option.default_factory is list:
        return given or []
    if option.name == "workload" and isinstance(given, list):
        return whole_workloads(given)
    return given


def whole_workloads(words: list[str]) -> list[str]:
    """The workloads. Options without quotes, each another one, are the single workload that a shell has taken apart."""
    keys = [found[1] for word in words if (found := re.fullmatch(r"([a-z_]+)=\S*", word)) and not Path(word).exists()]
    return [" ".join(words)] if len(set(keys)) == len(words) else words


def parse_settings(texts: list[str] | None) -> dict[str, Setting]:
    """Reads `section.key=value` arguments; values are written as in TOML, and what is not TOML is a string."""
    settings: dict[str, Setting] = {}
    for text in texts or []:
        key, separator, value = text.partition("=")
        key = key.strip()
        if not separator or not re.fullmatch(r"[A-Za-z0-9_-]+(\.([A-Za-z0-9_-]+|\*))+", key):
            meant = [name for name in key_names() if name.rpartition(".")[2] == key] if separator else []
            hint = f"; did you mean {' or '.join(meant)}?" if meant else ""
            raise UsageError(f"--set is '{text}'; allowed: SECTION.KEY=VALUE{hint}")
        if key in settings:
            raise UsageError(f"--set names '{key}' twice")
        settings[key] = parse_value(value.strip())
    return settings


def parse_value(text: str) -> Setting:
    """A TOML string, integer, float or boolean, or else the text itself."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, str | int | float | bool) else text
