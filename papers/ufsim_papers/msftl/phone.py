"""MSFTL with smartphone traces: update ratios (Fig. 2), data written (Fig. 5) and response times (Fig. 6)."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ufsim import Spec, StateCache, outputs, trace_convert
from ufsim_papers import draw
from ufsim_papers.claims import Measured, Option
from ufsim_papers.figure import Run, Setting, figure
from ufsim_papers.folders import job
from ufsim_papers.msftl.writes import (
    BASE,
    COLOURS,
    FTLS,
    MAP,
    MINI,
    ONE,
    QUARTER,
    USER,
    amounts,
    cut,
    mappings,
    spec,
    stacks,
)

NEXUS5 = "nexus5-zhou"
PIXEL4 = "pixel4-hpufs"
PIXEL6 = "pixel6a-technion"
PAGES = ("pages",)
# Two of the paper's own 18 applications; the other traces stand in for the rest. Left out are the two that would
# outweigh all others: an execution of Telegram (252,000 requests) and the 25 GiB download of Genshin Impact.
TRACES: tuple[tuple[tuple[str, str], tuple[str, ...]], ...] = (
    ((NEXUS5, "Installing_log181.txt.xz"), ("packed", "pages")),
    ((NEXUS5, "Movie_log121.txt.xz"), ("packed", "pages")),
    *(((PIXEL4, app), ()) for app in ("twitter", "chrome", "facebook", "camera-picture", "genshinimpact")),
    *(
        ((PIXEL6, f"{name}.csv.xz"), PAGES)
        for name in ("telegram_precond", "pubg_precond", "pubg_exec", "genshin_impact_exec")
    ),
)
# In the place of a trace that is left out: all that are not the paper's own.
OTHERS = "those of other phones"
HEADER = "time_ns,op,device,sector,bytes,flags,latency_ns,process"
PAUSE_NS = 1_000_000
SECTORS_PER_MIB = 2048
FILLS = ("quarter", "half", "full")
# How much of the drive is written before.
FILLED = {"quarter": QUARTER, "half": "64584m", "full": "129168m"}
# The full drive where GC's operations take their time, too.
WITH_GC = "full, with GC's time"
PAGE_SIZES = (16, 8, 4)


def phone_trace(setting: Setting, without: str = "", moved_mib: int | None = None) -> Path:
    """All traces, or all but one, one after another in one file, which is kept with the aged states.

    With `moved_mib` all addresses are higher by as much, and the number of a trace stands for its processes.
    """
    kept = [own for own in TRACES if own[0][-1] != without and (without != OTHERS or own[0][0] == NEXUS5)]
    sources = [(setting.trace(*parts), clean) for parts, clean in kept]
    named = [(str(path), clean, size_of(path)) for path, clean in sources]
    key = hashlib.sha256(repr(named if moved_mib is None else (named, moved_mib)).encode()).hexdigest()
    path = StateCache().directory / f"msftl-phone-{key[:16]}.csv"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        join(sources, path, moved_mib)
    return path


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files of a directory."""
    return sum(file.stat().st_size for file in (path.iterdir() if path.is_dir() else (path,)))


def join(sources: Iterable[tuple[Path, tuple[str, ...]]], out: Path, moved_mib: int | None = None) -> None:
    """Writes traces one after another to a file, as those of one device. The file appears when it is complete."""
    start = 0
    with (
        TemporaryDirectory(prefix=outputs.UNFINISHED, dir=out.parent) as folder,
        outputs.replacing(out) as beside,
        outputs.opened(beside) as file,
    ):
        part = Path(folder) / "part.csv"
        file.write(f"{HEADER}\n".encode())
        for number, (path, clean) in enumerate(sources):
            trace_convert(path, part, "csv", clean=clean)
            last = 0
            for line in filter(lambda line: not line.startswith("#"), part.read_text().splitlines()[1:]):
                time, operation, _, rest = line.split(",", 3)
                last = int(time)
                if moved_mib is not None:
                    sector, middle = rest.split(",", 1)
                    rest = f"{int(sector) + moved_mib * SECTORS_PER_MIB},{middle.rsplit(',', 1)[0]},{number}"
                file.write(f"{start + last},{operation},phone,{rest}\n".encode())
            start += last + PAUSE_NS


