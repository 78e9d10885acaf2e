"""MAP+, "An I/O Scheduling Strategy for Embedded Flash Storage Devices With Mapping Cache" (TCAD 2018): the traces, and
the figures that show why mapping misses matter (Figs. 2, 3)."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

import ufsim
from ufsim import Spec, StateCache, outputs, trace_convert, trace_info, trace_join
from ufsim_papers import draw
from ufsim_papers.claims import Measured, Option
from ufsim_papers.figure import Label, Point, Run, Setting, Value, figure
from ufsim_papers.folders import job


@dataclass(frozen=True)
class Load:
    """A trace in the place of one of the paper's."""

    parts: tuple[str, ...]
    about: str
    device: str | None = None
    clean: tuple[str, ...] = field(default=())
    # Traces in the folder `parts` that are joined, in turns.
    apps: tuple[str, ...] = field(default=())


PIXEL = "pixel4-hpufs"
NEXUS = ("packed", "pages")
# By the name that the drawings use. Pages of a trace are whole, because the paper's equations count pages.
LOADS = {
    "FB": Load((PIXEL, "facebook"), "Facebook"),
    "TW": Load((PIXEL, "twitter"), "Twitter"),
    "CH": Load((PIXEL, "chrome"), "Chrome"),
    "CP": Load((PIXEL, "camera-picture"), "Camera"),
    "GI": Load((PIXEL, "genshinimpact"), "Genshin Impact"),
    "MP": Load(
        (PIXEL,), "the five in turns", apps=("facebook", "twitter", "chrome", "camera-picture", "genshinimpact")
    ),
    "IN": Load(("nexus5-zhou", "Installing_log181.txt.xz"), "installing apps", clean=NEXUS),
    "MO": Load(("nexus5-zhou", "Movie_log121.txt.xz"), "playing a movie", clean=NEXUS),
    "YA": Load(("nexus5-pocketdata", "YCSB_WorkloadA_LogTimingsql.log.xz"), "SQLite, half updates"),
    "YB": Load(("nexus5-pocketdata", "YCSB_WorkloadB_LogTimingsql.log.xz"), "SQLite, mostly reads"),
    "WS": Load(("server", "wsrch-small.trace.xz"), "WebSearch1, disk 0", device="0", clean=("pages",)),
    "F1": Load(("server", "financial1_first10k.example.ascii.xz"), "Financial1, first 10,000", clean=("pages",)),
}
# The paper's Multiple is "collected from running the aforementioned five applications alternately" (Sec. VI-A), and
# does not say how long a turn is.
TURN_SECONDS = 60.0
# Linux's nr_requests, which is also the length of the paper's pending queue (Sec. VI-A).
NR_REQUESTS = 128
QUICK = ("TW", "YA", "F1")
SCHEDULERS = ("row", "amphibian", "hp", "rb", "map", "map-plus")
# With first in, first out, and density without knowledge of hits, of which the paper shows neither.
ALL_SCHEDULERS = ("noop", "row", "amphibian", "hp", "rb", "bs", "map", "map-plus")
COLOURS = {
    "noop": "#333333",
    "row": "#9aa1ab",
    "amphibian": "#e69f00",
    "hp": "#56b4e9",
    "rb": "#009e73",
    "bs": "#8fd19e",
    "map": "#0072b2",
    "map-plus": "#b2489a",
}
PAPER_NAMES = {
    "noop": "NOOP",
    "row": "RoW",
    "amphibian": "Amphibian",
    "hp": "HP",
    "rb": "RB",
    "bs": "BS",
    "map": "MAP",
    "map-plus": "MAP+",
}


def loads(setting: Setting) -> tuple[str, ...]:
    """The traces to replay."""
    return QUICK if setting.quick else tuple(LOADS)


def path_of(load: str, setting: Setting, turn: float = TURN_SECONDS) -> Path:
    """The trace of a load. One that is joined, in turns of so many seconds, is kept with the aged states."""
    chosen = LOADS[load]
    if not chosen.apps:
        return setting.trace(*chosen.parts)
    sources = [setting.trace(*chosen.parts, app) for app in chosen.apps]
    sizes = [[(file.name, file.stat().st_size) for file in sorted(source.iterdir())] for source in sources]
    key = hashlib.sha256(repr((ufsim.__version__, sources, sizes, turn)).encode()).hexdigest()
    path = StateCache().directory / f"map-plus-multiple-{key[:16]}.csv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # One phone and one partition, so that an address is the same place in all of them.
        trace_join(sources, path, rule="alternate", addresses="shared", turn_seconds=turn)
    return path


