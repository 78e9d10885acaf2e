"""A fitted profile as a file."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from ufsim import _core
from ufsim._options import Setting
from ufsim.devices import describe_profile


def profile_text(
    profile: str,
    settings: Mapping[str, Setting],
    fitted: Mapping[str, tuple[Setting, str]],
    folder: Path,
    made: str = "fitted",
) -> str:
    """A profile that extends another with values that were found, each with its source, as a file of `folder` has it.

    `fitted` has value and source by key; `settings` are values that held meanwhile; `made` is what its name says.
    """
    parent = describe_profile(profile)
    known = {entry["key"]: entry["value"] for entry in parent["values"]}
    sections: dict[str, dict[str, Setting]] = {"device": {"name": f"{parent['name']}, {made}"}}
    sources: dict[str, dict[str, str]] = {"sources": {}, "assumed": {}}
    for key, (value, source) in fitted.items():
        put(sections, key, value)
        sources["sources"][key] = source
    for key, setting in settings.items():
        if str(known.get(key)) != str(setting):
            put(sections, key, setting)
            sources["assumed"][key] = f"chosen while it was {made}"
    lines = [f"extends = {json.dumps(extended(profile, folder))}"]
    for section, values in sections.items():
        lines += ["", f"[{section}]", *(f"{key} = {toml(value)}" for key, value in values.items())]
    for table, explained in sources.items():
        if explained:
            lines += ["", f"[{table}]", *(f"{json.dumps(key)} = {toml(text)}" for key, text in explained.items())]
    return "\n".join(lines) + "\n"


def put(sections: dict[str, dict[str, Setting]], key: str, value: Setting) -> None:
    """Puts a value into its section."""
    section, _, name = key.rpartition(".")
    sections.setdefault(section, {})[name] = value


def extended(profile: str, folder: Path) -> str:
    """How a file of `folder` names the profile that it extends."""
    if profile in _core.profiles():
        return profile
    return os.path.relpath(Path(profile).resolve(), folder.resolve())


def toml(value: Setting) -> str:
    """A value as TOML has it."""
    return json.dumps(value, ensure_ascii=False)