def phone_spec(ftl: str, fill: str, setting: Setting) -> Spec:
    """The traces, one request at a time, on a drive filled before. As in the paper, times are those of user data and
    mappings, unless `fill` is `WITH_GC`."""
    timed = fill == WITH_GC
    base = spec(str(phone_trace(setting)), ftl, setting, None if timed else {"what_if.free": "gc"})
    age = job("msftl/age", IO_SIZE=FILLED["full" if timed else fill])
    return replace(base, replay="closed", depth=1, age=age)


# The claim's foil: a flush ten times as rare.
RARE_MIB = 90


def _f2_runs(setting: Setting) -> list[Run]:
    left_out = [] if setting.quick else [*(parts[-1] for parts, _ in TRACES), OTHERS]
    cases = [("", {}), *((name, {}) for name in left_out), ("", {"scheme.base-dftl.flush_mib": RARE_MIB})]
    return [
        Run(
            {"page_kib": size, "without": name, "flush_mib": RARE_MIB if rare else 9},
            spec(str(phone_trace(setting, name)), BASE, setting, {"scheme.base-dftl.page_kib": size, **rare}),
        )
        for name, rare in cases
        for size in PAGE_SIZES
    ]


def ratios(frame: pd.DataFrame) -> pd.Series:
    """Per cent of the entries of the translation pages written that had changed, by size of page."""
    by_size = frame.set_index("page_kib")
    return by_size["device_pmt_entries_changed"] / by_size["device_pmt_entries_written"] * 100


def _f2_draw(frame: pd.DataFrame) -> Drawing:
    figure, (axes,) = draw.canvas(width=5.6, height=3.4)
    ratio = ratios(frame[(frame["without"] == "") & (frame["flush_mib"] != RARE_MIB)])
    bars = axes.bar(range(len(ratio)), ratio, color=COLOURS[ONE], width=0.55, label="measured")
    axes.bar_label(bars, [f"{value:.1f}%" for value in ratio], fontsize=9, label_type="center", color="white")
    draw.paper_points(axes, range(3), [5.8, 7.7, 10.1])
    axes.set_xticks(range(len(ratio)), [f"{size} KiB" for size in ratio.index])
    axes.set_ylim(0, max(ratio.max(), 10.1) * 1.25)
    axes.set_xlabel("translation page")
    axes.set_ylabel("entries updated (%)")
    draw.legend(axes)
    return figure


def _f2_measure(frame: pd.DataFrame) -> list[Measured]:
    claim, usual = "msftl.f2.update-ratio", frame["flush_mib"] != RARE_MIB
    names = {size: "" if size == 16 else f"{size} KiB" for size in PAGE_SIZES}
    measured = []
    for without in map(str, dict.fromkeys(frame["without"])):
        own = frame[usual & (frame["without"] == without)]
        at: dict[str, Option] = {"msftl.traces": "each left out once"} if without else {}
        case = f"without {without}" if without else ""
        ratio = ratios(own)
        if without == OTHERS:
            alone = "the 2 of the 31 traces alone"
            measured += [Measured(claim, float(ratio[size]), f"{alone}, {size} KiB", role="beside") for size in names]
            continue
        measured += [Measured(claim, float(ratio[size]), part, at=at, case=case) for size, part in names.items()]
    rare = ratios(frame[~usual])
    return measured + [Measured(claim, float(rare[size]), part, role="foil") for size, part in names.items()]


F2 = figure("msftl/f2", runs=_f2_runs, draw=_f2_draw, measure=_f2_measure)


def _phone_runs(setting: Setting) -> list[Run]:
    return _runs(("full",) if setting.quick else FILLS, setting)


def _response_runs(setting: Setting) -> list[Run]:
    return _runs(("full", WITH_GC) if setting.quick else (*FILLS, WITH_GC), setting)


def _runs(fills: Iterable[str], setting: Setting) -> list[Run]:
    return [Run({"filled": fill, "ftl": ftl}, phone_spec(ftl, fill, setting)) for fill in fills for ftl in FTLS]


def user_and_map(frame: pd.DataFrame) -> pd.DataFrame:
    """GiB of user data and page mappings: a row for each fill, a column for each FTL."""
    table = amounts(frame)
    return by_fill(frame.assign(written=table[USER] + table[MAP]), "written")


