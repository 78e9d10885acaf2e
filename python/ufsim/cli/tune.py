"""`ufsim tune`: values of a profile's keys that serve an aim best."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

import ufsim
from ufsim.cli.progress import CountDisplay
from ufsim.cli.screen import Screen, say
from ufsim.results.formats import plural
from ufsim.results.layout import empty

if TYPE_CHECKING:
    from ufsim.tuning import Tuned
    from ufsim.tuning.evaluate import Measured

TaskArgument = Annotated[Path, typer.Argument(metavar="TASK", help="TOML file with fixed options, bounds and aim.")]
OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Directory for the profile and the trials.")]
RunsOption = Annotated[int | None, typer.Option(metavar="N", help="Budget of runs. (default: the task's, or else 100)")]


def run(task: Path, out: Path, **arguments: Any) -> "Tuned":
    """Searches under a progress bar."""
    from ufsim.tuning import tune

    with CountDisplay("trials") as display:
        return tune(task, out, progress=display, **arguments)


def finish(tuned: "Tuned", *, as_json: bool) -> None:
    """Prints what was found."""
    if as_json:
        print(json.dumps(document(tuned), indent=2))
        return
    from ufsim.tuning.task import MISFIT

    Screen().print(values_table(tuned))
    if tuned.task.targets:
        misfit = tuned.confirmed.means.get(MISFIT, float("inf"))
        met = "all figures are met" if misfit <= 1 else "not all figures are met; wider bounds or more runs may help"
        say(f"{met} (largest misfit {misfit:.3g}; 1 is the end of a tolerance)")
    say(f"profile: {tuned.path}")


def document(tuned: "Tuned") -> dict[str, Any]:
    """What `--json` prints."""
    measured = {name: vars(getattr(tuned, name)) for name in ("own", "best", "confirmed")}
    head = {"ufsim": ufsim.__version__, "aim": str(tuned.task), "profile": str(tuned.path)}
    return {**head, "values": tuned.values, "trials": len(tuned.frame), **measured}


def values_table(tuned: "Tuned") -> Table:
    """Values of parameters, and the columns of the aim before and after."""
    from ufsim.tuning.evaluate import own_settings, target_name
    from ufsim.tuning.tuned import against

    aim = "figures that are wanted" if tuned.task.targets else tuned.task
    table = empty(f"{aim}: {plural(len(tuned.frame), 'trial')}")
    for heading in ("", "own", "best trial", "as a profile"):
        table.add_column(heading, justify="left" if not heading else "right")
    own = own_settings(tuned.task)
    for name, value in tuned.values.items():
        table.add_row(name, "–" if own[name] is None else str(own[name]), str(value), str(value))
    each = (tuned.own, tuned.best, tuned.confirmed)
    for place, target in enumerate(tuned.task.targets):
        found = [one.means.get(target_name(place)) for one in each]
        table.add_row(str(target), *("–" if value is None else against(target, value) for value in found))
    keep = tuned.task.keep
    for column in dict.fromkeys((tuned.task.column, *([keep.column] if keep else []))):
        table.add_row(column, *(cell(one, column) for one in (tuned.own, tuned.best, tuned.confirmed)))
    return table


def cell(measured: "Measured", column: str) -> str:
    """A mean with half of its interval."""
    if column not in measured.means:
        return "–"
    half = measured.halves[column]
    return f"{measured.means[column]:,.6g}" + ("" if half is None else f" ± {half:.3g}")
