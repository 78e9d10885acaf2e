"""MAP+ (TCAD 2018): deadlines, cache sizes and queue lengths, Figs. 12 and 13."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ufsim_papers import draw
from ufsim_papers.claims import Measured, Option, Role
from ufsim_papers.figure import Run, Setting, figure
from ufsim_papers.map_plus.loads import LOADS, TIMES, at_paper_load, by_load, by_times, listed, loads, spec

DEADLINES = (0, 5, 10, 20, 50, 100)
SIZES = (4, 8, 16, 32, 64, 128)
QUEUES = (1, 2, 4, 8, 16, 32, 64, 128)
SHADES = (
    *("#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#b2489a", "#e69f00"),
    *("#d55e00", "#8c564b", "#7a7a7a", "#333333", "#c9b400", "#17a2b8"),
)


def _sweep(
    label: str, key: str, values: Sequence[int], setting: Setting, scale: int = 1, scheduler: str = "map-plus"
) -> list[Run]:
    return [
        Run(
            {"trace": load, "times": TIMES, "scheduler": scheduler, "sweep": label, "value": value},
            spec(load, scheduler, setting, {key: value * scale}),
        )
        for load in loads(setting)
        for value in values
    ]


def both_loads(runs: list[Run], setting: Setting) -> list[Run]:
    """Runs with recorded times and with stretched ones."""
    return runs + [at_paper_load(run, setting) for run in runs]


def ours(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs that are drawn: of MAP+ at the recorded times."""
    return frame[(frame["times"] == TIMES) & (frame["scheduler"] == "map-plus")]


def swept(frame: pd.DataFrame, label: str, value: str, base: int) -> pd.DataFrame:
    """A row for each trace, a column for each value of the sweep; over that at `base`."""
    table = by_load(frame[frame["sweep"] == label], "value", value)
    return table.div(table[base], axis=0)


def _curves(axes: Axes, table: pd.DataFrame, x_label: str, y_label: str) -> None:
    colours = dict(zip(LOADS, SHADES, strict=True))
    for load, row in table.iterrows():
        axes.plot(range(len(row)), row, marker="o", ms=3.5, lw=1.4, color=colours[str(load)], label=str(load))
    axes.set_xticks(range(len(table.columns)), [str(value) for value in table.columns])
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)


# A deadline that none of the requests reaches.
NEVER_MS = 10_000


def _f12_runs(setting: Setting) -> list[Run]:
    usual = _sweep("deadline", "scheme.*.deadline_us", DEADLINES, setting, 1000)
    never = _sweep("deadline", "scheme.*.deadline_us", (NEVER_MS,), setting, 1000)
    return both_loads(usual, setting) + [at_paper_load(run, setting) for run in never]


def _f12_draw(frame: pd.DataFrame) -> Drawing:
    frame = ours(frame[frame["value"] != NEVER_MS])
    figure, (left, right) = draw.canvas(columns=2, width=5.4)
    _curves(left, swept(frame, "deadline", "all_mean_ns", 0), "deadline (ms)", "average latency over that with 0 ms")
    _curves(right, swept(frame, "deadline", "all_max_ns", 0), "deadline (ms)", "worst latency over that with 0 ms")
    draw.legend(right, outside=True)
    return figure


def _f12_measure(frame: pd.DataFrame) -> list[Measured]:
    judged = frame[frame["value"] != NEVER_MS]
    # Where nobody enforces deadlines, all of them give what one gives that is never reached.
    never = frame[frame["value"] == NEVER_MS]
    same = pd.concat([never.assign(value=deadline) for deadline in DEADLINES])
    found = [part for at, own in by_times(judged) for part in _deadlines(own, at)]
    return found + _deadlines(same, {}, "foil")


