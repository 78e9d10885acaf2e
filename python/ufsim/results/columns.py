"""The columns of data frames: their names, types, units and meanings, declared once.

Those of logs, series and reads of phones are declared in the core, where their values come from. Frames are made with
their types whatever is in them: a frame without rows, or with a column without values, has the same types as any other,
so that frames of several results can be put together. No column holds Python objects.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ufsim import _core
from ufsim.names import check_choice

if TYPE_CHECKING:
    import pandas as pd

TEXT, COUNT, WIDE, REAL, SWITCH, MAYBE = "text", "int64", "uint64", "float64", "bool", "Int64"
WORD = "category"


@dataclass(frozen=True)
class Column:
    """One column: `dtype` as pandas names it ("text": its type for strings), `unit` empty where there is none.

    A column of words tells them in the order of their places, if they are the same in every run.
    """

    name: str
    dtype: str
    unit: str
    meaning: str
    words: tuple[str, ...] = field(default=(), kw_only=True)


def _columns(*rows: tuple[str, str, str, str]) -> tuple[Column, ...]:
    """Declarations with several names in one row, separated by spaces."""
    return tuple(Column(name, *rest) for names, *rest in rows for name in names.split())


def _of_core(one: dict[str, Any]) -> Column:
    return Column(**{**one, "words": tuple(one["words"])})


# What the core gives as columns: requests of a log, intervals of a series, reads of a phone.
_CORE = {what: tuple(map(_of_core, rows)) for what, rows in json.loads(_core.columns_json()).items()}
# By what gives the file: columns of files that no frame is made from.
FILES: Mapping[str, tuple[Column, ...]] = {what: _CORE[what] for what in ("log", "series")}


def _words(what: str, name: str) -> tuple[str, ...]:
    return next(column.words for column in _CORE[what] if column.name == name)


KINDS, OUTCOMES, PHASES = _words("log", "kind"), _words("log", "outcome"), _words("reads", "phase")
# Parts of the way of a request, with what each means.
STAGE, _NS = "stage_", "_ns"
STAGES = {
    column.name.removeprefix(STAGE).removesuffix(_NS): column.meaning
    for column in FILES["log"]
    if column.name.startswith(STAGE)
}


# What every row says of the run that it comes from; these columns come last.
PROVENANCE = _columns(
    ("workload", TEXT, "", "path of the workload"),
    ("profile", TEXT, "", "name or path of the device profile"),
    (
        "settings",
        TEXT,
        "",
        "replaced values of the profile, `key=value` with spaces between; empty where there are none",
    ),
    ("seed", WIDE, "", "seed of everything random"),
    ("version", TEXT, "", "version of the simulator"),
)
SCHEME = Column("scheme", TEXT, "", "name of the scheme")
_KIND = Column("kind", TEXT, "", "read, write, flush, trim, or all; for programs also the operation, such as insert")

# Columns that are means over seeds, and the ending of the names of their intervals.
CI95 = "_ci95"
_LATENCIES = tuple(f"{kind}_{name}_ns" for kind in ("read", "write") for name in ("mean", "p50", "p99", "p999", "max"))
_WAFS = ("waf_total", "waf_data", "waf_map", "waf_gc")
_RATES = ("iops", "throughput_mib_per_s", "gain_percent", "latency_gain_percent")
MEANS = (*_RATES, *_LATENCIES, *_WAFS, "mapping_share")

_TABLE = _columns(
    ("seeds", COUNT, "", "runs with seeds that follow each other, from `seed` on"),
    ("submitted completed failed", COUNT, "requests", "measured; failed are those that ended with an error"),
    ("sim_seconds wall_seconds", REAL, "s", "time that was simulated, and that it took"),
    ("iops", REAL, "1/s", "measured requests per simulated second"),
    ("throughput_mib_per_s", REAL, "MiB/s", "bytes read and written per simulated second"),
    ("gain_percent", REAL, "%", "throughput over that of the first scheme"),
    ("latency_gain_percent", REAL, "%", "how much shorter the mean latency of all requests is than the first scheme's"),
    (
        " ".join(_LATENCIES),
        REAL,
        "ns",
        "latency; missing where no request of the kind was made",
    ),
    (" ".join(_WAFS), REAL, "", "units programmed per unit that the host wrote"),
    ("mapping_share", REAL, "", "share of the dies' busy time that the mapping table takes (0 to 1)"),
    ("host_dram_bytes sram_bytes", COUNT, "bytes", "memory of the host that the scheme uses; SRAM of the device"),
    ("scheduler booster mapping", TEXT, "", "what the scheme is made of"),
    ("replay", TEXT, "", "how a trace was replayed, or the kind of workload"),
    ("depth", MAYBE, "requests", "outstanding at most; missing in a timed replay and for jobs"),
    ("precondition", TEXT, "", "what was written before"),
    ("age", TEXT, "", "the fio job that aged the device; empty for a new one"),
    ("aged_with", TEXT, "", "what differed while the device aged: values of the profile, scheduler, booster, seed"),
    ("digest", TEXT, "", "fingerprint of every completion and counter"),
    (" ".join(f"{name}{CI95}" for name in MEANS), REAL, "as theirs", "half of the 95% interval; missing with one seed"),
)
_LATENCY = _columns(
    ("count", COUNT, "requests", "requests of the kind"),
    ("mean stddev min p50 p90 p99 p999 max", REAL, "ns", "latency; missing where there were no requests"),
)
_CDF = _columns(
    ("latency_ns", COUNT, "ns", "a latency; 20 for each power of ten"),
    ("requests", COUNT, "requests", "that took so long at most"),
    ("share", REAL, "", "of all requests of the kind (0 to 1)"),
)
_TIME_SERIES = _columns(
    ("at_s", REAL, "s", "start of an interval, from the first measured request on"),
    ("interval_s", REAL, "s", "its length; a run has at most 256"),
    ("requests", COUNT, "requests", "that completed in it"),
    ("iops", REAL, "1/s", "the same per second"),
    ("mib_per_s", REAL, "MiB/s", "bytes of these requests per second"),
    ("mean_ns max_ns", REAL, "ns", "latency; missing where nothing completed"),
)
_POWER_STATES = _columns(
    ("state", TEXT, "", "busy, idle, entering, hibern8, clk_gated, sleep or waking"),
    ("time_s", REAL, "s", "in the state, over the measured part"),
    ("share", REAL, "", "of the measured part (0 to 1)"),
    ("stays", COUNT, "stays", "how often it began"),
    ("working_s", REAL, "s", "in which the device had work of its own while the link was down"),
)

_READS = "by where their mapping came from: sent by the host, in SRAM, or read from flash (a miss)"
_USES = _columns(
    ("use", COUNT, "", "number of the use in the scenario, from 0"),
    ("app", TEXT, "", "the app in the foreground"),
    ("launch", COUNT, "", "number of this launch among the app's, from 1"),
    ("start", TEXT, "", "cold or warm"),
    ("at_s", REAL, "s", "start of the launch"),
    ("launch_ms", REAL, "ms", "from the user's touch to the first frame"),
    ("loading_ms", REAL, "ms", "until a game takes input; missing after warm starts and for other apps"),
    ("compute_ms blocked_ms stalled_ms", REAL, "ms", "parts of the launch: computing, reads, memory"),
    ("loading_blocked_ms", REAL, "ms", "blocked on reads until the end of loading"),
    ("duration_s", REAL, "s", "to the next app's launch"),
    ("reads", COUNT, "requests", "of the app in this use"),
    (" ".join(OUTCOMES), COUNT, "requests", _READS),
    *((f"{phase}_reads", COUNT, "requests", f"of the phase {phase}") for phase in PHASES),
    *((f"{phase}_{name}", COUNT, "requests", f"the same {_READS}") for phase in PHASES for name in OUTCOMES),
    ("fetches", COUNT, "commands", "by which the driver fetched mappings during the use, whoever needs them"),
    (" ".join(f"map_tenth_{n}" for n in range(1, 11)), COUNT, "requests", "misses by tenth of the use's duration"),
)
_KILLS = _columns(
    ("at_s", REAL, "s", "when"),
    ("app", TEXT, "", "whom"),
    ("adj", COUNT, "", "its oom_score_adj"),
    ("category", COUNT, "", "0 for what matters most"),
    ("category_name", TEXT, "", "name of the category"),
    ("expected_mib returned_mib", REAL, "MiB", "what its end would free; what the driver gave back instead"),
    ("spared", SWITCH, "", "the driver gave enough, and the app lives"),
)
_TIMELINE = _columns(
    ("at_s", REAL, "s", "every half second"),
    ("foreground", TEXT, "", "the app in the foreground; missing where there is none"),
    ("pressure", REAL, "", "share of the last second in which some task was stalled for memory (0 to 1)"),
    ("alive", COUNT, "apps", "of the user that have a process"),
    ("hpb_mib free_mib cache_mib apps_mib system_mib", REAL, "MiB", "who has the memory"),
)
_APPS = _columns(
    ("app title io", TEXT, "", "name, what users call it, and what its I/O comes from"),
    ("launches cold", COUNT, "launches", "all, and those after its process was gone"),
    ("launch_ms cold_ms warm_ms loading_ms blocked_ms", REAL, "ms", "means; missing where there was none"),
    ("reads", COUNT, "requests", "in the foreground"),
    (" ".join(OUTCOMES), COUNT, "requests", _READS),
    ("background_reads", COUNT, "requests", "in the background"),
    (" ".join(f"background_{name}" for name in OUTCOMES), COUNT, "requests", f"the same {_READS}"),
    ("kills", COUNT, "kills", "of this app"),
)
_SUMMARY = _columns(
    ("launch_ms cold_ms warm_ms loading_ms blocked_ms", REAL, "ms", "means over uses; missing where there was none"),
    ("cold_launches launches", COUNT, "launches", "those after the process was gone, and all"),
    ("reads", COUNT, "requests", "of apps in the foreground"),
    ("host_hit miss", REAL, "", "share of them whose mapping the host sent, or flash had (0 to 1)"),
    ("background_reads", COUNT, "requests", "of apps in the background"),
    ("background_miss", REAL, "", "share of them whose mapping flash had (0 to 1)"),
    ("kills kills_of_apps spared", COUNT, "kills", "all, of apps that the user had opened, and averted ones"),
    ("hpb_mib", REAL, "MiB", "most memory of the host that the scheme held"),
    ("pressure", REAL, "", "mean over time (0 to 1)"),
    ("energy_j", REAL, "J", "proxy of the energy: see `Study.energy`"),
)
_ENERGY = _columns(
    ("energy_j user_j use_j flash_j", REAL, "J", "in all, while users wait, while they use apps, for flash operations"),
    ("waited_s used_s", REAL, "s", "that users wait for launches and loading; that they use apps after it"),
    ("read program erase", COUNT, "operations", "of flash"),
)

# By the name of the method that gives the frame.
FRAMES: Mapping[str, tuple[Column, ...]] = {
    "table": (SCHEME, *_TABLE, *PROVENANCE),
    "latency": (SCHEME, _KIND, *_LATENCY, *PROVENANCE),
    "cdf": (SCHEME, _KIND, *_CDF, *PROVENANCE),
    "time_series": (SCHEME, _KIND, *_TIME_SERIES, *PROVENANCE),
    "power_states": (SCHEME, *_POWER_STATES, *PROVENANCE),
    "uses": (SCHEME, *_USES, *PROVENANCE),
    "kills": (SCHEME, *_KILLS, *PROVENANCE),
    "timeline": (SCHEME, *_TIMELINE, *PROVENANCE),
    "apps": (SCHEME, *_APPS, *PROVENANCE),
    "summary": (SCHEME, *_SUMMARY, *PROVENANCE),
    "energy": (SCHEME, *_ENERGY, *PROVENANCE),
}


def columns(frame: str) -> "pd.DataFrame":
    """What the columns of a frame mean: one row for each, indexed by `name`, with `dtype`, `unit` and `meaning`.

    `frame` is the name of the method that gives it, such as "latency" or "uses". All frames end with the same columns,
    which say what was run: `workload`, `profile`, `settings`, `seed`, `version`. "log" and "series" stand for
    the files that `ufsim.run(..., log=FILE, series=FILE)` writes.
    """
    import pandas as pd

    known = {**FRAMES, **FILES}
    check_choice("frame", frame, known)
    told = ["name", "dtype", "unit", "meaning"]
    declared = [[getattr(column, one) for one in told] for column in known[frame]]
    return pd.DataFrame(declared, columns=told).astype(text_type()).set_index("name")


def text_type() -> 'Literal["str", "string"]':
    """The type of pandas for strings; before pandas 3 its `str` means Python objects."""
    import pandas as pd

    return "str" if int(pd.__version__.split(".")[0]) >= 3 else "string"


def typed(frame: str, rows: Iterable[Mapping[str, Any]]) -> "pd.DataFrame":
    """A frame of these rows with the columns that are declared for it, in their order."""
    import pandas as pd

    declared = {column.name: column.dtype for column in FRAMES[frame]}
    types = {name: text_type() if dtype == TEXT else dtype for name, dtype in declared.items()}
    return pd.DataFrame(list(rows), columns=list(declared)).astype(types)