def spec(
    load: str,
    scheduler: str,
    setting: Setting,
    settings: Mapping[str, Value] | None = None,
    scheme: str = "dftl",
    turn: float = TURN_SECONDS,
) -> Spec:
    """A replay at the recorded times, on the paper's eMMC. Every address of the trace is mapped on flash before.

    `as_recorded` and `stretched` make another one of it.

    The paper recorded requests as they were inserted into the queue of Linux's scheduler, which takes in 128 at once;
    its latencies begin there (Sec. VI-A). The Pixel 4 traces were recorded above the queue: their neighbouring requests
    are merged first (`merge` is auto), and those for which there is no room wait outside, uncounted.
    """
    chosen = LOADS[load]
    return Spec(
        workload=str(path_of(load, setting, turn)),
        scheme=scheme,
        scheduler=scheduler,
        profile="emmc-map-plus",
        settings=dict(settings or {}),
        replay="queued",
        depth=NR_REQUESTS,
        precondition="touched",
        device=chosen.device,
        clean=list(chosen.clean),
        seed=setting.seed,
    )


# Sec. VI-A: "most of the I/O requests in our experiments are completed within 5 ms".
MOST_WITHIN_NS = 5_000_000
# When requests come: a label of runs, and the conditions of the claims' maps.
TIMES, STRETCHED = "recorded times", "stretched"
LOAD = {TIMES: {}, STRETCHED: {"map-plus.load": "times stretched until RoW completes most requests within 5 ms"}}


def stretched(load: str, own: Spec, setting: Setting) -> Spec:
    """The same replay with the times between requests stretched until RoW completes most of them as fast as there."""
    return replace(own, workload=str(slowed(load, own.workload, stretch(load, setting))), device=None)


@lru_cache(maxsize=64)
def stretch(load: str, setting: Setting) -> int:
    """The smallest power of two by which times have to be multiplied for that. It hangs on RoW and the trace alone."""
    row = spec(load, "row", replace(setting, seed=1))
    for factor in (1 << power for power in count()):
        result = ufsim.run(**asdict(replace(row, workload=str(slowed(load, row.workload, factor)), device=None)))
        assert isinstance(result, ufsim.Result)
        if result.data["latency_ns"]["all"]["p50"] < MOST_WITHIN_NS:
            return factor
    raise AssertionError("an endless loop has ended")


def slowed(load: str, source: str, factor: int) -> Path:
    """A trace whose times are multiplied; it is kept with the aged states."""
    chosen = LOADS[load]
    key = hashlib.sha256(repr((ufsim.__version__, source, chosen.device)).encode()).hexdigest()
    path = StateCache().directory / f"map-plus-{load}-times-{factor}-{key[:16]}.csv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            TemporaryDirectory(prefix=outputs.UNFINISHED, dir=path.parent) as folder,
            outputs.replacing(path) as beside,
            outputs.opened(beside) as file,
        ):
            whole = Path(folder) / "whole.csv"
            clean = [rule for rule in chosen.clean if rule != "pages"]
            trace_convert(source, whole, "csv", device=chosen.device, clean=clean)
            lines = whole.read_text(encoding="utf-8").splitlines(keepends=True)
            file.writelines(slower(line, factor).encode() for line in lines)
    return path


def slower(line: str, factor: int) -> str:
    """A line of a trace, with its time multiplied; a heading or a remark as it is."""
    time, comma, rest = line.partition(",")
    return f"{int(time) * factor},{rest}" if comma and time.isdigit() else line


def as_recorded(own: Spec) -> Spec:
    """The same replay with requests as they were recorded, parts of pages among them."""
    return replace(own, clean=[rule for rule in own.clean if rule != "pages"])


def each_out(values: pd.Series) -> Iterable[tuple[str, float]]:
    """Means with each of the traces left out once, and a name for each."""
    return ((f"without {load}", float(values.drop(load).mean())) for load in values.index)


def by_load(frame: pd.DataFrame, column: str, value: str) -> pd.DataFrame:
    """A row for each trace in the order of `LOADS`, a column for each value of `column` in the order of the frame."""
    order = list(dict.fromkeys(frame[column]))
    table = frame.pivot(index="trace", columns=column, values=value)
    return table.reindex([load for load in LOADS if load in table.index])[order]


def to_paper_names(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, str]]:
    """Columns as the paper calls the schedulers, and their colours."""
    colours = {PAPER_NAMES[name]: COLOURS[name] for name in table.columns}
    return table.rename(columns=PAPER_NAMES), colours


def bars(axes: Axes, table: pd.DataFrame, label: str) -> None:
    """Bars of schedulers, and their mean over the traces."""
    table, colours = to_paper_names(table)
    table.loc["mean"] = table.mean()
    draw.grouped_bars(axes, table, labels=False, colours=colours)
    axes.axvline(len(table) - 1.5, color="#aab2bd", lw=0.8)
    axes.set_ylabel(label)


def listed(values: Mapping[str, float] | pd.Series, digits: int = 0) -> str:
    """Values with their names, for a reader who wants all of them."""
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in values.items())


