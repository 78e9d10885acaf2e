"""HP-UFS, Fig. 11: recovery after a power cut."""

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ufsim import recovery, worst_recovery
from ufsim_papers import draw
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Point, Setting, cell, figure

SEGMENTS = (1024, 2048, 4096, 8192, 16384, 32768)
PAGES = (4096, 8192, 16384, 32768)
# Under which limits a device is filled, runs and is cut: those of the sweep; the profile's; these but for host memory.
SWEEP = "of the sweep"
OWN = "of the profile"
CACHED = "of the profile, all segments cached"
SHORT = {OWN: "the profile's own", CACHED: "all segments cached"}
PARTS = {
    "directory_ms": ("metadata directory", "#c6cdd8"),
    "scan_ms": ("data page scan", "#8896ab"),
    "segment_read_ms": ("segment read", "#fb6a4a"),
    "update_ms": ("update", "#fdae6b"),
    "segment_write_ms": ("segment write", "#cb181d"),
}

# Those that hang on the number of segments.
OF_SEGMENTS = ("segment_read_ms", "update_ms", "segment_write_ms")


def worst(unlimited_memory: bool) -> dict[str, Any]:
    """The longest recovery that a run under the profile's limits can need, labelled with what it has found."""
    found = worst_recovery(unlimited_memory=unlimited_memory)
    return {"segments": found["recovered_segments"], "pages": found["scanned_pages"], **found}


def _runs(setting: Setting) -> list[Point]:
    by_segments = [(segments, 32768) for segments in (SEGMENTS[::5] if setting.quick else SEGMENTS)]
    by_pages = [(4096, pages) for pages in (PAGES[::3] if setting.quick else PAGES)]
    sweep = [
        Point(
            {"limits": SWEEP, "segments": segments, "pages": pages},
            partial(recovery, segments, pages),
            inputs={"recovery": [segments, pages]},
        )
        for segments, pages in dict.fromkeys(by_segments + by_pages)
    ]
    own = Point({"limits": OWN}, partial(worst, False), inputs={"worst_recovery": False})
    cached = Point({"limits": CACHED}, partial(worst, True), inputs={"worst_recovery": True})
    return [*sweep, own] if setting.quick else [*sweep, own, cached]


def _draw(frame: pd.DataFrame) -> Drawing:
    figure, panels = draw.canvas(columns=3, width=4.6)
    sweep, top = frame[frame["limits"] == SWEEP], max(frame["total_ms"].max() * 1.15, 330)
    by_segments = sweep[sweep["pages"] == 32768].sort_values("segments")
    by_pages = sweep[sweep["segments"] == 4096].sort_values("pages")
    runs = frame[frame["limits"] != SWEEP]
    found = zip(runs["limits"], runs["segments"], runs["pages"], strict=True)
    names = [f"{SHORT[limits]}\n{segments} segments,\n{pages} pages" for limits, segments, pages in found]
    _bars(panels[0], by_segments, [str(value) for value in by_segments["segments"]])
    _bars(panels[1], by_pages, [str(value) for value in by_pages["pages"]])
    _bars(panels[2], runs, names)
    labels = ("recovered segments (32768 pages)", "scanned pages (4096 segments)", "worst cut under the limits")
    for axes, label in zip(panels, labels, strict=True):
        axes.set_ylim(0, top)
        axes.set_xlabel(label)
        axes.set_ylabel("recovery (ms)")
    draw.paper_points(panels[0], [len(by_segments) - 1], [300], "paper: about 300 ms")
    panels[0].legend(fontsize=8, frameon=False, loc="upper left")
    return figure


def _bars(axes: Axes, rows: pd.DataFrame, names: list[str]) -> None:
    """A bar for each row, of the parts of its recovery."""
    draw.stacked(axes, rows.set_axis(names), PARTS)
    axes.set_xlim(-0.6, max(len(rows), 2) - 0.4)


def _measure(frame: pd.DataFrame) -> list[Measured]:
    sweep = frame[frame["limits"] == SWEEP].set_index(["segments", "pages"])
    total = sweep["total_ms"]
    runs = frame[frame["limits"] != SWEEP].set_index("limits")
    found = [
        f"{row['segments']:.0f} segments, {row['pages']:.0f} pages, {row['total_ms']:.1f} ms with the limits {limits}"
        for limits, row in runs.iterrows()
    ]
    claim, most = "hp-ufs.f11.recovery", float(total[32768, 32768])
    return [
        Measured(claim, most, told="; ".join(found)),
        Measured(claim, most < 1500, "below 1500 ms"),
        Measured(claim, cell(runs, OWN, "total_ms"), role="foil"),
        _dominate(total),
        # A recovery that keeps what it finds in memory does nothing with segments.
        replace(_dominate(total - sweep[list(OF_SEGMENTS)].sum(axis=1)), role="foil"),
    ]


def _dominate(total: pd.Series) -> Measured:
    """Does recovery grow more with the segments than with the pages?"""
    by_segments = total[32768, 32768] - total[1024, 32768]
    by_pages = total[4096, 32768] - total[4096, 4096]
    told = f"{by_segments:.0f} ms more for segments, {by_pages:.0f} ms more for pages"
    return Measured("hp-ufs.f11.segments-dominate", bool(by_segments > by_pages), told=told)


F11 = figure("hp-ufs/f11", runs=_runs, draw=_draw, measure=_measure)

FIGURES = (F11,)
