"""Device profiles: what their files say, and what follows from it."""

from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any

from ufsim import _core
from ufsim._options import Setting
from ufsim.bundled import located
from ufsim.documents import for_core, parse
from ufsim.names import check_profile


def describe_profile(
    profile: str | PathLike[str] = "hp-ufs", settings: Mapping[str, Setting] | None = None
) -> dict[str, Any]:
    """Everything that can be said of a profile: a built-in one by name, or a file by path.

    The result has `profile`, `name`, `summary`; `extends`, the profiles below it; `values`, a list with `key`, `value`,
    `unit`, `source`, `assumed` and `profile` of each; `facts` by name (`usable_bytes`, `overprovision_ratio`,
    `l2p_table_bytes`, ...); `ceilings` by pattern (`random_read`, ...), with `requests_per_s`, `bytes_per_s`,
    `limited_by` and `requests_per_s_by` link, channel, die, firmware and tags; and `schemes`, each with `None` or the
    reason why it can not run on this device. docs/device-facts.md has the formulas. `settings` replaces values, as in
    `ufsim.run`. Raises `ConfigError` if anything is wrong with the profile.
    """
    check_profile(fspath(profile))
    return parse(_core.profile_description(located(profile), for_core(dict(settings or {}))))


def profile_toml(profile: str | PathLike[str] = "hp-ufs", settings: Mapping[str, Setting] | None = None) -> str:
    """A profile as one TOML file that extends nothing, every value with its source."""
    check_profile(fspath(profile))
    return _core.profile_toml(located(profile), for_core(dict(settings or {})))
