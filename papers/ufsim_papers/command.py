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
    from ufsim_papers.figure import Setting
    from ufsim_papers.judged import Outcome

STYLES = {
    "reproduced": "green",
    "reproduced-if": "green",
    "contradicted": "bold red",
    "not-determinable": "yellow",
    "open": "dim",
    "conformance": "",
}


def reproduce(
    *,
    wishes: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PAPER[/FIGURE]]...", help="Papers and figures, such as hpb or hp-ufs/f7."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer points: a minute or two instead of many.")] = False,
    scorecard: Annotated[
        bool, typer.Option("--scorecard", help="Measure with five seeds, and print all claims with their classes.")
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
        typer.Option(
            metavar="DIR",
            envvar="UFSIM_TRACES",
            exists=True,
            file_okay=False,
            help="Directory of the traces: pixel4-hpufs, server, ...",
        ),
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
    """Claims with the paper's value, the band, what was measured at each point, and the class."""
    from ufsim_papers.judged import counted

    outcomes = list(outcomes)
    table = Table(box=box.SIMPLE, title=f"claims: {counted(outcomes)}", title_justify="left", pad_edge=False)
    for heading in ("claim", "paper", "band", "measured", "class"):
        table.add_column(heading, no_wrap=heading in ("claim", "band", "class"))
    for outcome in outcomes:
        kind = Text(outcome.class_text, style=STYLES[outcome.class_])
        claim = outcome.claim
        table.add_row(claim.id, claim.paper_value(), claim.band_text(), measured_text(outcome), kind)
    return table


# Of a larger map the terminal shows how many points are in; the report has all of them.
MOST_POINTS = 4


def measured_text(outcome: "Outcome") -> Text:
    """What was measured of a claim: a line for each part of a point, the foil, and why it is still open."""
    from ufsim_papers.judged import Part

    lines = list[Text]()

    def add(part: Part, before: str = "") -> None:
        what = f"{part.name}: " if part.name else ""
        lines.append(Text(f"{before}{what}").append(part.text, style="" if part.in_band else "red"))

    points, claim = list(outcome.points.values()), outcome.claim
    if len(points) > MOST_POINTS:
        states = [point.state(claim) for point in points]
        lines.append(Text(f"in at {states.count('in')}, out at {states.count('out')} of {len(points)} points"))
        points = []
    for point in points:
        if title := "; ".join(word for word in (claim.place_text(point.place), point.case) if word):
            lines.append(Text(title, style="italic"))
        for part in point.parts:
            add(part)
    for part in outcome.foil:
        add(part, "foil: ")
    for part in outcome.shown:
        add(part, "shown: ")
        lines.append(Text(part.told, style="dim"))
    for part in outcome.beside:
        add(part, "beside: ")
    if outcome.because and outcome.measured:
        lines.append(Text(outcome.because, style="dim"))
    return Text("\n").join(lines)
