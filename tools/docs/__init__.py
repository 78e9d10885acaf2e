"""The documentation."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)


@app.command()
def build() -> None:
    """The site, out/site/index.html. Every warning is an error."""
    import sys

    from tools.project import run

    # With --quiet mkdocs would count no warning.
    run(sys.executable, "-m", "mkdocs", "build", "--strict", environment={"NO_MKDOCS_2_WARNING": "1"})


@app.command()
def shown(result: Annotated[Path, typer.Argument(help="out/demo.json of `ufsim demo --seeds 5`")]) -> None:
    """Keeps what the documentation shows of a demo."""
    from tools.docs.demo import RESULT, condensed
    from tools.records import kept

    RESULT.write_text(condensed(kept(result)) + "\n", encoding="utf-8")


@app.command("today")
def devices_of_today(
    points: Annotated[Path | None, typer.Argument(help="out/today of jobs/sweep-today.toml")] = None,
) -> None:
    """Keeps the data sheet and the study of the page on devices of today."""
    from tools.docs.today import RECORD, measured
    from tools.records import keep

    keep(RECORD, measured(points))


@app.command("loads")
def loads_of_today(
    points: Annotated[Path | None, typer.Argument(help="out/llm of jobs/sweep-llm.toml")] = None,
) -> None:
    """Keeps what a language model and a fragmentation loop make of a device, for the page on devices of today."""
    from tools.docs.today_loads import RECORD, measured
    from tools.records import keep

    keep(RECORD, measured(points))


@app.command("curves")
def curves_of_today() -> None:
    """Keeps curves of a device over the points that are published, for the page on devices of today."""
    from tools.docs.today_curves import RECORD, measured
    from tools.records import keep

    keep(RECORD, measured())


@app.command("uses")
def uses_of_today(book: Annotated[Path, typer.Argument(help="out/uses of `ufsim reproduce today`")]) -> None:
    """Keeps what recorded applications gain on a device in use, for the page on devices of today."""
    from tools.docs.today_uses import RECORD, measured
    from tools.records import keep

    keep(RECORD, measured(book))


@app.command()
def explored(
    result: Annotated[Path, typer.Argument(help="what `make explore` has written")],
    record: Annotated[Path, typer.Argument(help="file for what the documentation shows of it")],
) -> None:
    """Keeps what the documentation shows of a search of all orders."""
    from tools.docs.tested import condensed
    from tools.records import keep, kept

    keep(record, condensed(kept(result)))
