"""The maps of a paper's claims in one picture: where the points lie, seen from the band."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ufsim_papers import draw, maps
from ufsim_papers.figure import as_svg
from ufsim_papers.intervals import defined
from ufsim_papers.judged import Outcome, Part

# How far beside the band a point is still drawn, in widths of the band; what lies further points beyond the border.
REACH = 1.5
COLOURS = {"in": "#1b7837", "out": "#b2182b", "between": "#b35806", "not measured": "#7a7a7a"}


def svg(outcomes: Sequence[Outcome]) -> str:
    """The picture as SVG; nothing where no claim has a number at several points."""
    drawn = [outcome for outcome in outcomes if len(outcome.points) > 1 and outcome.claim.band is not None]
    if not drawn:
        return ""
    return as_svg(drawing(drawn), drawn[0].claim.paper)


def drawing(outcomes: Sequence[Outcome]) -> Drawing:
    """A line for each claim, on which its band is as long as every other's."""
    figure, (axes,) = draw.canvas(width=8.5, height=0.9 + 0.34 * len(outcomes))
    axes.axvspan(0, 1, color="#dfe9df", lw=0, label="the band")
    for row, outcome in enumerate(outcomes):
        _draw_claim(axes, row, outcome)
    for label, look in (
        ("where the paper's set-up lies", {"marker": "o", "color": COLOURS["in"]}),
        ("elsewhere on the map", {"marker": "o", "mfc": "white", "color": COLOURS["in"]}),
        ("the same, with an interval across an end of the band", {"marker": "o", "color": COLOURS["between"]}),
        ("the same, out of the band with some part", {"marker": "o", "color": COLOURS["out"]}),
        ("further away than is drawn", {"marker": ">", "color": COLOURS["out"]}),
        ("foil", {"marker": "x", "color": "#333333"}),
    ):
        axes.plot([], [], ls="", ms=6, label=label, **look)  # type: ignore[arg-type]
    names = [f"{outcome.claim.id.partition('.')[2]}: {outcome.class_text}" for outcome in outcomes]
    axes.set_yticks(range(len(outcomes)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(-REACH - 0.1, 1 + REACH + 0.1)
    axes.set_xticks([0, 1], ["lower\nend", "upper\nend"], fontsize=8)
    axes.grid(axis="y", alpha=0.3)
    draw.legend(axes, outside=True)
    return figure


def _draw_claim(axes: Axes, row: int, outcome: Outcome) -> None:
    left = set(maps.left(outcome.claim, outcome.places))
    for (place, _), point in outcome.points.items():
        colour = COLOURS[point.state(outcome.claim)]
        face = colour if place in left else "white"
        for x in _across(outcome, point.parts):
            axes.plot([x], [row], marker=_marker(x, "o"), ms=5, color=colour, mfc=face, ls="", alpha=0.85)
    for x in _across(outcome, outcome.foil):
        axes.plot([x], [row], marker=_marker(x, "x"), ms=6, color="#333333", ls="")


def _marker(x: float, marker: str) -> str:
    return "<" if x <= -REACH else ">" if x >= 1 + REACH else marker


def _across(outcome: Outcome, parts: Sequence[Part]) -> list[float]:
    """Where values of the claim itself lie, if the band's ends are 0 and 1; no further away than is drawn."""
    low, high = outcome.claim.band or (0.0, 1.0)
    values = [part.value for part in parts if not part.of.name]
    known = [float(value) for value in values if value is not None and defined(value)]
    return [min(max((value - low) / (high - low), -REACH), 1 + REACH) for value in known]