def by_fill(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row for each fill, a column for each FTL."""
    table = frame.pivot(index="filled", columns="ftl", values=column)
    return table.reindex(fills_of(frame))[[ftl for ftl in FTLS if ftl in table.columns]]


def fills_of(frame: pd.DataFrame) -> list[str]:
    """The fills that were run, in order."""
    return [fill for fill in (*FILLS, WITH_GC) if fill in set(frame["filled"])]


def cuts(table: pd.DataFrame, ftl: str, against: str) -> dict[str, float]:
    """Reductions in per cent, by fill."""
    return {str(fill): cut(row[ftl], row[against]) for fill, row in table.iterrows()}


def listed(values: dict[str, float]) -> str:
    """Values by fill, for a reader who wants all of them."""
    return ", ".join(f"{fill} {value:.1f}" for fill, value in values.items())


def _f5_draw(frame: pd.DataFrame) -> Drawing:
    figure, (left, right) = draw.canvas(columns=2, width=5.6, height=4.0)
    stacks(left, frame, "filled")
    shares = by_fill(frame.assign(share=mappings(frame) / frame["device_host_units_written"] * 100), "share")
    draw.grouped_bars(right, shares, colours=COLOURS)
    if "full" in shares.index:
        at = list(shares.index).index("full")
        draw.paper_points(right, [at - 0.315], [177.9], "paper: Base-DFTL, full, 177.9%")
    right.set_ylabel("page mappings over user data (%)")
    right.set_ylim(top=right.get_ylim()[1] * 1.15)
    right.legend(fontsize=8, frameon=False, loc="upper left")
    return figure


def _f5_measure(frame: pd.DataFrame) -> list[Measured]:
    """The most literal rule as it is simulated, beside the maps, which `rules` counts."""
    written = user_and_map(frame)
    total, mini = cuts(written, ONE, BASE), cuts(written, ONE, MINI)
    with_gc = cuts(by_fill(frame.assign(written=amounts(frame).sum(axis=1)), "written"), ONE, BASE)
    told = {fill: f"with what GC has copied {with_gc[fill]:.1f}%" for fill in total}
    return [
        Measured(f"msftl.f5.{claim}", value, f"simulated, {fill}", told[fill], role="beside")
        for claim, own in (("phone-total", total), ("phone-vs-mini", mini))
        for fill, value in own.items()
    ]


F5 = figure("msftl/f5", runs=_phone_runs, draw=_f5_draw, measure=_f5_measure)


def _f6_draw(frame: pd.DataFrame) -> Drawing:
    fills = fills_of(frame)
    figure, axes = draw.canvas(columns=len(fills), rows=2, width=4.4, height=3.6)
    for column, fill in enumerate(fills):
        whole, tail = axes[column], axes[len(fills) + column]
        for _, row in frame[frame["filled"] == fill].iterrows():
            draw_times(whole, tail, row)
        whole.set_title(f"drive written: {fill}", fontsize=10)
        whole.set_ylim(0, 1.02)
        whole.set_ylabel("requests answered within")
        whole.legend(fontsize=8, frameon=False, loc="lower right", title="dotted: mean")
        tail.set_yscale("log")
        tail.set_ylim(2e-6, 1)
        tail.set_ylabel("requests that take longer")
        tail.set_xlabel("response time (s); triangle: the worst")
        for each in (whole, tail):
            each.set_xscale("log")
            each.grid(axis="x", alpha=0.25)
    return figure


def draw_times(whole: Axes, tail: Axes, row: pd.Series) -> None:
    """The distribution of one run's response times, and the same from its other end."""
    count, colour = row["all_count"], COLOURS[row["ftl"]]
    times = [ns / 1e9 for ns, _ in row["within"]]
    within = [done / count for _, done in row["within"]]
    # Curves lie on each other; a thicker line shows beneath another.
    width = 3.2 if row["ftl"] == BASE else 1.4
    whole.plot(times, within, color=colour, lw=width, drawstyle="steps-post", label=row["ftl"])
    whole.axvline(row["all_mean_ns"] / 1e9, color=colour, lw=width / 2, ls=":")
    tail.plot(times[:-1], [1 - share for share in within[:-1]], color=colour, lw=width, drawstyle="steps-post")
    tail.plot([row["all_max_ns"] / 1e9], [1 / count], marker="v", ms=7, color=colour, clip_on=False)


F6 = figure("msftl/f6", runs=_response_runs, draw=_f6_draw)

FIGURES = (F2, F5, F6)
