"""MSFTL's Figs. 5 and 6 with GC copies at a given rate, at random places (`what_if.copies_percent`).

The paper's three cuts of all data written mean how many mappings Base-DFTL writes, and so how many places GC moves; no
rule of GC that its words allow gives as many. Here that number is given. Beside it stands the most literal rule.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim_papers import draw
from ufsim_papers.claims import Measured, Option
from ufsim_papers.figure import Point, Setting, figure
from ufsim_papers.msftl.phone import FILLS, TRACES, phone_trace
from ufsim_papers.msftl.replay import COUNTED, FREE, IMPLIED, RANDOM, RULE, Replay, moved_mib
from ufsim_papers.msftl.writes import BASE, COLOURS, MINI, ONE, cut

# An option of `msftl.traces`.
LEFT_OUT = "each left out once"
# The rule that is run here; `rules` has the data written by all of them.
LITERAL = "random chunks once; free blocks run out"


def _cases(setting: Setting) -> Iterator[tuple[str, str, str, str]]:
    """FTL, fill, copies and time of every run. Without copies GC's time means nothing until the drive is full."""
    for fill in ("quarter",) if setting.quick else FILLS:
        for ftl in (BASE, ONE):
            yield from ((ftl, fill, RANDOM, time) for time in (COUNTED, FREE))
            yield from ((ftl, fill, RULE, time) for time in ((COUNTED, FREE) if fill == "full" else (FREE,)))
        yield MINI, fill, RANDOM, FREE


def _runs(setting: Setting) -> list[Point]:
    trace = str(phone_trace(setting, moved_mib=moved_mib(setting.seed)))
    found = []
    for ftl, fill, copies, time in _cases(setting):
        run = Replay(ftl, fill, copies, time, trace, setting.seed)
        # Contents of job and trace stand for their paths.
        inputs = {**asdict(run.spec()), "copies": asdict(run) | {"trace": ""}, "seed": run.seed}
        found.append(Point({"ftl": ftl, "filled": fill, "copies": copies, "time": time}, run, inputs=inputs))
    return found


class Values:
    """What was measured with a seed: totals of all traces, or of all but one."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.rows = {(row["ftl"], row["filled"], row["copies"], row["time"]): row for _, row in frame.iterrows()}
        self.fills = tuple(fill for fill in FILLS if fill in set(frame["filled"]))

    def row(self, ftl: str, fill: str, copies: str, time: str) -> pd.Series:
        """A run; without any copies its time does not hang on theirs."""
        found = self.rows.get((ftl, fill, copies, time))
        return self.rows[ftl, fill, copies, FREE] if found is None else found

    def mean(self, row: pd.Series, without: int | None) -> float:
        """Mean response time."""
        return kept(row["sums_ns"], without) / kept(row["counts"], without)

    def worst(self, row: pd.Series, without: int | None) -> float:
        """Longest response time."""
        return max(float(value) for number, value in enumerate(row["longest_ns"]) if number != without)

    def written(self, row: pd.Series, without: int | None) -> float:
        """Units of user data and mappings."""
        return kept(row["user_units"], without) + kept(row["map_units"], without)


def kept(values: Iterable[float], without: int | None) -> float:
    """A sum without that of a trace."""
    return sum(value for number, value in enumerate(values) if number != without)


def _measure(frame: pd.DataFrame) -> list[Measured]:
    values = Values(frame)
    measured: list[Measured] = []
    for claim, of in (("msftl.f6.avg-response", values.mean), ("msftl.f6.worst-response", values.worst)):
        for copies in (RULE, RANDOM):
            for time in (COUNTED, FREE):
                for without in (None, *range(len(TRACES))):
                    at = {"msftl.gc-copies": copies, "msftl.gc-time": time} | left_out(without)
                    measured += [
                        Measured(
                            claim,
                            cut(
                                of(values.row(ONE, fill, copies, time), without),
                                of(values.row(BASE, fill, copies, time), without),
                            ),
                            part(fill),
                            at=at,
                            case=case(copies, without),
                        )
                        for fill in values.fills
                    ]
    return [*measured, *_volumes(values), *_foils(values), *_beside(values)]


def left_out(without: int | None) -> dict[str, Option]:
    """Where in the maps a trace is left out."""
    return {} if without is None else {"msftl.traces": LEFT_OUT}


def part(fill: str) -> str:
    """The name of a claim's part."""
    return "" if fill == "full" else fill


