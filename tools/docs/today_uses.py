"""What recorded applications and a language model gain on a device in use, for the page on devices of today.

`python -m tools docs uses out/uses` keeps, in docs/data/today-uses.json, what `ufsim reproduce today --out out/uses`
has measured.
"""

from pathlib import Path
from typing import Any

import pandas

from tools.project import ROOT
from tools.records import kept, origin
from ufsim.results.chance import Estimate, gain_text
from ufsim_papers.figure import as_svg
from ufsim_papers.markdown import code, table
from ufsim_papers.today import stages, uses

RECORD = ROOT / "docs" / "data" / "today-uses.json"


def measured(book: Path) -> dict[str, Any]:
    """The record, of the data of both figures. What they do not have stays as it was kept; `versions` tells of what."""
    import ufsim

    record = kept(RECORD) if RECORD.exists() else {"versions": {}, "gains": {}}
    frame = pandas.read_parquet(book / "today-uses.parquet")
    found = uses.both(frame)
    new = {condition for cells in found.values() for condition, *_ in cells}
    of_phone = uses.both(frame[frame["condition"].isin(uses.OF_PHONE)], uses.of_all)
    for name, by_kind in (("gains", found), ("of_all", of_phone)):
        for kind, cells in by_kind.items():
            own = record.setdefault(name, {})
            own[kind] = own.get(kind, {}) | nested(cells)
    if (of_stages := book / "today-stages.parquet").exists():
        record["shares"] = stages.shares(pandas.read_parquet(of_stages)).round(1).to_dict("index")
        new.add("shares")
    versions = record.pop("versions") | dict.fromkeys(sorted(new), ufsim.__version__)
    return {**record, **origin(ufsim.__version__), "versions": versions}


def nested(found: uses.Gains) -> dict[str, Any]:
    """Mean and half of the interval as a word each, by condition, scheme and workload."""
    record: dict[str, Any] = {}
    for (condition, workload, scheme), cell in found.items():
        words = " ".join(f"{one or 0.0:.2f}" for one in cell)
        record.setdefault(condition, {}).setdefault(scheme, {})[workload] = words
    return record


def gains(kind: str, name: str = "gains") -> uses.Gains:
    """The same as it was measured."""
    return {
        (condition, workload, scheme): (float(mean), float(half))
        for condition, by_scheme in kept(RECORD)[name][kind].items()
        for scheme, by_workload in by_scheme.items()
        for workload, words in by_workload.items()
        for mean, half in [words.split()]
    }


def picture() -> str:
    """All gains, drawn."""
    return as_svg(uses.drawing({kind: gains(kind) for kind in kept(RECORD)["gains"]}), "today/uses")


def in_use(kind: str) -> str:
    """Gains on the device in use: a row for each workload, with intervals."""
    found = gains(kind)
    cells = {
        workload: [found.get((uses.AS_IT_IS, workload, scheme)) for scheme in uses.COMPARED]
        for workload in uses.WORKLOADS
    }
    rows = [
        [workload, *(gain_text(Estimate(*cell)) for cell in own if cell)] for workload, own in cells.items() if all(own)
    ]
    return table(("", *(f"{code(scheme)}>" for scheme in uses.COMPARED)), rows)


def preconditions() -> str:
    """Gains on the aged phone in the mean over the applications, by what is written before: with intervals."""
    rows = []
    for kind in ("reads", "writes"):
        found = gains(kind, "of_all")
        for condition in uses.OF_PHONE:
            cells = (found[condition, uses.APPLICATIONS, scheme] for scheme in uses.COMPARED)
            rows.append([f"{kind}, {condition}", *(gain_text(Estimate(*cell)) for cell in cells)])
    return table(("", *(f"{code(scheme)}>" for scheme in uses.COMPARED)), rows)


def shares() -> str:
    """Where a mean request's time goes under `ufs`, in per cent."""
    made = kept(RECORD)["shares"]
    rows = [[name, *(f"{share:.1f}" for share in parts.values())] for name, parts in made.items()]
    return table(("", *(f"{group}, %>" for group in stages.GROUPS)), rows)


PARTS = {
    "uses": picture,
    "reads": lambda: in_use("reads"),
    "writes": lambda: in_use("writes"),
    "preconditions": preconditions,
    "stages": shares,
}
