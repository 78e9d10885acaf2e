"""Frames of phones: what is counted over uses, kills and time, and the log of reads."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ufsim.results import frames
from ufsim.results.columns import OUTCOMES, PHASES, PROVENANCE, SCHEME
from ufsim.results.formats import number
from ufsim.results.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from ufsim.phones import Study

# Energy: what the phone takes while it is in use, and what a flash operation takes. Only comparisons of schemes mean
# something; docs/phone.md has the formula and where the numbers come from.
FOREGROUND_WATTS = 2.0
OPERATION_MICROJOULES = {"read": 50.0, "program": 800.0, "erase": 8000.0}


def headline_rows(study: "Study") -> list[list[str]]:
    """What a reader wants to know first: a name, then a value for each scheme."""
    summary = study.summary()
    shown: list[tuple[str, str, Callable[[Any], str]]] = [
        ("launch, mean ms", "launch_ms", number),
        ("cold launches", "cold_launches", str),
        ("mapping read from flash", "miss", lambda value: f"{value * 100:.1f} %"),
        ("kills of apps", "kills_of_apps", str),
        ("most HPB memory MiB", "hpb_mib", number),
    ]
    return [[label, *map(form, summary[key])] for label, key, form in shown]


def app_rows(result: Result, uses: "pd.DataFrame", kills: "pd.DataFrame") -> Iterator[frames.Row]:
    """Rows of `Study.apps`."""
    report = result.phone
    killed = kills[(kills.scheme == result.scheme) & ~kills.spared]
    for index, app in enumerate(report["apps"][: report["users"]]):
        own = uses[(uses.scheme == result.scheme) & (uses.app == app)]
        cold, warm = own[own.start == "cold"], own[own.start == "warm"]
        row = frames.provenance(result) | {
            "app": app,
            "title": report["titles"][index],
            "io": report["io"][index],
            "launches": len(own),
            "cold": len(cold),
            "launch_ms": own.launch_ms.mean(),
            "cold_ms": cold.launch_ms.mean(),
            "warm_ms": warm.launch_ms.mean(),
            "loading_ms": cold.loading_ms.mean(),
            "blocked_ms": own.blocked_ms.mean(),
        }
        row |= {name: int(own[name].sum()) for name in ("reads", *OUTCOMES)}
        background = report["background"][index]
        row |= {f"background_{name}": background[name] for name in ("reads", *OUTCOMES)}
        yield row | {"kills": int((killed.app == app).sum())}


def summary_row(
    result: Result, uses: "pd.DataFrame", kills: "pd.DataFrame", timeline: "pd.DataFrame", energy: "pd.DataFrame"
) -> frames.Row:
    """A row of `Study.summary`."""
    own, chosen, times, joules = (table[table.scheme == result.scheme] for table in (uses, kills, timeline, energy))
    killed = chosen[~chosen.spared]
    reads, background = own.reads.sum(), own.background_reads.sum()
    return frames.provenance(result) | {
        "launch_ms": own.launch_ms.mean(),
        "cold_ms": own[own.start == "cold"].launch_ms.mean(),
        "warm_ms": own[own.start == "warm"].launch_ms.mean(),
        "loading_ms": own.loading_ms.mean(),
        "blocked_ms": own.blocked_ms.mean(),
        "cold_launches": int((own.start == "cold").sum()),
        "launches": len(own),
        "reads": int(reads),
        "host_hit": own.host.sum() / max(1, reads),
        "miss": own["map"].sum() / max(1, reads),
        "background_reads": int(background),
        "background_miss": own.background_map.sum() / max(1, background),
        "kills": len(killed),
        "kills_of_apps": int((killed.category < 3).sum()),
        "spared": int(chosen.spared.sum()),
        "hpb_mib": times.hpb_mib.max(),
        "pressure": times.pressure.mean(),
        "energy_j": joules.energy_j.sum(),
    }


def energy_rows(result: Result) -> Iterator[frames.Row]:
    """The row of `Study.energy`."""
    waited = sum(max(use["launch_ns"], use["loading_ns"] or 0) for use in result.phone["uses"]) / 1e9
    operations = dict.fromkeys(OPERATION_MICROJOULES, 0)
    for counts in result.nand_ops.values():
        for kind, count in counts.items():
            operations[kind] += count
    flash = sum(count * OPERATION_MICROJOULES[kind] for kind, count in operations.items()) / 1e6
    # Who has waited longer does not use the app shorter: the work is the same under every scheme, and takes longer.
    used = sum(use["duration_ns"] for use in result.phone["uses"]) / 1e9
    user, use = FOREGROUND_WATTS * waited, FOREGROUND_WATTS * used
    joules = {"energy_j": user + use + flash, "user_j": user, "use_j": use, "flash_j": flash}
    joules |= {"waited_s": waited, "used_s": used}
    yield frames.provenance(result) | joules | operations


def reads_frame(results: Sequence[Result], read_logs: Mapping[str, dict[str, tuple[str, bytes]]]) -> "pd.DataFrame":
    """What `Study.reads` gives."""
    import numpy as np
    import pandas as pd

    logs = []
    runs = [frames.provenance(result) for result in results]
    known = {name: list(dict.fromkeys(run[name] for run in runs)) for name in runs[0]}
    for result in results:
        log = read_logs[result.scheme]
        columns = {name: np.frombuffer(data, dtype=kind) for name, (kind, data) in log.items()}
        report = result.phone
        starts = np.array([use["at_ns"] for use in report["uses"]], dtype=float)
        lengths = np.array([max(1, use["duration_ns"]) for use in report["uses"]], dtype=float)
        use = columns["use"].astype(int)
        frame = pd.DataFrame(
            {
                "at_s": columns["at_ns"] / 1e9,
                "use": use,
                "app": pd.Categorical.from_codes(columns["app"].astype(int), report["apps"]),
                "phase": pd.Categorical.from_codes(columns["phase"].astype(int), pd.Index(PHASES)),
                "outcome": pd.Categorical.from_codes(columns["outcome"].astype(int), pd.Index(OUTCOMES)),
                "latency_us": columns["latency_ns"] / 1e3,
                "lpa": columns["lpa"],
                "units": columns["units"],
            }
        )
        frame["share"] = ((columns["at_ns"] - starts[use]) / lengths[use]).clip(0.0, 1.0)
        for column in (SCHEME, *PROVENANCE):
            value = frames.provenance(result)[column.name]
            repeated = pd.Categorical([value], categories=known[column.name])
            frame[column.name] = repeated.repeat(len(frame)) if column.name != "seed" else np.uint64(value)
        logs.append(frame[["scheme", *frame.columns.drop("scheme")]])
    return pd.concat(logs, ignore_index=True)