def case(copies: str, without: int | None) -> str:
    """Which rule of GC, and which trace is left out."""
    left_out = "" if without is None else f"without {TRACES[without][0][-1]}"
    return ", ".join(word for word in (LITERAL if copies == RULE else "", left_out) if word)


def _volumes(values: Values) -> list[Measured]:
    claim = "msftl.f5.phone-vs-mini"
    found = []
    for without in (None, *range(len(TRACES))):
        at = {"msftl.gc-copies": RANDOM} | left_out(without)
        for fill in values.fills:
            one, mini = (values.written(values.row(ftl, fill, RANDOM, FREE), without) for ftl in (ONE, MINI))
            found.append(Measured(claim, cut(one, mini), part(fill), at=at, case=case(RANDOM, without)))
    return found


# Sec. 4.2: what the mini-page FTL's mappings are below Base-DFTL's.
PRINTED = 0.485


def _foils(values: Values) -> list[Measured]:
    """Where the paper's set-up is placed."""
    found = []
    for fill in values.fills:
        base, mini, one = (values.row(ftl, fill, RANDOM, FREE) for ftl in (BASE, MINI, ONE))
        printed = kept(base["user_units"], None) + (1 - PRINTED) * kept(base["map_units"], None)
        slow = [values.mean(values.row(ftl, fill, RANDOM, COUNTED), None) for ftl in (ONE, BASE)]
        late = [values.worst(row, None) for row in (mini, base)]
        foils = (
            ("msftl.f5.phone-vs-mini", cut(values.written(one, None), printed)),
            ("msftl.f6.avg-response", cut(*slow)),
            ("msftl.f6.worst-response", cut(*late)),
        )
        found += [Measured(claim, value, part(fill), role="foil") for claim, value in foils]
    return found


def _beside(values: Values) -> list[Measured]:
    found = []
    for fill in values.fills:
        base, mini, one = (values.row(ftl, fill, RANDOM, FREE) for ftl in (BASE, MINI, ONE))
        share = kept(base["map_units"], None) / kept(base["user_units"], None) * 100
        copied = kept(base["copied_units"], None) / kept(base["user_units"], None) * 100
        told = (
            f"copies {copied:.0f}% of the user data, Base-DFTL's mappings {share:.1f}% "
            f"(implied {IMPLIED[fill] * 100:.0f}%)"
        )
        average = cut(values.mean(mini, None), values.mean(base, None))
        tail = cut(one["p999_ns"], base["p999_ns"])
        total = cut(values.written(one, None), values.written(base, None))
        found += [
            Measured("msftl.f5.phone-vs-mini", total, f"all data below Base-DFTL's, {fill}", told, role="beside"),
            Measured("msftl.f6.avg-response", average, f"mini-page, {fill}", told, role="beside"),
            Measured("msftl.f6.worst-response", tail, f"99.9th percentile, {fill}", told, role="beside"),
        ]
    return found


PAPER = {"mean": (36.3, 43.4, 56.1), "worst": (85.3, 71.6, 65.1), "mini": (8.5, 16.0, 23.0)}


def _draw(frame: pd.DataFrame) -> Drawing:
    drawing, axes = draw.canvas(columns=3, width=4.6, height=3.6)
    values = Values(frame)
    rows = {fill: [values.row(ftl, fill, RANDOM, FREE) for ftl in (BASE, MINI, ONE)] for fill in values.fills}
    tables = {
        "mean": (
            "mean response below Base-DFTL's (%)",
            {f: cut(values.mean(r[2], None), values.mean(r[0], None)) for f, r in rows.items()},
        ),
        "worst": (
            "worst response below Base-DFTL's (%)",
            {f: cut(values.worst(r[2], None), values.worst(r[0], None)) for f, r in rows.items()},
        ),
        "mini": (
            "all data below mini-page's (%)",
            {f: cut(values.written(r[2], None), values.written(r[1], None)) for f, r in rows.items()},
        ),
    }
    for each, (name, (label, cuts)) in zip(axes, tables.items(), strict=True):
        bars = each.bar(range(len(cuts)), list(cuts.values()), color=COLOURS[ONE], width=0.55, label=ONE)
        each.bar_label(bars, fmt="%.1f", fontsize=8)
        draw.paper_points(each, range(len(cuts)), PAPER[name][: len(cuts)])
        each.set_xticks(range(len(cuts)), list(cuts))
        each.set_ylabel(label)
        draw.legend(each)
    return drawing


COPIES = figure("msftl/copies", runs=_runs, draw=_draw, measure=_measure)

FIGURES = (COPIES,)
