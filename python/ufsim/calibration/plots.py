"""The picture of a calibration: for each kind, distributions of recorded and simulated latencies, and quantiles."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from ufsim.calibration.recording import Floats
from ufsim.plots.palette import OTHER_COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ufsim.calibration.calibration import Calibration

# Of the colours of schemes; the yellow one is too light for lines.
COLOURS = (*OTHER_COLOURS[:5], "#0072b2", "#d55e00", "#666666")
# Kinds with fewer requests in a recording are not drawn.
LEAST_DRAWN = 20
POINTS = np.linspace(0.005, 0.995, 199)
MARKED = (0.1, 0.5, 0.9, 0.99)


def calibration_figure(calibration: "Calibration") -> Figure:
    """A column for each kind: above the distributions, below simulated over recorded quantiles."""
    kinds = [
        kind
        for kind in ("read", "write")
        if any(one.is_kind(kind).sum() >= LEAST_DRAWN for one in calibration.recordings)
    ]
    figure = Figure(figsize=(6.4 * max(1, len(kinds)), 9.4), dpi=110, layout="constrained")
    panels: Any = figure.subplots(2, max(1, len(kinds)), squeeze=False)
    for column, kind in enumerate(kinds):
        for place, (recording, run) in enumerate(zip(calibration.recordings, calibration.runs, strict=True)):
            chosen = recording.is_kind(kind)
            if chosen.sum() >= LEAST_DRAWN:
                colour = COLOURS[place % len(COLOURS)]
                draw_distribution(panels[0][column], recording.latency_ns[chosen], run[chosen], colour, recording.name)
                draw_quantiles(panels[1][column], recording.latency_ns[chosen], run[chosen], colour)
        finish(panels[0][column], panels[1][column], kind)
    told = f"{calibration.profile}, scheme {calibration.scheme}: loss {calibration.loss:.3f}"
    if calibration.fit:
        told += f", fitted {len(calibration.parameters)} parameters (loss before {calibration.first_loss:.3f})"
    figure.suptitle(told, fontsize=10, x=0.012, ha="left")
    return figure


def draw_distribution(axes: "Axes", recorded: Floats, simulated: Floats, colour: str, name: str) -> None:
    """The share of requests that were answered within a time: recorded as a line, simulated with dashes."""
    for values, dashes, label in ((recorded, "-", name), (simulated, (0, (4, 1.5)), None)):
        ordered = np.sort(values) / 1e3
        shares = np.arange(1, len(ordered) + 1) / len(ordered)
        axes.plot(ordered, shares, color=colour, linestyle=dashes, lw=1.4, label=label, drawstyle="steps-post")


def draw_quantiles(axes: "Axes", recorded: Floats, simulated: Floats, colour: str) -> None:
    """Simulated over recorded quantiles, some of them marked."""
    across, up = (np.quantile(values, POINTS, method="inverted_cdf") / 1e3 for values in (recorded, simulated))
    axes.plot(across, up, color=colour, lw=1.2, alpha=0.8)
    for at, marker in zip(MARKED, "|osD", strict=True):
        x, y = (np.quantile(values, at, method="inverted_cdf") / 1e3 for values in (recorded, simulated))
        axes.plot(x, y, marker, color=colour, ms=11 if marker == "|" else 5, mew=1.6 if marker == "|" else 0.6)


def finish(above: "Axes", below: "Axes", kind: str) -> None:
    """Scales and names of the panels of a kind."""
    above.set_xscale("log")
    above.set_title(f"{kind.capitalize()} latency: recorded (line), simulated (dashes)", fontsize=10, loc="left")
    above.set_xlabel("latency (us)")
    above.set_ylabel("share of requests")
    above.legend(fontsize=8, frameon=False, loc="upper left")
    below.set_xscale("log")
    below.set_yscale("log")
    ends = (min(below.get_xlim()[0], below.get_ylim()[0]), max(below.get_xlim()[1], below.get_ylim()[1]))
    below.plot(ends, ends, color="black", lw=0.8)
    below.set_xlim(ends)
    below.set_ylim(ends)
    below.set_title("Quantiles: | p10, ● p50, ■ p90, ◆ p99; on the line they are the same", fontsize=10, loc="left")
    below.set_xlabel("recorded (us)")
    below.set_ylabel("simulated (us)")
    for axes in (above, below):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
