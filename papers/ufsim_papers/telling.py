"""Claims in HTML, for the report and for pages of the documentation: what was measured, the class, the reasons."""

from collections.abc import Sequence
from html import escape

from ufsim_papers.claims import Claim, value_text
from ufsim_papers.judged import Outcome, Part, Point, counted


def claims_table(outcomes: Sequence[Outcome]) -> str:
    """Claims with the paper's values, the points of their maps, their foils and classes."""
    rows = "".join(map(claim_row, outcomes))
    return (
        f"<p>{escape(counted(outcomes))}.</p>\n"
        "<table><thead><tr><th>claim</th><th>paper, band</th><th>measured</th><th>class</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>\n"
    )


def claim_row(outcome: Outcome) -> str:
    """A claim, with its map."""
    claim = outcome.claim
    because = f"<br><small>{escape(outcome.because)}</small>" if outcome.because else ""
    return (
        f"<tr><td>{escape(claim.where)}: {escape(claim.says)}<br><small>{escape(claim.quantity)}<br>"
        f"<code>{escape(claim.id)}</code></small></td><td>{wanted(claim)}</td>"
        f"<td>{map_html(outcome)}</td><td>{class_html(outcome)}{because}</td></tr>"
    )


def wanted(claim: Claim) -> str:
    """What the paper gives for each part, with its band."""
    lines = []
    for part in claim.needed:
        name = f"{escape(part.name)}: " if part.name else ""
        band = f" <small>({part.band[0]:g} .. {part.band[1]:g})</small>" if part.band else ""
        lines.append(f"{name}{escape(value_text(part.value, part.unit))}{band}")
    return "<br>".join(lines)


def map_html(outcome: Outcome) -> str:
    """The points of a map, the foil, and what is shown beside."""
    points = list(outcome.points.values())
    usual = outcome.claim.default_text() if points else ""
    shown = f"<div><small>usually {escape(usual)}</small></div>" if usual else ""
    shown += "".join(point_html(outcome.claim, point) for point in points)
    if len(points) > 4:
        states = [point.state(outcome.claim) for point in points]
        head = f"in at {states.count('in')} and out at {states.count('out')} of {len(points)} points"
        shown = f"<details><summary>{head}</summary>{shown}</details>"
    foil = f"<div><em>foil: {escape(outcome.claim.foil)}</em></div>" if outcome.foil else ""
    beside = "<div><em>beside</em></div>" if outcome.beside else ""
    shown += foil + "".join(map(part_html, outcome.foil))
    shown += "".join(map(part_html, outcome.shown + outcome.place)) + beside + "".join(map(part_html, outcome.beside))
    return shown or f'<div class="open">not measured{escape(f": {outcome.missing}" if outcome.missing else "")}</div>'


def point_html(claim: Claim, point: Point) -> str:
    """A point with a line for each part."""
    title = "; ".join(word for word in (claim.place_text(point.place), point.case) if word)
    head = f"<div><em>{escape(title)}</em></div>" if title else ""
    return head + "".join(map(part_html, point.parts))


def part_html(part: Part) -> str:
    """A part: its median and interval, and what else was measured."""
    what = f"{escape(part.name)}: " if part.name else ""
    mark = "inside" if part.in_band else "outside"
    told = f"<br><small>{escape(part.told)}</small>" if part.told else ""
    return f'<div>{what}<span class="{mark}">{escape(part.text)}</span>{told}</div>'


def class_html(outcome: Outcome) -> str:
    """A class in its colour."""
    return f'<span class="{outcome.class_}">{escape(outcome.class_text)}</span>'


def reasons(outcomes: Sequence[Outcome]) -> str:
    """A list of why values lie where they lie, each reason with the claims that it is told of; nothing without any."""
    claims_of: dict[str, list[str]] = {}
    for outcome in outcomes:
        points = [part for point in outcome.points.values() for part in point.parts if part.state != "in"]
        for reason in dict.fromkeys(part.reason for part in points + outcome.beside if part.reason):
            claims_of.setdefault(reason, []).append(f"<code>{escape(outcome.claim.id)}</code>")
    lines = "".join(f"<li>{', '.join(names)}: {escape(reason)}.</li>" for reason, names in claims_of.items())
    return f"<p><strong>Why values lie where they lie</strong></p><ul>{lines}</ul>\n" if lines else ""
