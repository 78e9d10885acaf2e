"""The tables of `ufsim calibrate`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ufsim.calibration.calibration import Calibration
from ufsim.calibration.residuals import VIEWS, residuals
from ufsim.calibration.score import Score
from ufsim.results.formats import duration, plural

# Columns that the tables need with all that they can show.
WIDE = 108
STATISTICS = {"p50": "p50", "p99": "p99", "over_8ms": "over 8 ms"}
VERDICTS = {"hit": "hit", "hit by interval": "hit (80%)", "miss": "MISS"}
STYLES = {"hit": "green", "hit by interval": "green", "miss": "bold red"}
TITLES = {
    "idle": "4 KiB, by idle time before",
    "size": "After less than 0.8 ms of idleness, by size",
    "depth": "By requests outstanding on arrival",
    "flag": "By flag",
}


def print_calibration(console: Console, calibration: Calibration) -> None:
    """Prints residuals, fit, losses, scores and warnings; fewer columns where the terminal is narrow."""
    wide = console.width >= WIDE
    rows = residuals(calibration.recordings, calibration.runs)
    for view in VIEWS:
        console.print(residuals_table([row for row in rows if row["view"] == view], TITLES[view], wide=wide))
    if calibration.parameters:
        console.print(parameters_table(calibration, wide=wide))
    console.print(losses_table(calibration))
    console.print(score_table(calibration, wide=wide))
    for warning in calibration.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))


def empty(title: str, columns: Iterable[str], left: int = 1) -> Table:
    """A table without rows; its first columns are words."""
    look: dict[str, Any] = {"box": box.SIMPLE_HEAVY, "pad_edge": False, "padding": (0, 0, 0, 1)}
    table = Table(title=Text(title), title_justify="left", **look)
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < left else "right", no_wrap=True)
    return table


def residuals_table(rows: Sequence[Mapping[str, Any]], title: str, *, wide: bool = True) -> Table:
    """Recorded and simulated quantiles side by side, a row for each kind and bin."""
    quantiles = ("p10", "p50", "p90") if wide else ("p50", "p90")
    table = empty(f"{title}: recorded / simulated, us", ["", "n", *quantiles, "over 8 ms", "error"])
    for place, row in enumerate(rows):
        ends = place + 1 < len(rows) and rows[place + 1]["kind"] != row["kind"]
        table.add_row(f"{row['kind']} {row['bin']}", f"{row['requests']:,}", *both(row, quantiles), end_section=ends)
    return table


def both(row: Mapping[str, Any], quantiles: Iterable[str]) -> list[str]:
    """Cells of both sides."""
    cells = [
        f"{row[f'recorded_{name}_ns'] / 1e3:,.0f} / {row[f'simulated_{name}_ns'] / 1e3:,.0f}" for name in quantiles
    ]
    return [*cells, f"{row['recorded_over_8ms']:.2f} / {row['simulated_over_8ms']:.2f}", f"{row['log_error']:.2f}"]


def parameters_table(calibration: Calibration, *, wide: bool = True) -> Table:
    """The fitted values with what the data says of them."""
    more = ["began", "bounds"] if wide else []
    table = empty("Fitted parameters", ["", *more, "fitted", "as good", "data"])
    for one in calibration.parameters:
        interval = f"{one.interval_low:,} .. {one.interval_high:,}"
        extra = [f"{one.start:,}", f"{one.low:,} .. {one.high:,}"] if wide else []
        table.add_row(one.key, *extra, f"{one.value:,} {one.unit}".rstrip(), interval, one.verdict)
    return table


def losses_table(calibration: Calibration) -> Table:
    """The loss of each trace, and of each that was left out."""
    table = empty("Loss", ["", "requests", "loss", *(["left out"] if calibration.folds else [])])
    outside = {fold.left_out: fold.left_out_loss for fold in calibration.folds}
    for place, one in enumerate(calibration.recordings):
        more = [f"{outside[one.name]:.3f}"] if outside else []
        cells = [one.name, f"{len(one):,}", f"{calibration.losses[one.name]:.3f}", *more]
        table.add_row(*cells, end_section=place + 1 == len(calibration.recordings))
    before = f" (before the fit {calibration.first_loss:.3f})" if calibration.fit else ""
    more = [f"{sum(outside.values()) / len(outside):.3f}"] if outside else []
    table.add_row(f"mean{before}", "", f"{calibration.loss:.3f}", *more)
    return table


def score_table(calibration: Calibration, *, wide: bool = True) -> Table:
    """Verdicts: a row for each trace, kind and statistic."""
    hits = sum(score.hits for score in calibration.scores)
    how = "each trace under a fit to the others" if calibration.folds else "all traces"
    if calibration.fit and not calibration.folds:
        how = "traces that it was fitted to"
    seeds = plural(calibration.seeds, "seed")
    more = ["off"] if wide else []
    columns = ["", "recorded", "80% interval", "simulated", *more, ""]
    table = empty(f"{hits} of {len(calibration.scores)} hit; {how}, {seeds}", columns)
    last = ("", "")
    for score in calibration.scores:
        if (score.trace, score.kind) != last:
            last = (score.trace, score.kind)
            table.add_section()
            table.add_row(f"{score.trace}, {score.requests:,} {score.kind}s")
        verdict = Text(VERDICTS[score.verdict], style=STYLES[score.verdict])
        table.add_row(f"  {STATISTICS[score.statistic]}", *cells_of(score)[: 4 if wide else 3], verdict)
    return table


def cells_of(score: Score) -> list[str]:
    """Values of a score in the unit that suits them: recorded, its interval, simulated, how far that is off."""
    if score.statistic == "over_8ms":
        points = (score.simulated - score.recorded) * 100
        share = "{:.1%}".format
        interval = f"{share(score.low)} .. {share(score.high)}"
        return [share(score.recorded), interval, share(score.simulated), f"{points:+.1f} pts"]
    off = (score.simulated / score.recorded - 1) * 100
    interval = f"{duration(score.low)} .. {duration(score.high)}"
    return [duration(score.recorded), interval, duration(score.simulated), f"{off:+.0f} %"]
