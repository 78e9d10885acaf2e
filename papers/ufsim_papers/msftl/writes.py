"""MSFTL, "Exploiting Exclusive Higher Resolution to Enhance Response Time of Embedded Flash Storage" (2020): directory
sizes (Sec. 3.3), sequential writes (Sec. 4.2) and random ones (Fig. 4)."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ufsim import Spec
from ufsim_papers import draw
from ufsim_papers.claims import Measured, claim_of
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
# Base-DFTL with translation pages of 8 KiB: what would be the mini-page FTL of the paper's numbers. Drawn nowhere.
EIGHT = "pages of 8 KiB"
COLOURS = {BASE: "#333333", MINI: "#e69f00", TWO: "#56b4e9", ONE: "#0072b2"}
USER, GC, MAP = "user data", "copied by GC", "page mappings"
KIND_COLOURS = {USER: "#9aa1ab", GC: "#009e73", MAP: "#d55e00"}
UNIT_MIB = 4 / 1024
# The drive's 126.14 GiB, and a quarter of it.
WHOLE, QUARTER = "129168m", "32292m"
# When the directory is written: options of `msftl.directory-rule`, and the volume of the second.
EACH_BLOCK, SPARSE = "with each translation block", "after each 3.3 GiB of user data"
DIRECTORY_MIB = 3_379
# Two directories of the second rule, over which both are compared. What a flush has to write hangs on the addresses of
# its 9 MiB alone.
TWO_DIRECTORIES = "6786m"
# Sec. 4.2: the locality 9:1 writes 90% of the data to 10% of the space.
LOCALITIES = {f"{hot}:{10 - hot}": f"zoned:{hot}0/{10 - hot}0:{10 - hot}0/{hot}0" for hot in (9, 8, 7, 6, 5)}


def spec(workload: str, ftl: str, setting: Setting, settings: Mapping[str, Value] | None = None) -> Spec:
    """A run of one of the paper's FTLs on a new drive."""
    scheme, own = FTLS.get(ftl, ("base-dftl", {"scheme.base-dftl.page_kib": 8}))
    return Spec(
        workload=workload,
        scheme=scheme,
        profile="msftl",
        settings=own | dict(settings or {}),
        precondition="none",
        seed=setting.seed,
    )


def sparse(ftl: str) -> dict[str, Value]:
    """The setting with which an FTL writes its directory after a volume of user data."""
    return {f"scheme.{FTLS[ftl][0]}.directory_mib": DIRECTORY_MIB}


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
    return [Measured(claim, float(sizes[ONE])), Measured(claim, float(sizes[BASE]), "without segments")]


S33 = figure("msftl/s33", runs=_s33_runs, draw=_s33_draw, measure=_s33_measure)


def _seq_runs(setting: Setting) -> list[Run]:
    rules = (EACH_BLOCK,) if setting.quick else (EACH_BLOCK, SPARSE)
    return [
        Run(
            {"ftl": ftl, "directories": rule},
            spec(job("msftl/seq"), ftl, setting, sparse(ftl) if rule == SPARSE else None),
        )
        for rule in rules
        for ftl in FTLS
    ]


def sequential(frame: pd.DataFrame) -> pd.DataFrame:
    """MiB of page mappings, of their directory, and of both."""
    by_ftl = frame.set_index("ftl")
    table = pd.DataFrame({MAP: by_ftl["device_pmt_flush_units"] * UNIT_MIB})
    table["directory"] = by_ftl["device_pmt_directory_units"] * UNIT_MIB
    table["all"] = mappings(by_ftl) * UNIT_MIB
    return table


