"""MAP+, "An I/O Scheduling Strategy for Embedded Flash Storage Devices With Mapping Cache" (TCAD 2018): the traces, and
the figures that show why mapping misses matter (Figs. 2, 3)."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

import ufsim
from ufsim import Spec, StateCache, trace_info, trace_join
from ufsim_papers import draw
from ufsim_papers.claims import Measured
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
TURN_SECONDS = 60
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


def path_of(load: str, setting: Setting) -> Path:
    """The trace of a load. One that is joined is kept with the aged states."""
    chosen = LOADS[load]
    if not chosen.apps:
        return setting.trace(*chosen.parts)
    sources = [setting.trace(*chosen.parts, app) for app in chosen.apps]
    sizes = [[(file.name, file.stat().st_size) for file in sorted(source.iterdir())] for source in sources]
    key = hashlib.sha256(repr((ufsim.__version__, sources, sizes, TURN_SECONDS)).encode()).hexdigest()
    path = StateCache().directory / f"map-plus-multiple-{key[:16]}.csv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # One phone and one partition, so that an address is the same place in all of them.
        trace_join(sources, path, rule="alternate", addresses="shared", turn_seconds=TURN_SECONDS)
    return path


def spec(
    load: str,
    scheduler: str,
    setting: Setting,
    settings: Mapping[str, Value] | None = None,
    scheme: str = "dftl",
) -> Spec:
    """A replay at the recorded times, on the paper's eMMC. Every address of the trace is mapped on flash before.

    `as_recorded` and `unqueued` make another one of it.

    The paper recorded requests as they were inserted into the queue of Linux's scheduler, which takes in 128 at once;
    its latencies begin there (Sec. VI-A). The Pixel 4 traces were recorded above the queue: their neighbouring requests
    are merged first (`merge` is auto), and those for which there is no room wait outside, uncounted.
    """
    chosen = LOADS[load]
    return Spec(
        workload=str(path_of(load, setting)),
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


def as_recorded(own: Spec) -> Spec:
    """The same replay with requests as they were recorded, parts of pages among them."""
    return replace(own, clean=[rule for rule in own.clean if rule != "pages"])


def unqueued(own: Spec) -> Spec:
    """The same replay without a queue in front of the device's: each request comes at its recorded time."""
    return replace(own, replay="timed", depth=None)


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


def _f2_runs(setting: Setting) -> list[Run]:
    return [
        Run(
            {"trace": load, "cache": str(cache), "first_touch_pct": touches},
            spec(load, "noop", setting, {"scheme.*.cache_kib": cache}),
        )
        for load in loads(setting)
        for touches in [first_touches(load, setting)]
        for cache in (16, "unlimited")
    ]


def costs(frame: pd.DataFrame, kind: str) -> pd.Series:
    """Mean latency with 16 KiB over that with an unlimited cache, where the trace has such requests."""
    table = by_load(frame, "cache", f"{kind}_mean_ns")
    return (table["16"] / table["unlimited"]).dropna()


def _f2_draw(frame: pd.DataFrame) -> Drawing:
    figure, (first, second, third) = draw.canvas(columns=3, width=4.6)
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
    small = frame[frame["cache"] == "16"].set_index("trace")
    ratio, touches = miss_ratio(small), small["first_touch_pct"]
    read, write = (costs(frame, "read") - 1) * 100, (costs(frame, "write") - 1) * 100
    why_misses = (
        f"{touches.mean():.0f}% of the page accesses of the traces at hand are the first of their page "
        f"({listed(touches)}) and miss in a cache of any size. A likely cause, not tested: the Pixel 4's F2FS writes "
        "every block to a new address, and the other traces are short. Only YA and Financial1 lie in the paper's range"
    )
    doubled = (
        "follows from the miss ratio: a read that misses takes two flash reads instead of one, which at nearly 100% of "
        "misses is the double, before queueing. Genshin Impact reads in bursts that the device nearly serves in time "
        f"without misses, and not with them; without it the mean is {read.drop('GI', errors='ignore').mean():.0f}%"
    )
    return [
        Measured("map-plus.f2.miss-ratio", float(ratio.mean()), told=f"mean of {listed(ratio)}", reason=why_misses),
        Measured("map-plus.f2.latency-cost", float(read.mean()), "reads", f"mean of {listed(read)}", reason=doubled),
        Measured("map-plus.f2.latency-cost", float(write.mean()), "writes", f"mean of {listed(write)}", band=(8, 40)),
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
