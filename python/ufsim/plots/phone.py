"""Pictures of phones over time. Uses matplotlib's objects directly: no global state, no display, safe in threads."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ufsim.plots.comparison import heading
from ufsim.plots.palette import scheme_colours
from ufsim.results.result import Result

if TYPE_CHECKING:
    from ufsim.phones import Study

MIB = 1024 * 1024
HEADING_WIDTH = 155
# Light tints for apps, so that what is drawn over them can be read; nine and more take them in turn.
APP_TINTS = (
    "#a6cee3",
    "#fdbf6f",
    "#b2df8a",
    "#fb9a99",
    "#cab2d6",
    "#ffff99",
    "#d9d9d9",
    "#ccebc5",
    "#fddaec",
)
PRESSURE = "#d7301f"
MISSES = "#fb6a4a"
COLD = "#3b2a66"
KILL_COLOURS = {0: "#000000", 1: "#000000", 2: "#6a51a3"}
BACKGROUND_KILL = "#9e9e9e"
SPARED = "#31a354"


def study_figure(study: "Study") -> Figure:
    """The sequence of apps on top; for each scheme memory, pressure and kills, and below them misses."""
    results = study.results
    figure = Figure(figsize=(12.5, 1.8 + 3.0 * len(results)), dpi=125, layout="constrained")
    ratios = [0.35] + [1.5, 1.0] * len(results)
    grid = figure.add_gridspec(1 + 2 * len(results), 1, height_ratios=ratios)
    first = figure.add_subplot(grid[0])
    tints = app_tints(results[0].phone)
    draw_sequence(first, results[0].phone, tints)
    colours = scheme_colours([result.scheme for result in results])
    most_hpb = max(1.0, *(sample["hpb_bytes"] / MIB for result in results for sample in result.phone["timeline"]))
    most_misses = max(1.0, *(value for result in results for value in misses_per_second(result)[1]))
    for index, result in enumerate(results):
        memory = figure.add_subplot(grid[1 + 2 * index], sharex=first)
        draw_memory(memory, result, colours[result.scheme], most_hpb)
        misses = figure.add_subplot(grid[2 + 2 * index], sharex=first)
        draw_misses(misses, result, tints, most_misses)
        memory.tick_params(labelbottom=False)
        misses.tick_params(labelbottom=index == len(results) - 1)
    misses.set_xlabel("simulated time (s)")
    figure.suptitle(
        heading(study.scenario, results, width=HEADING_WIDTH), fontsize=10, x=0.012, ha="left", linespacing=1.4
    )
    figure.legend(handles=legend_handles(), loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    return figure


def app_tints(report: Mapping[str, Any]) -> dict[str, str]:
    """A colour for each app of the user."""
    return {app: APP_TINTS[i % len(APP_TINTS)] for i, app in enumerate(report["apps"][: report["users"]])}


def draw_sequence(axes: Axes, report: Mapping[str, Any], tints: Mapping[str, str]) -> None:
    """A band with the app in the foreground."""
    uses = report["uses"]
    for use in uses:
        start, length = use["at_ns"] / 1e9, use["duration_ns"] / 1e9
        axes.axvspan(start, start + length, color=tints[use["app"]], lw=0)
        if len(uses) <= 60:
            name = use["app"].rsplit(".", 1)[-1]  # of a package, what tells it apart
            axes.text(start + length / 2, 0.5, name, ha="center", va="center", fontsize=8.5, clip_on=True)
    for kill in report["recorded_kills"]:
        axes.plot(kill["at_ns"] / 1e9, 0.08, marker="+", ms=7, color=KILL_COLOURS[1], clip_on=False)
    axes.set_xlim(0, report["duration_ns"] / 1e9)
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    recorded = " (+: kill on the recorded phone)" if report["recorded_kills"] else ""
    axes.set_title(f"app in the foreground{recorded}", fontsize=10, loc="left")
    axes.tick_params(labelbottom=False, bottom=False)
    axes.spines[:].set_visible(False)


def draw_memory(axes: Axes, result: Result, colour: str, most: float) -> None:
    """HPB's memory as an area, pressure as a line on the right, kills as marks on top."""
    report = result.phone
    times = [sample["at_ns"] / 1e9 for sample in report["timeline"]]
    hpb = [sample["hpb_bytes"] / MIB for sample in report["timeline"]]
    axes.fill_between(times, hpb, color=colour, alpha=0.45, lw=0)
    axes.plot(times, hpb, color=colour, lw=1)
    axes.set_ylim(0, most * 1.45)
    axes.set_ylabel("HPB (MiB)", fontsize=9)
    pressure = axes.twinx()
    pressure.plot(times, [sample["pressure"] * 100 for sample in report["timeline"]], color=PRESSURE, lw=0.8)
    pressure.set_ylim(0, 145)
    pressure.set_yticks([0, 50, 100])
    pressure.set_ylabel("pressure (%)", fontsize=9, color=PRESSURE)
    pressure.tick_params(axis="y", colors=PRESSURE, labelsize=8)
    for kill in report["kills"]:
        draw_kill(pressure, kill)
    for one in (axes, pressure):
        one.spines["top"].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.set_title(title(result), fontsize=10, loc="left", fontweight="bold")


