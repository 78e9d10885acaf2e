"""Traces without a device: what is in one, and the same as a file of another format."""

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path

from ufsim import _core
from ufsim.bundled import located
from ufsim.documents import Document, parse, parse_list


def trace_formats() -> list[Document]:
    """The formats of traces, in the order in which they are tried.

    Each has a `name`, `about`, what a file `needs` to hold requests (empty where every line is one), and whether it is
    `writable`.
    """
    return parse_list(_core.trace_formats())


def clean_rules() -> list[str]:
    """Names of the cleaning rules."""
    return _core.clean_rules()


def trace_info(
    path: str | Path, *, format: str | None = None, device: str | None = None, clean: Sequence[str] = ()
) -> Document:
    """What is in a trace: requests, mix, lengths, footprint, duration, burstiness, sequentiality, warnings.

    The format is recognised unless it is given; `device` selects one of several; `clean` names cleaning rules. Raises
    `ConfigError`, which names file and line, or `FileNotFoundError`.
    """
    return parse(_core.trace_info(_spec(path, format, device, clean)))


def trace_convert(
    path: str | Path,
    out: str | Path,
    to: str,
    *,
    format: str | None = None,
    device: str | None = None,
    clean: Sequence[str] = (),
) -> Document:
    """Writes a trace in the format `to`; `lost` in the answer says what that has no room for.

    The file appears when it is complete. Otherwise as `trace_info`.
    """
    return parse(_core.trace_convert(_spec(path, format, device, clean), out, to))


def trace_join(
    paths: Sequence[str | Path],
    out: str | Path,
    *,
    rule: str,
    addresses: str,
    turn_seconds: float | None = None,
    shift_seconds: Sequence[float] = (),
    format: str | None = None,
    device: str | None = None,
    clean: Sequence[str] = (),
) -> Document:
    """Joins traces into one, written as CSV, and says in it where it comes from.

    `rule` is "merge" (all at once), "alternate" (in turns of `turn_seconds`) or "append" (one after another);
    `addresses` is "shared" (as recorded) or "stacked" (a range for each trace). `shift_seconds` has the silence before
    each trace. `format`, `device` and `clean` concern every trace. The file appears when it is complete. Otherwise as
    `trace_info`.
    """
    for name, seconds in (("turn", turn_seconds), *(("shift", one) for one in shift_seconds)):
        if seconds is not None and not math.isfinite(seconds):
            raise _core.ConfigError(f"{name} is {seconds}; allowed: a finite number of seconds")
    wish = {
        "traces": [json.loads(_spec(path, format, device, clean)) for path in paths],
        "rule": rule,
        "addresses": addresses,
        "turn_seconds": turn_seconds,
        "shift_seconds": list(shift_seconds),
    }
    return parse(_core.trace_join(json.dumps(wish), out))


def trace_to_scenario(
    path: str | Path, out: str | Path, *, device: str | None = None, clean: Sequence[str] = ()
) -> Document:
    """Writes a session of a phone as a scenario for `ufsim.phone`: `out` (TOML), and its requests as CSV beside it.

    The trace is ftrace text or a recording of Perfetto with block or UFS events, launches and kills; docs/phone.md has
    the command that records it.
    Raises `ConfigError`, which names file, line and column, or `FileNotFoundError`.
    """
    return parse(_core.trace_to_scenario(_spec(path, None, device, clean), out))


def _spec(path: str | Path, format_name: str | None, device: str | None, clean: Sequence[str]) -> str:
    place = located(path)
    if not os.path.exists(place):
        raise FileNotFoundError(f"trace '{path}': no such file or directory")
    return json.dumps({"path": place, "format": format_name, "device": device, "clean": list(clean)})
