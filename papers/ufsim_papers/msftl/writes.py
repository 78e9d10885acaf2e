"""MSFTL, "Exploiting Exclusive Higher Resolution to Enhance Response Time of Embedded Flash Storage" (2020): directory
sizes (Sec. 3.3), sequential writes (Sec. 4.2) and random ones (Fig. 4)."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ufsim import Spec
from ufsim_papers import draw
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Run, Setting, Value, cell, figure
from ufsim_papers.folders import job

BASE, MINI, TWO, ONE = "Base-DFTL", "mini-page", "MSFTL-2KiB", "MSFTL-1KiB"
# By the paper's name: scheme and settings.
FTLS: dict[str, tuple[str, dict[str, Value]]] = {
    BASE: ("base-dftl", {}),
    MINI: ("mini-page", {}),
    TWO: ("msftl", {"scheme.msftl.segment_bytes": 2048}),
    ONE: ("msftl", {"scheme.msftl.segment_bytes": 1024}),
}
COLOURS = {BASE: "#333333", MINI: "#e69f00", TWO: "#56b4e9", ONE: "#0072b2"}
USER, GC, MAP = "user data", "copied by GC", "page mappings"
KIND_COLOURS = {USER: "#9aa1ab", GC: "#009e73", MAP: "#d55e00"}
UNIT_MIB = 4 / 1024
# A quarter of the drive's 126.14 GiB.
QUARTER = "32292m"
# Sec. 4.2: the locality 9:1 writes 90% of the data to 10% of the space.
LOCALITIES = {f"{hot}:{10 - hot}": f"zoned:{hot}0/{10 - hot}0:{10 - hot}0/{hot}0" for hot in (9, 8, 7, 6, 5)}


def spec(workload: str, ftl: str, setting: Setting, settings: Mapping[str, Value] | None = None) -> Spec:
    """A run of one of the paper's FTLs on a new drive."""
    scheme, own = FTLS[ftl]
    return Spec(
        workload=workload,
        scheme=scheme,
        profile="msftl",
        settings=own | dict(settings or {}),
        precondition="none",
        seed=setting.seed,
    )


def mappings(frame: pd.DataFrame) -> pd.Series:
    """Units of page mappings written: flushes, GC of translation blocks, and the directory (GTD or MSD).

    Records of log blocks and the journal of trims, which the paper does not have, are left out.
    """
    return frame["device_pmt_flush_units"] + frame["device_pmt_moved_units"] + frame["device_pmt_directory_units"]


def cut(value: float, base: float) -> float:
    """Reduction in per cent."""
    return float((1 - value / base) * 100)


def amounts(frame: pd.DataFrame) -> pd.DataFrame:
    """GiB written by kind: a row for each row of `frame`."""
    gib = UNIT_MIB / 1024
    user = frame["device_data_units_programmed"] + frame["device_padding_units"]
    kinds = {USER: user * gib, GC: frame["device_gc_units_programmed"] * gib, MAP: mappings(frame) * gib}
    return pd.DataFrame(kinds)


