"""The result of the demo as the documentation shows it, from docs/data/demo.json, which is made with five seeds."""

import io
import json
from functools import cache, partial
from typing import Any

from tools.project import ROOT
from ufsim.results.chance import estimate, told
from ufsim.results.conclusions import conclusion
from ufsim.results.doubts import EVENTS
from ufsim.results.formats import number, ratio
from ufsim.results.result import Comparison, Result, latency_value
from ufsim_papers.markdown import table

RESULT = ROOT / "docs/data/demo.json"
PICTURE = "img/demo.png"


# Parts of a result that no page shows.
LEFT_OUT = ("over_time", "latency_within", "latency_within_by_kind", "groups")


def condensed(document: dict[str, Any]) -> str:
    """The demo's document without what no page shows, as JSON."""
    for result in [*document["results"], *(one for repeats in document["repeats"] for one in repeats)]:
        for part in LEFT_OUT:
            del result[part]
        counters = result["counters"]["device"]
        result["counters"] = {"device": {name: counters[name] for name in (*EVENTS, "gc_steps", "gc_urgent_steps")}}
    del document["over_seeds"]
    return json.dumps(document)


@cache
def comparison() -> Comparison:
    """What the demo gave."""
    return Comparison.from_json(RESULT.read_text(encoding="utf-8"))


def numbers() -> str:
    """The numbers that most readers look for first."""

    def latencies(result: Result) -> list[str]:
        each = [(kind, name) for kind in ("read", "write") for name in ("mean", "p99")]
        us = [partial(in_us, kind=kind, statistic=name) for kind, name in each]
        return [told(estimate(result, value), number) for value in us]

    rows = (
        [
            f"`{result.scheme}`",
            told(estimate(result, lambda one: one.throughput_mib_per_s), number),
            *latencies(result),
            told(estimate(result, lambda one: one.waf["total"]), ratio),
        ]
        for result in comparison()
    )
    head = ("scheme", "MiB/s>", "read mean us>", "read p99 us>", "write mean us>", "write p99 us>", "WAF>")
    return table(head, rows)


def in_us(result: Result, kind: str, statistic: str) -> float | None:
    """A latency in microseconds."""
    found = latency_value(result, kind, statistic)
    return None if found is None else found / 1000


def table_and_picture() -> str:
    """These numbers, the sentence that the demo ends with, and the picture."""
    said = conclusion(comparison())
    return f"{numbers()}\n{said}\n\n![Picture that make demo draws](../{PICTURE})\n"


def pictures() -> dict[str, bytes]:
    """The picture, drawn from the result."""
    import matplotlib

    matplotlib.use("Agg")
    picture = io.BytesIO()
    comparison().plot().savefig(picture, format="png")
    return {PICTURE: picture.getvalue()}
