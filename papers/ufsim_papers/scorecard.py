"""What was measured last of each claim, and the tables that tell it: `python -m ufsim_papers.scorecard [FILE...]`.

`ufsim reproduce --scorecard` writes a file `scorecard.json` of what it was asked for. Claims that it has measured take
the place of those in the folders of their papers; the others stay as they are, each with the version and the seeds that
measured it. The tables of papers/README.md are written anew; without files only this is done.

A `scorecard.json` in a folder has the values of all seeds, or the interval of pooled ones, and what was told. All else
follows from these and the claims: medians, intervals and verdicts (`claims`).
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ufsim import ConfigError, outputs
from ufsim_papers.claims import (
    LEAST_SEEDS,
    VERDICTS,
    Claim,
    Measured,
    Outcome,
    Place,
    Sample,
    counted,
    load_claims,
    outcomes,
)
from ufsim_papers.folders import FOLDERS, PAPERS
from ufsim_papers.intervals import Interval
from ufsim_papers.markdown import table

README = FOLDERS / "README.md"
MARKS = {
    name: (f"<!-- {name}: made by python -m ufsim_papers.scorecard -->\n", f"<!-- end of {name} -->\n")
    for name in ("verdicts", "opponents")
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
        samples, missing = list[Sample](), dict[Place, str]()
        for name, entry in self.claims.items():
            for at, reading in enumerate(entry["readings"]):
                if isinstance(reading, str):
                    missing[name, at] = reading
                else:
                    samples += [sample for part in reading for sample in samples_of(name, at, part, entry["seed"])]
        return outcomes(samples, missing)

    def of(self, paper: str) -> "Scorecard":
        """The part of a paper."""
        own = {claim.id for claim in load_claims() if claim.paper == paper}
        claims = {name: entry for name, entry in self.claims.items() if name in own}
        return Scorecard(claims, {name: own for name, own in self.tables.items() if name.startswith(f"{paper}/")})

    def text(self) -> str:
        """The scorecard as JSON, with a line for each part."""
        claims = []
        for name, entry in self.claims.items():
            readings = ",\n   ".join(
                json.dumps(reading)
                if isinstance(reading, str)
                else "[\n    " + ",\n    ".join(map(json.dumps, reading)) + "]"
                for reading in entry["readings"]
            )
            head = "".join(f"{json.dumps(key)}: {json.dumps(entry[key])}, " for key in ("version", "seed", "seeds"))
            claims.append(f'  "{name}": {{{head}"readings": [\n   {readings}]}}')
        tables = json.dumps(self.tables, indent=1).replace("\n", "\n ")
        return '{\n "claims": {\n' + ",\n".join(claims) + f'\n }},\n "tables": {tables}\n}}\n'


def samples_of(claim: str, reading: int, part: Entry, seed: int) -> list[Sample]:
    """What a figure has measured for a part; the values of seeds, from the first on, or what it has pooled itself."""
    told = {"part": part["part"], "told": part.get("told", ""), "reason": part.get("reason", ""), "reading": reading}
    told |= {"band": tuple(part["band"]) if "band" in part else None}
    chance = part.get("chance", True)
    if "values" in part:
        return [Sample(seed + at, Measured(claim, value, **told), chance) for at, value in enumerate(part["values"])]
    low_high = part["interval"]
    interval = Interval(low_high[0], low_high[1], part["coverage_percent"]) if low_high else None
    return [Sample(seed, Measured(claim, part["value"], seeds=part["seeds"], interval=interval, **told), chance)]


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
    known = {claim.id: claim for claim in load_claims()}
    claims = {
        entry["id"]: {**made, "readings": [kept_reading(reading, known[entry["id"]]) for reading in entry["readings"]]}
        for entry in new["claims"]
        if any(reading["parts"] for reading in entry["readings"])
    }
    tables = {name: {**made, "rows": rows} for name, rows in new["tables"].items()}
    order = [claim.id for claim in load_claims() if claim.id in kept.claims | claims]
    return Scorecard({name: (kept.claims | claims)[name] for name in order}, kept.tables | tables)


def kept_reading(reading: Entry, claim: Claim) -> list[Entry] | str:
    """A reading of a book's document without what follows from the rest, or why it is not measured."""
    return [kept_part(part, claim) for part in reading["parts"]] or reading["missing"]


def kept_part(part: Entry, claim: Claim) -> Entry:
    """The same of a part. What is as usual is left out."""
    pooled = ("value", "interval", "coverage_percent", "seeds")
    values = {"values": list(part["values"].values())} if part["values"] else {key: part[key] for key in pooled}
    band = part["band"] and tuple(part["band"])
    own = {} if band == claim.band else {"band": part["band"]}
    chance = {} if part["chance"] else {"chance": False}
    return {"part": part["part"], **values, **own, **chance, **{k: part[k] for k in ("told", "reason") if part.get(k)}}


def with_tables(text: str, card: Scorecard) -> str:
    """papers/README.md with the tables that follow from a scorecard."""
    text = between(text, MARKS["verdicts"], verdicts(card))
    return between(text, MARKS["opponents"], numbers(card, "hp-ufs/opponents"))


def between(text: str, marks: tuple[str, str], middle: str) -> str:
    """A text with a table between two marks."""
    begin, end = marks
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{middle}\n{end}{rest.partition(end)[2]}"


def verdicts(card: Scorecard) -> str:
    """A line for each paper: how many claims are firm, fragile, missed and not judged yet."""
    words = {paper: [one.verdict for one in card.of(paper).outcomes if one.claim.paper == paper] for paper in PAPERS}
    rows = [
        [f"[{PAPERS[name].title}]({name}/README.md)", PAPERS[name].about, *(str(own.count(word)) for word in VERDICTS)]
        for name, own in words.items()
        if own  # a question that no paper asks
    ]
    everything = [word for own in words.values() for word in own]
    rows.append(["all", "", *(str(everything.count(word)) for word in VERDICTS)])
    return table(("paper", "what", *(f"{word}>" for word in VERDICTS)), rows)


def numbers(card: Scorecard, figure: str) -> str:
    """The table of per cents that a figure has for readers, and which version measured it."""
    made = card.tables[figure]
    columns = list(next(iter(made["rows"].values())))
    rows = [[name, *(f"{cells[column]:.1f}%" for column in columns)] for name, cells in made["rows"].items()]
    found = table(("HP-UFS is better by", *(f"{column}>" for column in columns)), rows)
    return f"{found}\nMeasured by ufsim {made['version']} with seed {made['seed']}.\n"


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
    print(counted(outcome.verdict for outcome in card.outcomes))


if __name__ == "__main__":
    main()