def stacks(axes: Axes, frame: pd.DataFrame, column: str, kinds: tuple[str, ...] = (USER, GC, MAP)) -> None:
    """A group of stacked bars for each value of `column`, a bar for each FTL."""
    groups, ftls = list(dict.fromkeys(frame[column])), list(FTLS)
    width = 0.8 / len(FTLS)
    table = amounts(frame)[list(kinds)]
    pairs = zip(frame[column], frame["ftl"], strict=True)
    places = [groups.index(group) + (ftls.index(ftl) - 1.5) * width for group, ftl in pairs]
    for number, kind in enumerate(kinds):
        below = table.iloc[:, :number].sum(axis=1)
        axes.bar(places, table[kind], bottom=below, width=width * 0.92, color=KIND_COLOURS[kind], label=kind)
    ticks = [
        (at + (i - 1.5) * width, ftl.replace("MSFTL-", "M-")) for at in range(len(groups)) for i, ftl in enumerate(FTLS)
    ]
    axes.set_xticks([at for at, _ in ticks], [name for _, name in ticks], rotation=90, fontsize=7)
    axes.tick_params(axis="x", length=0)
    for at, group in enumerate(groups):
        axes.annotate(str(group), (at, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom", fontsize=9)
    axes.set_ylabel("written (GiB)")
    axes.set_ylim(top=axes.get_ylim()[1] * 1.15)
    axes.legend(fontsize=8, frameon=False, ncols=3, loc="upper center")


def _s33_runs(setting: Setting) -> list[Run]:
    # 128 GiB is this section's capacity; the drive of the experiments has 126.14 GiB for the user.
    whole: dict[str, Value] = {"device.capacity_mib": 131_072, "nand.data_superblocks": 15_360}
    return [Run({"ftl": ftl}, spec(job("msftl/s33-one"), ftl, setting, whole)) for ftl in FTLS]


def _s33_draw(frame: pd.DataFrame) -> Drawing:
    figure, (axes,) = draw.canvas(width=6.5, height=2.8)
    sizes = frame["device_pmt_directory_bytes"] / 1024
    bars = axes.barh(frame["ftl"], sizes, color=[COLOURS[ftl] for ftl in frame["ftl"]], height=0.6)
    axes.bar_label(bars, [f"{size:,.0f} KiB" for size in sizes], padding=6, fontsize=8)
    axes.scatter([32, 512], [0, 3], marker="|", s=300, lw=2, color=draw.PAPER_COLOUR, zorder=5, label="paper")
    axes.set_xlim(0, 600)
    axes.grid(False)
    axes.invert_yaxis()
    axes.set_xlabel("KiB of SRAM for the places of all translation pages or segments")
    draw.legend(axes)
    return figure


def _s33_measure(frame: pd.DataFrame) -> list[Measured]:
    sizes = frame.set_index("ftl")["device_pmt_directory_bytes"]
    claim = "msftl.s33.directory"
    return [
        Measured(claim, float(sizes[BASE]), "no segments", band=(32 * 1024, 32 * 1024)),
        Measured(claim, float(sizes[ONE]), "segments of 1 KiB"),
    ]


S33 = figure("msftl/s33", runs=_s33_runs, draw=_s33_draw, measure=_s33_measure)


def _seq_runs(setting: Setting) -> list[Run]:
    return [Run({"ftl": ftl}, spec(job("msftl/seq"), ftl, setting)) for ftl in FTLS]


def sequential(frame: pd.DataFrame) -> pd.DataFrame:
    """MiB of page mappings, of their directory, and of both."""
    by_ftl = frame.set_index("ftl")
    table = pd.DataFrame({MAP: by_ftl["device_pmt_flush_units"] * UNIT_MIB})
    table["directory"] = by_ftl["device_pmt_directory_units"] * UNIT_MIB
    table["all"] = mappings(by_ftl) * UNIT_MIB
    return table


def _seq_draw(frame: pd.DataFrame) -> Drawing:
    table = sequential(frame)
    figure, (axes,) = draw.canvas(width=6.5, height=3.4)
    parts = {MAP: (MAP, KIND_COLOURS[MAP]), "directory": ("directory", "#b2489a")}
    _, bars = draw.stacked(axes, table, parts, width=0.6)
    axes.bar_label(bars, [f"{value:.1f} MiB" for value in table["all"]], fontsize=8, padding=8)
    draw.paper_points(axes, range(4), [339.9, 224.3, 224.3, 224.3], "paper, without directory")
    axes.set_ylim(0, 430)
    axes.set_ylabel("written (MiB)")
    draw.legend(axes)
    return figure


def _seq_measure(frame: pd.DataFrame) -> list[Measured]:
    table = sequential(frame)
    total = table["all"]
    share = float((mappings(frame) / frame["device_host_units_written"])[frame["ftl"] == BASE].iloc[0] * 100)
    with_directory = "with directories " + "; ".join(
        f"{ftl} {-cut(total[ftl], total[BASE]):.1f}%" for ftl in (MINI, TWO, ONE)
    )
    with_directory += "; MiB with directories " + ", ".join(f"{ftl} {total[ftl]:.1f}" for ftl in FTLS)
    claim = "msftl.seq.msftl"
    return [
        Measured("msftl.seq.base", cell(table, BASE, MAP), told=f"with the directory {share:.2f}% of user data"),
        *(Measured(claim, cell(table, ftl, MAP), ftl, with_directory) for ftl in (MINI, TWO, ONE)),
    ]


SEQ = figure("msftl/seq", runs=_seq_runs, draw=_seq_draw, measure=_seq_measure)


def _f4_runs(setting: Setting) -> list[Run]:
    localities = ("9:1", "5:5") if setting.quick else tuple(LOCALITIES)
    size = "1g" if setting.quick else QUARTER
    return [
        Run(
            {"locality": name, "ftl": ftl},
            spec(job("msftl/f4-random", ZONES=LOCALITIES[name], IO_SIZE=size), ftl, setting),
        )
        for name in localities
        for ftl in FTLS
    ]


def by_locality(frame: pd.DataFrame, units: pd.Series) -> pd.DataFrame:
    """Units over user data in per cent: a row for each locality, a column for each FTL."""
    share = units / frame["device_host_units_written"] * 100
    table = frame.assign(share=share).pivot(index="locality", columns="ftl", values="share")
    return table.reindex([locality for locality in LOCALITIES if locality in table.index])[list(FTLS)]


def _f4_draw(frame: pd.DataFrame) -> Drawing:
    figure, (left, right) = draw.canvas(columns=2, width=5.6, height=4.0)
    stacks(left, frame, "locality", kinds=(USER, MAP))
    flushed = by_locality(frame, frame["device_pmt_flush_units"])
    draw.grouped_bars(right, flushed, colours=COLOURS)
    right.axhline(97.6, color=draw.PAPER_COLOUR, lw=1, ls="--", zorder=0, label="paper: Base-DFTL 97.6%")
    right.set_ylabel("flushed mappings over user data (%)")
    right.set_ylim(top=145)
    draw.legend(right)
    return figure


def _f4_measure(frame: pd.DataFrame) -> list[Measured]:
    flushed = by_locality(frame, frame["device_pmt_flush_units"])
    everything = by_locality(frame, mappings(frame))
    directory = (frame["device_pmt_directory_units"] / mappings(frame)).groupby(frame["ftl"]).mean() * 100
    shares = ", ".join(f"{ftl} {directory[ftl]:.2f}%" for ftl in FTLS)
    why = (
        "a translation block of 9 MiB begins with the directory, and the MSD of segments of 1 KiB takes 5.5% of it. "
        "The paper's own totals of sequential writes mean a directory in every 5 to 9 MiB, too; a share below 1% of "
        "random ones would mean one in more than 20 MiB"
    )
    # The directory counts with the GC of translation blocks: each new block begins with one.
    shown = enumerate((flushed[BASE], everything[BASE]))
    return [
        *(part for reading, written in shown for part in _random_base(written, reading)),
        Measured("msftl.f4.random-mini", cut(cell(everything, "5:5", MINI), cell(everything, "5:5", BASE)), "5:5"),
        Measured("msftl.f4.random-1k", cut(cell(everything, "5:5", ONE), cell(everything, "5:5", BASE)), "5:5"),
        Measured(
            "msftl.f4.random-1k",
            bool(directory.mean() < 1),
            "directory below 1% of mappings on average",
            shares,
            reason=why,
        ),
    ]


def _random_base(written: pd.Series, reading: int) -> list[Measured]:
    """What Base-DFTL writes of mappings with uniform addresses, and whether that is the most."""
    claim, told = "msftl.f4.random-base", ", ".join(f"{locality} {value:.1f}" for locality, value in written.items())
    mixed = "hot translation pages share blocks with cold ones, whose pages GC has to copy"
    return [
        Measured(claim, float(written["5:5"]), "5:5", told, reading=reading),
        Measured(claim, bool(written.idxmax() == "5:5"), "5:5 is the worst", told, reason=mixed, reading=reading),
    ]


F4 = figure("msftl/f4", runs=_f4_runs, draw=_f4_draw, measure=_f4_measure)

FIGURES = (S33, SEQ, F4)
