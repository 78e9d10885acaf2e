"""HP-UFS, "Fully Harnessing the Performance Potential of DRAM-less Mobile Flash Storage" (MSST 2024):
micro-benchmarks.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim import Spec
from ufsim.plots import scheme_colours
from ufsim_papers import draw
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Run, Setting, Value, cell, figure
from ufsim_papers.folders import job
from ufsim_papers.hp_ufs import hpb

# What the paper compares, by which the claims are judged.
OF_PAPER = ("ufs", "hpb", "hp-ufs", "ideal")
# Beside it UFS and HPB with the strongest map flushes that were found in the same SRAM.
SCHEMES = ("ufs", "hpb", "ufs-tuned", "hpb-tuned", "hp-ufs", "ideal")
# HPB whose map flushes go by address, which is a reading of Fig. 6.
BY_ADDRESS = "hpb, flush by address"
# Why HP-UFS gains less over it than the paper says; shown only beside a miss.
ADDRESS_MISS = (
    "segments that a flush writes in order of their addresses lie beside each other, so the next flush reads several "
    "of them with one access to the cells: the same reads take the dies about a third less time"
)
# The same, of HPB over UFS.
ROUNDS_MISS = (
    "HPB's tables take 142 KiB of the SRAM that UFS has for segments, so its map flushes go in other rounds, which are "
    "a little faster over small ranges; with as little SRAM for segments UFS is as fast"
)
# Why no scheme, not even Ideal, is stable from the second iteration on under GC; shown only beside a miss.
FREE_ABOVE = (
    "the authors' ageing leaves some 160 free superblocks, 2.5 GiB, above the threshold at which their prototype begins"
    " GC; they are used up in the first iterations, under every scheme and Ideal too, and only then is there GC"
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


def _by_address(setting: Setting) -> Run:
    usual = write_spec(16, "hpb", setting)
    ordered = replace(usual, settings={**usual.settings, "scheme.segment-log.flush_order": "address"})
    return Run({"range_gib": 16, "scheme": BY_ADDRESS, "cache": str(CACHE)}, ordered)


def _f6_runs(setting: Setting) -> list[Run]:
    ranges = (1, 16, 32) if setting.quick else RANGES
    caches = (20, "unlimited") if setting.quick else CACHES
    runs = [
        Run({"range_gib": gib, "scheme": scheme, "cache": str(CACHE)}, write_spec(gib, scheme, setting))
        for gib in ranges
        for scheme in SCHEMES
    ]
    runs.append(_by_address(setting))
    return runs + [
        Run({"range_gib": gib, "scheme": "hp-ufs", "cache": str(cache)}, write_spec(gib, "hp-ufs", setting, cache))
        for gib in ranges
        for cache in caches
        if cache != CACHE
    ]


def _f6_judged(setting: Setting) -> list[Run]:
    """Runs that the claims need: the paper's schemes over all ranges, and an unlimited cache at 16 GiB."""
    schemes = (*OF_PAPER, BY_ADDRESS)
    needed = [run for run in _f6_runs(setting) if run.labels["cache"] in (str(CACHE), "unlimited")]
    needed = [run for run in needed if run.labels["scheme"] in schemes]
    return [run for run in needed if run.labels["cache"] == str(CACHE) or run.labels["range_gib"] == 16]


def megabytes(cache: Hashable) -> int:
    """The size that a column of caches is named after; "unlimited" is the largest."""
    return int(str(cache)) if str(cache).isdigit() else 10**6


