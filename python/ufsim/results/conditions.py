"""What was run, and what a reader has to know before believing it: one judgement for tables, pictures and suites.

A comparison of latencies means something else on a fresh device than on one in use, and a throughput at recorded times
says nothing. Whoever shows results asks here:

- `leads_with`: which measure tells the schemes apart on this workload
- `described`: what was run, in words: profile, ageing, host memory, replay, preconditioning, seed
- `notes`: what was not exercised: a fresh device, GC that never ran
- `failures`: requests that ended with an error
"""

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from ufsim import _core
from ufsim.results.doubts import doubts
from ufsim.results.formats import duration, number
from ufsim.results.result import Result

# Times are given by the trace, so that its throughput is a constant.
PACED = ("timed", "queued")
# Flash work that only garbage collection and wear levelling do.
GC_CAUSES = ("gc_read", "gc_write", "valid_page_search")
MIB = 1024 * 1024
# Kinds of workloads that are judged by what a program above the block layer does.
PROGRAMS = {"sqlite": "SQLite", "llm": "a language model", "fragmentation": "a fragmentation loop"}
# What is told of a job that ages a device.
AGEING_OPTIONS = ("rw", "readwrite", "bs", "bssplit", "bsrange", "size", "io_size", "offset", "loops", "numjobs")
# Longest description of an ageing job.
AGEING_WIDTH = 90

Lead = Literal["throughput", "latency", "operations"]


def leads_with(results: Sequence[Result]) -> Lead:
    """What tells the schemes apart: throughput, the latency of requests, or that of a program's operations.

    A replay at recorded times has the trace's throughput under every scheme. A database is judged by its transactions,
    a language model by its tokens, a fragmentation loop by its large files.
    """
    kinds = {result.data.get("replay") for result in results}
    if kinds <= set(PROGRAMS) and any(result.data.get("operations") for result in results):
        return "operations"
    return "latency" if kinds and kinds <= set(PACED) else "throughput"


def described(results: Sequence[Result]) -> dict[str, str]:
    """What was run, by subject. What differs between the results says which is whose."""
    subjects: dict[str, Callable[[Result], str | None]] = {
        "profile": profile_text,
        "ageing": ageing_text,
        "host memory": host_memory_text,
        "workload": replay_text,
        "precondition": lambda result: result.data.get("precondition"),
        "seed": seed_text,
        "parts": parts_text,
        "read back": verified_text,
        "power cut": power_cut_text,
    }
    told = {subject: common(results, words) for subject, words in subjects.items()}
    return {subject: text for subject, text in told.items() if text}


def run_text(subjects: Mapping[str, str]) -> str:
    """What `described` gives, on one line."""
    return "; ".join(f"{subject}: {text}" for subject, text in subjects.items())


def described_suite(workloads: Mapping[str, Sequence[Result]]) -> dict[str, str]:
    """What was run on several workloads, by subject; what differs says on which."""
    each = {name: described(results) for name, results in workloads.items()}
    subjects = dict.fromkeys(subject for told in each.values() for subject in told)
    return {
        subject: ", ".join(
            text if len(names) == len(each) else f"{text} ({', '.join(names)})"
            for text, names in grouped(
                {name: [told[subject]] for name, told in each.items() if subject in told}
            ).items()
        )
        for subject in subjects
    }


def merged(told: Mapping[str, Sequence[str]]) -> list[str]:
    """Sentences about several workloads, each once; one of only some begins with their names."""
    found = grouped(told).items()
    return [text if len(names) == len(told) else f"{', '.join(names)}: {text}" for text, names in found]


