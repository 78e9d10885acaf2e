"""What pages say of fitted phones: tables from docs/data/calibration, which `make fits` writes."""

from typing import Any

from tools.project import ROOT
from tools.records import kept
from ufsim_papers.markdown import code, table

DATA = ROOT / "docs/data/calibration"
VERDICTS = {"hit": "hit", "hit by interval": "hit (80%)", "miss": "miss"}
STATISTICS = {"p50": "p50", "p99": "p99", "over_8ms": "over 8 ms"}


def calibration(phone: str) -> dict[str, Any]:
    """The committed fit of a phone."""
    document = kept(DATA / f"{phone}.json")
    told: dict[str, Any] = document["calibration"] | {"ufsim": document["ufsim"]}
    return told


def value(statistic: str, number: float) -> str:
    """A statistic with its unit."""
    return f"{number:.1%}" if statistic == "over_8ms" else f"{number / 1e6:,.2f} ms"


def scores(phone: str) -> str:
    """How well the profile follows each trace, cell by cell: as a prediction from the others where there is one."""
    fit = calibration(phone)
    hits = sum(score["verdict"] != "miss" for score in fit["scores"])
    rows = []
    for score in fit["scores"]:
        name = score["statistic"]
        low, high = (value(name, score[end]) for end in ("low", "high"))
        colour = "miss" if score["verdict"] == "miss" else "hit"
        rows.append(
            [
                f"{score['trace']}, {score['requests']:,} {score['kind']}s",
                STATISTICS[name],
                value(name, score["recorded"]),
                f"{low} .. {high}",
                value(name, score["simulated"]),
                f'<span class="{colour}">{VERDICTS[score["verdict"]]}</span>',
            ]
        )
    count = f"{hits} of {len(rows)} are hit (ufsim {fit['ufsim']}, {fit['seeds']} seeds).\n\n"
    of = "left out" if fit["left_out"] else "fitted to" if fit["parameters"] else "application"
    return count + table((of, "statistic", "recorded>", "80% interval>", "simulated>", ""), rows)


def parameters(phone: str) -> str:
    """What was fitted, and what the data says of each value."""
    rows = (
        [
            code(one["key"]),
            f"{one['value']:,} {one['unit']}".rstrip(),
            f"{one['low']:,} .. {one['high']:,}",
            f"{one['interval_low']:,} .. {one['interval_high']:,}",
            one["verdict"],
        ]
        for one in calibration(phone)["parameters"]
    )
    return table(("parameter", "fitted>", "bounds>", "as good>", "data"), rows)


def residuals(phone: str) -> str:
    """Recorded and simulated latencies of 4 KiB requests by idle time before."""
    rows = (
        [
            f"{row['kind']} {row['bin']}",
            f"{row['requests']:,}",
            *(f"{row[f'recorded_{q}_ns'] / 1e3:,.0f} / {row[f'simulated_{q}_ns'] / 1e3:,.0f}" for q in ("p50", "p90")),
            f"{row['recorded_over_8ms']:.0%} / {row['simulated_over_8ms']:.0%}",
        ]
        for row in calibration(phone)["residuals"]
    )
    return table(("idle before", "requests>", "p50, us>", "p90, us>", "over 8 ms>"), rows)
