"""HP-UFS (MSST 2024): SQLite, the library itself, with and without GC."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim import Spec
from ufsim_papers import draw
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Run, Setting, cell, figure
from ufsim_papers.folders import job
from ufsim_papers.hp_ufs import hpb
from ufsim_papers.hp_ufs.apps import STATES, states
from ufsim_papers.hp_ufs.writes import CACHE, SCHEMES

# Why the tail without GC is cut by more than the paper says; shown only beside a miss.
TAIL_MISS = (
    "nothing but storage takes time here: HP-UFS's 99.9th percentile is one program of the flash, and a map flush adds "
    "1.3 ms to HPB's. With 0.42 ms of processor time in each transaction the cut is about 62%; what else a transaction "
    "waits for in the authors' emulator the paper does not say"
)

# Transactions of INSERT, and the job with so many of them. The paper does not say how many its authors ran.
LENGTHS = {
    1000: "hp-ufs/f8-insert-1000.toml",
    3000: "hp-ufs/f8-sqlite.toml",
    10000: "hp-ufs/f8-insert-10000.toml",
}
DRAWN = 3000
OPERATIONS = ("insert", "update", "delete", "select")
STATISTICS = {"mean": "average", "p999": "99.9th percentile"}


def spec(name: str, state: str, scheme: str, setting: Setting) -> Spec:
    """SQLite on a device that was aged as for the applications."""
    return Spec(
        workload=job(name),
        scheme=scheme,
        precondition="none",
        host_memory_mib=CACHE,
        settings=hpb.settings(scheme),
        seed=setting.seed,
        age=job(STATES[state]),
    )


def runs(jobs: Mapping[int, str], setting: Setting, schemes: Sequence[str] = SCHEMES) -> list[Run]:
    """A job for each length of INSERT, in each state of the device; one of them if it has to be quick."""
    return [
        Run({"state": state, "transactions": length, "scheme": scheme}, spec(name, state, scheme, setting))
        for state in STATES
        if not (setting.quick and state == "GC")
        for length, name in jobs.items()
        if not (setting.quick and length != DRAWN)
        for scheme in schemes
    ]


def _judged(setting: Setting) -> list[Run]:
    return runs(LENGTHS, setting, ("hpb", "hp-ufs"))


def latency(frame: pd.DataFrame, state: str, statistic: str) -> pd.DataFrame:
    """Latency in ns of the length that is drawn: a row for each operation, a column for each scheme."""
    rows = frame[(frame["state"] == state) & (frame["transactions"] == DRAWN)].set_index("scheme").loc[list(SCHEMES)]
    names = {f"op_{operation}_{statistic}_ns": operation.upper() for operation in OPERATIONS}
    return rows[list(names)].rename(columns=names).T


def cuts(frame: pd.DataFrame, state: str, statistic: str, operation: str) -> dict[int, float]:
    """By how much HP-UFS cuts a latency of HPB, in per cent, by transactions."""
    rows = frame[frame["state"] == state]
    table = rows.pivot(index="transactions", columns="scheme", values=f"op_{operation}_{statistic}_ns")
    return {int(str(length)): float(value) for length, value in ((1 - table["hp-ufs"] / table["hpb"]) * 100).items()}


def _draw_latencies(frame: pd.DataFrame) -> Drawing:
    present = states(frame)
    figure, panels = draw.canvas(columns=2, rows=len(present), width=5.6, height=3.4)
    paper = {("no GC", "p999"): 39, ("GC", "mean"): 37, ("GC", "p999"): 88}
    sides = [(state, statistic) for state in present for statistic in STATISTICS]
    for axes, (state, statistic) in zip(panels, sides, strict=True):
        table = latency(frame, state, statistic)
        over_ufs = table.div(table["ufs"].where(table["ufs"] > 0), axis=0)
        draw.grouped_bars(axes, over_ufs.fillna(1.0))
        claimed = paper.get((state, statistic))
        if claimed:
            ours = cell(over_ufs, "INSERT", "hpb") * (1 - claimed / 100)
            draw.paper_points(axes, [0.1], [ours], f"paper: HPB - {claimed}%")
        axes.set_title(f"{'with' if state == 'GC' else 'without'} GC, {STATISTICS[statistic]}", fontsize=10)
        axes.set_ylabel("latency over UFS")
        axes.set_ylim(0, axes.get_ylim()[1] * 1.25)
        draw.legend(axes)
    return figure


def _measure(frame: pd.DataFrame) -> list[Measured]:
    """What Fig. 8 says, with one table and lengths of our own: no point of the maps, whose transactions are others."""
    tails = cuts(frame, "no GC", "p999", "insert")
    measured = beside("hp-ufs.f8.insert-tail-nogc", tails, dict.fromkeys(tails, TAIL_MISS))
    measured += beside("hp-ufs.f8.select-neutral", {DRAWN: cuts(frame, "no GC", "mean", "select")[DRAWN]}, {})
    if "GC" in states(frame):
        for claim, statistic, why in (
            ("hp-ufs.f8.insert-avg-gc", "mean", _why_average(frame)),
            ("hp-ufs.f8.insert-tail-gc", "p999", _why_tail(frame)),
        ):
            by_length = cuts(frame, "GC", statistic, "insert")
            measured += beside(claim, by_length, dict.fromkeys(by_length, why))
    return measured


def beside(claim: str, by_length: Mapping[int, float], why: Mapping[int, str]) -> list[Measured]:
    """Values by transactions, which are shown and not judged."""
    return [
        Measured(claim, value, f"{length:,} transactions in one table", role="beside", reason=why.get(length, ""))
        for length, value in by_length.items()
    ]


def _under_gc(frame: pd.DataFrame, scheme: str, column: str) -> list[float]:
    """A column of a scheme's runs under GC, by transactions."""
    rows = frame[(frame["state"] == "GC") & (frame["scheme"] == scheme)].set_index("transactions")
    return [cell(rows, length, column) for length in LENGTHS]


