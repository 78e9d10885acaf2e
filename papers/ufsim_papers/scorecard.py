"""What was measured last of each claim, and the tables that tell it: `python -m ufsim_papers.scorecard [FILE...]`.

`ufsim reproduce --scorecard` writes a file `scorecard.json` of what it was asked for. Claims that it has measured take
the place of those in the folders of their papers; the others stay as they are, each with the version and the seeds that
measured it. The tables of papers/README.md are written anew; without files only this is done.

A `scorecard.json` in a folder has the values of all seeds, or the interval of pooled ones, and what was told. All else
follows from these and the claims: medians, intervals and classes (`judged`).
"""

import argparse
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ufsim import ConfigError, outputs
from ufsim_papers.claims import LEAST_SEEDS, Claim, Condition, Measured, Sample, load_claims, told_value, value_text
from ufsim_papers.folders import FOLDERS, PAPERS
from ufsim_papers.intervals import FROM, TO, Interval
from ufsim_papers.judged import CLASSES, Outcome, Part, counted, outcomes
from ufsim_papers.markdown import table
from ufsim_papers.record_text import record_text

README = FOLDERS / "README.md"
MARKS = {
    name: (f"<!-- {name}: made by python -m ufsim_papers.scorecard -->\n", f"<!-- end of {name} -->\n")
    for name in ("classes", "opponents", "predictions")
}

Entry = dict[str, Any]


@dataclass(frozen=True)
class Scorecard:
    """What was measured of claims, by their names, and the numbers of figures that have some for readers."""

    claims: dict[str, Entry]
    tables: dict[str, Entry]

    @property
    def outcomes(self) -> list[Outcome]:
        """Every claim of the five papers."""
        return outcomes(
            sample
            for name, entry in self.claims.items()
            for part in entry["measured"]
            for sample in samples_of(name, part, entry["seed"])
        )

    def of(self, paper: str) -> "Scorecard":
        """The part of a paper."""
        own = {claim.id for claim in load_claims() if claim.paper == paper}
        claims = {name: entry for name, entry in self.claims.items() if name in own}
        return Scorecard(claims, {name: own for name, own in self.tables.items() if name.startswith(f"{paper}/")})

    def text(self) -> str:
        """The scorecard as JSON."""
        return record_text({"claims": self.claims, "tables": self.tables}) + "\n"


def samples_of(claim: str, part: Entry, seed: int) -> list[Sample]:
    """What a figure has measured for a part; the values of seeds, from the first on, or what it has pooled itself."""
    told = {name: part[name] for name in ("role", "at", "part", "case", "foil", "told", "reason") if name in part}
    chance = part.get("chance", True)
    if "values" in part:
        return [Sample(seed + at, Measured(claim, value, **told), chance) for at, value in enumerate(part["values"])]
    low_high = part["interval"]
    interval = Interval(low_high[0], low_high[1], part["coverage_percent"]) if low_high else None
    return [Sample(seed, Measured(claim, part["value"], seeds=part["seeds"], interval=interval, **told), chance)]


@cache
def as_placed(name: str) -> Claim:
    """A claim whose conditions are placed by what was measured last of others."""
    return next(outcome.claim for outcome in committed().outcomes if outcome.claim.id == name)


def committed() -> Scorecard:
    """The scorecards in the folders."""
    claims, tables = dict[str, Entry](), dict[str, Entry]()
    for paper in PAPERS:
        if (path := FOLDERS / paper / "scorecard.json").exists():
            document = json.loads(path.read_text(encoding="utf-8"))
            claims |= document["claims"]
            tables |= document["tables"]
    return Scorecard(claims, tables)


def merged(kept: Scorecard, new: dict[str, Any], name: str) -> Scorecard:
    """The claims that a book has measured, with those of `kept` where it has not measured any."""
    if new["quick"]:
        raise ConfigError(f"{name}: made with --quick; the scorecard holds full measurements")
    if new["seeds"] < LEAST_SEEDS:
        raise ConfigError(f"{name}: made with {new['seeds']} seeds; the scorecard needs at least {LEAST_SEEDS}")
    made = {"version": new["ufsim"], "seed": new["seed"], "seeds": new["seeds"]}
    measured = {entry["id"]: kept_parts(entry) for entry in new["claims"]}
    claims = {name: {**made, "measured": parts} for name, parts in measured.items() if parts}
    tables = {name: {**made, "rows": rows} for name, rows in new["tables"].items()}
    order = [claim.id for claim in load_claims() if claim.id in kept.claims | claims]
    return Scorecard({name: (kept.claims | claims)[name] for name in order}, kept.tables | tables)


def kept_parts(entry: Entry) -> list[Entry]:
    """What was measured of a claim, without what follows from the rest."""
    points = [
        kept_part(part, {"at": point["at"]} | ({"case": point["case"]} if point["case"] else {}))
        for point in entry["points"]
        for part in point["parts"]
    ]
    others = [kept_part(part, {"role": role}) for role in ("foil", "shown", "beside", "place") for part in entry[role]]
    return points + others