def grouped(told: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Who says each text."""
    by_text: dict[str, list[str]] = {}
    for name, texts in told.items():
        for text in texts:
            by_text.setdefault(text, []).append(name)
    return by_text


def common(results: Sequence[Result], words: Callable[[Result], str | None]) -> str:
    """What `words` says of all results; what is not said of all, with the schemes that it concerns."""
    found = grouped({result.scheme: [text] for result in results if (text := words(result)) is not None})
    return ", ".join(
        text if len(names) == len(results) else f"{text} ({', '.join(names)})" for text, names in found.items()
    )


def profile_text(result: Result) -> str:
    """The profile with the values that were replaced; host memory has a subject of its own."""
    name = str(result.data.get("profile"))
    shown = Path(name).name if name.endswith(".toml") else name
    replaced = {key: value for key, value in overrides(result).items() if key != "host.memory_mib"}
    return shown if not replaced else f"{shown} with {', '.join(f'{k}={v}' for k, v in replaced.items())}"


def overrides(result: Result) -> Mapping[str, str]:
    """Replaced values of the profile, as TOML writes them."""
    replaced: Mapping[str, str] = result.data.get("set") or {}
    return replaced


def ageing_text(result: Result) -> str:
    """The job that aged the device, on one line, and values of the profile that were others meanwhile."""
    job = result.data.get("age")
    if job is None:
        return "none, the device was fresh"
    # Which host was there while it aged says nothing to who compares hosts.
    values = {key: value for key, value in aged_with(result).items() if key not in ("booster", "scheduler")}
    then = f", with {', '.join(f'{key}={value}' for key, value in values.items())}" if values else ""
    return job_text(job) + then + (", and not switched off" if result.data.get("stay_on") else "")


def aged_with(result: Result) -> Mapping[str, str]:
    """What differed from the run while the device aged."""
    then: Mapping[str, str] = result.data.get("aged_with") or {}
    return then


def job_text(job: str, width: int = AGEING_WIDTH) -> str:
    """A fio job file on one line: what is written, and where; long ones are cut."""
    if job.startswith("trace "):
        return job
    lines = [line.strip() for line in job.splitlines()]
    kept = [line for line in lines if line.startswith("[") or line.partition("=")[0].strip() in AGEING_OPTIONS]
    # A job that was given as options has a section of this name only because a job needs one.
    text = " ".join(kept).removeprefix("[age] ")
    return textwrap.shorten(re.sub(r"\s*=\s*", "=", text), width, placeholder=" …")


def host_memory_text(result: Result) -> str | None:
    """What the driver may keep there; nothing is said of a scheme that keeps nothing."""
    if result.data.get("booster") == "none":
        return None
    if over_time := result.data.get("host_memory_mib"):
        first, *later = (part.strip() for part in str(over_time).split(","))
        changes = (part.split("=") for part in later)
        return ", ".join([mib_text(first), *(f"{mib_text(to.strip())} from {at.strip()} on" for at, to in changes)])
    limit = result.data.get("host_dram_limit_bytes")
    return "unlimited" if limit is None else f"{number(limit / MIB).removesuffix('.0').removesuffix('.00')} MiB"


def mib_text(limit: str) -> str:
    """A limit of host memory as it is given."""
    return limit if limit == "unlimited" else f"{limit} MiB"


def replay_text(result: Result) -> str:
    """What kind of workload it was and, for a trace or generated requests, how they were replayed."""
    kind, depth = result.data.get("replay"), result.data.get("depth")
    # Of all that is replayed, only a description is a file of TOML.
    generated = result.workload.endswith(".toml")
    what, times = ("generated requests", "their") if generated else ("trace", "its recorded")
    words = {
        "timed": f"{what} at {times} times",
        "queued": f"{what} at {times} times into a queue of {depth}",
        "closed": f"{what} as fast as depth {depth} allows (closed)",
        "fio": "fio job",
        **PROGRAMS,
    }.get(str(kind), str(kind))
    if (result.data.get("repeat") or 1) > 1:
        words += f", {result.data['repeat']} times"
    if result.data.get("per_cpu_streams"):
        words += ", a stream for each CPU"
    if result.data.get("device"):
        words += f", device {result.data['device']}"
    if result.data.get("clean"):
        words += f", cleaned of {', '.join(result.data['clean'])}"
    if folded := result.data.get("fold"):
        words += f", folded from {folded['from_mib']:,} to {folded['to_mib']:,} MiB"
    return words


def seed_text(result: Result) -> str:
    """The seed, or the first and the last of them."""
    seeds = [str(one.data.get("seed")) for one in result.each_seed]
    return seeds[0] if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}, means ± 95%"


def parts_text(result: Result) -> str | None:
    """Parts that are not those of the scheme."""
    own: dict[str, Any] = next((preset for preset in _core.schemes() if preset["name"] == result.scheme), {})
    other = [
        f"{seat} {result.data[seat]}"
        for seat in ("scheduler", "booster", "mapping")
        if seat in own and result.data.get(seat, own[seat]) != own[seat]
    ]
    return ", ".join(other) or None


def verified_text(result: Result) -> str | None:
    """What a read-back after the run has found right; nothing if nobody asked for one."""
    verified = result.data.get("verified")
    if verified is None:
        return None
    return f"{verified['data_units']:,} units with data and {verified['trimmed_units']:,} trimmed, all right"


def power_cut_text(result: Result) -> str | None:
    """When the power was cut, and what the recovery was made of; nothing without a cut."""
    cut = result.data.get("power_cut")
    if cut is None:
        return None
    parts = sorted(cut["parts_ns"].items(), key=lambda part: -part[1])
    told = ", ".join(f"{name.replace('_', ' ')} {duration(took)}" for name, took in parts)
    return f"after {duration(cut['at_ns'])}, recovery {told}" if told else f"after {duration(cut['at_ns'])}"


def is_fresh(result: Result) -> bool:
    """The device held nothing but what preconditioning wrote."""
    return result.data.get("age") is None


def gc_ran(result: Result) -> bool:
    """Garbage collection searched or copied something in the measured part."""
    return any(sum(result.nand_ops.get(cause, {}).values()) for cause in GC_CAUSES)


def notes(results: Sequence[Result]) -> list[str]:
    """What the run did not exercise, as sentences without a full stop."""
    told = []
    fresh = [result for result in results if is_fresh(result)]
    if fresh:
        told.append(whose(fresh, results) + "the device was fresh: --age used makes one in use")
    idle = [result for result in results if not gc_ran(result)]
    if idle:
        told.append(whose(idle, results) + "GC never ran")
    if any(result.data.get("recorded") and result.data.get("replay") == "closed" for result in results):
        told.append("recorded latencies are of the recorded times, which a closed replay does not keep")
    if limits_nothing(results):
        told.append("the limit of host memory changes nothing: no scheme here has a booster")
    return told + doubts(results)


def limits_nothing(results: Sequence[Result]) -> bool:
    """Somebody limited the memory of drivers, none of which keeps anything."""
    limited = any("host.memory_mib" in (result.data.get("set") or {}) for result in results)
    return limited and all(host_memory_text(result) is None for result in results)


def failures(results: Sequence[Result]) -> list[str]:
    """A sentence for each result in which requests ended with an error."""
    failed = [one for result in results for one in result.each_seed if one.data.get("failed")]
    return [
        f"{result.scheme}: {result.data['failed']:,} of {result.completed:,} requests ended with an error"
        + (f" (seed {result.data.get('seed')})" if len(results[0].each_seed) > 1 else "")
        for result in failed
    ]


def warnings(results: Sequence[Result]) -> list[str]:
    """Failures, then the warnings of all results, each once; one of only some schemes begins with their names."""
    told = {
        result.scheme: list(dict.fromkeys(text for one in result.each_seed for text in one.data.get("warnings", [])))
        for result in results
    }
    return failures(results) + merged(told)


def whose(some: Sequence[Result], everyone: Sequence[Result]) -> str:
    """The schemes that a sentence is about, if not all."""
    return "" if len(some) == len(everyone) else f"{', '.join(result.scheme for result in some)}: "
