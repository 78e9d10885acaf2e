"""Diagrams for papers: distributions, lines with bands, bars, time series.

    >>> import ufsim
    >>> runs = [ufsim.compare("job.fio", seed=seed) for seed in range(5)]  # doctest: +SKIP
    >>> ax = ufsim.plots.cdf(runs, "read")  # doctest: +SKIP
    >>> ufsim.plots.save(ax, "latency.pdf", width=3.3)  # doctest: +SKIP

Each function draws into `ax`, any axes of matplotlib, and returns it; without `ax` it makes a figure for one column of
a paper. Text has its size in points whatever the width, so that a figure is legible at 3.3 inches as at 6.9. Schemes
have the same colours, hatches and markers in all pictures. `matplotlib.style.use("ufsim.paper")` gives one's own
diagrams the same look. Files have their fonts embedded as text.

Uses matplotlib's objects directly: no global figure, no display.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib import rc_context, rc_params_from_file
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ufsim import outputs
from ufsim._core import ConfigError
from ufsim.names import check_choice
from ufsim.plots.comparison import CAUSES
from ufsim.plots.palette import scheme_colours, scheme_styles
from ufsim.results.columns import CI95, FRAMES
from ufsim.results.formats import number
from ufsim.results.result import Result, ResultSet

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "CAUSES",
    "COLUMN_INCHES",
    "PAGE_INCHES",
    "bars",
    "cdf",
    "lines",
    "number",
    "paper",
    "save",
    "scheme_colours",
    "time_series",
]

# Width of a column, and of both, in papers with two columns.
COLUMN_INCHES = 3.3
PAGE_INCHES = 6.9

Band = Literal["range", "std", "none"]
BANDS = ("range", "std", "none")
# Of pictures.
ENDINGS = (".png", ".pdf", ".svg", ".jpg", ".jpeg")
Source = Result | ResultSet | Iterable[Result | ResultSet]

# Scales of axes, by the unit of a column: nanoseconds are drawn as microseconds.
DRAWN_UNITS = {"ns": ("µs", 1e-3)}
# More names than this stand above the axes instead of inside of them.
MOST_INSIDE = 4
LEGEND_COLUMNS = 3
BAR_LOOK = {"edgecolor": "white", "linewidth": 0.4, "error_kw": {"elinewidth": 0.8, "capsize": 2}}


def paper() -> AbstractContextManager[None]:
    """matplotlib's settings for papers while the context lasts: `with ufsim.plots.paper(): ...`.

    `matplotlib.style.use("ufsim.paper")` sets them for good.
    """
    style = rc_params_from_file(str(files("ufsim") / "paper.mplstyle"), use_default_template=False)
    return rc_context(dict(style))


def picture_ending(path: str | PathLike[str]) -> str:
    """The ending of a picture's name, which says what kind of file it is; raises `ConfigError` for another one."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise ConfigError(f"picture is '{path}'; allowed: a file whose name ends with {', '.join(ENDINGS)}")
    return ending


def save(
    drawing: Figure | Axes,
    path: str | PathLike[str],
    *,
    width: float | None = None,
    height: float | None = None,
    dpi: float | None = None,
) -> None:
    """Writes a figure, or the figure of these axes, with its fonts embedded as text.

    `width` and `height` (inches) resize it; if only `width` is given, the height stays. The kind of file follows from
    the ending: .pdf (TrueType fonts), .svg (text), .png, .jpg. The same diagram, made anew, gives the same bytes.
    """
    figure = drawing.figure if isinstance(drawing, Axes) else drawing
    assert isinstance(figure, Figure)
    if width is not None:
        figure.set_figwidth(width)
    if height is not None:
        figure.set_figheight(height)
    ending = picture_ending(path)
    dates: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(ending, {})
    fonts: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "ufsim"}
    with rc_context(fonts), outputs.replacing(Path(path)) as beside:
        figure.savefig(beside, dpi="figure" if dpi is None else dpi, metadata=dates)