def _seq_draw(frame: pd.DataFrame) -> Drawing:
    table = sequential(frame[frame["directories"] == EACH_BLOCK])
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
    tables = {rule: sequential(own) for rule, own in frame.groupby("directories", sort=False)}
    frame = frame[frame["directories"] == EACH_BLOCK]
    table = tables[EACH_BLOCK]
    written = frame["device_host_units_written"][frame["ftl"] == BASE].iloc[0]
    share = float(mappings(frame)[frame["ftl"] == BASE].iloc[0] / written * 100)
    claim = "msftl.seq.msftl"
    return [
        Measured("msftl.seq.base", cell(table, BASE, MAP), told=f"with the directory {share:.2f}% of user data"),
        # Each page of mappings once: 4 bytes for each unit that was written.
        Measured("msftl.seq.base", float(written) * 4 / (1 << 20), role="foil"),
        *(part for rule, own in tables.items() for part in _by_rule(str(rule), own)),
        Measured(claim, cell(table, BASE, MAP), role="foil"),
    ]


def _by_rule(rule: str, table: pd.DataFrame) -> list[Measured]:
    claim, total, at = "msftl.seq.msftl", table["all"], {"directories": rule}
    told = {ftl: f"{total[ftl]:.1f} MiB, Base-DFTL {total[BASE]:.1f}" for ftl in (MINI, TWO, ONE)}
    return [
        *(Measured(claim, cell(table, ftl, MAP), at=at, case=ftl) for ftl in told),
        *(
            Measured(claim, cut(total[ftl], total[BASE]), f"with directories, {ftl}", text, at=at)
            for ftl, text in told.items()
        ),
    ]


SEQ = figure("msftl/seq", runs=_seq_runs, draw=_seq_draw, measure=_seq_measure)


def _f4_runs(setting: Setting) -> list[Run]:
    localities = ("9:1", "5:5") if setting.quick else tuple(LOCALITIES)
    size = "1g" if setting.quick else WHOLE
    points = [(name, ftl) for name in localities for ftl in FTLS]
    rules = () if setting.quick else (EACH_BLOCK, SPARSE)
    whole = [(*own, EACH_BLOCK, size) for own in [*points, ("5:5", EIGHT)]]
    short = [(*own, rule, TWO_DIRECTORIES) for rule in rules for own in points]
    return [
        Run(
            {"locality": name, "ftl": ftl, "directories": rule, "volume": volume},
            spec(
                job("msftl/f4-random", ZONES=LOCALITIES[name], IO_SIZE=volume),
                ftl,
                setting,
                sparse(ftl) if rule == SPARSE else None,
            ),
        )
        for name, ftl, rule, volume in [*whole, *short]
    ]


def by_locality(frame: pd.DataFrame, units: pd.Series) -> pd.DataFrame:
    """Units over user data in per cent: a row for each locality, a column for each FTL."""
    share = units / frame["device_host_units_written"] * 100
    table = frame.assign(share=share).pivot(index="locality", columns="ftl", values="share")
    order = [ftl for ftl in (*FTLS, EIGHT) if ftl in table]
    return table.reindex([locality for locality in LOCALITIES if locality in table.index])[order]


def _f4_draw(frame: pd.DataFrame) -> Drawing:
    figure, (left, right) = draw.canvas(columns=2, width=5.6, height=4.0)
    frame = frame[(frame["ftl"] != EIGHT) & (frame["volume"] != TWO_DIRECTORIES)]
    stacks(left, frame, "locality", kinds=(USER, MAP))
    flushed = by_locality(frame, frame["device_pmt_flush_units"])
    draw.grouped_bars(right, flushed, colours=COLOURS)
    right.axhline(97.6, color=draw.PAPER_COLOUR, lw=1, ls="--", zorder=0, label="paper: Base-DFTL 97.6%")
    right.set_ylabel("flushed mappings over user data (%)")
    right.set_ylim(top=145)
    draw.legend(right)
    return figure


