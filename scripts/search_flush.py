"""Searches the strongest map flush of `segment-log` within the same SRAM: `scripts/search_flush.py`.

Presets `ufs-tuned` and `hpb-tuned` bring what this search finds, so that they are the best of a design space and not a
matter of taste. The search is a grid, each run is deterministic, and all of it is kept in docs/data/flush-search.json.

In the profile hp-ufs each setting pays for its tables (`sram.covers = "all"`): places for more and smaller parts of
segments leave less for the segment cache. What does not fit is kept with what the profile's check says of it.

The first stage measures all settings in random writes over 16 GiB (HP-UFS Fig. 6). The second measures the best of them
over 4 and 64 GiB, too, and under GC (Fig. 7) on a device of an eighth of the size. The score of a setting is the
geometric mean of its throughput over that of the scheme without any setting.
"""

import argparse
import json
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import ufsim

KEPT = Path(__file__).parents[1] / "docs/data/flush-search.json"
SCHEMES = ("ufs", "hpb")
GRID: dict[str, tuple[Any, ...]] = {
    "scheme.segment-log.flush_mode": ("rounds", "pipelined", "background"),
    "scheme.segment-log.flush_order": ("log", "address"),
    "scheme.segment-log.segment_kib": (4, 2, 1),
    "scheme.segment-log.flush_above_entries": (1504, 1408, 1152, 768),
    "scheme.segment-log.flush_buffers": (32, 64, 128, 192, 256),
}
# A flush in rounds takes as many buffers as the segment cache has.
ONLY_IN_A_PIPELINE = "scheme.segment-log.flush_buffers"
# Settings that reach the second stage.
BEST = 8
# An eighth of the device of the paper: flash, and thresholds that count superblocks.
EIGHTH: dict[str, Any] = {
    "device.capacity_mib": 16_384,
    "nand.data_superblocks": 1_184,
    "nand.meta_superblocks": 32,
    "gc.start_superblocks": 300,
    "gc.relaxed_superblocks": 225,
    "gc.hurried_superblocks": 75,
}


def job(gib: int, mib: int) -> str:
    """Random writes of so many MiB in all over a range, by 8 jobs of depth 1, as in HP-UFS Figs. 6 and 7."""
    return f"rw=randwrite bs=4k direct=1 filename=range size={gib}g io_size={mib // 8}m numjobs=8 group_reporting"


def settings() -> list[dict[str, Any]]:
    """All settings of the grid, each once."""
    found = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
    in_rounds = "rounds"
    least = GRID[ONLY_IN_A_PIPELINE][0]
    return [
        one for one in found if one["scheme.segment-log.flush_mode"] != in_rounds or one[ONLY_IN_A_PIPELINE] == least
    ]


def throughput(scheme: str, own: dict[str, Any], workload: str, **options: Any) -> float | str:
    """MiB/s of a run, or why the device can not have these settings."""
    given = {**own, **options.pop("settings", {})}
    try:
        result = ufsim.run(workload, scheme, profile="hp-ufs", settings=given, precondition="none", **options)
    except ufsim.ConfigError as refused:
        return str(refused)
    return float(result.throughput_mib_per_s)


def second_stage(mib: int) -> dict[str, dict[str, Any]]:
    """What the best are measured under besides, by name."""
    return {
        "f6_4g": {"workload": job(4, mib)},
        "f6_64g": {"workload": job(64, mib)},
        "f7": {
            "workload": job(2, mib),
            "settings": EIGHTH,
            "age": "rw=randwrite bs=4k direct=1 filename=aged size=11g io_size=14g randrepeat=0 iodepth=16",
        },
    }


def search(scheme: str, mib: int) -> dict[str, Any]:
    """All that is measured of a scheme, and its best settings."""
    base: dict[str, Any] = {"f6_16g": throughput(scheme, {}, job(16, mib))}
    base |= {name: throughput(scheme, {}, **what) for name, what in second_stage(mib).items()}
    points: list[dict[str, Any]] = [
        {"settings": own, "f6_16g": throughput(scheme, own, job(16, mib))} for own in settings()
    ]
    fitting = [point for point in points if isinstance(point["f6_16g"], float)]
    for point in sorted(fitting, key=lambda point: point["f6_16g"], reverse=True)[:BEST]:
        for name, what in second_stage(mib).items():
            point[name] = throughput(scheme, point["settings"], **what)
        if all(isinstance(point[name], float) for name in base):
            point["score"] = prod(point[name] / base[name] for name in base) ** (1 / len(base))
    best = max((point for point in fitting if "score" in point), key=lambda point: point["score"])
    return {"without": base, "points": points, "best": best}


def text(found: dict[str, Any]) -> str:
    """The search as JSON, with a line for each setting that was tried."""
    schemes = []
    for name, of_scheme in found["schemes"].items():
        points = ",\n   ".join(json.dumps(point) for point in of_scheme["points"])
        others = "".join(f',\n  "{key}": {json.dumps(of_scheme[key])}' for key in ("without", "best"))
        schemes.append(f' "{name}": {{"points": [\n   {points}]{others}}}')
    head = ", ".join(f'"{key}": {json.dumps(value)}' for key, value in found.items() if key != "schemes")
    return f'{{{head}, "schemes": {{\n' + ",\n".join(schemes) + "}}\n"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    options.add_argument("--mib", type=int, default=1024, help="writes of each run; the figures have 1024 MiB")
    options.add_argument("--out", type=Path, default=KEPT, help="where the search is kept")
    chosen = options.parse_args()
    schemes = {name: search(name, chosen.mib) for name in SCHEMES}
    chosen.out.write_text(text({"ufsim": ufsim.__version__, "mib": chosen.mib, "schemes": schemes}), encoding="utf-8")
    for name, of_scheme in schemes.items():
        print(f"{name}: {of_scheme['best']['score']:.3f} with {of_scheme['best']['settings']}")


if __name__ == "__main__":
    main()
