"""What live devices reach, from docs/data/live-device.json, which scripts/live_figures.py writes."""

import json
from pathlib import Path
from typing import Any

from site_markdown import code, table

RECORD = Path(__file__).parents[1] / "docs/data/live-device.json"


def figures() -> str:
    """Throughput, lateness, fio beside the simulator, and memory."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    machine = record["machine"]
    said = (
        f"Version {code(record['version'])}, {record['date']}, on {machine['cpus']} processors "
        f"({machine['processor']}), which clients and server share.\n"
    )
    parts = (throughput(record["throughput"]), lateness(record["lateness"]), prediction(record["prediction"]))
    return "\n".join([said, *parts, memory(record["memory"])])


def throughput(found: dict[str, Any]) -> str:
    """Requests a second by client, beside nbdkit."""
    names = {"lean": "a lean client (`crates/serve/benches/nbd_load.rs`)", "fio": "fio"}
    rows = (
        [names[one["client"]], f"{one['iops']:,}", f"{one['nbdkit']:,}", f"{one['ratio']:.2f}"]
        for one in found["clients"]
    )
    said = (
        f"Random reads of 4 KiB at depth {found['depth']} over a Unix socket, `--clock free`, scheme "
        f"{code(found['scheme'])} on profile {code(found['profile'])}; medians of {found['turns']} turns:\n"
    )
    return "\n".join([said, table(("client", "reads/s>", "nbdkit's memory plugin>", "ratio>"), rows)])


def lateness(found: dict[str, Any]) -> str:
    """When replies leave, on the real clock."""
    names = ("p50_ns", "p99_ns", "p999_ns", "least_p99_ns", "bare_p50_ns", "bare_p99_ns", "bare_p999_ns")
    p50, p99, p999, least, *bare = (f"{found[part] / 1000:.0f} us" for part in names)
    return (
        f"At {found['iops']:,} reads/s on the real clock replies left {p50} (p50), {p99} (p99) and {p999} (p99.9) "
        f"after their time, {found['early'] or 'none'} before it: medians of {found['turns']} turns of ten seconds. In "
        f"the best of them the p99 was {least}. The machine has a part in this: a thread that does nothing but send as "
        f"many blocks to another one, on time, was late by {bare[0]}, {bare[1]} and {bare[2]} beside these turns.\n"
    )


def prediction(found: list[dict[str, Any]]) -> str:
    """fio's requests a second and those of a run of the same job."""
    rows = (
        [
            one["job"],
            code(one["scheme"]),
            f"{one['fio']:,}",
            f"{one['predicted']:,}",
            f"{100 * one['difference']:+.1f}%",
        ]
        for one in found
    )
    said = (
        "fio on a device at `--speed 0.02`, and a run of the same job, in requests per simulated second. Both begin "
        "with the same data, when device and driver have come to rest:\n"
    )
    return "\n".join([said, table(("job", "scheme", "fio>", "`ufsim run`>", "difference>"), rows)])


def memory(found: dict[str, Any]) -> str:
    """Memory beyond the data."""
    return (
        f"Memory of a device of 128 GiB after {found['data_mib']} MiB of writes all over it: {found['beyond_mib']} MiB "
        f"beyond the data; a simulation of the same requests takes {found['simulation_mib']} MiB "
        f"(ratio {found['ratio']:.2f}).\n"
    )
