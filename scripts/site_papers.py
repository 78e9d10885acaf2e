"""What pages say of papers: claims with their verdicts from docs/data/scorecard.json, figures, assumptions."""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from site_markdown import code, table

SCORECARD = Path(__file__).parents[1] / "docs/data/scorecard.json"
NOT_YET = '<span class="not-yet">not measured</span>'


@cache
def scorecard() -> dict[str, Any]:
    """The committed scorecard, entries by the name of the claim."""
    document: dict[str, Any] = json.loads(SCORECARD.read_text(encoding="utf-8"))
    return {entry["id"]: entry for entry in document["claims"]}


def claims(paper: str) -> str:
    """Every claim of a paper: what it says, the band, what was measured. Reasons of misses below, as they are long."""
    from ufsim.reproduce.claims import load_claims

    own = [claim for claim in load_claims() if claim.paper == paper]
    entries = [scorecard().get(claim.id, {}) for claim in own]
    rows = (
        [
            f"{claim.where}: {claim.claim}<br><small>{code(claim.id)}</small>",
            f"{claim.paper_value()}<br><small>{claim.band_text()}</small>",
            measured(entry),
        ]
        for claim, entry in zip(own, entries, strict=True)
    )
    found = table(("claim", "paper, band", "measured"), rows)
    return "\n\n".join([count(entries), found, *misses(entries)])


def misses(entries: list[dict[str, Any]]) -> list[str]:
    """A heading and a list of the reasons, each with the claims that miss for it; nothing without a miss."""
    claims_of: dict[str, list[str]] = {}
    for entry in entries:
        for reason in dict.fromkeys(part["reason"] for part in entry.get("measured") or [] if part.get("reason")):
            claims_of.setdefault(reason, []).append(code(entry["id"]))
    lines = (f"- {', '.join(names)}: {reason}.\n" for reason, names in claims_of.items())
    return ["**Why misses are misses**", "".join(lines)] if claims_of else []


def count(entries: list[dict[str, Any]]) -> str:
    """One sentence with hits and misses, and the versions that measured them."""
    verdicts = [entry.get("verdict", "not yet") for entry in entries]
    hits, misses = verdicts.count("hit"), verdicts.count("miss")
    text = f"{hits} of {len(entries)} claims are hits, {misses} {'is a miss' if misses == 1 else 'are misses'}"
    left = len(entries) - hits - misses
    if left:
        text += f", and {left} are not measured in the scorecard of this version"
    versions = sorted({entry["version"] for entry in entries if entry.get("version")})
    return text + (f" (ufsim {', '.join(versions)})." if versions else ".")


def measured(entry: dict[str, Any]) -> str:
    """The verdict of a claim, and its measured values, each on a line."""
    parts = entry.get("measured") or []
    return "<br>".join([verdict(entry), *(part_text(part, entry["unit"]) for part in parts)]) if parts else NOT_YET


def part_text(part: dict[str, Any], unit: str) -> str:
    """One measured value."""
    what = f"{part['part']}: " if part["part"] else ""
    mark = "hit" if part["hit"] else "miss"
    return f'{what}<span class="{mark}">{value_text(part["value"], unit)}</span>'


def value_text(value: float | bool, unit: str) -> str:
    """A value with its unit."""
    from ufsim.reproduce.claims import with_unit

    if isinstance(value, bool):
        return "holds" if value else "does not hold"
    return with_unit(value, unit)


def verdict(entry: dict[str, Any]) -> str:
    """The verdict in its colour."""
    word = entry.get("verdict", "not yet")
    return NOT_YET if word == "not yet" else f'<span class="{word}">{word}</span>'


def summary() -> str:
    """A line for each paper."""
    from ufsim.reproduce.claims import load_claims
    from ufsim.reproduce.report import PAPERS, PROFILES

    rows = []
    for paper, title in PAPERS.items():
        entries = [scorecard().get(claim.id, {}) for claim in load_claims() if claim.paper == paper]
        if not entries:  # a question that no paper asks
            continue
        words = [entry.get("verdict", "not yet") for entry in entries]
        counts = [str(words.count(word)) for word in ("hit", "miss", "not yet")]
        rows.append([f"[{title.split(':')[0]}]({paper}.md)", title.split(": ", 1)[1], code(PROFILES[paper]), *counts])
    return table(("paper", "what", "profile", "hits>", "misses>", "not measured>"), rows)


def figures(paper: str) -> str:
    """The figures of a paper that can be measured again, and the mechanism behind each."""
    from ufsim.reproduce.registry import FIGURES

    text = ""
    for figure in FIGURES:
        if figure.paper == paper:
            text += f"### {figure.id}\n\n**{figure.title}.** {figure.caption}\n\n*The paper:* {figure.paper_shows}\n\n"
    return text


def assumed(paper: str) -> str:
    """What the paper does not give, and what its profile takes instead."""
    from ufsim.reproduce.report import PROFILES
    from ufsim.spec import profile_text

    entries = tomllib.loads(profile_text(PROFILES[paper])).get("assumed", {})
    return table(("key", "why this value"), ([code(key), str(why)] for key, why in entries.items()))