def draw_kill(axes: Axes, kill: Mapping[str, Any]) -> None:
    """A mark with the app's name: a cross for a kill, a ring for one that the driver averted."""
    at = kill["at_ns"] / 1e9
    if kill["spared"]:
        axes.plot(at, 112, marker="o", ms=5, mfc="none", mec=SPARED, clip_on=False)
        return
    colour = KILL_COLOURS.get(kill["category"], BACKGROUND_KILL)
    important = kill["category"] in KILL_COLOURS
    axes.plot(at, 112 if important else 104, marker="x", ms=6 if important else 3.5, color=colour, clip_on=False)
    if important:
        axes.text(at, 120, kill["app"], fontsize=8, ha="center", color=colour, clip_on=True)


def title(result: Result) -> str:
    """The scheme and what it did, in one line."""
    report = result.phone
    uses = report["uses"]
    launch = sum(use["launch_ns"] for use in uses) / max(1, len(uses)) / 1e6
    cold = sum(use["cold"] for use in uses)
    killed = [kill for kill in report["kills"] if not kill["spared"]]
    apps = sum(kill["category"] < 3 for kill in killed)
    reads = sum(use[f"{phase}_reads"]["reads"] for use in uses for phase in ("launch", "loading", "run"))
    missed = sum(use[f"{phase}_reads"]["map"] for use in uses for phase in ("launch", "loading", "run"))
    share = 100 * missed / max(1, reads)
    spared = len(report["kills"]) - len(killed)
    text = (
        f"{result.scheme}: launch {launch:.0f} ms on average, {cold} of {len(uses)} cold, {share:.0f} % of reads miss"
    )
    text += f"; {apps} kills of apps, {len(killed) - apps} of background processes"
    return text + (f", {spared} averted" if spared else "")


def misses_per_second(result: Result) -> tuple[list[float], list[float], list[float]]:
    """Start, misses per second and length of every tenth of every use."""
    starts, rates, lengths = [], [], []
    for use in result.phone["uses"]:
        length = use["duration_ns"] / 1e10
        for tenth, misses in enumerate(use["misses_by_tenth"]):
            starts.append(use["at_ns"] / 1e9 + tenth * length)
            rates.append(misses / length if length else 0.0)
            lengths.append(length)
    return starts, rates, lengths


def draw_misses(axes: Axes, result: Result, tints: Mapping[str, str], most: float) -> None:
    """Misses of the foreground app per second, and cold launches as marks below."""
    for use in result.phone["uses"]:
        start = use["at_ns"] / 1e9
        axes.axvspan(start, start + use["duration_ns"] / 1e9, color=tints[use["app"]], alpha=0.35, lw=0)
        if use["cold"]:
            axes.plot(start, 0.9 * most, marker="v", ms=4, color=COLD)
    starts, rates, lengths = misses_per_second(result)
    axes.bar(starts, rates, width=lengths, align="edge", color=MISSES)
    axes.set_ylim(0, most)
    axes.set_ylabel("misses per s", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def legend_handles() -> list[Any]:
    """What the marks mean."""

    def mark(marker: str, colour: str, label: str, fill: str = "none") -> Line2D:
        return Line2D([], [], marker=marker, color=colour, mfc=fill, ls="none", label=label)

    return [
        Line2D([], [], color=PRESSURE, lw=1, label="memory pressure (PSI, some, 1 s)"),
        mark("x", KILL_COLOURS[1], "recently used app killed"),
        mark("x", KILL_COLOURS[2], "app used earlier killed"),
        mark("x", BACKGROUND_KILL, "background process killed"),
        mark("o", SPARED, "kill averted: HPB gave memory back"),
        mark("v", COLD, "cold launch", COLD),
        Patch(color=MISSES, label="L2P misses of the app in the foreground"),
    ]
