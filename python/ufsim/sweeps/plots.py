"""Pictures of a sweep: lines with bands, heat maps, Pareto fronts, what each axis explains.

An axis that says what is asked of the device is a *condition*: workload, range, depth. The others are *choices*:
scheme, memory, keys of the profile. Each combination of conditions has a panel of its own where points are compared.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ufsim import outputs
from ufsim.names import check_choice
from ufsim.plots import PAGE_INCHES, axis_name, drawn_unit, paper, save
from ufsim.plots.palette import scheme_styles
from ufsim.results.formats import number
from ufsim.sweeps.finished import Sweep
from ufsim.sweeps.statistics import SEED, front

if TYPE_CHECKING:
    import pandas as pd

# Options that are chosen by whoever builds a phone. All other options, and names in texts, are conditions.
CHOICES = ("scheme", "scheduler", "booster", "mapping", "profile", "host_memory_mib")
MOST_PANELS = 12
PANEL_COLUMNS = 3
PANEL_INCHES = 2.1
COST = "host_dram_bytes"
# The bound has its DRAM inside the device, and no place among those that take the host's.
BOUND = "ideal"
# Units that names of axes end with.
UNITS = {"_mib": "MiB", "_kib": "KiB", "_us": "µs", "_ns": "ns", "_ms": "ms"}
MIB = 1 << 20
# Numbers of which the largest is more than so many times the smallest are drawn by their logarithm.
FAR_APART = 16


def pictures(
    sweep: Sweep, directory: Path, y: str | None = None, x: str | None = None, by: str | None = None
) -> dict[str, Figure]:
    """Draws what the axes of a sweep allow, and writes it to a directory; returns the figures by name."""
    column, axes = sweep.measure(y), [axis for axis in sweep.axes if axis != SEED]
    for name, asked in (("x", x), ("by", by)):
        if asked is not None:
            check_choice(name, asked, axes)
    along = x or along_of(sweep.frame, [axis for axis in axes if axis != by])
    apart = by or next((axis for axis in ("scheme", *axes) if axis in axes and axis != along), None)
    made: dict[str, Figure] = {}
    with paper():
        if along is not None:
            made["lines"] = lines(sweep, column, along, apart)
        if along is not None and (second := second_of(axes, along, apart)) is not None:
            made["heat"] = heat(sweep, column, along, second, apart if apart != second else None)
        if sweep.frame[COST].nunique() > 1:
            made["pareto"] = pareto(sweep, column, apart)
        if sweep.axes:
            made["sensitivity"] = sensitivity(sweep, column)
    steps = [(directory / f"{name}.png", saver(figure)) for name, figure in made.items()]
    if failures := outputs.write(steps):
        raise outputs.Unwritten(failures)
    return made


def saver(figure: Figure) -> Callable[[Path], object]:
    """What writes a figure."""
    return lambda path: save(figure, path)


def along_of(frame: "pd.DataFrame", axes: Sequence[str]) -> str | None:
    """The axis along the picture: the one with most values, numbers first."""
    varied = [axis for axis in axes if frame[axis].nunique() > 1]
    ranked = sorted(varied, key=lambda axis: (axis == "scheme", not is_numeric(frame, axis), -frame[axis].nunique()))
    memory = [axis for axis in varied if axis in ("host_memory_mib", "host.memory_mib")]
    return next(iter([*memory, *ranked]), None)


def second_of(axes: Sequence[str], along: str, apart: str | None) -> str | None:
    """The other axis of a heat map: one that neither lies along it nor tells its panels apart, if there is one."""
    left = [axis for axis in axes if axis not in (along, apart)]
    return next(iter(left), apart)


def is_numeric(frame: "pd.DataFrame", axis: str) -> bool:
    """Whether all values of an axis are numbers."""
    return frame[axis].dtype.kind in "iuf"


def better(column: str) -> float:
    """1 if more of a column is better, -1 if less is: throughput against times and wear."""
    return 1.0 if column in ("throughput_mib_per_s", "iops", "completed", "submitted") else -1.0


def is_condition(axis: str) -> bool:
    """Whether an axis says what is asked of the device."""
    return axis not in CHOICES and "." not in axis


def panels(frame: "pd.DataFrame", keys: Sequence[str]) -> list[tuple[str, "pd.DataFrame"]]:
    """The rows of each combination of the keys with a title."""
    if not keys:
        return [("", frame)]
    groups = frame.groupby(list(keys), sort=False, dropna=False)
    return [
        (", ".join(f"{axis_name(key, '')} {value}{unit(key)}" for key, value in zip(keys, values, strict=True)), own)
        for values, own in groups
    ]


def label(axis: str) -> str:
    """An axis as people read it."""
    return axis_name(axis, unit(axis).strip())


def unit(axis: str) -> str:
    """The unit of an axis, behind a value."""
    return next((f" {words}" for ending, words in UNITS.items() if axis.endswith(ending)), "")


def grid_of_axes(titles: Sequence[str], *, high: float = PANEL_INCHES) -> tuple[Figure, Iterator[Axes]]:
    """A figure with a panel for each title, or for as many as it has room for, and says so."""
    left_out = len(titles) - MOST_PANELS
    titles = titles[:MOST_PANELS]
    columns = 2 if len(titles) == 4 else min(PANEL_COLUMNS, len(titles))
    rows = math.ceil(len(titles) / columns)
    width = PAGE_INCHES if columns > 1 else PAGE_INCHES * 0.62
    figure = Figure(figsize=(width, high * rows + 0.4), layout="constrained")
    panes = figure.subplots(rows, columns, squeeze=False, sharey=True).flatten()
    for place, pane in enumerate(panes):
        if place < len(titles):
            pane.set_title(titles[place])
        else:
            pane.set_axis_off()
    if left_out > 0:
        figure.suptitle(f"{len(titles)} of {len(titles) + left_out} conditions", x=0.012, ha="left")
    return figure, iter(panes)


def lines(sweep: Sweep, y: str, x: str, by: str | None) -> Figure:
    """The mean of a column along an axis, with its 95% confidence interval as a band: a line for each value of `by`."""
    frame = sweep.means()
    shown = panels(frame, [axis for axis in sweep.axes if axis not in (x, by, SEED)])
    figure, panes = grid_of_axes([title for title, _ in shown])
    scale, factor = drawn_unit(y)
    styles = scheme_styles(frame[by].astype(str)) if by else scheme_styles([y])
    for (_, own), axes in zip(shown, panes, strict=False):
        places = placed(own, frame, x, axes)
        for name, style in styles.items():
            rows = own[own[by].astype(str) == name] if by else own
            ordered = rows.assign(at=[places[value] for value in rows[x]]).sort_values("at")
            middle, half = ordered[y] * factor, (ordered[f"{y}_ci95"] * factor).fillna(0)
            look: dict[str, Any] = {"color": style.colour, "ls": style.dashes, "marker": style.marker}
            axes.plot(ordered["at"], middle, label=name, **look)
            axes.fill_between(ordered["at"], middle - half, middle + half, color=style.colour, alpha=0.25, lw=0)
        axes.set_xlabel(label(x))
    return finished(figure, axis_name(y, scale), styles if by else {})


def finished(figure: Figure, measured: str, styles: Sequence[str] | dict[str, Any]) -> Figure:
    """Lets panels begin at 0, says what is measured beside the first, and names the looks below them."""
    for axes in figure.axes:
        axes.set_ylim(bottom=0)
        axes.label_outer()
        axes.xaxis.label.set_visible(True)
        axes.tick_params(axis="x", labelbottom=True)
    figure.axes[0].set_ylabel(measured)
    if styles:
        names_below(figure, styles)
    return figure


def placed(own: "pd.DataFrame", frame: "pd.DataFrame", x: str, axes: Axes) -> dict[Any, float]:
    """Where the values of an axis lie: numbers at their places, far apart ones by logarithm, texts one by one."""
    values = list(dict.fromkeys(frame[x]))
    if is_numeric(frame, x):
        if min(values) > 0 and max(values) > FAR_APART * min(values):
            axes.set_xscale("log", base=2)
        if len(values) <= 8:
            axes.set_xticks(values, [f"{value:g}" for value in values])
            axes.minorticks_off()
        return {value: float(value) for value in values}
    axes.set_xticks(range(len(values)), [str(value) for value in values])
    return {value: float(place) for place, value in enumerate(values)}


def names_below(figure: Figure, styles: Sequence[str] | dict[str, Any]) -> None:
    """The names of lines or points, once for all panels."""
    handles, names = figure.axes[0].get_legend_handles_labels()
    if len(styles) > 1:
        figure.legend(handles, names, loc="outside lower center", ncols=min(6, len(names)))


def heat(sweep: Sweep, y: str, x: str, second: str, by: str | None) -> Figure:
    """The mean of a column by two axes: a map for each value of `by`, over the mean of what else differs."""
    frame = sweep.means()
    shown = panels(frame, [by] if by else [])
    figure, panes = grid_of_axes([title for title, _ in shown])
    scale, factor = drawn_unit(y)
    keys = {axis: in_order(frame, axis) for axis in (x, second)}
    maps = [
        own.assign(value=own[y] * factor).pivot_table(
            index=second, columns=x, values="value", sort=False, observed=True
        )
        for _, own in shown
    ]
    maps = [one.reindex(index=keys[second], columns=keys[x]) for one in maps]
    low, high = min(one.min().min() for one in maps), max(one.max().max() for one in maps)
    image = None
    for one, axes in zip(maps, panes, strict=False):
        image = axes.imshow(
            one.to_numpy(dtype=float), origin="lower", aspect="auto", cmap="viridis", vmin=low, vmax=high
        )
        axes.set_xticks(range(len(keys[x])), [tick(value) for value in keys[x]], rotation=45 if len(keys[x]) > 6 else 0)
        axes.set_yticks(range(len(keys[second])), [tick(value) for value in keys[second]])
        axes.grid(visible=False)
        axes.set_xlabel(label(x))
        if one.size <= 40:
            written(axes, one.to_numpy(dtype=float), low, high)
    figure.axes[0].set_ylabel(label(second))
    assert image is not None
    rest = [label(axis) for axis in sweep.axes if axis not in (x, second, by, SEED) and frame[axis].nunique() > 1]
    measured = ", mean over ".join([axis_name(y, scale), *([" and ".join(rest)] if rest else [])])
    figure.colorbar(image, ax=figure.axes[: len(shown)], label=measured, shrink=0.9)
    return figure


def in_order(frame: "pd.DataFrame", axis: str) -> list[Any]:
    """The values of an axis: numbers by size, texts as the grid has them."""
    values = list(dict.fromkeys(frame[axis]))
    return sorted(values) if is_numeric(frame, axis) else values


def tick(value: Any) -> str:
    """A value at an axis."""
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def written(axes: Axes, values: Any, low: float, high: float) -> None:
    """Values in the cells of a map."""
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            if value == value:
                colour = "white" if value < (low + high) / 2 else "black"
                axes.text(column, row, number(value), ha="center", va="center", fontsize=6, color=colour)


def pareto(sweep: Sweep, y: str, by: str | None) -> Figure:
    """The mean of a column over host DRAM, under each condition, and the front: what no other point beats in both."""
    frame = sweep.means()
    shown = panels(frame, [axis for axis in sweep.axes if axis != SEED and axis != by and is_condition(axis)])
    figure, panes = grid_of_axes([title for title, _ in shown])
    scale, factor = drawn_unit(y)
    styles = scheme_styles(frame[by].astype(str)) if by else scheme_styles([y])
    for (_, own), axes in zip(shown, panes, strict=False):
        for name, style in styles.items():
            rows = own[own[by].astype(str) == name] if by else own
            bars = (rows[f"{y}_ci95"] * factor).fillna(0)
            look: dict[str, Any] = {"color": style.colour, "marker": style.marker, "ls": "", "elinewidth": 0.6}
            axes.errorbar(rows[COST] / MIB, rows[y] * factor, yerr=bars, label=name, **look)
        real = own[own.scheme.astype(str) != BOUND] if "scheme" in own else own
        edge = real.iloc[front(list(real[COST]), [better(y) * value for value in real[y]])]
        axes.plot(edge[COST] / MIB, edge[y] * factor, drawstyle="steps-post", color="black", lw=0.7, ls=":", zorder=0)
        taken = frame[COST][frame[COST] > 0] / MIB
        if taken.max() > FAR_APART * taken.min():
            axes.set_xscale("symlog", linthresh=float(taken.min()))
        axes.set_xlabel("host DRAM used (MiB)")
    return finished(figure, axis_name(y, scale), styles if by else {})


def sensitivity(sweep: Sweep, y: str) -> Figure:
    """Which share of a column's variance each axis explains alone."""
    found = sweep.sensitivity(y)
    figure = Figure(figsize=(PAGE_INCHES * 0.62, 0.7 + 0.22 * (len(found) + 1)), layout="constrained")
    axes = figure.subplots()
    rest = max(0.0, 1 - sum(found.values()))
    names = [*map(label, found), "together, and chance"]
    drawn = axes.barh(names, [*found.values(), rest], color=["#0072b2"] * len(found) + ["#bbbbbb"], height=0.7)
    axes.bar_label(drawn, [f"{value:.0%}" for value in (*found.values(), rest)], padding=2, fontsize="small")
    axes.invert_yaxis()
    axes.set_xlim(0, 1.1)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"share of the variance of {axis_name(y, '')}")
    return figure