def _why_average(frame: pd.DataFrame) -> str:
    """Why the cut of the average under GC becomes smaller with more transactions."""
    copies = _under_gc(frame, "hpb", "device_gc_units_programmed")
    victims = _under_gc(frame, "hpb", "device_gc_victims")
    hpb, ours = (_under_gc(frame, scheme, "device_exclusive_ns") for scheme in ("hpb", "hp-ufs"))
    return (
        f"with HPB 1000 transactions make GC copy {copies[0]:,.0f} pages from {victims[0]:.0f} victims, 10,000 only "
        f"{copies[-1]:,.0f} from {victims[-1]:.0f}: the later victims are the database's own superblocks, whose pages "
        "it has overwritten. So GC's cost grows more slowly than all else: it holds the front end for "
        f"{hpb[0] / 1e9:.2f} s and {hpb[-1] / 1e9:.2f} s with HPB, for {ours[0] / 1e9:.2f} s and {ours[-1] / 1e9:.2f} "
        "s with HP-UFS"
    )


def _why_tail(frame: pd.DataFrame) -> str:
    """The same of the tail."""
    tails = {
        scheme: ", ".join(f"{ns / 1e6:.1f}" for ns in _under_gc(frame, scheme, "op_insert_p999_ns"))
        for scheme in ("hpb", "hp-ufs")
    }
    return (
        f"the 99.9th percentile of 1000, 3000, 10,000 transactions is {tails['hpb']} ms with HPB, {tails['hp-ufs']} ms "
        "with HP-UFS: one, three and ten transactions lie above it. The steps of GC that last longest come first, when "
        "its victims are full, so that with more transactions fewer of those above it have met one"
    )


F8 = figure("hp-ufs/f8", runs=partial(runs, LENGTHS), judged=_judged, draw=_draw_latencies, measure=_measure)

F8_BARRIERS = figure("hp-ufs/f8-barriers", runs=partial(runs, {DRAWN: "hp-ufs/f8-barriers.toml"}), draw=_draw_latencies)


def _length_runs(setting: Setting) -> list[Run]:
    return [run for run in runs(LENGTHS, replace(setting, quick=False)) if run.labels["state"] == "GC"]


def _length_draw(frame: pd.DataFrame) -> Drawing:
    figure, panels = draw.canvas(columns=2, width=5.6, height=3.4)
    for axes, (statistic, title) in zip(panels, STATISTICS.items(), strict=True):
        table = frame.pivot(index="transactions", columns="scheme", values=f"op_insert_{statistic}_ns")[list(SCHEMES)]
        draw.grouped_bars(axes, table.div(table["ufs"], axis=0))
        axes.set_title(f"INSERT with GC, {title}", fontsize=10)
        axes.set_xlabel("transactions")
        axes.set_ylabel("latency over UFS")
        axes.set_ylim(0, axes.get_ylim()[1] * 1.25)
        draw.legend(axes)
    return figure


F8_LENGTH = figure("hp-ufs/f8-length", runs=_length_runs, draw=_length_draw)

FIGURES = (F8, F8_BARRIERS, F8_LENGTH)
