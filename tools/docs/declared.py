"""What the program says of itself, as pages show it."""

import ufsim
from tools.docs.results import declared
from ufsim import _core
from ufsim.devices import describe_profile
from ufsim.results.columns import FILES, FRAMES
from ufsim_papers.markdown import code, table


def schemes() -> str:
    """Every preset and its parts."""
    rows = (
        [code(one["name"]), *(code(one[part]) for part in ("scheduler", "booster", "mapping")), one["summary"]]
        for one in ufsim.schemes()
    )
    return table(("scheme", "scheduler", "booster", "mapping", "what it is"), rows)


def sabotages() -> str:
    """Every sabotage with what the device does then."""
    rows = ([code(name), summary] for name, summary in _core.crash_sabotages())
    return table(("sabotage", "what the device does"), rows)


def formats() -> str:
    """Every format of traces."""
    rows = (
        [code(one["name"]), one["about"], one.get("needs", ""), "yes" if one["writable"] else ""]
        for one in ufsim.trace_formats()
    )
    return table(("format", "what", "what has to be in it", "written"), rows)


def profiles() -> str:
    """Every built-in profile with its summary."""
    devices = ((name, describe_profile(name)) for name in ufsim.profiles())
    rows = (
        [code(name), device["summary"], f"{device['facts']['usable_bytes'] / (1 << 30):g}"] for name, device in devices
    )
    return table(("profile", "device", "GiB>"), rows)


def fio_options() -> str:
    """Every option of fio that is modelled, with its other names."""
    named = (
        code(first) + (f" ({', '.join(map(code, others))})" if others else "")
        for first, *others in declared()["fio_options"]
    )
    return f"{', '.join(named)}."


def frames() -> str:
    """Every data frame with its columns."""
    text = (
        "# Frames\n\nThe data frames of results, comparisons and studies, made from their declarations; "
        "`ufsim.columns(NAME)` gives the same as a frame. `log` and `series` are the files of `ufsim run --log` and "
        "`ufsim run --series`.\n"
    )
    for name, columns in {**FRAMES, **FILES}.items():
        rows = ([code(one.name), one.dtype, one.unit, one.meaning] for one in columns)
        text += f"\n## {name}\n\n{table(('column', 'type', 'unit', 'meaning'), rows)}"
    return text
