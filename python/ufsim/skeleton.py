"""A profile to begin with: the file of a device of another capacity, with what follows from that worked out."""

import json
import re
from collections.abc import Mapping
from math import ceil
from typing import Any

from ufsim import _core
from ufsim._options import Setting
from ufsim.devices import describe_profile

SIZE = re.compile(r"(\d+)\s*([mgt])i?b?", re.IGNORECASE)
MIB_OF = {"m": 1, "g": 1024, "t": 1024 * 1024}
SEGMENT_MIB = 4
UNIT = 4096
# Flash beside the capacity where the profile has less: spare superblocks are few on a small device.
LEAST_SPARE = 16
# Metadata superblocks beyond those that hold everything once (see `nand.meta_superblocks`).
META_SPARE = 6
# Keys that count superblocks, and the least of each: on a small device they would round to the same.
COUNTED = {
    "gc.idle_superblocks": 7,
    "gc.start_superblocks": 6,
    "gc.relaxed_superblocks": 5,
    "gc.hurried_superblocks": 4,
    "gc.reserve_superblocks": 3,
    "slc.superblocks": 1,
    "slc.least_free_superblocks": 1,
}


def skeleton(parent: str, capacity: str, settings: Mapping[str, Setting]) -> str:
    """A file that extends `parent`, for a device of so much usable capacity, such as "256g"; `settings` go into it.

    Counts of superblocks keep the share that they have in the parent. Raises `ConfigError` if the file would be none.
    """
    mib = mib_of(capacity)
    device = describe_profile(parent)
    values = {value["key"]: value["value"] for value in device["values"]}
    # Whatever the capacity is, the size of a superblock follows from the geometry.
    superblock = int(describe_profile(parent, {**settings, "device.capacity_mib": "80 %"})["facts"]["superblock_bytes"])
    full = ceil(mib * (1 << 20) / superblock)
    data = max(ceil(full * (1 + device["facts"]["overprovision_ratio"])), full + LEAST_SPARE)
    made: dict[str, Setting] = {**settings, "device.capacity_mib": mib, "nand.data_superblocks": data}
    made["nand.meta_superblocks"] = meta_superblocks(mib, data, superblock // UNIT)
    share = data / values["nand.data_superblocks"]
    for key, least in COUNTED.items():
        # A share keeps itself.
        if isinstance(values.get(key), int) and values[key] and key not in settings:
            made[key] = max(round(values[key] * share), least)
    # Whatever does not fit is told now.
    try:
        describe_profile(parent, made)
    except _core.ConfigError as error:
        told = f"capacity is '{capacity}', and superblocks have {superblock >> 20} MiB: {error}"
        raise _core.ConfigError(f"{told}; allowed: another size, or other superblocks") from error
    return text(parent, capacity, made)


def mib_of(capacity: str) -> int:
    """A size such as "256g" in MiB, in whole segments of the mapping table."""
    found = SIZE.fullmatch(capacity.strip())
    if found is None or not int(found[1]):
        raise _core.ConfigError(f"capacity is '{capacity}'; allowed: a size such as 128g, 1t or 4096m")
    return max(int(found[1]) * MIB_OF[found[2].lower()] // SEGMENT_MIB, 1) * SEGMENT_MIB


def meta_superblocks(mib: int, data: int, units: int) -> int:
    """Superblocks for metadata: every segment once, bitmaps, snapshots of the directory, and some to clean them."""
    segments = mib // SEGMENT_MIB
    snapshot = ceil((8 * segments + 12 * data) / UNIT) + 8
    bitmaps = data * ceil(segments / (8 * UNIT))
    # A tenth more, for schemes that write the table in parts.
    return ceil(1.1 * (segments + bitmaps + 40) / max(units - snapshot, 1)) + META_SPARE


def text(parent: str, capacity: str, made: Mapping[str, Setting]) -> str:
    """The file."""
    tables: dict[str, dict[str, Any]] = {}
    for key, value in made.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, {})[name] = value
    lines = [f"# A device of {capacity}. Put in what its data sheet says, with the source of each value."]
    lines += [f'extends = "{parent}"', "", "[device]", 'name = "My device"']
    lines += [f'summary = "{capacity}, as {parent} otherwise"', *assigned(tables.pop("device"))]
    for table, names in tables.items():
        lines += ["", f"[{table}]", *assigned(names)]
    lines += ["", "[assumed]"]
    lines += [f'"{key}" = "{reason(key, capacity, parent)}"' for key in made]
    return "\n".join(lines)


def assigned(names: Mapping[str, Any]) -> list[str]:
    """Lines of a table."""
    return [f"{name} = {json.dumps(value)}" for name, value in names.items()]


def reason(key: str, capacity: str, parent: str) -> str:
    """Why a value is what it is."""
    if key == "device.capacity_mib":
        return capacity
    if key == "nand.data_superblocks":
        return f"the over-provisioning of {parent}"
    if key == "nand.meta_superblocks":
        return "room for the mapping table and for cleaning it"
    return f"the share of {parent}" if key in COUNTED else "asked for"
