"""What was measured, as pages show it: each table and sentence from a record in docs/data or benchmarks."""

from pathlib import Path
from statistics import median
from typing import Any

from tools.project import ROOT
from tools.records import kept
from ufsim.results.explain import Band, in_words, made_of
from ufsim.results.formats import duration
from ufsim_papers.markdown import code, table

DATA = ROOT / "docs" / "data"
BENCHMARKS = ROOT / "benchmarks"
# The requests whose latencies howto/explain.md takes apart.
KIND = "write"


def of_version(record: dict[str, Any]) -> str:
    """Which version was measured, when and where."""
    machine = record["machine"]
    where = f"{machine['cpus']} processors ({machine['processor']})"
    return f"version {code(record['version'])}, {record['date']}, on {where}"


def speed(directory: Path = BENCHMARKS) -> str:
    """A table for each file of `make bench`, the newest first; or the sentence that nothing was measured."""
    records = sorted(map(kept, sorted(directory.glob("*.json"))), key=lambda record: record["date"], reverse=True)
    if not records:
        return "No measurement is committed yet: `make bench RECORD=benchmarks/NAME.json` makes one.\n"
    return "\n".join(speed_of_machine(record) for record in records)


def speed_of_machine(record: dict[str, Any]) -> str:
    """The measurement of one machine."""
    machine = record["machine"]
    head = (
        f"### {record['date']}: ufsim {record['version']}, {machine['processor']}\n\n"
        f"Commit `{record['commit']}`, {record['rustc']}, {machine['cpus']} processors, {machine['system']}. "
        "Medians over the runs of a case; memory is the largest.\n\n"
    )
    rows = [speed_of_case(name, case["runs"]) for name, case in record["cases"].items()]
    return head + table(("case", "runs>", "requests/s>", "flash operations/s>", "CPU s>", "peak MiB>"), rows)


def speed_of_case(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """One case."""
    peaks = [run["peak_mib"] for run in runs if run["peak_mib"]]
    rates = [median(run[key] for run in runs) for key in ("requests_per_second", "flash_ops_per_second")]
    seconds = median(run["cpu_seconds"] for run in runs)
    return [
        code(name),
        str(len(runs)),
        *(f"{rate:,.0f}" for rate in rates),
        f"{seconds:.1f}",
        str(max(peaks, default="")),
    ]


def sweep() -> str:
    """The times of the 200 points, one and two at a time."""
    record = kept(DATA / "sweep-speed.json")
    seconds = record["seconds"]
    return (
        f"The 200 points above and their aged states take {seconds['1']:.0f} s one at a time and {seconds['2']:.0f} s "
        f"two at a time, which is {record['ratio']:.2f} times as fast (`python -m tools bench sweep`, medians of "
        f"{record['turns']} turns, {of_version(record)}).\n"
    )


def log() -> str:
    """The times of runs without and with a log, and the memory of a long one."""
    record = kept(DATA / "log-cost.json")
    long = record["long"]
    rows = (
        [
            one["case"],
            code(one["scheme"]),
            f"{one['seconds']:.1f}",
            f"{one['logged_seconds']:.1f}",
            f"{one['ratio']:.2f}",
            str(one["logged_peak_mib"]),
        ]
        for one in record["cases"]
    )
    headings = ("workload", "scheme", "s>", "s with a log>", "ratio>", "MiB with a log>")
    said = (
        f"Medians of {record['pairs']} pairs, {of_version(record)}. A log of {long['requests']:,} requests took "
        f"{long['seconds']:.0f} s, at most {long['peak_mib']} MiB of memory, and {long['file_gib']} GiB of file.\n"
    )
    return "\n".join([table(headings, rows), said])


def guest() -> str:
    """How fast Linux as the host is."""
    record = kept(DATA / "linux.json")
    rows = []
    for one in record["rates"]:
        rates = one["per_second"]
        rows.append([one["case"], f"{median(rates):,.0f}", f"{rates[0]:,.0f} to {rates[-1]:,.0f}"])
    boots = record["boot_seconds"]
    said = (
        f"Boot, an empty job and power-off: {median(boots):.2f} s ({boots[0]:.2f} to {boots[-1]:.2f}). Medians "
        f"and ranges of {record['turns']} turns, {of_version(record)}, one processor for both sides.\n"
    )
    return "\n".join([table(("who makes the requests", "per second>", "range>"), rows), said])


def cuts() -> str:
    """Power cuts along sessions of Linux, at all of their turns or at some that were drawn."""
    sessions = kept(DATA / "guest-cuts.json")["sessions"]
    rows, of = [], dict[str, list[str]]()
    for one in sessions:
        counts = (one["turns"], one["cuts"], len(one["lost"]))
        rows.append([code(one["scheme"]), one["fs"], one["session"], *(f"{count:,}" for count in counts)])
        of.setdefault(of_version(one), []).append(code(one["scheme"]))
    total, lost = sum(one["cuts"] for one in sessions), sum(len(one["lost"]) for one in sessions)
    said = f"{total:,} power cuts, each at another turn of its session, of which {lost} lost anything.\n"
    versions = [f"{', '.join(dict.fromkeys(schemes))}: {version}.\n" for version, schemes in of.items()]
    heads = ("scheme", "file system", "job", "turns>", "cuts>", "lost>")
    return "\n".join([table(heads, rows), said + "".join(versions)])


def explained() -> str:
    """What the latencies of HP-UFS Fig. 7 are made of: a table of the bands, and the slowest in a sentence."""
    record = kept(DATA / "explain-f7-gc.json")
    rows, told = [], []
    for scheme, found in record["bands"][KIND].items():
        of = [Band(**{key: value for key, value in one.items() if key != "name"}) for one in found]
        rows += [[code(scheme), one.name, duration(one.to_ns), duration(one.mean_ns), made_of(one)] for one in of]
        told.append(f"{code(scheme)}: {in_words(of[-1], KIND)}.\n")
    headings = ("scheme", "writes", "up to>", "mean>", "made of")
    return "\n".join([table(headings, rows), f"Version {code(record['ufsim'])}.\n", *told])


def live() -> str:
    """What live devices reach: throughput, lateness, fio beside the simulator, and memory."""
    record = kept(DATA / "live-device.json")
    said = f"Measured with {of_version(record)}, which clients and server share.\n"
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