def miss_ratio(frame: pd.DataFrame) -> pd.Series:
    """Per cent of the page lookups that missed the mapping cache."""
    hits = frame["device_cmt_read_hits"] + frame["device_cmt_write_hits"]
    misses = frame["device_cmt_read_misses"] + frame["device_cmt_write_misses"]
    return misses / (hits + misses) * 100


def first_touches(load: str, setting: Setting) -> float:
    """Per cent of a trace's pages that it touches for the first time, which miss in a cache of any size."""
    chosen = LOADS[load]
    info = trace_info(path_of(load, setting), device=chosen.device, clean=chosen.clean)
    return float(info["footprint_bytes"] / (info["read_bytes"] + info["write_bytes"]) * 100)


# The paper's device, one without misses, and the claims' foils.
CACHES: dict[str, dict[str, Value]] = {
    "16": {"scheme.*.cache_kib": 16},
    "unlimited": {"scheme.*.cache_kib": "unlimited"},
    "32, plain LRU": {"scheme.*.cache_kib": 32, "scheme.*.protected_one_in": 0},
    "128": {"scheme.*.cache_kib": 128},
}


def _f2_runs(setting: Setting) -> list[Run]:
    usual = [
        Run(
            {"trace": load, "times": TIMES, "cache": cache, "first_touch_pct": touches},
            spec(load, "noop", setting, settings),
        )
        for load in loads(setting)
        for touches in [first_touches(load, setting)]
        for cache, settings in CACHES.items()
    ]
    return usual + [at_paper_load(run, setting) for run in usual if run.labels["cache"] != "32, plain LRU"]


def at_paper_load(run: Run, setting: Setting) -> Run:
    """The same run with stretched times."""
    return Run({**run.labels, "times": STRETCHED}, stretched(str(run.labels["trace"]), run.spec, setting))


def by_times(frame: pd.DataFrame) -> list[tuple[Mapping[str, Option], pd.DataFrame]]:
    """The runs with recorded and with stretched times, and where these are on a map."""
    return [(LOAD[str(times)], own) for times, own in frame.groupby("times", sort=False)]


def costs(frame: pd.DataFrame, kind: str, cache: str = "16") -> pd.Series:
    """Mean latency with 16 KiB over that with an unlimited cache, where the trace has such requests."""
    table = by_load(frame, "cache", f"{kind}_mean_ns")
    return (table[cache] / table["unlimited"]).dropna()


def _f2_draw(frame: pd.DataFrame) -> Drawing:
    figure, (first, second, third) = draw.canvas(columns=3, width=4.6)
    frame = frame[frame["times"] == TIMES]
    small = frame[frame["cache"] == "16"].set_index("trace")
    ratio = miss_ratio(small)
    first.bar(range(len(ratio)), ratio, color="#0072b2", width=0.65, label="measured")
    touches = small["first_touch_pct"]
    first.scatter(range(len(ratio)), touches, marker="_", s=120, lw=2, color="black", zorder=4, label="first touches")
    first.set_xticks(range(len(ratio)), list(ratio.index))
    draw.paper_band(first, 32, 82, "paper: 32 to 82%")
    first.axhline(61, color=draw.PAPER_COLOUR, lw=1, ls="--", label="paper: mean")
    first.set_ylim(0, 130)
    first.set_ylabel("lookups that miss (%)")
    draw.legend(first)
    for axes, kind, paper in ((second, "read", 1.42), (third, "write", 1.19)):
        cost = costs(frame, kind)
        axes.bar(range(len(cost)), cost, color="#e69f00", width=0.65)
        axes.set_xticks(range(len(cost)), list(cost.index))
        axes.axhline(1, color="black", lw=0.8)
        axes.axhline(paper, color=draw.PAPER_COLOUR, lw=1, ls="--", label=f"paper: mean {paper}")
        axes.set_ylabel(f"{kind} latency, 16 KiB over unlimited")
        draw.legend(axes)
    return figure


def _f2_measure(frame: pd.DataFrame) -> list[Measured]:
    recorded = frame[frame["times"] == TIMES]
    ratios = {cache: miss_ratio(own.set_index("trace")) for cache, own in recorded.groupby("cache", sort=False)}
    ratio, touches = ratios["16"], recorded[recorded["cache"] == "16"].set_index("trace")["first_touch_pct"]
    told = f"mean of {listed(ratio)}; {touches.mean():.0f}% of the accesses are the first of their page"
    claim = "map-plus.f2.miss-ratio"
    return [
        Measured(claim, float(ratio.mean()), told=told),
        *(Measured(claim, float(value), at=EACH, case=str(load)) for load, value in ratio.items()),
        Measured(claim, float(ratios["32, plain LRU"].mean()), role="foil"),
        *(part for at, own in by_times(frame) for part in _costs(own, at)),
        *(replace(part, role="foil") for part in _costs(frame[frame["times"] == STRETCHED], {}, "128") if not part.at),
    ]


