"""What pages say of papers: claims with their verdicts from docs/data/scorecard.json, figures, assumptions."""

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tools.docs.markdown import code, table

SCORECARD = Path(__file__).parents[1] / "docs/data/scorecard.json"

Entry = dict[str, Any]


@cache
def scorecard() -> dict[str, Entry]:
    """The committed scorecard, entries by the name of the claim."""
    document: dict[str, Any] = json.loads(SCORECARD.read_text(encoding="utf-8"))
    return {entry["id"]: entry for entry in document["claims"]}


def claims(paper: str) -> str:
    """Every claim of a paper: what it says, the band, what was measured. Reasons below, as they are long."""
    from ufsim.reproduce.claims import load_claims

    own = [claim for claim in load_claims() if claim.paper == paper]
    entries = [scorecard()[claim.id] for claim in own]
    rows = (
        [
            f"{claim.where}: {claim.claim}<br><small>{code(claim.id)}</small>",
            f"{claim.paper_value()}<br><small>{claim.band_text()}</small>",
            measured(entry),
            verdict(entry),
        ]
        for claim, entry in zip(own, entries, strict=True)
    )
    found = table(("claim", "paper, band", "measured", count(entries)), rows)
    return "\n\n".join([provenance(entries), found, *reasons(entries)])


def count(entries: list[Entry]) -> str:
    """How many claims are firm, fragile, missed and not judged yet: the head of the column of verdicts."""
    from ufsim.reproduce.claims import counted

    return counted(entry["verdict"] for entry in entries)


def provenance(entries: list[Entry]) -> str:
    """With which versions and how many seeds the claims were measured."""
    made = {(entry["version"], entry["seeds"]) for entry in entries if entry.get("version")}
    if not made:
        return "None of these claims has been measured yet."
    words = [f"ufsim {version} with {seeds} {'seed' if seeds == 1 else 'seeds'}" for version, seeds in sorted(made)]
    return f"Measured by {'; '.join(words)}."


def reasons(entries: list[Entry]) -> list[str]:
    """A heading and a list of the reasons, each with the claims that it is told of; nothing without any."""
    claims_of: dict[str, list[str]] = {}
    for entry in entries:
        parts = [part for reading in entry["readings"] for part in reading["parts"]]
        told = [part["reason"] for part in parts if part.get("reason")]
        for reason in dict.fromkeys(told):
            claims_of.setdefault(reason, []).append(code(entry["id"]))
    lines = (f"- {', '.join(names)}: {reason}.\n" for reason, names in claims_of.items())
    return ["**Why values lie outside**", "".join(lines)] if claims_of else []


def measured(entry: Entry) -> str:
    """What was measured of a claim under each reading, each value on a line."""
    lines = []
    for reading in entry["readings"]:
        if len(entry["readings"]) > 1 or not reading["parts"]:
            lines.append(f"*{reading['name']}*")
        if not reading["parts"]:
            why = f": {reading['missing']}" if reading.get("missing") else ""
            lines.append(f'<span class="not-yet">not measured{why}</span>')
        lines += [part_text(part, entry["unit"]) for part in reading["parts"]]
    return "<br>".join(lines)


def part_text(part: Entry, unit: str) -> str:
    """One measured value with its interval, and what else was measured with it."""
    what = f"{part['part']}: " if part["part"] else ""
    mark = "inside" if part["in_band"] else "outside"
    told = f"<br><small>{part['told']}</small>" if part.get("told") else ""
    return f'{what}<span class="{mark}">{value_text(part, unit)}</span>{told}'


def value_text(part: Entry, unit: str) -> str:
    """The median of a part with its unit and interval."""
    from ufsim.reproduce.claims import told_value

    low_high = part["interval"] if part["chance"] else None
    return told_value(part["value"], low_high, unit)


def verdict(entry: Entry) -> str:
    """The verdict in its colour."""
    word = entry["verdict"]
    return f'<span class="{word.replace(" ", "-")}">{word}</span>'


def summary() -> str:
    """A line for each paper."""
    return summary_table(scorecard())


def summary_table(entries: dict[str, Entry], folder: str = "") -> str:
    """How many claims of each paper are firm, fragile, missed and not judged yet; pages of papers are in `folder`."""
    from ufsim.reproduce.claims import VERDICTS, load_claims
    from ufsim.reproduce.report import PAPERS

    rows = []
    everything: list[str] = []
    for paper, title in PAPERS.items():
        words = [entries[claim.id]["verdict"] for claim in load_claims() if claim.paper == paper]
        if not words:  # a question that no paper asks
            continue
        everything += words
        name, what = title.split(": ", 1)
        rows.append([f"[{name}]({folder}{paper}.md)", what, *(str(words.count(word)) for word in VERDICTS)])
    rows.append(["all", "", *(str(everything.count(word)) for word in VERDICTS)])
    return table(("paper", "what", *(f"{word}>" for word in VERDICTS)), rows)


def numbers(figure: str) -> str:
    """The numbers that a figure has for readers, from the committed scorecard."""
    document: dict[str, Any] = json.loads(SCORECARD.read_text(encoding="utf-8"))
    return numbers_table(document["tables"], figure)


def numbers_table(tables: dict[str, Any], figure: str) -> str:
    """A table of per cents of a scorecard: a line for each row, and which version measured it."""
    made = tables[figure]
    columns = list(next(iter(made["rows"].values())))
    rows = [[name, *(f"{values[column]:.1f}%" for column in columns)] for name, values in made["rows"].items()]
    found = table(("HP-UFS is better by", *(f"{column}>" for column in columns)), rows)
    return f"{found.rstrip()}\n\nMeasured by ufsim {made['version']} with seed {made['seed']}."


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
