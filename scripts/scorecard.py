"""Brings docs/data/scorecard.json up to date: `scripts/scorecard.py out/reproduce/scorecard.json [...]`.

`ufsim reproduce` writes such a file for the figures that it was asked for. Claims that it has measured replace those in
the committed file; the others stay as they are, each with the version that measured it.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parents[1] / "docs/data/scorecard.json"
NOT_YET = "not yet"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("measured", nargs="+", type=Path, help="files that `ufsim reproduce` has written")
    chosen = options.parse_args()
    kept = read(KEPT) if KEPT.exists() else {"claims": []}
    for path in chosen.measured:
        kept = merged(kept, read(path), str(path))
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    words = [entry["verdict"] for entry in kept["claims"]]
    print(f"{KEPT.name}: {words.count('hit')} hits, {words.count('miss')} misses, {words.count(NOT_YET)} not measured")


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def merged(kept: dict[str, Any], new: dict[str, Any], name: str) -> dict[str, Any]:
    """The claims of `new`, with those of `kept` where `new` has not measured any."""
    if new["quick"]:
        sys.exit(f"{name}: made with --quick; the scorecard holds full measurements")
    old = {entry["id"]: entry for entry in kept["claims"]}
    version = new["ufsim"]
    claims = []
    for entry in new["claims"]:
        measured = {**entry, "version": version}
        claims.append(old.get(entry["id"], entry) if entry["verdict"] == NOT_YET else measured)
    return {"seed": new["seed"], "claims": claims}


if __name__ == "__main__":
    main()
