"""`ufsim phone`: a scenario of a phone under several schemes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from ufsim import inputs, outputs
from ufsim.cli.progress import ProgressDisplay
from ufsim.phones import Study, phone
from ufsim.results.comparison_tables import print_judgement
from ufsim.results.formats import count, number
from ufsim.spec import Spec


def run(scenario: str, schemes: list[str], **arguments: Any) -> Study:
    """Runs the schemes under a progress bar."""
    with ProgressDisplay() as progress:
        return phone(scenario, schemes, progress=progress, **arguments)


def files_of(directory: Path, name: str, *, log: bool) -> dict[str, Path]:
    """The files of a study: by what they hold, those with frames under the names of these."""
    frames = ("uses", "kills", "timeline", "apps", *(("reads",) if log else ()))
    named = {frame: directory / f"{name}-{frame}.parquet" for frame in frames}
    return {"json": directory / f"{name}.json", **named, "picture": directory / f"{name}.png"}


def check_outputs(spec: Spec, directory: Path, name: str, *, log: bool) -> None:
    """Asks before the work whether the files can be written; makes the directory."""
    places = files_of(directory, name, log=log).values()
    outputs.apart(places, inputs.files_read(spec))
    outputs.ready(directory, [place.name for place in places])


def write_files(study: Study, directory: Path, name: str) -> list[str]:
    """Writes the JSON document, the frames as Parquet, and the picture; returns a line for each that failed."""
    files = files_of(directory, name, log=bool(study.read_logs))
    document, picture = files.pop("json"), files.pop("picture")
    steps: list[outputs.Step] = [(document, outputs.text(study.to_json() + "\n"))]
    steps += [(path, outputs.parquet(getattr(study, frame)())) for frame, path in files.items()]
    return outputs.write([*steps, (picture, study.plot)])


def print_study(console: Console, study: Study) -> None:
    """Prints what the user waits for, app by app, and what became of the phone."""
    console.print(times_table(study))
    console.print(summary_table(study))
    print_judgement(console, study.results)


def times_table(study: Study) -> Table:
    """A row for each app and kind of time: mean milliseconds and the share of cold launches."""
    table = Table(box=box.SIMPLE_HEAVY, title=study.scenario, title_justify="left", pad_edge=False)
    table.add_column("mean ms")
    table.add_column("")
    names = [result.scheme for result in study.results]
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    apps = study.apps().set_index(["scheme", "app"])
    for app in dict.fromkeys(app for _, app in apps.index):
        rows = [("cold launch", "cold_ms"), ("warm launch", "warm_ms"), ("loading", "loading_ms")]
        shown = [(label, key) for label, key in rows if apps.xs(app, level="app")[key].notna().any()]
        for place, (label, key) in enumerate(shown):
            values = [apps.loc[(name, app), key] for name in names]
            cells = ["–" if value != value else number(value) for value in values]
            table.add_row(app if place == 0 else "", label, *cells, end_section=place == len(shown) - 1)
    return table


def summary_table(study: Study) -> Table:
    """One column for each scheme: launches, reads, kills, memory, energy."""
    table = Table(box=box.SIMPLE_HEAVY, pad_edge=False)
    table.add_column("")
    summary = study.summary()
    for name in summary.index:
        table.add_column(name, justify="right", no_wrap=True)

    def row(label: str, key: str, form: Callable[[float], str] = count, last: bool = False) -> None:
        cells = ["–" if value != value else form(value) for value in summary[key]]
        table.add_row(label, *cells, end_section=last)

    row("launch, all, mean ms", "launch_ms")
    row("  of it blocked on reads, ms", "blocked_ms")
    row("cold launches", "cold_launches")
    row("launches", "launches", last=True)
    row("reads of foreground apps", "reads")
    row("  mapping from host", "host_hit", "{:.1%}".format)
    row("  mapping read from flash", "miss", "{:.1%}".format)
    row("reads in the background", "background_reads")
    row("  mapping read from flash", "background_miss", "{:.1%}".format, last=True)
    row("kills", "kills")
    row("  of apps that the user has opened", "kills_of_apps")
    row("kills averted", "spared")
    row("most HPB memory MiB", "hpb_mib", number)
    row("mean pressure", "pressure", "{:.2%}".format)
    row("energy proxy J", "energy_j", "{:.1f}".format)
    return table
