"""The command `ufsim reproduce`."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

import ufsim
from ufsim import RunStore, StateCache, outputs
from ufsim.commands import CacheOption, CountDisplay, JobsOption, JsonOption, Screen, run_option, say

if TYPE_CHECKING:
    from ufsim_papers.book import Book
    from ufsim_papers.claims import Outcome
    from ufsim_papers.figure import Setting

VERDICT_STYLES = {"firm": "green", "fragile": "yellow", "miss": "bold red", "not yet": "dim"}


def reproduce(
    *,
    wishes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PAPER[/FIGURE]]...", help="Papers and figures, such as hpb or hp-ufs/f7."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer points: a minute or two instead of many.")] = False,
    scorecard: Annotated[
        bool, typer.Option("--scorecard", help="Measure with five seeds, and print all claims with their verdicts.")
    ] = False,
    seed: Annotated[int, run_option("seed")] = 1,
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Seeds, from --seed on, for claims with chance in them. (default: 5 with --scorecard, else 1)",
        ),
    ] = None,
    traces: Annotated[
        Path | None,
        typer.Option(metavar="DIR", envvar="UFSIM_TRACES", help="Directory of the traces: pixel4-hpufs, server, ..."),
    ] = None,
    verify: Annotated[bool, run_option("verify")] = False,
    jobs: JobsOption = None,
    cache: CacheOption = True,
    formats: Annotated[
        str, typer.Option("--format", metavar="NAME,...", help="What figures are written as: png, pdf, csv, tex.")
    ] = "png",
    as_json: JsonOption = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Directory for report, data and drawings.")] = Path(
        "out/reproduce"
    ),
) -> None:
    """Measure the papers' figures again, and check what the papers claim.

    Results of runs are kept in the directory, so that what was interrupted goes on where it stopped. The report has
    the figures of earlier commands in it, too, if they were made with the same options by this version.
    """
    from ufsim_papers.book import FORMATS
    from ufsim_papers.book import reproduce as make_book
    from ufsim_papers.claims import LEAST_SEEDS
    from ufsim_papers.figure import Setting

    outputs.ready(out)
    written_as = [name.strip() for name in formats.split(",")]
    if unknown := [name for name in written_as if name not in FORMATS]:
        raise ufsim.ConfigError(f"--format is '{unknown[0]}'; allowed: {', '.join(FORMATS)}, with commas between")
    seeds = (LEAST_SEEDS if scorecard else 1) if seeds is None else seeds
    setting = Setting(quick=quick, traces=traces, seed=seed, seeds=seeds, verify=verify)
    states, store = (StateCache(), RunStore(out / "runs")) if cache else (None, None)
    with CountDisplay("runs") as progress:
        earlier = figures_of(out, setting) if wishes and cache else []
        wanted = [*(wishes or []), *earlier]
        book = make_book(wanted, setting, jobs=jobs, cache=states, store=store, progress=progress)
    try:
        written = f"report: {book.write(out, written_as)}"
    except outputs.Unwritten as error:
        raise outputs.Unwritten(error.failures, printed=True) from error
    finally:
        if as_json:
            print(book.to_json())
        else:
            print_book(Screen(), book, scorecard=scorecard)
    if not as_json:
        say(written)


def figures_of(directory: Path, setting: "Setting") -> list[str]:
    """The figures of the report in a directory, if this version has made it with the same options."""
    from ufsim_papers.registry import FIGURES

    try:
        told = json.loads((directory / "scorecard.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    alike = {"ufsim": ufsim.__version__, "quick": setting.quick, "seed": setting.seed, "seeds": setting.seeds}
    known = {figure.id for figure in FIGURES}
    same = isinstance(told, dict) and all(told.get(name) == value for name, value in alike.items())
    return [name for name in told.get("figures", []) if name in known] if same else []


def print_book(console: Screen, book: "Book", *, scorecard: bool) -> None:
    """Prints the claims that were measured, or all, and the figures that were left out."""
    shown = book.outcomes if scorecard else [outcome for outcome in book.outcomes if outcome.measured]
    if shown:  # a figure may ask what no paper claims
        console.print(claims_table(shown))
    for drawn in book.figures:
        if drawn.missing:
            say(f"{drawn.figure.id}: {drawn.missing}")


def claims_table(outcomes: "Iterable[Outcome]") -> Table:
    """Claims with the paper's value, the band, what was measured under each reading, and the verdict."""
    from ufsim_papers.claims import counted

    outcomes = list(outcomes)
    title = f"{counted(outcome.verdict for outcome in outcomes)} claims"
    table = Table(box=box.SIMPLE, title=title, title_justify="left", pad_edge=False)
    for heading in ("claim", "paper", "band", "measured", "verdict"):
        table.add_column(heading, no_wrap=heading in ("claim", "band", "verdict"))
    for outcome in outcomes:
        verdict = Text(outcome.verdict, style=VERDICT_STYLES[outcome.verdict])
        claim = outcome.claim
        table.add_row(claim.id, claim.paper_value(), claim.band_text(), readings_text(outcome), verdict)
    return table


def readings_text(outcome: "Outcome") -> Text:
    """What was measured of a claim: a line for each part, below the reading's name where there are several."""
    cells = Text()
    for reading in outcome.readings if outcome.measured else []:
        if len(outcome.readings) > 1 or not reading.parts:
            cells.append("\n" if cells else "").append(reading.name, style="italic")
        if not reading.parts:
            cells.append(": not measured", style=VERDICT_STYLES["not yet"])
        for part in reading.parts:
            what = f"{part.name}: " if part.name else ""
            style = "" if part.in_band else VERDICT_STYLES["miss"]
            cells.append("\n" if cells else "").append(what).append(part.text, style=style)
    return cells