def cdf(source: Source, kind: str = "all", *, tail: bool = False, ax: Axes | None = None) -> Axes:
    """Draws how latencies are distributed: the share of requests over the latency within which they were answered.

    `source` is a result, a comparison, or several of them, as from several seeds: requests of the same scheme count
    together. `kind` is read, write, flush, trim, all, or a database's operation. With `tail` the share that took longer
    is drawn on a logarithmic axis, where 0.001 is p99.9.
    """
    import pandas as pd

    runs = [result.cdf().assign(run=run) for run, result in enumerate(_results(source))]
    frame = pd.concat(runs, ignore_index=True)
    check_choice("kind", kind, list(dict.fromkeys(frame.kind)))
    frame = frame[frame.kind == kind]
    styles = scheme_styles(frame.scheme)
    with _drawing(ax, len(styles)) as axes:
        for place, (scheme, style) in enumerate(styles.items()):
            latency, share = _pooled(frame[frame.scheme == scheme])
            if tail:
                latency, share = latency[share < 1], 1 - share[share < 1]
            marks = _spread(len(latency), 6, len(styles), place)
            axes.plot(
                latency / 1e3,
                share,
                color=style.colour,
                ls=style.dashes,
                lw=_width(place),
                marker=style.marker,
                markevery=marks,
                label=scheme,
            )
        axes.set_xscale("log")
        name = "latency" if kind == "all" else f"{kind} latency"
        axes.set_xlabel(f"{name} (µs)")
        axes.set_ylabel("share of requests above" if tail else "share of requests")
        if tail:
            axes.set_yscale("log")
        else:
            axes.set_ylim(0, 1.02)
        _legend(axes)
    return axes


def lines(
    frame: "pd.DataFrame", x: str, y: str, *, by: str = "scheme", band: Band = "range", ax: Axes | None = None
) -> Axes:
    """Draws the mean of column `y` over column `x` as a line for each value of column `by`.

    Rows that have `by` and `x` in common, such as those of several seeds, give the band: from the smallest to the
    largest ("range"), a standard deviation to both sides ("std"), or none. A table of means with their 95% intervals,
    as of a comparison over seeds, has these for "range". Nanoseconds are drawn as microseconds.
    """
    flat = _flat(frame, x, y, by, band)
    table = _statistics(flat, [by, x], y, band)
    styles = scheme_styles(flat[by].astype(str))
    with _drawing(ax, len(styles)) as axes:
        for name, style in styles.items():
            own = table.loc[name]
            axes.plot(own.index, own["mean"], color=style.colour, ls=style.dashes, marker=style.marker, label=name)
            if (own.high > own.low).any():
                axes.fill_between(own.index, own.low, own.high, color=style.colour, alpha=0.25, lw=0)
        axes.set_xlabel(axis_name(x, declared_unit(x)))
        axes.set_ylabel(axis_name(y, drawn_unit(y)[0]))
        _legend(axes)
    return axes


