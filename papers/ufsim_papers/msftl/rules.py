"""MSFTL's Fig. 5 under every fill and every rule of GC that the paper's words allow.

The paper writes "a certain amount of data with the synthesized random pattern in advance", a quarter, half or all of
the drive, and its three cuts mean mappings of 0.52, 1.1 and 1.75 times the user data.
"""

import copy
import inspect
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim_papers import draw
from ufsim_papers.claims import Measured, Option
from ufsim_papers.figure import Point, Setting, figure
from ufsim_papers.msftl import drive
from ufsim_papers.msftl.copies import kept, left_out, part
from ufsim_papers.msftl.drive import BLOCK_UNITS, CAPACITY_UNITS, CHUNK_UNITS, Drive, Units, replayed, units_of
from ufsim_papers.msftl.phone import FILLS, TRACES, phone_trace
from ufsim_papers.msftl.replay import IMPLIED
from ufsim_papers.msftl.writes import cut

# Options of the claim's conditions.
ONCE, AGAIN, SKEWED, WITHIN = "random chunks once", "with repetition", "skewed 9:1", "in a part of the space"
RUN_OUT, WRITTEN, EVERY = "free blocks run out", "no unwritten block free", "with every full update block (Sec. 3.4)"
WAYS, BEGINS = (ONCE, AGAIN, SKEWED, WITHIN), (RUN_OUT, WRITTEN, EVERY)
NOTHING = "no fill at all"
SHARES = {"quarter": 0.25, "half": 0.5, "full": 1.0}
CHUNKS = CAPACITY_UNITS // CHUNK_UNITS


def chunks(way: str, share: float, rng: np.random.Generator) -> Units:
    """The chunks that a fill writes, in order."""
    n, hot = int(CHUNKS * share), CHUNKS // 10
    if way == ONCE:
        order = np.arange(CHUNKS, dtype=np.int32)
        rng.shuffle(order)
        return order[:n]
    if way == SKEWED:
        drawn = rng.integers(hot, CHUNKS, n, dtype=np.int32)
        is_hot = rng.random(n) < 0.9
        drawn[is_hot] = rng.integers(0, hot, int(is_hot.sum()), dtype=np.int32)
        return drawn
    return rng.integers(0, n if way == WITHIN else CHUNKS, n, dtype=np.int32)


