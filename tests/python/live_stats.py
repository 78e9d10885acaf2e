"""Documents of `stats`, made by hand."""

from typing import Any

KINDS = ("read", "write", "trim", "flush")


def kind(done: int = 0, *, failed: int = 0, size: int = 4096, mean_us: float = 100.0) -> dict[str, Any]:
    """Requests of one kind, each of so many bytes."""
    mean_ns = mean_us * 1e3 if done else 0.0
    latency = {"mean_ns": mean_ns, "p50_ns": int(mean_ns), "p99_ns": int(3 * mean_ns), "max_ns": int(4 * mean_ns)}
    latency |= {"p90_ns": int(2 * mean_ns), "p999_ns": int(4 * mean_ns)}
    classes = {str(class_end(int(mean_ns))): done} if done else {}
    return {"done": done, "failed": failed, "bytes": done * size, "latency": latency, "latency_classes": classes}


def class_end(ns: int) -> int:
    """The longest latency with the same 6 leading binary digits."""
    free = max(ns.bit_length() - 6, 0)
    return ns | ((1 << free) - 1)


def stats(sim_s: float = 0.0, **changes: Any) -> dict[str, Any]:
    """An export; `changes` replace values, and are put into counters of driver, firmware and flash."""
    host = {"booster_hits": 0, "booster_misses": 0, "dram_bytes_used": 0, "dram_bytes_limit": 64 << 20}
    device = dict.fromkeys(
        ("host_units_written", "data_units_programmed", "padding_units", "map_units_programmed", "gc_units_programmed"),
        0,
    )
    document: dict[str, Any] = {
        "connections": 1,
        "speed": 1.0,
        "lateness": None,
        "early": 0,
        "sim_ns": int(sim_s * 1e9),
        "ready": True,
        "capacity_bytes": 1 << 30,
        "outstanding": 0,
        "requests": {name: kind() for name in KINDS},
        "cuts": 0,
        "last_recovery_ns": 0,
        "checked_units": 0,
        "pending_units": 0,
        "hit_ratio": None,
        "waf": None,
        "host_dram_bytes": 0,
        "host": host,
        "device": device,
        "flash": {},
        "flash_busy_ns": {},
        "dies": 4,
        "digest": "0",
    }
    for name, value in changes.items():
        assert name in document, name
        document[name] = document[name] | value if isinstance(document[name], dict) else value
    return document
