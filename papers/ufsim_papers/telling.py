"""Claims in HTML, for the report and for pages of the documentation: what was measured, the verdict, the reasons."""

from collections.abc import Sequence
from html import escape

from ufsim_papers.claims import AS_SET_UP, Outcome, Part, Reading, counted


def claims_table(outcomes: Sequence[Outcome]) -> str:
    """Claims with the paper's value, the band, and what was measured under each reading and its parts."""
    rows = "".join(map(claim_row, outcomes))
    score = escape(counted(outcome.verdict for outcome in outcomes))
    return (
        f"<table><thead><tr><th>claim</th><th>paper, band</th><th>measured</th><th>{score}</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>\n"
    )


def claim_row(outcome: Outcome) -> str:
    """A claim, with its readings."""
    claim = outcome.claim
    readings = "".join(map(reading_html, outcome.readings))
    return (
        f"<tr><td>{escape(claim.where)}: {escape(claim.claim)}<br><small><code>{escape(claim.id)}</code></small></td>"
        f"<td>{escape(claim.paper_value())}<br><small>{escape(claim.band_text())}</small></td>"
        f"<td>{readings}</td><td>{verdict_html(outcome)}</td></tr>"
    )


def reading_html(reading: Reading) -> str:
    """A reading, with a line for each part that was measured, or why it is not."""
    title = "" if reading.name == AS_SET_UP else f"<div><em>{escape(reading.name)}</em></div>"
    if not reading.parts:
        why = f": {escape(reading.missing)}" if reading.missing else ""
        return f'{title}<div class="not-yet">not measured{why}</div>'
    return title + "".join(map(part_html, reading.parts))


def part_html(part: Part) -> str:
    """A part of a claim: its median and interval, the band if it has its own, and what else was measured."""
    own = f" (band {part.band[0]:g} .. {part.band[1]:g})" if part.first.band and part.band else ""
    what = f"{escape(part.name)}: " if part.name else ""
    mark = "inside" if part.in_band else "outside"
    told = f"<br><small>{escape(part.first.told)}</small>" if part.first.told else ""
    return f'<div>{what}<span class="{mark}">{escape(part.text)}</span>{own}{told}</div>'


def verdict_html(outcome: Outcome) -> str:
    """A verdict in its colour."""
    return f'<span class="{css(outcome.verdict)}">{outcome.verdict}</span>'


def css(verdict: str) -> str:
    """The class of a verdict."""
    return verdict.replace(" ", "-")


def reasons(outcomes: Sequence[Outcome]) -> str:
    """A list of why values lie outside, each reason with the claims that it is told of; nothing without any."""
    claims_of: dict[str, list[str]] = {}
    for outcome in outcomes:
        parts = [part for reading in outcome.readings for part in reading.parts if not part.interval_in_band]
        for reason in dict.fromkeys(part.first.reason for part in parts if part.first.reason):
            claims_of.setdefault(reason, []).append(f"<code>{escape(outcome.claim.id)}</code>")
    lines = "".join(f"<li>{', '.join(names)}: {escape(reason)}.</li>" for reason, names in claims_of.items())
    return f"<p><strong>Why values lie outside</strong></p><ul>{lines}</ul>\n" if lines else ""
