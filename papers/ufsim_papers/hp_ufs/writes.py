"""HP-UFS, "Fully Harnessing the Performance Potential of DRAM-less Mobile Flash Storage" (MSST 2024):
micro-benchmarks.
"""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from itertools import product

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim import Spec
from ufsim.plots import scheme_colours
from ufsim_papers import draw
from ufsim_papers.claims import Measured, Option
from ufsim_papers.figure import Label, Run, Setting, Value, cell, figure
from ufsim_papers.folders import job
from ufsim_papers.hp_ufs import hpb

# What the paper compares, by which the claims are judged.
OF_PAPER = ("ufs", "hpb", "hp-ufs", "ideal")
# Beside it UFS and HPB with the strongest map flushes that were found in the same SRAM.
SCHEMES = ("ufs", "hpb", "ufs-tuned", "hpb-tuned", "hp-ufs", "ideal")
# Whose map flushes go by address, which is a point of the map of Fig. 6's claims: the setting and its name there.
FLUSH_ORDER, ADDRESS = "scheme.segment-log.flush_order", {"hp-ufs.flush-order": "address"}
BY_ADDRESS = {"ufs": "ufs, flush by address", "hpb": "hpb, flush by address"}
# How long programs of metadata take: the setting, and where it lies on maps.
PROGRAMS = "what_if.metadata_programs"
PUBLISHED, DESCRIBED = "as-published", "pages"
CONTINUATION: dict[str, dict[str, Option]] = {
    DESCRIBED: {},
    PUBLISHED: {"hp-ufs.continuation": "as published"},
}
# HPB's foil: its map flush is pipelined and sorted.
TUNED = "hpb-tuned"
# Why HP-UFS gains less over an HPB that flushes by address than the paper says; shown only beside a miss.
ADDRESS_MISS = (
    "segments that a flush writes in order of their addresses lie beside each other, so the next flush reads several "
    "of them with one access to the cells: the same reads take the dies about a third less time"
)
RANGES = (1, 2, 4, 8, 16, 32, 64)
CACHES: tuple[int | str, ...] = (5, 10, 20, 40, "unlimited")
# The paper's limit of the L2P segment cache.
CACHE = 20


def write_spec(gib: int, scheme: str, setting: Setting, memory: int | str = CACHE) -> Spec:
    """Random writes over a range, on a new device."""
    return Spec(
        workload=job("hp-ufs/f6-randwrite", RANGE=f"{gib}g"),
        scheme=scheme,
        precondition="none",
        host_memory_mib=memory,
        settings=hpb.settings(scheme),
        seed=setting.seed,
    )


def _by_address(run: Run) -> Run:
    name = BY_ADDRESS[str(run.labels["scheme"])]
    return Run({**run.labels, "scheme": name}, _with(run.spec, FLUSH_ORDER, "address"))


def _as_published(run: Run) -> Run:
    return Run({**run.labels, "programs": PUBLISHED}, _with(run.spec, PROGRAMS, PUBLISHED))


def _with(spec: Spec, key: str, value: Value) -> Spec:
    return replace(spec, settings={**spec.settings, key: value})


def _f6_runs(setting: Setting) -> list[Run]:
    ranges = (1, 16, 32) if setting.quick else RANGES
    caches = (20, "unlimited") if setting.quick else CACHES

    def run(gib: int, scheme: str, cache: int | str = CACHE) -> Run:
        labels: dict[str, Label] = {"range_gib": gib, "scheme": scheme, "cache": str(cache), "programs": DESCRIBED}
        return Run(labels, write_spec(gib, scheme, setting, cache))

    usual = [run(gib, scheme) for gib in ranges for scheme in SCHEMES]
    usual += [_by_address(run(gib, scheme)) for gib in ranges for scheme in BY_ADDRESS]
    published = [_as_published(own) for own in usual if own.labels["scheme"] != "ufs-tuned"]
    sizes = [run(gib, "hp-ufs", cache) for gib in ranges for cache in caches if cache != CACHE]
    return [*usual, *published, *sizes]


def _f6_judged(setting: Setting) -> list[Run]:
    """Runs that the claims need: all but one scheme over all ranges, and an unlimited cache at 16 and 32 GiB."""
    needed = [run for run in _f6_runs(setting) if run.labels["scheme"] != "ufs-tuned"]
    usual = [run for run in needed if run.labels["cache"] == str(CACHE)]
    return usual + [run for run in needed if run.labels["cache"] == "unlimited" and run.labels["range_gib"] in (16, 32)]


def megabytes(cache: Hashable) -> int:
    """The size that a column of caches is named after; "unlimited" is the largest."""
    return int(str(cache)) if str(cache).isdigit() else 10**6


