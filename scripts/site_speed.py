"""The page of measured speed, made from the files that `make bench JSON=benchmarks/NAME.json` writes."""

import json
from pathlib import Path
from statistics import median
from typing import Any

from site_markdown import code, table

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def page_tables(directory: Path = BENCHMARKS) -> str:
    """A table for each file, the newest first; or the sentence that nothing was measured."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(directory.glob("*.json"))]
    documents.sort(key=lambda document: document["date"], reverse=True)
    if not documents:
        return "No measurement is committed yet: `make bench JSON=benchmarks/NAME.json` makes one.\n"
    return "\n".join(one(document) for document in documents)


def one(document: dict[str, Any]) -> str:
    """The measurement of one machine."""
    machine = document["machine"]
    head = (
        f"### {document['date']}: ufsim {document['version']}, {machine['processor']}\n\n"
        f"Commit `{document['commit']}`, {document['rustc']}, {machine['cpus']} processors, {machine['system']}. "
        "Medians over the runs of a case; memory is the largest.\n\n"
    )
    rows = [row(name, case["runs"]) for name, case in document["cases"].items()]
    return head + table(("case", "runs>", "requests/s>", "flash operations/s>", "CPU s>", "peak MiB>"), rows)


def row(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """One case."""
    peaks = [run["peak_mib"] for run in runs if run["peak_mib"]]
    rates = [median(run[key] for run in runs) for key in ("requests_per_second", "flash_ops_per_second")]
    seconds = median(run["cpu_seconds"] for run in runs)
    return [
        code(name),
        str(len(runs)),
        *(f"{rate:,.0f}" for rate in rates),
        f"{seconds:.1f}",
        str(max(peaks, default="")),
    ]