def _f4_measure(frame: pd.DataFrame) -> list[Measured]:
    short = frame["volume"] == TWO_DIRECTORIES
    by_rule = (frame[short] if short.any() else frame).groupby("directories", sort=False)
    rules = [part for rule, own in by_rule for part in _of_segments(str(rule), own)]
    frame = frame[~short]
    flushed = by_locality(frame, frame["device_pmt_flush_units"])
    everything = by_locality(frame, mappings(frame))
    base, mini = "msftl.f4.random-base", "msftl.f4.random-mini"
    # The directory counts with the GC of translation blocks: each new block begins with one.
    counted = {"flushes": flushed[BASE], "flushes and GC of translation blocks": everything[BASE]}
    cuts = (1 - everything[MINI] / everything[BASE]) * 100
    return [
        *(
            Measured(base, float(written.max()), told=_listed(written), at={"counted": name})
            for name, written in counted.items()
        ),
        Measured(base, float(flushed[BASE].loc["9:1"]), role="foil"),
        *(Measured(mini, float(value), at={"locality": str(name)}) for name, value in cuts.items()),
        Measured(mini, float(cuts.mean()), at={"locality": "mean"}),
        *_by_pieces(cuts, everything),
        *rules,
    ]


def _of_segments(rule: str, frame: pd.DataFrame) -> list[Measured]:
    """Segments of 1 KiB, with a rule of writing the directory; the foil where the paper's lies."""
    claim, at = "msftl.f4.random-1k", {"msftl.directory-rule": rule}
    everything = by_locality(frame, mappings(frame))
    share = (frame["device_pmt_directory_units"] / mappings(frame)).groupby(frame["ftl"]).mean()[list(FTLS)] * 100
    cuts = {ftl: (1 - everything[ftl] / everything[BASE]) * 100 for ftl in (TWO, ONE)}
    shares = ", ".join(f"{ftl} {share[ftl]:.2f}%" for ftl in FTLS)
    foil = [Measured(claim, float(cuts[TWO].max()), told=_listed(cuts[TWO]), role="foil")] if rule == SPARSE else []
    return [
        Measured(claim, float(cuts[ONE].max()), told=_listed(cuts[ONE]), at=at),
        Measured(claim, float(share.mean()), DIRECTORIES, shares, at=at, reason=TOO_MANY),
        *foil,
    ]


DIRECTORIES = "directories over all mappings, mean over schemes and localities"
# Why; shown only where it is outside.
TOO_MANY = (
    "a translation block of 9 MiB begins with the directory, and the MSD of segments of 1 KiB takes 5.5% of it; 42 "
    "directories, as the paper's totals of sequential writes mean, would be 0.2% of random mappings"
)
# Chunks of a flush, each at a random place, and all chunks of the drive.
FLUSH_CHUNKS, DRIVE_CHUNKS = 9 * 64, 129_168 * 64


def distinct(page_kib: int) -> float:
    """Translation pages that the chunks of a flush change at uniform places: each page stands for many chunks."""
    pages = DRIVE_CHUNKS / (page_kib * 256 / 4)
    return float(pages * (1 - (1 - 1 / pages) ** FLUSH_CHUNKS))


def below_base(page_kib: int) -> float:
    """By how many per cent smaller translation pages of a size make what a flush writes (closed form)."""
    return cut(distinct(page_kib) * page_kib, distinct(16) * 16)


def _by_pieces(cuts: pd.Series, everything: pd.DataFrame) -> list[Measured]:
    """The closed form: what pages of 4 KiB give is outside, what pages of 8 KiB give is inside, and so is measured."""
    claim = claim_of("msftl.f4.random-mini")
    assert claim.band is not None
    low, high = claim.band
    eight = cut(cell(everything, "5:5", EIGHT), cell(everything, "5:5", BASE))
    forms = {size: below_base(size) for size in (4, 8)}
    told = "; ".join(f"pages of {size} KiB: {value:.1f}%" for size, value in forms.items())
    near = bool(abs(float(cuts.loc["5:5"]) - forms[4]) < 2 and abs(eight - forms[8]) < 2)
    return [
        Measured(claim.id, forms[4] > high, "closed form with pages of 4 KiB above the band", told, role="shown"),
        Measured(claim.id, low <= forms[8] <= high, "closed form with pages of 8 KiB inside", told, role="shown"),
        Measured(claim.id, near, "both within two points of what is measured", f"8 KiB: {eight:.1f}%", role="shown"),
    ]


def _listed(values: pd.Series) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in values.items())


F4 = figure("msftl/f4", runs=_f4_runs, draw=_f4_draw, measure=_f4_measure)

FIGURES = (S33, SEQ, F4)
