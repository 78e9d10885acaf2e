"""HP-UFS against HPB as the paper's authors built it, and against the strongest HPB that was found in the same SRAM."""

from dataclasses import replace
from statistics import median

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim_papers import draw
from ufsim_papers.figure import Run, Setting, figure
from ufsim_papers.hp_ufs import apps, gc, sqlite, writes
from ufsim_papers.intervals import FROM, TO, of_median

OPPONENTS = {"hpb": "over HPB", "hpb-tuned": "over HPB tuned"}
SCHEMES = (*OPPONENTS, "hp-ufs")
COLOURS = {"over HPB": "#e69f00", "over HPB tuned": "#8c510a"}


def _runs(setting: Setting) -> list[Run]:
    seeds = range(setting.seed, setting.seed + setting.seeds)
    return [
        replace(run, labels={"of_seed": seed, **run.labels})
        for seed in seeds
        for run in _of_seed(replace(setting, seed=seed))
    ]


def _of_seed(setting: Setting) -> list[Run]:
    ranges = [
        Run({"experiment": "writes", "load": f"{gib}", "scheme": scheme}, writes.write_spec(gib, scheme, setting))
        for gib in ((16,) if setting.quick else (4, 16, 64))
        for scheme in SCHEMES
    ]
    states = [sqlite.DEFAULT] if setting.quick else [sqlite.DEFAULT, sqlite.UNDER_GC]
    inserts = [
        replace(run, labels={"experiment": f"INSERT, {run.labels['state']}", "load": "", **run.labels})
        for setup in states
        for run in (sqlite.run(setup, scheme, setting) for scheme in SCHEMES)
    ]
    replays = [
        replace(run, labels={"experiment": f"apps, {run.labels['state']}", "load": run.labels["app"], **run.labels})
        for run in apps.runs_of(apps.recorded(setting), setting, schemes=SCHEMES)
    ]
    under_gc = [] if setting.quick else gc.gc_runs(setting, SCHEMES)
    under_gc = [replace(run, labels={"experiment": "writes, GC", "load": "", **run.labels}) for run in under_gc]
    return [*ranges, *under_gc, *inserts, *replays]


def gains(frame: pd.DataFrame) -> pd.DataFrame:
    """By how much HP-UFS is better, in per cent: a row for each experiment, a column for each opponent, the median over
    the seeds. Behind it stands from where to where that lies (`intervals`), if there are several.

    Throughput is higher by so much; latency (INSERT) is lower by so much.
    """
    seeds = [_gains(own) for _, own in frame.groupby("of_seed")]
    if len(seeds) == 1:
        return seeds[0]
    columns: dict[str, dict[str, float]] = {}
    for name in OPPONENTS.values():
        for row in seeds[0].index:
            values = [float(own.loc[row, name]) for own in seeds]
            interval = of_median(values)
            assert interval is not None
            ends = {f"{name}{FROM}": interval.low, f"{name}{TO}": interval.high}
            for column, value in {name: median(values), **ends}.items():
                columns.setdefault(column, {})[str(row)] = value
    return pd.DataFrame(columns)


def _gains(frame: pd.DataFrame) -> pd.DataFrame:
    rows: dict[str, dict[str, float]] = {}
    for load, part in frame[frame["experiment"] == "writes"].groupby("load", sort=False):
        rows[f"random writes over {load} GiB (Fig. 6)"] = _higher(part.set_index("scheme")["throughput_mib_per_s"])
    under_gc = frame[frame["experiment"] == "writes, GC"]
    if len(under_gc):
        means = gc.iterations(under_gc).iloc[1:].mean()
        rows["random writes with GC (Fig. 7)"] = _higher(means)
    for state in apps.STATES:
        known = {"GC": "with GC", "no GC": "without GC"}[state]
        insert = frame[frame["experiment"] == f"INSERT, {state}"].set_index("scheme")
        replays = frame[frame["experiment"] == f"apps, {state}"]
        if len(insert):
            rows[f"SQLite INSERT, mean latency {known} (Fig. 8)"] = _lower(insert["op_insert_program_mean_ns"])
            rows[f"SQLite INSERT, 99.9th percentile {known} (Fig. 8)"] = _lower(insert["op_insert_program_p999_ns"])
        if len(replays):
            speeds = replays.pivot(index="load", columns="scheme", values="throughput_mib_per_s")
            rows[f"applications {known} (Fig. 9, geometric mean)"] = _higher(speeds.apply(apps.geomean))
    return pd.DataFrame(rows).T


def _higher(values: pd.Series) -> dict[str, float]:
    return {name: float(values["hp-ufs"] / values[scheme] - 1) * 100 for scheme, name in OPPONENTS.items()}


def _lower(values: pd.Series) -> dict[str, float]:
    return {name: float(1 - values["hp-ufs"] / values[scheme]) * 100 for scheme, name in OPPONENTS.items()}


def _draw(frame: pd.DataFrame) -> Drawing:
    whole = gains(frame)
    table = whole[list(OPPONENTS.values())]
    figure, (axes,) = draw.canvas(width=9.5, height=0.45 * len(table) + 1.4)
    height = 0.4
    for index, name in enumerate(table.columns):
        places = [row + (index - 0.5) * height for row in range(len(table))]
        axes.barh(places, table[name], height=height * 0.92, color=COLOURS[name], label=name)
        low, high = (whole.get(f"{name}{end}", table[name]) for end in (FROM, TO))
        axes.hlines(places, low, high, color="#333333", lw=1.2)
        for place, value, right in zip(places, table[name], high, strict=True):
            at = (max(right, 0), place)
            axes.annotate(f"{value:.1f}%", at, (4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(table)), list(table.index))
    axes.invert_yaxis()
    axes.axvline(0, color="#333333", lw=0.8)
    axes.margins(x=0.12)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", alpha=0.25)
    axes.set_xlabel("HP-UFS: throughput higher, latency lower, in per cent")
    draw.legend(axes, outside=True)
    return figure


OPPONENTS_FIGURE = figure("hp-ufs/opponents", runs=_runs, draw=_draw, table=gains)

FIGURES = (OPPONENTS_FIGURE,)
