"""Searches the strongest map flush of `segment-log` within the same SRAM: `make flush-search`.

Presets `ufs-tuned` and `hpb-tuned` bring what this search finds, so that they are the best of a design space and not a
matter of taste. The search is a grid, each run is deterministic, and all of it is kept in flush-search.json of the
paper's folder.

In the profile hp-ufs each setting pays for its tables (`sram.covers = "all"`): places for more and smaller parts of
segments leave less for the segment cache. What does not fit is kept with what the profile's check says of it.

The first stage measures all settings in random writes over 16 GiB (HP-UFS Fig. 6). What takes SRAM from the segment
cache, parts of segments and buffers, may pay there and cost elsewhere, so the second stage takes the best setting of
each size of parts and each number of buffers. It measures them at full size: random writes over 4 and 64 GiB, under GC
(Fig. 7), and the five recorded applications under GC (Fig. 9). The score of a setting is the geometric mean of its
throughput over that of the scheme without any setting: each of the five workloads counts once, and Fig. 9 is the
geometric mean of its applications.
"""

import argparse
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import product
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ufsim
from ufsim import Spec, StateCache, outputs
from ufsim_papers.figure import Setting
from ufsim_papers.folders import FOLDERS
from ufsim_papers.hp_ufs import apps, gc, writes
from ufsim_papers.record_text import record_text

KEPT = FOLDERS / "hp-ufs/flush-search.json"
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
# The best setting with each combination of these reaches the second stage.
APART = ("scheme.segment-log.segment_kib", ONLY_IN_A_PIPELINE)
PROFILE = "hp-ufs"

Own = Mapping[str, Any]
# MiB/s, or why the device can not have these settings.
Throughput = float | str


def settings() -> list[dict[str, Any]]:
    """All settings of the grid, each once."""
    found = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
    in_rounds = "rounds"
    least = GRID[ONLY_IN_A_PIPELINE][0]
    return [
        one for one in found if one["scheme.segment-log.flush_mode"] != in_rounds or one[ONLY_IN_A_PIPELINE] == least
    ]


def throughput(specs: list[Spec], own: Own, cache: StateCache | None = None) -> Throughput:
    """The geometric mean over these runs with these settings besides their own."""
    given = [replace(spec, profile=PROFILE, settings={**spec.settings, **own}) for spec in specs]
    try:
        results = [ufsim.run(**asdict(spec), cache=cache) for spec in given]
    except ufsim.ConfigError as refused:
        return str(refused)
    return prod(float(result.throughput_mib_per_s) for result in results) ** (1 / len(results))


def over(scheme: str, gib: int, setting: Setting) -> list[Spec]:
    """Random writes over a range, as in Fig. 6."""
    return [writes.write_spec(gib, scheme, setting)]


def measured_besides(scheme: str, own: Own, setting: Setting) -> dict[str, Throughput]:
    """The second stage, by workload."""
    replays = apps.runs_of(apps.recorded(setting), setting, schemes=[scheme])
    specs = {
        "f6_4g": over(scheme, 4, setting),
        "f6_64g": over(scheme, 64, setting),
        "f7": [run.spec for run in gc.gc_runs(setting, [scheme])],
        "f9_gc": [run.spec for run in replays if run.labels["state"] == "GC"],
    }
    with TemporaryDirectory(prefix="flush-search-") as states:
        return {name: throughput(of_name, own, StateCache(Path(states))) for name, of_name in specs.items()}


def best_of_each(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points that reach the second stage."""
    fitting = [point for point in points if isinstance(point["f6_16g"], float)]
    best: dict[tuple[Any, ...], dict[str, Any]] = {}
    for point in sorted(fitting, key=lambda point: point["f6_16g"]):
        best[tuple(point["settings"][key] for key in APART)] = point
    return list(best.values())


def search(scheme: str, setting: Setting, each: Callable[..., Any]) -> dict[str, Any]:
    """All that is measured of a scheme, and its best settings. `each` is a `map`."""

    def first(own: Own) -> dict[str, Any]:
        return {"settings": own, "f6_16g": throughput(over(scheme, 16, setting), own)}

    def second(point: dict[str, Any]) -> dict[str, Any]:
        return {**point, **measured_besides(scheme, point["settings"], setting)}

    points = list(each(first, [{}, *settings()]))
    chosen = [points[0], *best_of_each(points[1:])]
    base, *finalists = each(second, chosen)
    names = [name for name in base if name != "settings"]
    for point, full in zip(chosen[1:], finalists, strict=True):
        point |= full
        point["score"] = prod(point[name] / base[name] for name in names) ** (1 / len(names))
    best = max(chosen[1:], key=lambda point: point["score"])
    return {"without": {name: base[name] for name in names}, "points": points[1:], "best": best}


def main() -> None:
    """Searches, and writes all that was tried."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    options.add_argument("--traces", type=Path, required=True, help="directory that holds pixel4-hpufs")
    options.add_argument("--out", type=Path, default=KEPT, help="where the search is kept")
    chosen = options.parse_args()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        schemes = {name: search(name, Setting(traces=chosen.traces), pool.map) for name in SCHEMES}
    record = record_text({"ufsim": ufsim.__version__, "schemes": schemes})
    failures = outputs.write([(chosen.out, outputs.text(f"{record}\n"))])
    if failures:
        raise outputs.Unwritten(failures)
    for name, of_scheme in schemes.items():
        print(f"{name}: {of_scheme['best']['score']:.3f} with {of_scheme['best']['settings']}")


if __name__ == "__main__":
    main()