def by_range(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Throughput by range: of the schemes, and of HP-UFS with several sizes of the segment cache."""
    frame = frame[frame["programs"] == DESCRIBED]
    table = schemes_by_range(frame)
    sizes = frame[frame["scheme"] == "hp-ufs"].pivot(index="range_gib", columns="cache", values="throughput_mib_per_s")
    return table[[name for name in SCHEMES if name in table]], sizes[sorted(sizes.columns, key=megabytes)]


def schemes_by_range(frame: pd.DataFrame) -> pd.DataFrame:
    """Throughput by range: a column for each scheme, those that flush by address among them."""
    usual = frame[frame["cache"] == str(CACHE)]
    return usual.pivot(index="range_gib", columns="scheme", values="throughput_mib_per_s")


def _f6_draw(frame: pd.DataFrame) -> Drawing:
    schemes, sizes = by_range(frame)
    figure, (left, right) = draw.canvas(columns=2, width=5.4)
    draw.lines(left, schemes)
    if 16 in schemes.index:
        place = list(schemes.index).index(16)
        draw.paper_points(left, [place], [cell(schemes, 16, "hpb") * 1.77], "paper: HPB + 77%")
    shades = ["#9ecae1", "#6baed6", "#0072b2", "#08519c", "#08306b"][: len(sizes.columns)]
    labelled = sizes.rename(columns=lambda cache: f"{cache} MB" if cache.isdigit() else cache)
    draw.lines(right, labelled, dict(zip(labelled.columns, shades, strict=True)))
    for axes, title in ((left, "schemes, segment cache 20 MB"), (right, "HP-UFS, by size of the segment cache")):
        axes.set_xlabel("range of writes (GiB)")
        axes.set_ylabel("throughput (MiB/s)")
        axes.set_title(title, fontsize=10)
        draw.legend(axes)
    return figure


def _f6_measure(frame: pd.DataFrame) -> list[Measured]:
    _, sizes = by_range(frame)
    cache = "hp-ufs.f6.cache-20mb"
    small, large = (cell(sizes, gib, str(CACHE)) / cell(sizes, gib, "unlimited") for gib in (16, 32))
    return [
        *(part for programs, at in CONTINUATION.items() for part in _at(frame[frame["programs"] == programs], at)),
        Measured(cache, small),
        Measured(cache, large < 0.95, "at 32 GB less than 0.95 of unlimited", f"{large:.2f}"),
    ]


def _at(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    """What Fig. 6 gives where metadata programs take as long as there, for either order of a flush."""
    table = schemes_by_range(frame)
    ordered = table.drop(columns=list(BY_ADDRESS)).rename(columns={name: own for own, name in BY_ADDRESS.items()})
    parts = [replace(part, at=at) for part in (*_most(table), *_shape(table))]
    parts += [replace(part, at={**at, **ADDRESS}, reason=ADDRESS_MISS) for part in (*_most(ordered), *_shape(ordered))]
    if at:  # where the paper's set-up is placed
        # An HPB that delays its segment writes in host memory as HP-UFS does writes as HP-UFS does.
        delaying = _shape(table.assign(hpb=table["hp-ufs"]))
        parts += [replace(part, role="foil") for part in (_most(table, TUNED)[0], *delaying)]
    return parts


def _most(table: pd.DataFrame, hpb: str = "hpb") -> list[Measured]:
    """The largest gain of HP-UFS over the ranges, and where it is."""
    gain = (table["hp-ufs"] / table[hpb] - 1) * 100
    told = "by range in GiB: " + ", ".join(f"{gib} {value:.1f}" for gib, value in gain.items())
    claim = "hp-ufs.f6.randwrite-16g"
    return [
        Measured(claim, float(gain.max()), told=told),
        Measured(claim, bool(gain.idxmax() == 16), "the maximum of the series is at 16 GB"),
    ]


def _shape(table: pd.DataFrame) -> list[Measured]:
    """What the claim says of the series."""
    claim, last = "hp-ufs.f6.range-shape", table.index.max()
    near = bool((table["hp-ufs"] >= 0.9 * table["ideal"])[table.index <= 16].all())
    low = bool(((table["hpb"] - table["ufs"]).abs() < (table["hp-ufs"] - table["hpb"]).abs()).all())
    over_ufs = (table["hpb"] / table["ufs"] - 1) * 100
    ratios = "HPB over UFS in per cent, by range in GiB: " + ", ".join(f"{gib} {x:.1f}" for gib, x in over_ufs.items())
    return [
        Measured(claim, near, "HP-UFS within 10% of Ideal up to 16 GB"),
        Measured(claim, low, "HPB nearer to UFS than to HP-UFS at every range", ratios),
        Measured(
            claim,
            cell(table, last, "hp-ufs") < cell(table, 16, "hp-ufs"),
            "HP-UFS slower at 64 GB than at 16 GB with 20 MB",
        ),
    ]


F6 = figure("hp-ufs/f6", runs=_f6_runs, judged=_f6_judged, draw=_f6_draw, measure=_f6_measure)

# Host memory: what the driver allocates on a device of 128 GiB, beside what Sec. IV-A says.
TABLES = {
    "valid_bitmap_bytes": ("valid page bitmap", 4 << 20),
    "valid_count_bytes": ("valid page counts", 32 << 10),
    "reorder_buffer_bytes": ("reorder buffer", 2048 * 16),
}


def _t1_runs(setting: Setting) -> list[Run]:
    return [Run({"scheme": "hp-ufs"}, write_spec(32 if setting.quick else 64, "hp-ufs", setting))]


def _t1_draw(frame: pd.DataFrame) -> Drawing:
    figure, (axes,) = draw.canvas(width=6.5, height=2.8)
    row = frame.iloc[0]
    sizes = [row[column] / 1024 for column in TABLES] + [row["mappings_bytes"] / 1024]
    paper = [size / 1024 for _, size in TABLES.values()] + [CACHE * 1024]
    names = [name for name, _ in TABLES.values()] + ["L2P segment cache"]
    bars = axes.barh(names, sizes, color=scheme_colours(["hp-ufs"])["hp-ufs"], height=0.6, label="allocated")
    axes.bar_label(bars, [f"{size:,.0f} KiB" for size in sizes], padding=3, fontsize=8)
    axes.scatter(paper, range(len(paper)), marker="|", s=300, lw=2, color=draw.PAPER_COLOUR, zorder=5, label="paper")
    axes.set_xscale("log")
    axes.set_xlim(1, 1e6)
    axes.grid(False)
    axes.invert_yaxis()
    axes.set_xlabel("KiB of host memory")
    draw.legend(axes)
    return figure


def _t1_measure(frame: pd.DataFrame) -> list[Measured]:
    row = frame.iloc[0]
    # The device has 15% more flash than addresses, which the paper's round numbers leave out.
    claim, reach = "hp-ufs.t1.memory", row["mappings_bytes"] / 4096 * 4 / 1024
    return [
        *(
            Measured(claim, bool(abs(row[column] / size - 1) <= 0.2), told=f"{row[column]:,.0f} bytes", case=name)
            for column, (name, size) in TABLES.items()
        ),
        Measured(claim, bool(19 <= reach <= 20), told=f"{reach:.1f} GiB", case="reach of 20 MB"),
    ]


T1 = figure("hp-ufs/t1", runs=_t1_runs, draw=_t1_draw, measure=_t1_measure)

# Table I: 1.5 MB of SRAM are the buffers, or all there is.
COVERS = {"pool": "buffers alone", "all": "all SRAM"}
COVERS_COLOURS = {"buffers alone": "#0072b2", "all SRAM": "#d55e00"}


def _sram_runs(setting: Setting) -> list[Run]:
    # Without a setting where there need be none, the run is that of Fig. 6, and shared.
    def settings(covers: str, scheme: str) -> dict[str, Value]:
        own = hpb.settings(scheme)
        return own if covers == "all" else {**own, "sram.covers": covers}

    return [
        Run(
            {"covers": name, "scheme": scheme},
            replace(write_spec(16, scheme, setting), settings=settings(covers, scheme)),
        )
        for covers, name in COVERS.items()
        for scheme in SCHEMES
    ]


def sram_kib(frame: pd.DataFrame) -> pd.DataFrame:
    """SRAM in KiB: a row for each scheme and meaning of the 1.5 MB, columns for pool and tables."""
    rows = frame.set_index(["scheme", "covers"]).loc[list(product(SCHEMES, COVERS.values()))]
    tables = rows["device_sram_table_bytes"] / 1024
    return tables.to_frame("tables").assign(pool=rows["device_sram_bytes"] / 1024 - tables)[["pool", "tables"]]


def _sram_draw(frame: pd.DataFrame) -> Drawing:
    figure, (sizes, speeds) = draw.canvas(columns=2, width=5.6, height=3.4)
    table = sram_kib(frame)
    names = [f"{draw.NAMES[str(scheme)]}, {covers}" for scheme, covers in table.index]
    sizes.barh(names, table["pool"], color="#8896ab", label="pool")
    bars = sizes.barh(names, table["tables"], left=table["pool"], color="#d55e00", label="tables")
    sizes.bar_label(bars, [f"{total:,.0f}" for total in table.sum(axis=1)], padding=3, fontsize=8)
    sizes.axvline(1536, color=draw.PAPER_COLOUR, lw=1.5, label="paper: 1.5 MB")
    sizes.invert_yaxis()
    sizes.set_xlim(0, 1.35 * table.sum(axis=1).max())
    sizes.set_xlabel("KiB of SRAM")
    draw.legend(sizes, outside=True)
    throughput = frame.pivot(index="scheme", columns="covers", values="throughput_mib_per_s")
    named = throughput.loc[list(SCHEMES)].rename(index=draw.NAMES)[list(COVERS.values())]
    draw.grouped_bars(speeds, named, colours=COVERS_COLOURS)
    speeds.set_title("random writes over 16 GiB", fontsize=10)
    speeds.set_ylabel("throughput (MiB/s)")
    speeds.set_ylim(top=1.2 * speeds.get_ylim()[1])
    draw.legend(speeds)
    return figure


T1_SRAM = figure("hp-ufs/t1-sram", runs=_sram_runs, draw=_sram_draw)

FIGURES = (T1, T1_SRAM, F6)
