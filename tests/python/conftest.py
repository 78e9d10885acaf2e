import json
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from ufsim import _core
from ufsim.documents import parse
from ufsim.results.result import Comparison
from ufsim.spec import specs_of

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "samples" / "app-mix"

Command = Callable[..., subprocess.CompletedProcess[str]]

# Tests put a stand-in in its place, which asks for a real report.
SIMULATE = _core.simulate


def latency(count: int, scale: float) -> dict[str, float] | None:
    if count == 0:
        return None
    names = ("min", "p50", "p90", "p99", "p999", "max")
    values = {name: int(scale * factor) for name, factor in zip(names, (1, 10, 20, 50, 200, 400), strict=True)}
    return {"count": count, "mean": scale * 12.5, "stddev": scale, **values}


def within(count: int, scale: float) -> list[list[int]]:
    """A distribution: half of the requests within 10, nine tenths within 20, all within 400 times the scale."""
    return [[int(scale * factor), int(count * share)] for factor, share in ((10, 0.5), (20, 0.9), (400, 1))]


def over_time(count: int, scale: float) -> dict[str, list[int]]:
    """Two intervals with half of the requests in each, of 4 KiB, and one without any between them."""
    half = [count // 2, 0, count // 2]
    return {
        "requests": half,
        "bytes": [4096 * requests for requests in half],
        "latency_sum_ns": [int(12.5 * scale * requests) for requests in half],
        "latency_max_ns": [int(400 * scale), 0, int(200 * scale)],
    }


@cache
def real(scheme: str) -> dict[str, object]:
    """The report of a run of `tiny`."""
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder, "mix.fio")
        job.write_text("[mix]\nrw=randrw\nsize=8m\nbs=4k\niodepth=8\nfsync=8\nloops=2\n")
        (spec,) = specs_of("run", job, scheme, {"profile": "tiny", "age": job})
        return dict(parse(SIMULATE(spec.to_json())))


def result(scheme: str, speed: float, map_read: int, trims: int = 0) -> dict[str, object]:
    """A real report, over which round numbers are laid, so that tests can compute what the views must show."""
    figures = round_numbers(scheme, speed, map_read, trims)
    report = real("ufs" if scheme == "mine" else scheme)
    assert figures.keys() <= report.keys()
    return report | figures


def round_numbers(scheme: str, speed: float, map_read: int, trims: int) -> dict[str, object]:
    kinds = {"read": latency(300, 8000 / speed), "write": latency(600, 5000 / speed), "flush": latency(90, 90_000)}
    return {
        "version": "0.1.0",
        "scheme": scheme,
        "workload": "traces/example",
        "profile": "profiles/phone.toml",
        "seed": 7,
        "set": {"host.memory_mib": "20", "nand.planes": "2"},
        "booster": "none" if scheme == "ufs" else scheme,
        "replay": "closed",
        "depth": 8,
        "precondition": "footprint",
        "age": "[age]\nrw=randwrite\nsize=1g\n",
        "submitted": 1000,
        "completed": 1000,
        "failed": 0,
        "sim_seconds": 2.0 / speed,
        "wall_seconds": 0.5,
        "requests_per_wall_second": 2000.0,
        "flash_ops_per_wall_second": 1500.0,
        "iops": 500.0 * speed,
        "throughput_mib_per_s": 40.0 * speed,
        "latency_ns": {**kinds, "trim": latency(trims, 1000), "all": latency(1000, 6000 / speed)},
        "latency_within": within(1000, 6000 / speed),
        "latency_within_by_kind": {"read": within(300, 8000 / speed), "write": within(600, 5000 / speed)},
        "unmeasured": 0,
        "drawn": [],
        "over_time": {
            "interval_ns": 500_000_000,
            "kinds": {"read": over_time(300, 8000 / speed), "write": over_time(600, 5000 / speed)},
        },
        "groups": [],
        "operations": [],
        "nand_time_ns": {
            "host_read": 2_000_000_000,
            "host_write": 5_000_000_000,
            "map_read": map_read,
            "map_write": 500_000_000,
            "valid_page_search": 500_000_000,
            "erase": 1_000_000_000,
        },
        "nand_ops": {"host_read": {"read": 33}, "gc_read": {"read": 5}},
        "waf": {"total": 1.75, "data": 1.0, "map": 0.5, "gc": 0.25},
        "host_dram_bytes": 5 << 20,
        "host_dram_limit_bytes": 20 << 20,
        "sram_bytes": 1536 << 10,
        "counters": {"host": {}, "device": {}},
        "warnings": ["3 events were ignored"],
        "digest": f"{len(scheme):016x}",
    }


@pytest.fixture
def comparison() -> Comparison:
    """Three results with round numbers, through JSON as the core gives them."""
    results = [result("ufs", 1.0, 1_000_000_000), result("mine", 0.8, 0), result("hp-ufs", 1.5, 0, trims=10)]
    results[1]["warnings"] = []
    document = {"ufsim": "0.1.0", "workload": "traces/example", "results": results}
    return Comparison.from_json(json.dumps(document))