def bars(
    frame: "pd.DataFrame",
    y: str,
    *,
    by: str = "scheme",
    groups: str | None = None,
    band: Band = "range",
    labels: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draws the mean of column `y` as bars: one for each value of column `by`, in groups of column `groups`.

    Without groups the bars lie, with their names beside them, so that 13 schemes fit one column. Rows that have `by`
    and `groups` in common give whiskers: see `lines`. `labels` writes the values at the bars.
    """
    flat = _flat(frame, by, y, groups or by, band)
    if groups:
        flat = flat.assign(**{groups: flat[groups].astype(str)})
    table = _statistics(flat, [by, groups] if groups else [by], y, band)
    styles = scheme_styles(flat[by].astype(str))
    places = list(dict.fromkeys(flat[groups])) if groups else [""]
    with _drawing(ax, len(styles), rows=None if groups else len(styles)) as axes:
        for index, (name, style) in enumerate(styles.items()):
            own = table.loc[name].reindex(places) if groups else table.loc[[name]]
            look: dict[str, Any] = {"color": style.colour, "hatch": style.hatch, "label": name, **BAR_LOOK}
            whiskers = [own["mean"] - own.low, own.high - own["mean"]] if (own.high > own.low).any() else None
            if groups:
                thick = 0.84 / len(styles)
                at = [group + (index - (len(styles) - 1) / 2) * thick for group in range(len(places))]
                drawn = axes.bar(at, own["mean"], width=thick * 0.94, yerr=whiskers, **look)
            else:
                drawn = axes.barh([index], own["mean"], height=0.76, xerr=whiskers, **look)
            if labels:
                texts = ["" if value != value else number(value) for value in own["mean"]]
                axes.bar_label(drawn, texts, padding=2, fontsize="small", rotation=90 if groups else 0)
        _finish_bars(axes, list(styles), places if groups else None, axis_name(y, drawn_unit(y)[0]))
    return axes


def _finish_bars(axes: Axes, names: list[str], places: list[str] | None, title: str) -> None:
    """Names of bars or groups, and room for the values at their ends."""
    if places is None:
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlabel(title)
        axes.margins(x=0.18)
        axes.grid(visible=False, axis="y")
        axes.grid(visible=True, axis="x")
        axes.tick_params(axis="y", length=0)
    else:
        axes.set_xticks(range(len(places)), places)
        axes.set_ylabel(title)
        axes.margins(y=0.22)
        _legend(axes, above=True)


def time_series(source: Result | ResultSet, y: str = "mib_per_s", kind: str = "all", *, ax: Axes | None = None) -> Axes:
    """Draws a run over time: a line for each scheme, the mean of its runs where there are several, as with seeds.

    `y` is `mib_per_s`, `iops`, `requests`, `mean_ns` or `max_ns` (drawn in microseconds); `kind` is read, write, flush,
    trim, or all of them together. Trims move no data, so they are no part of all throughput.
    """
    import pandas as pd

    check_choice("y", y, ("mib_per_s", "iops", "requests", "mean_ns", "max_ns"))
    runs = [result.time_series().assign(run=run) for run, result in enumerate(_results(source))]
    frame = pd.concat(runs, ignore_index=True)
    check_choice("kind", kind, ["all", *dict.fromkeys(frame.kind)])
    left_out = "trim" if y == "mib_per_s" else ""
    frame = frame[frame.kind != left_out] if kind == "all" else frame[frame.kind == kind]
    unit, factor = drawn_unit(y)
    styles = scheme_styles(frame.scheme)
    with _drawing(ax, len(styles)) as axes:
        for place, (scheme, style) in enumerate(styles.items()):
            each = [_over_kinds(own, y) for _, own in frame[frame.scheme == scheme].groupby("run")]
            values = pd.concat(each, axis=1).mean(axis=1) * factor
            look: dict[str, Any] = {"color": style.colour, "ls": style.dashes, "lw": _width(place)}
            axes.plot(values.index, values, label=scheme, drawstyle="steps-post", **look)
        axes.set_xlabel("simulated time (s)")
        axes.set_ylabel(axis_name(y, unit))
        axes.set_ylim(bottom=0)
        _legend(axes)
    return axes


def _over_kinds(frame: "pd.DataFrame", y: str) -> "pd.Series[float]":
    """The column over time, all kinds of requests together."""
    if y == "max_ns":
        return frame.groupby("at_s")[y].max()
    if y == "mean_ns":
        waited = (frame.mean_ns * frame.requests).groupby(frame.at_s).sum()
        requests = frame.groupby("at_s").requests.sum()
        return waited / requests.where(requests > 0)
    return frame.groupby("at_s")[y].sum()


def _results(source: Source) -> list[Result]:
    """All results of it, with those of further seeds."""
    sources: Iterable[Result | ResultSet] = [source] if isinstance(source, Result | ResultSet) else source
    results = [result for one in sources for result in ([one] if isinstance(one, Result) else one)]
    return [one for result in results for one in result.each_seed]


def _pooled(frame: "pd.DataFrame") -> tuple[Any, Any]:
    """Latencies, and the share of all requests of several results that took so long at most."""
    requests = frame.pivot(index="latency_ns", columns="run", values="requests").ffill().fillna(0).sum(axis=1)
    # There are 20 points for each power of ten, and the first is the first within which there was a request.
    before = requests.index[0] / 10 ** (1 / 20)
    latencies = np.concatenate([[before], requests.index.to_numpy()])
    return latencies, np.concatenate([[0.0], (requests / requests.iloc[-1]).to_numpy()])


@contextmanager
def _drawing(ax: Axes | None, names: int, rows: int | None = None) -> Iterator[Axes]:
    """The axes to draw into. If there are none, those of a new figure for one column, in the style of papers.

    It is high enough for so many rows of bars, or for a legend of so many names above the axes.
    """
    if ax is not None:
        yield ax
        return
    with paper():
        legend = 0.0 if names <= MOST_INSIDE else 0.14 * math.ceil(names / LEGEND_COLUMNS)
        height = 2.2 + legend if rows is None else 0.5 + 0.16 * max(rows, 3)
        yield Figure(figsize=(COLUMN_INCHES, height), layout="constrained").subplots()


def _legend(axes: Axes, above: bool = False) -> None:
    """Names of the lines: inside, or above the axes where they are many. One name needs none."""
    names = axes.get_legend_handles_labels()[1]
    if len(names) < 2:
        return
    if len(names) <= MOST_INSIDE and not above:
        axes.legend(frameon=False)
        return
    axes.legend(
        loc="lower center",
        bbox_to_anchor=(0.45, 1.0),
        ncols=min(LEGEND_COLUMNS if len(names) > MOST_INSIDE else MOST_INSIDE, len(names)),
        frameon=False,
        fontsize="small",
        handletextpad=0.4,
        columnspacing=0.8,
    )


def _flat(frame: "pd.DataFrame", x: str, y: str, by: str, band: str) -> "pd.DataFrame":
    """The frame with its index as columns, after a look at the names."""
    flat = frame.reset_index() if any(frame.index.names) else frame
    for field, name in (("x", x), ("y", y), ("by", by)):
        check_choice(field, name, list(flat.columns))
    check_choice("band", band, BANDS)
    return flat


def _statistics(flat: "pd.DataFrame", keys: list[str], y: str, band: str) -> "pd.DataFrame":
    """`mean`, `low` and `high` of a column in the unit in which it is drawn, by the values of these columns.

    The first key, and the second where it is no number, become text.
    """
    values = flat.assign(**{key: flat[key].astype(str) for key in keys[:1]})
    if len(keys) > 1 and flat[keys[1]].dtype.kind not in "iuf":
        values = values.assign(**{keys[1]: flat[keys[1]].astype(str)})
    table = values.groupby(keys, sort=True)[y].agg(["mean", "min", "max", "std"]).astype(float) * drawn_unit(y)[1]
    halves = values.get(f"{y}{CI95}")
    if band == "range" and halves is not None and halves.notna().any():
        spread = halves.groupby([values[key] for key in keys], sort=True).max().fillna(0) * drawn_unit(y)[1]
    elif band == "range":
        return table[["mean"]].assign(low=table["min"], high=table["max"])
    else:
        spread = table["std"].fillna(0) * (band == "std")
    return table[["mean"]].assign(low=table["mean"] - spread, high=table["mean"] + spread)


def drawn_unit(column: str) -> tuple[str, float]:
    """The unit in which a declared column is drawn, and the factor to it."""
    unit = declared_unit(column)
    return DRAWN_UNITS.get(unit, (unit, 1.0))


def declared_unit(column: str) -> str:
    """The unit of a column that is declared; nothing for others."""
    return next((one.unit for frame in FRAMES.values() for one in frame if one.name == column), "")


def axis_name(column: str, unit: str) -> str:
    """`read_p999_ns` is "read p99.9 (µs)"."""
    endings = ("_mib_per_s", "_per_s", "_ns", "_ms", "_s", "_percent", "_mib", "_bytes", "_j")
    plain = next((column.removesuffix(end) for end in endings if column.endswith(end)), column)
    words = {"mib": "throughput", "iops": "requests"}.get(plain, plain).replace("_", " ").replace("p999", "p99.9")
    return f"{words} ({unit})" if unit else words


def _width(place: int) -> float:
    """Width of a line: the first ones are thicker, so that those that lie on each other can all be seen."""
    return max(0.9, 2.4 - 0.5 * place)


def _spread(points: int, marks: int, lines: int, line: int) -> tuple[int, int] | None:
    """Some marks on a line of so many points, shifted from line to line so that they do not hide each other."""
    if points < 2:
        return None
    every = max(1, points // marks)
    return (line * every // max(1, lines), every)