def _deadlines(frame: pd.DataFrame, at: Mapping[str, Option], role: Role = "point") -> list[Measured]:
    """What the claim says of deadlines."""
    mean, worst = (swept(frame, "deadline", f"all_{what}_ns", 0) for what in ("mean", "max"))
    rest = (1 - mean[100] / mean[50]) * 100
    beyond = (worst[100] / worst[10] - 1) * 100
    level, longer = rest.index[rest < 2], worst.index[worst[100] > 1]
    near = beyond.index[beyond < 5]
    claim, number = "map-plus.f12.deadline", len(mean)
    parts = {
        "mean lower with 50 ms than with 0 on every trace": (
            bool((mean[50] < 1).all()),
            f"over that with 0 ms: {listed(mean[50], 2)}",
        ),
        "mean falls by less than 2% from 50 to 100 ms on most": (
            len(level) > number / 2,
            f"on {len(level)} of {number}: {listed(rest, 1)}",
        ),
        "worst case longer with 100 ms than with 0 on most": (
            len(longer) > number / 2,
            f"on {len(longer)} of {number}: {listed(worst[100], 2)}",
        ),
        "worst case less than 5% longer with 100 ms than with 10 on most, more than 5% on some": (
            number / 2 < len(near) < number,
            f"less on {len(near)} of {number}: {listed(beyond, 1)}",
        ),
    }
    return [Measured(claim, holds, part, told, at=at, role=role) for part, (holds, told) in parts.items()]


F12 = figure("map-plus/f12", runs=_f12_runs, draw=_f12_draw, measure=_f12_measure)


# The foil: schedulers that know nothing of the cache, in the place of MAP+.
UNKNOWING = ("noop", "row")


def _f13_runs(setting: Setting) -> list[Run]:
    sizes = (4, 16, 128) if setting.quick else SIZES
    queues = (1, 32, 128) if setting.quick else QUEUES
    usual = _sweep("cache", "scheme.*.cache_kib", sizes, setting)
    usual += _sweep("queue", "scheme.*.queue", queues, setting)
    return both_loads(usual, setting) + [
        at_paper_load(run, setting)
        for scheduler in UNKNOWING
        for label, key, values in (
            ("cache", "scheme.*.cache_kib", (16, 128)),
            ("queue", "scheme.*.queue", (32, 128)),
        )
        for run in _sweep(label, key, values, setting, scheduler=scheduler)
    ]


def _f13_draw(frame: pd.DataFrame) -> Drawing:
    frame = ours(frame)
    figure, (left, right) = draw.canvas(columns=2, width=5.4)
    _curves(left, swept(frame, "cache", "all_mean_ns", 4), "mapping cache (KiB)", "latency over that with 4 KiB")
    _curves(right, swept(frame, "queue", "all_mean_ns", 1), "queue (requests)", "latency over that with a queue of 1")
    draw.legend(right, outside=True)
    return figure


def _f13_measure(frame: pd.DataFrame) -> list[Measured]:
    found = [part for at, own in by_times(frame[frame["scheduler"] == "map-plus"]) for part in _saturation(own, at)]
    others = (frame[frame["scheduler"] == name] for name in UNKNOWING)
    return found + [
        replace(part, role="foil", case=name, foil=name)
        for name, own in zip(UNKNOWING, others, strict=True)
        for part in _saturation(own, {})
    ]


def _saturation(frame: pd.DataFrame, at: Mapping[str, Option]) -> list[Measured]:
    """Does the latency hardly fall any more?"""
    parts = []
    for label, name, start, last in (("queue", "queue, 32 to 128", 32, 128), ("cache", "cache, 16 to 128 KB", 16, 128)):
        left = (1 - swept(frame, label, "all_mean_ns", start)[last]) * 100
        level = left.index[left < 5]
        told = f"less than 5% shorter on {len(level)} of {len(left)} ({listed(left, 1)})"
        parts.append(Measured("map-plus.f13.saturation", len(level) > len(left) / 2, name, told, at=at))
    return parts


F13 = figure("map-plus/f13", runs=_f13_runs, draw=_f13_draw, measure=_f13_measure)

FIGURES = (F12, F13)