def by_range(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Throughput by range: of the schemes, and of HP-UFS with several sizes of the segment cache."""
    usual = frame[frame["cache"] == str(CACHE)]
    table = usual.pivot(index="range_gib", columns="scheme", values="throughput_mib_per_s")
    schemes = table[[scheme for scheme in SCHEMES if scheme in table]]
    sizes = frame[frame["scheme"] == "hp-ufs"].pivot(index="range_gib", columns="cache", values="throughput_mib_per_s")
    return schemes, sizes[sorted(sizes.columns, key=megabytes)]


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
    schemes, sizes = by_range(frame)
    near = bool((schemes["hp-ufs"] >= 0.9 * schemes["ideal"])[schemes.index <= 16].all())
    falls = bool(schemes["ufs"].is_monotonic_decreasing and schemes["hpb"].is_monotonic_decreasing)
    no_better = bool((schemes["hpb"] <= 1.03 * schemes["ufs"]).all())
    visible = cell(sizes, 32, str(CACHE)) < 0.95 * cell(sizes, 16, str(CACHE))
    shape, cache = "hp-ufs.f6.range-shape", "hp-ufs.f6.cache-20mb"
    gain = (schemes["hp-ufs"] / schemes["hpb"] - 1) * 100
    over_ufs = (schemes["hpb"] / schemes["ufs"] - 1) * 100
    ratios = "HPB over UFS in per cent, by range in GiB: " + ", ".join(f"{gib} {x:.1f}" for gib, x in over_ufs.items())
    told = "by range in GiB: " + ", ".join(f"{gib} {value:.1f}" for gib, value in gain.items())
    by_address = frame.set_index("scheme").loc[BY_ADDRESS, "throughput_mib_per_s"]
    return [
        Measured("hp-ufs.f6.randwrite-16g", float(gain.loc[16]), told=told),
        Measured(
            "hp-ufs.f6.randwrite-16g",
            float(schemes["hp-ufs"].loc[16] / by_address - 1) * 100,
            reading=1,
            reason=ADDRESS_MISS,
        ),
        Measured(shape, near, "HP-UFS within 10% of Ideal up to 16 GiB"),
        Measured(shape, falls, "UFS and HPB fall as the range grows"),
        Measured(shape, no_better, "HPB no better than UFS", ratios, reason=ROUNDS_MISS),
        Measured(cache, cell(sizes, 16, str(CACHE)) / cell(sizes, 16, "unlimited"), "16 GiB, over unlimited"),
        Measured(cache, visible, "visible fall at 32 GiB"),
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
    parts = [
        Measured("hp-ufs.t1.memory", bool(abs(row[column] / size - 1) <= 0.2), name, f"{row[column]:,.0f} bytes")
        for column, (name, size) in TABLES.items()
    ]
    reach = row["mappings_bytes"] / 4096 * 4 / 1024
    return [*parts, Measured("hp-ufs.t1.memory", bool(19 <= reach <= 20), "reach of 20 MB", f"{reach:.1f} GiB")]


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

ITERATIONS = 8


def gc_runs(setting: Setting, schemes: Sequence[str] = SCHEMES) -> list[Run]:
    """Random writes on an aged device, in eight iterations."""
    return [
        Run(
            {"scheme": scheme},
            Spec(
                workload=job("hp-ufs/f7-gc"),
                scheme=scheme,
                precondition="none",
                host_memory_mib=CACHE,
                settings=hpb.settings(scheme),
                seed=setting.seed,
                age=job("hp-ufs/age-gc"),
            ),
        )
        for scheme in schemes
    ]


def iterations(frame: pd.DataFrame) -> pd.DataFrame:
    """Throughput: a row for each iteration, a column for each scheme."""
    columns = {f"group_iteration-{n}_mib_per_s": n for n in range(1, ITERATIONS + 1)}
    return frame.set_index("scheme")[list(columns)].rename(columns=columns).T


def _f7_draw(frame: pd.DataFrame) -> Drawing:
    table = iterations(frame)
    figure, (axes,) = draw.canvas(width=7.5)
    draw.lines(axes, table)
    draw.paper_points(axes, [ITERATIONS - 1], [table["hpb"].iloc[-1] * 1.7], "paper: HPB + 70%")
    axes.set_xlabel("iteration of 1 GiB")
    axes.set_ylabel("throughput (MiB/s)")
    draw.legend(axes)
    return figure


def _f7_measure(frame: pd.DataFrame) -> list[Measured]:
    table = iterations(frame)
    gains = {since: _gain(table.iloc[since - 1 :]) for since in (2, 5)}
    told = f"mean of iterations 2 to {ITERATIONS}; of 5 to {ITERATIONS} {gains[5]:.1f}%"
    orders = [part for reading, since in enumerate((2, 5)) for part in _order(table, since, reading)]
    return [Measured("hp-ufs.f7.gc", gains[2], told=told), *orders]


def _gain(rows: pd.DataFrame) -> float:
    """Gain of HP-UFS over HPB in the mean of some iterations, in per cent."""
    means = rows.mean()
    return float((means["hp-ufs"] / means["hpb"] - 1) * 100)


def _order(table: pd.DataFrame, since: int, reading: int) -> list[Measured]:
    """What the claim says of the order, with the iterations from `since` on as those with GC."""
    claim, rows = "hp-ufs.f7.order", table.iloc[since - 1 :]
    means = rows.mean()
    order = bool(means["ufs"] <= 1.01 * means["hpb"] and means["hpb"] < means["hp-ufs"] < means["ideal"])
    first = bool((table.iloc[0] >= 0.99 * table.max()).all())
    away = (rows / means - 1).abs().max() * 100
    told = "furthest from the mean, in per cent: " + ", ".join(f"{name} {value:.1f}" for name, value in away.items())
    return [
        Measured(claim, order, "UFS <= HPB < HP-UFS < Ideal", reading=reading),
        Measured(claim, first, "fastest in the first iteration", reading=reading),
        Measured(
            claim,
            bool((away <= 10).all()),
            f"stable from iteration {since} on",
            told,
            reason=FREE_ABOVE,
            reading=reading,
        ),
    ]


F7 = figure("hp-ufs/f7", runs=gc_runs, judged=partial(gc_runs, schemes=OF_PAPER), draw=_f7_draw, measure=_f7_measure)

FIGURES = (T1, T1_SRAM, F6, F7)
