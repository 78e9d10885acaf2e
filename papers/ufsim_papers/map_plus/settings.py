"""MAP+ (TCAD 2018): deadlines, cache sizes and queue lengths, Figs. 12 and 13."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ufsim_papers import draw
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Run, Setting, figure
from ufsim_papers.map_plus.loads import LOADS, by_load, listed, loads, spec, unqueued

DEADLINES = (0, 5, 10, 20, 50, 100)
SIZES = (4, 8, 16, 32, 64, 128)
QUEUES = (1, 2, 4, 8, 16, 32, 64, 128)
SHADES = (
    *("#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#b2489a", "#e69f00"),
    *("#d55e00", "#8c564b", "#7a7a7a", "#333333", "#c9b400", "#17a2b8"),
)


def _sweep(label: str, key: str, values: Sequence[int], setting: Setting, scale: int = 1) -> list[Run]:
    return [
        Run({"trace": load, "sweep": label, "value": value}, spec(load, "map-plus", setting, {key: value * scale}))
        for load in loads(setting)
        for value in values
    ]


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


# How requests come to the device, by reading of the claim.
REPLAYS = ("queue of 128", "no queue")
# A worst case has risen from here on.
RISE = 1.01


def _f12_runs(setting: Setting) -> list[Run]:
    queued = _sweep("deadline", "scheme.*.deadline_us", DEADLINES, setting, 1000)
    runs = [Run({**run.labels, "replay": REPLAYS[0]}, run.spec) for run in queued]
    return runs + [Run({**run.labels, "replay": REPLAYS[1]}, unqueued(run.spec)) for run in queued]


def _f12_draw(frame: pd.DataFrame) -> Drawing:
    frame = frame[frame["replay"] == REPLAYS[0]]
    figure, (left, right) = draw.canvas(columns=2, width=5.4)
    _curves(left, swept(frame, "deadline", "all_mean_ns", 0), "deadline (ms)", "average latency over that with 0 ms")
    _curves(right, swept(frame, "deadline", "all_max_ns", 0), "deadline (ms)", "worst latency over that with 0 ms")
    draw.legend(right, outside=True)
    return figure


def _f12_measure(frame: pd.DataFrame) -> list[Measured]:
    replays = [frame[frame["replay"] == replay] for replay in REPLAYS]
    return [part for reading, own in enumerate(replays) for part in _deadlines(own, reading)]


def _deadlines(frame: pd.DataFrame, reading: int) -> list[Measured]:
    """What the claim says of deadlines, from the runs of one reading."""
    mean = swept(frame, "deadline", "all_mean_ns", 0)
    worst = swept(frame, "deadline", "all_max_ns", 10)
    falls = mean.index[mean[50] < 1]
    rest = (1 - mean[100] / mean[50]) * 100
    cut = (1 - mean[50].mean()) * 100
    rises = worst.index[worst[100] >= RISE]
    claim = "map-plus.f12.deadline"
    return [
        Measured(
            claim,
            bool(len(falls) > len(mean) / 2),
            "average lower with 50 ms than with 0 on most",
            f"on {len(falls)} of {len(mean)}, by {cut:.1f}% in the mean",
            reading=reading,
            reason=f"over that with 0 ms: {listed(mean[50], 2)}",
        ),
        Measured(
            claim,
            bool(rest.mean() < 2),
            "from 50 to 100 ms it falls by less than 2% more",
            f"by {rest.mean():.1f}%",
            reading=reading,
            reason=f"by trace: {listed(rest, 1)}",
        ),
        Measured(
            claim,
            bool(len(rises) > len(worst) / 2),
            "worst longer by 1% with 100 ms than with 10 on most",
            f"on {len(rises)} of {len(worst)}",
            reading=reading,
            reason=f"over that with 10 ms: {listed(worst[100], 3)}",
        ),
    ]


F12 = figure("map-plus/f12", runs=_f12_runs, draw=_f12_draw, measure=_f12_measure)


def _f13_runs(setting: Setting) -> list[Run]:
    sizes = (4, 16, 128) if setting.quick else SIZES
    queues = (1, 32, 128) if setting.quick else QUEUES
    return _sweep("cache", "scheme.*.cache_kib", sizes, setting) + _sweep("queue", "scheme.*.queue", queues, setting)


def _f13_draw(frame: pd.DataFrame) -> Drawing:
    figure, (left, right) = draw.canvas(columns=2, width=5.4)
    _curves(left, swept(frame, "cache", "all_mean_ns", 4), "mapping cache (KiB)", "latency over that with 4 KiB")
    _curves(right, swept(frame, "queue", "all_mean_ns", 1), "queue (requests)", "latency over that with a queue of 1")
    draw.legend(right, outside=True)
    return figure


def _f13_measure(frame: pd.DataFrame) -> list[Measured]:
    claim = "map-plus.f13.saturation"
    parts = []
    for label, at, last, unit in (("cache", 16, 128, "KiB"), ("queue", 32, 128, "requests")):
        table = swept(frame, label, "all_mean_ns", at)
        left = (1 - table[last]) * 100
        level = left.index[left < 5]
        parts.append(
            Measured(
                claim,
                bool(len(level) > len(left) / 2),
                f"from {at} to {last} {unit} less than 5% shorter on most",
                f"on {len(level)} of {len(left)} ({listed(left, 1)})",
            )
        )
    return parts


F13 = figure("map-plus/f13", runs=_f13_runs, draw=_f13_draw, measure=_f13_measure)

FIGURES = (F12, F13)