# The option of a map on which each trace stands for itself.
EACH: dict[str, Option] = {"trace": "each by itself"}


def _costs(frame: pd.DataFrame, at: Mapping[str, Option], cache: str = "16") -> list[Measured]:
    """What misses cost: in the mean over the traces, and on each that reads and writes."""
    claim, write = "map-plus.f2.latency-cost", "write latency"
    read, written = ((costs(frame, kind, cache) - 1) * 100 for kind in ("read", "write"))
    return [
        Measured(claim, float(read.mean()), told=f"mean of {listed(read)}", at=at),
        Measured(claim, float(written.mean()), write, told=f"mean of {listed(written)}", at=at),
        *(
            Measured(claim, float(values[load]), part, at={**at, **EACH}, case=str(load))
            for load in read.index.intersection(written.index)
            for part, values in (("", read), (write, written))
        ),
    ]


F2 = figure("map-plus/f2", runs=_f2_runs, draw=_f2_draw, measure=_f2_measure)

REGIONS = (1, 4, 16, 64, 256, 1024, 2048)


def _f3_runs(setting: Setting) -> list[Run]:
    regions: Sequence[int] = (1, 16, 1024) if setting.quick else REGIONS
    return [
        Run(
            {"access": access, "region_mib": region, "cache_kib": cache},
            Spec(
                workload=job("map-plus/f3", ACCESS=f"rand{access}", REGION=f"{region}m"),
                scheme="dftl",
                profile="emmc-map-plus",
                settings={"scheme.*.cache_kib": cache, "scheme.*.protected_one_in": 0},
                precondition="touched",
                seed=setting.seed,
            ),
        )
        for access in ("read", "write")
        for region in regions
        for cache in (16, 128)
    ]


def _f3_draw(frame: pd.DataFrame) -> Drawing:
    figure, sides = draw.canvas(columns=2, width=4.8)
    for axes, access in zip(sides, ("read", "write"), strict=True):
        rows = frame[frame["access"] == access]
        table = rows.pivot(index="region_mib", columns="cache_kib", values="sim_seconds")
        letter = access[0].upper()
        names: dict[Label, str] = {16: f"{letter}-16", 128: f"{letter}-128"}
        table = table.rename(columns=names)
        draw.lines(axes, table, {f"{letter}-16": "#d55e00", f"{letter}-128": "#0072b2"})
        axes.set_xlabel("region (MiB)")
        axes.set_ylabel(f"time of 10,000 random {access}s (s)")
        draw.legend(axes)
    return figure


F3 = figure("map-plus/f3", runs=_f3_runs, draw=_f3_draw)

# Sequential ratio and write ratio in per cent, mean size in KB, by the name of the workload.
TABLE_3 = {
    "FB": (11.8, 92.7, 8.1),
    "TW": (13.7, 72.5, 13.2),
    "CH": (9.3, 90.5, 12.8),
    "MP": (4.4, 91.1, 9.6),
    "F1": (0.4, 76.1, 11.6),
}


def characteristics(load: str, setting: Setting) -> dict[str, float]:
    """What Table III tells of a workload."""
    chosen = LOADS[load]
    info = trace_info(path_of(load, setting), device=chosen.device, clean=chosen.clean)
    return {
        "requests": info["requests"],
        "sequential_pct": info["sequential_ratio"] * 100,
        "write_pct": info["write_ratio"] * 100,
        "mean_kib": info["mean_bytes"] / 1024,
    }


def _t3_runs(setting: Setting) -> list[Point]:
    return [Point({"trace": load}, partial(characteristics, load, setting)) for load in loads(setting)]


def _t3_draw(frame: pd.DataFrame) -> Drawing:
    figure, panels = draw.canvas(columns=3, width=4.6)
    columns = (("sequential_pct", "sequential (%)"), ("write_pct", "writes (%)"), ("mean_kib", "mean size (KiB)"))
    names = list(frame["trace"])
    for index, (axes, (column, label)) in enumerate(zip(panels, columns, strict=True)):
        axes.bar(range(len(names)), frame[column], color="#0072b2", width=0.65, label="trace at hand")
        theirs = [TABLE_3[name][index] if name in TABLE_3 else float("nan") for name in names]
        axes.scatter(
            range(len(names)), theirs, marker="_", s=160, lw=2, color=draw.PAPER_COLOUR, label="paper", zorder=4
        )
        axes.set_xticks(range(len(names)), names)
        axes.set_ylabel(label)
        axes.set_ylim(0, axes.get_ylim()[1] * 1.25)
        draw.legend(axes)
    return figure


T3 = figure("map-plus/t3", runs=_t3_runs, draw=_t3_draw)

FIGURES = (F2, F3, T3)
