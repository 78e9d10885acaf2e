"""What the latencies of HP-UFS Fig. 7 are made of, from docs/data/explain-f7-gc.json: see docs/howto/explain.md."""

import json
from pathlib import Path

from site_markdown import code, table
from ufsim.explain import Band, in_words, made_of
from ufsim.formats import duration

RECORD = Path(__file__).parents[1] / "docs/data/explain-f7-gc.json"
KIND = "write"


def bands() -> str:
    """A table of the bands of each scheme, and the slowest in a sentence."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    rows, told = [], []
    for scheme, found in record["bands"][KIND].items():
        of = [Band(**{key: value for key, value in one.items() if key != "name"}) for one in found]
        rows += [[code(scheme), one.name, duration(one.to_ns), duration(one.mean_ns), made_of(one)] for one in of]
        told.append(f"{code(scheme)}: {in_words(of[-1], KIND)}.\n")
    headings = ("scheme", "writes", "up to>", "mean>", "made of")
    return "\n".join([table(headings, rows), f"Version {code(record['ufsim'])}.\n", *told])
