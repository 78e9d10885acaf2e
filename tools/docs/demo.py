"""The result of `make demo` as the documentation shows it, from docs/data/demo.json, a copy of out/demo.json."""

import io
from functools import cache

from tools.project import ROOT
from ufsim.demo import what_to_look_at
from ufsim.results import Comparison
from ufsim_papers.markdown import table

RESULT = ROOT / "docs/data/demo.json"
PICTURE = "img/demo.png"


@cache
def comparison() -> Comparison:
    """What the demo gave."""
    return Comparison.from_json(RESULT.read_text(encoding="utf-8"))


def numbers() -> str:
    """The numbers that most readers look for first."""
    frame = comparison().table()
    rows = (
        [
            f"`{name}`",
            f"{row.throughput_mib_per_s:,.1f}",
            f"{row.read_mean_ns / 1000:,.0f}",
            f"{row.read_p99_ns / 1000:,.0f}",
            f"{row.write_mean_ns / 1000:,.0f}",
            f"{row.write_p99_ns / 1000:,.0f}",
            f"{row.waf_total:.2f}",
        ]
        for name, row in frame.iterrows()
    )
    head = ("scheme", "MiB/s>", "read mean us>", "read p99 us>", "write mean us>", "write p99 us>", "WAF>")
    return table(head, rows)


def table_and_picture() -> str:
    """These numbers, the sentence that the demo ends with, and the picture."""
    said = what_to_look_at(comparison())
    return f"{numbers()}\n{said}\n\n![Picture that make demo draws](../{PICTURE})\n"


def pictures() -> dict[str, bytes]:
    """The picture, drawn from the result."""
    import matplotlib

    matplotlib.use("Agg")
    picture = io.BytesIO()
    comparison().plot().savefig(picture, format="png")
    return {PICTURE: picture.getvalue()}