def kept_part(part: Entry, where: Entry) -> Entry:
    """The same of a part. What is as usual is left out."""
    pooled = ("value", "interval", "coverage_percent", "seeds")
    values = {"values": list(part["values"].values())} if part["values"] else {key: part[key] for key in pooled}
    named = {key: part[key] for key in ("part", "case", "foil") if part[key]}
    chance = {} if part["chance"] else {"chance": False}
    told = {key: part[key] for key in ("told", "reason") if part.get(key)}
    return {key: value for key, value in where.items() if value} | named | values | chance | told


def with_tables(text: str, card: Scorecard) -> str:
    """papers/README.md with the tables that follow from a scorecard."""
    text = between(text, MARKS["classes"], classes(card))
    text = between(text, MARKS["opponents"], numbers(card, "hp-ufs/opponents"))
    return between(text, MARKS["predictions"], predictions(card))


def between(text: str, marks: tuple[str, str], middle: str) -> str:
    """A text with a table between two marks."""
    begin, end = marks
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{middle}\n{end}{rest.partition(end)[2]}"


def classes(card: Scorecard) -> str:
    """A line for each paper: how many claims have each class, weak ones in brackets."""
    everything = card.outcomes
    rows = []
    for name, paper in PAPERS.items():
        own = [outcome for outcome in everything if outcome.claim.paper == name]
        if own:  # a question that no paper asks has none
            rows.append([f"[{paper.title}]({name}/README.md)", paper.about, *class_counts(own)])
    rows.append(["all", "", *class_counts(everything)])
    return table(("paper", "what", *(f"{kind}>" for kind in CLASSES)), rows)


def class_counts(own: list[Outcome]) -> list[str]:
    """How many claims have each class; weak ones in brackets."""
    cells = []
    for kind in CLASSES:
        found = [outcome for outcome in own if outcome.class_ == kind]
        weak = sum(outcome.weak for outcome in found)
        cells.append(f"{len(found)} ({weak})" if weak else str(len(found)))
    return cells


def numbers(card: Scorecard, figure: str) -> str:
    """The table of per cents that a figure has for readers, with their intervals, and which version measured it."""
    made = card.tables[figure]
    columns = [name for name in next(iter(made["rows"].values())) if not name.endswith((FROM, TO))]

    def cell(cells: Entry, name: str) -> str:
        return told_value(cells[name], (cells[f"{name}{FROM}"], cells[f"{name}{TO}"]), "pct")

    rows = [[name, *(cell(cells, column) for column in columns)] for name, cells in made["rows"].items()]
    found = table(("HP-UFS is better by", *(f"{column}>" for column in columns)), rows)
    last = made["seed"] + made["seeds"] - 1
    return f"{found}\nMedians over seeds {made['seed']} to {last}, measured by ufsim {made['version']}.\n"


def predictions(card: Scorecard) -> str:
    """What claims give where other numbers of the paper place the set-up: nothing of their own has a part in that."""
    rows = [
        [outcome.claim.id, by, part.name, of_points(values), value_text(part.value, part.unit), in_band]
        for outcome in card.outcomes
        if (by := ", ".join(dict.fromkeys(axis.placed_by for axis in outcome.claim.axes if from_elsewhere(axis))))
        for part in outcome.claim.needed
        if (values := outcome.where_placed(part.name))
        for in_band in [", ".join(sorted({part.state for part in values}))]
    ]
    return table(("claim", "placed by", "part", "predicted", "paper", "band"), rows)


def from_elsewhere(axis: Condition) -> bool:
    """Is it placed by a number of the paper that is not its own?"""
    number = not isinstance(axis.options[0], bool | str)
    return axis.place is not None and (number or axis.placed_by.startswith("claim:"))


def of_points(parts: list[Part]) -> str:
    """The least and the largest value of some points, and how far their intervals reach."""
    values = sorted(part.value for part in parts if part.value is not None)
    if not values or isinstance(values[0], bool):
        return "holds" if all(part.state == "in" for part in parts) else "does not hold everywhere"
    unit, reach = parts[0].of.unit, [part.interval for part in parts if part.interval]
    ends = (min(interval.low for interval in reach), max(interval.high for interval in reach))
    least = "" if values[0] == values[-1] else f"{value_text(values[0], unit)} to "
    return least + told_value(values[-1], ends, unit)


def main() -> None:
    """Brings folders and tables up to date."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    options.add_argument("measured", nargs="*", type=Path, help="files that `ufsim reproduce --scorecard` has written")
    card = committed()
    for path in options.parse_args().measured:
        card = merged(card, json.loads(path.read_text(encoding="utf-8")), str(path))
    own = [(FOLDERS / paper / "scorecard.json", card.of(paper)) for paper in PAPERS]
    steps = [(path, outputs.text(part.text())) for path, part in own if part.claims]
    readme = with_tables(README.read_text(encoding="utf-8"), card)
    failures = outputs.write([*steps, (README, outputs.text(readme))])
    if failures:
        raise outputs.Unwritten(failures)
    print(counted(card.outcomes))


if __name__ == "__main__":
    main()
