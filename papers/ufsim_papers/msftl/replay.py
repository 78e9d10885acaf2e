"""A replay of MSFTL's smartphone traces on a filled drive, with GC copies by rule or at a given rate."""

import math
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

import ufsim
from ufsim import Spec, StateCache
from ufsim_papers.figure import Setting, Value
from ufsim_papers.folders import job
from ufsim_papers.msftl.phone import FILLED
from ufsim_papers.msftl.writes import spec

# Options of `msftl.gc-copies` and `msftl.gc-time`.
RULE = "each rule of GC and fill that the text allows"
RANDOM = "at random, so many that Base-DFTL's mappings are as implied"
COUNTED, FREE = "counted", "free"
# Base-DFTL's mappings over user data that the three cuts of `msftl.f5.phone-total` mean.
IMPLIED = {"quarter": 0.52, "half": 1.1, "full": 1.75}
# What user data alone make Base-DFTL write (Fig. 5 without GC).
OF_USER_DATA = 0.019
# What GC of translation blocks and directories add to what flushes write (Fig. 4, 5:5).
WITH_MOVED = 1.024
# NAND pages of a flush, and of the drive: each translation page of 16 KiB stands for 16 MiB of data.
FLUSH_PAGES, TRANSLATION_PAGES = 576, 129_168 // 16
# Blocks beside the drive's 15,040 that take the copies when it is full, so that GC's own do not come to these.
SPARE_BLOCKS = 2_000
# The fill's own seed: it is paid for once. Seeds of the figure lay the traces over other chunks of it.
FILL_SEED = 1
# Traces may be moved by so many MiB and stay on the drive, by whole translation pages.
ROOM_MIB, STEP_MIB = 7_200, 16
SERIES_STEP = "20ms"
SERIES_STEP_NS = 20_000_000


def rate_percent(fill: str) -> int:
    """Copied pages for every 100 pages of user data with which Base-DFTL's mappings are as implied (closed form).

    Of n places at random, N (1 - (1 - 1/N)^n) of N translation pages hold one.
    """
    distinct = (IMPLIED[fill] / WITH_MOVED - OF_USER_DATA) * FLUSH_PAGES
    places = math.log(1 - distinct / TRANSLATION_PAGES) / math.log(1 - 1 / TRANSLATION_PAGES)
    return round(100 * places / FLUSH_PAGES)


def moved_mib(seed: int) -> int:
    """By how much the traces are moved with this seed."""
    return random.Random(seed).randrange(ROOM_MIB // STEP_MIB) * STEP_MIB


@dataclass(frozen=True)
class Replay:
    """The traces, one request at a time, on a drive filled before."""

    ftl: str
    filled: str
    copies: str
    time: str
    trace: str
    seed: int

    def spec(self) -> Spec:
        """What is simulated; `age` fills the drive."""
        setting = Setting(seed=FILL_SEED)
        at_random = self.copies == RANDOM
        room: dict[str, Value] = {"nand.data_superblocks": 15_040 + SPARE_BLOCKS}
        settings: dict[str, Value] = room if at_random and self.filled == "full" else {}
        settings |= {"what_if.copies_percent": rate_percent(self.filled)} if at_random else {}
        settings |= {"what_if.free": "gc"} if self.time == FREE else {}
        age = job("msftl/age", IO_SIZE=FILLED[self.filled])
        return replace(spec(self.trace, self.ftl, setting, settings), replay="closed", depth=1, age=age)

    def __call__(self) -> dict[str, Any]:
        """Response times and data written, of each trace."""
        aged = replace(StateCache().aged(self.spec()), seed=self.seed)
        with TemporaryDirectory() as folder:
            series = Path(folder) / "series.parquet"
            result = ufsim.run(**asdict(aged), cache=False, log=True, series=series, step=SERIES_STEP)
            assert isinstance(result, ufsim.Result)
            columns = of_traces(result.requests(), pd.read_parquet(series), result.counters["device"])
        return columns | {"digest": result.digest}


def of_traces(requests: pd.DataFrame, series: pd.DataFrame, counters: Mapping[str, int]) -> dict[str, Any]:
    """Lists with an entry for each trace: requests, sum and maximum of their times, and what was written meanwhile.

    `series` counts all metadata; records of blocks, which the paper does not have, are taken off alike everywhere.
    """
    number = requests["process"].astype(str).astype(int)
    times = requests["latency_ns"].groupby(number)
    begins = requests["arrival_s"].groupby(number).min().sort_index() * 1e9
    at = begins.searchsorted(series["at_ns"].to_numpy() + SERIES_STEP_NS / 2, side="right").clip(1) - 1
    sums = series[["data_units_programmed", "map_units_programmed", "gc_units_programmed"]].groupby(at).sum()
    sums = sums.reindex(range(len(begins)), fill_value=0)
    own = ("pmt_flush_units", "pmt_moved_units", "pmt_directory_units")
    mapped = sum(counters[name] for name in own)
    share = mapped / max(1, int(sums["map_units_programmed"].sum()))
    return {
        "counts": times.count().sort_index().astype(float).tolist(),
        "sums_ns": times.sum().sort_index().astype(float).tolist(),
        "longest_ns": times.max().sort_index().astype(float).tolist(),
        "user_units": sums["data_units_programmed"].astype(float).tolist(),
        "copied_units": sums["gc_units_programmed"].astype(float).tolist(),
        "map_units": (sums["map_units_programmed"] * share).tolist(),
        "p999_ns": float(requests["latency_ns"].quantile(0.999)),
    }