@dataclass(frozen=True)
class Case:
    """The traces on a drive that was filled in a way, with each rule of GC."""

    way: str
    filled: str
    seed: int
    trace: str

    def __call__(self) -> dict[str, Any]:
        """By rule: units of user data, of copies, and of each FTL's mappings, a number for each trace."""
        units, traces = writes_of(self.trace)
        written = self.written()
        found: dict[str, Any] = {}
        filled = Drive()
        filled.fill_at_once(written)
        for begins in BEGINS:
            own = copy.deepcopy(filled)
            if begins == EVERY and self.way in (AGAIN, SKEWED, WITHIN):
                # A block at a time: what has become invalid is collected meanwhile.
                own = Drive(every=True)
                units_written = units_of(written)
                for start in range(0, len(units_written) // BLOCK_UNITS * BLOCK_UNITS, BLOCK_UNITS):
                    own.write_block(units_written[start : start + BLOCK_UNITS])
                    own.copied.clear()
            own.every = begins == EVERY
            if begins == WRITTEN:
                own.leave_unwritten()
            found[begins] = replayed(own, units, traces, len(TRACES))
        return found

    def written(self) -> Units:
        """The chunks that the fill writes, in order."""
        if self.way == NOTHING:
            return np.zeros(0, np.int32)
        rng = np.random.default_rng([self.seed, WAYS.index(self.way)])
        return chunks(self.way, SHARES[self.filled], rng)


@cache
def writes_of(trace: str) -> tuple[Units, Units]:
    """The units that the traces write, in order, and the trace of each."""
    rows = pd.read_csv(trace, usecols=["op", "sector", "bytes", "process"], dtype={"process": str}, comment="#")
    rows = rows[rows["op"] == "write"]
    first, length = rows["sector"].to_numpy() // 8, (rows["bytes"].to_numpy() + 4095) // 4096
    ends = np.cumsum(length)
    within = np.arange(ends[-1]) - np.repeat(ends - length, length)
    units = (np.repeat(first, length) + within).astype(np.int32)
    return units, np.repeat(rows["process"].astype(int).to_numpy(), length).astype(np.int32)


def _runs(setting: Setting) -> list[Point]:
    path = phone_trace(setting, moved_mib=0)
    cases = [(ONCE, "full")] if setting.quick else [(way, fill) for way in WAYS for fill in FILLS]
    found = []
    for way, fill in [*cases, (NOTHING, "full")]:
        case = Case(way, fill, setting.seed, str(path))
        # The name of the traces' file stands for its contents.
        inputs = {**asdict(case), "trace": path.name, "drive": inspect.getsource(drive)}
        found.append(Point({"way": way, "filled": fill}, case, inputs=inputs))
    return found


def below(row: pd.Series, ftl: str, without: int | None, *, copied: bool = False) -> float:
    """All data of MSFTL-1KiB below another FTL's, of all traces or all but one; with GC's copies, too, if asked."""
    user = kept(row["user"], without) + (kept(row["copied"], without) if copied else 0)
    return cut(user + kept(row["one"], without), user + kept(row[ftl], without))


def _measure(frame: pd.DataFrame) -> list[Measured]:
    rows = {
        (row["way"], begins, row["filled"]): pd.Series({**row[begins], "filled": row["filled"]})
        for _, row in frame.iterrows()
        for begins in BEGINS
    }
    nothing = rows[NOTHING, RUN_OUT, "full"]
    total, versus = "msftl.f5.phone-total", "msftl.f5.phone-vs-mini"
    measured = [Measured(total, below(nothing, "base", None), role="foil")]
    for way, begins in dict.fromkeys((way, begins) for way, begins, _ in rows if way != NOTHING):
        own = {fill: rows[way, begins, fill] for fill in FILLS if (way, begins, fill) in rows}
        for without in (None, *range(len(TRACES))):
            name = "" if without is None else f"without {TRACES[without][0][-1]}"
            at: dict[str, Option] = {"fill": way, "GC begins": begins} | left_out(without)
            cuts = {fill: below(row, "base", without) for fill, row in own.items()}
            measured += [Measured(total, value, part(fill), told(own[fill]), at, name) for fill, value in cuts.items()]
            if set(FILLS) <= set(cuts):
                rising = cuts["quarter"] < cuts["half"] < cuts["full"]
                measured.append(Measured(total, rising, "rising", at=at, case=name))
            rule = ", ".join(word for word in (f"{way}; {begins}", name) if word)
            measured += [
                Measured(versus, below(row, "mini", without), part(fill), at=left_out(without), case=rule)
                for fill, row in own.items()
            ]
    return measured


def told(row: pd.Series) -> str:
    """What stands behind a cut."""
    user, copied, base = (kept(row[name], None) for name in ("user", "copied", "base"))
    with_copies = below(row, "base", None, copied=True)
    return (
        f"copies {copied / user:.2f} times the user data, Base-DFTL's mappings {base / user * 100:.1f}% "
        f"(implied {IMPLIED[row['filled']] * 100:.0f}%); with what GC has copied {with_copies:.1f}%"
    )


def _draw(frame: pd.DataFrame) -> Drawing:
    drawing, axes = draw.canvas(columns=3, width=5.0, height=3.8)
    frame = frame[frame["way"] != NOTHING]
    for each, begins in zip(axes, BEGINS, strict=True):
        share = [kept(row["base"], None) / kept(row["user"], None) * 100 for row in frame[begins]]
        table = frame.assign(share=share).pivot(index="filled", columns="way", values="share")
        table = table.reindex([fill for fill in FILLS if fill in table.index])[[way for way in WAYS if way in table]]
        draw.grouped_bars(
            each,
            table,
            labels=False,
            colours=dict(zip(WAYS, ("#333333", "#e69f00", "#56b4e9", "#009e73"), strict=True)),
        )
        draw.paper_points(
            each, range(len(table)), [IMPLIED[str(fill)] * 100 for fill in table.index], "paper (implied)"
        )
        each.set_title(f"GC: {begins}", fontsize=9)
        each.set_ylabel("Base-DFTL's mappings over user data (%)")
        each.legend(fontsize=7, frameon=False)
    return drawing


RULES = figure("msftl/rules", runs=_runs, draw=_draw, measure=_measure)

FIGURES = (RULES,)
