"""Brings docs/data/scorecard.json up to date: `scripts/scorecard.py out/reproduce/scorecard.json [...]`.

`ufsim reproduce --scorecard` writes such a file for the figures that it was asked for. Claims that it has measured
replace those in the committed file; the others stay as they are, each with the version and the seeds that measured it.
Tables of verdicts in README are written anew. Without files only this is done.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from site_papers import SCORECARD, numbers_table, summary_table
from ufsim.reproduce.claims import LEAST_SEEDS, counted

README = Path(__file__).parents[1] / "README.md"
VERDICTS = ("<!-- verdicts: made by scripts/scorecard.py -->\n", "<!-- end of verdicts -->\n")
OPPONENTS = ("<!-- opponents: made by scripts/scorecard.py -->\n", "<!-- end of opponents -->\n")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("measured", nargs="*", type=Path, help="files that `ufsim reproduce --scorecard` has written")
    chosen = options.parse_args()
    kept = read(SCORECARD)
    for path in chosen.measured:
        kept = merged(kept, read(path), str(path))
    SCORECARD.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    README.write_text(with_tables(README.read_text(encoding="utf-8"), kept), encoding="utf-8")
    print(f"{SCORECARD.name}: {counted(entry['verdict'] for entry in kept['claims'])}")


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def merged(kept: dict[str, Any], new: dict[str, Any], name: str) -> dict[str, Any]:
    """The claims of `new`, with those of `kept` where `new` has not measured any."""
    if new["quick"]:
        sys.exit(f"{name}: made with --quick; the scorecard holds full measurements")
    if new["seeds"] < LEAST_SEEDS:
        sys.exit(f"{name}: made with {new['seeds']} seeds; the scorecard needs at least {LEAST_SEEDS}")
    old = {entry["id"]: entry for entry in kept["claims"]}
    made = {"version": new["ufsim"], "seed": new["seed"], "seeds": new["seeds"]}
    claims = [{**entry, **made} if is_measured(entry) else old.get(entry["id"], entry) for entry in new["claims"]]
    tables = {name: {"rows": rows, **made} for name, rows in new["tables"].items()}
    return {"claims": claims, "tables": {**kept.get("tables", {}), **tables}}


def is_measured(entry: dict[str, Any]) -> bool:
    """Has a claim a value under any reading?"""
    return any(reading["parts"] for reading in entry["readings"])


def with_tables(text: str, scorecard: dict[str, Any]) -> str:
    """README with the tables that follow from a scorecard."""
    entries = {entry["id"]: entry for entry in scorecard["claims"]}
    text = between(text, VERDICTS, summary_table(entries, "docs/papers/"))
    return between(text, OPPONENTS, numbers_table(scorecard["tables"], "hp-ufs/opponents"))


def between(text: str, marks: tuple[str, str], table: str) -> str:
    """A text with a table between two marks."""
    begin, end = marks
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"


if __name__ == "__main__":
    main()
