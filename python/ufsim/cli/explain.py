"""`ufsim explain`: what requests waited for, in words and as a picture."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich import box
from rich.table import Table

import ufsim
from ufsim import outputs
from ufsim.cli.progress import ProgressDisplay
from ufsim.cli.screen import Screen
from ufsim.names import check_range
from ufsim.results.explain import (
    FREE,
    PERCENTILES,
    PLURALS,
    Band,
    Log,
    Root,
    if_free,
    in_words,
    made_of,
    roots_in_words,
)
from ufsim.results.formats import duration

# Bands by kind of request and log.
Found = dict[str, dict[str, list[Band]]]
STYLE: dict[str, Any] = {"title_justify": "left", "title_style": "bold", "box": box.SIMPLE_HEAD, "pad_edge": False}


def explain(
    paths: list[Path],
    kind: str | None,
    process: str | None,
    count: int,
    out: Path | None,
    *,
    what_if: bool,
    as_json: bool,
) -> None:
    """Prints what bands of latencies are made of, for each log, and the slowest requests; draws the bands.

    With `what_if` it runs everything again with work that takes no time.
    """
    check_range("slowest", count, 0, 100_000)
    directory = None if out is None else outputs.ready(out)
    logs = [Log(path) for path in paths]
    kinds = [kind] if kind is not None else [one for one in logs[0].kinds() if all(one in log.kinds() for log in logs)]
    found = {one: {name(log, logs): log.bands(log.chosen(one, process)) for log in logs} for one in kinds}
    roots = {one: {name(log, logs): log.roots(log.chosen(one, process)) for log in logs} for one in kinds}
    worst = {name(log, logs): log.slowest(log.chosen(kind, process), count) for log in logs} if count else {}
    freed = run_again(logs, kinds, process) if what_if else {}
    if as_json:
        document = {"ufsim": ufsim.__version__, "bands": as_document(found), "slowest": worst}
        document["roots"] = {
            one: {log: {stage: vars(root) for stage, root in of.items()} for log, of in of_logs.items()}
            for one, of_logs in roots.items()
        }
        if what_if:
            document["what_if"] = {free: as_document(bands) for free, bands in freed.items()}
        print(json.dumps(document, indent=2))
    else:
        tell(found, roots, worst)
        if what_if:
            tell_freed(found, freed)
    if directory is not None:
        from ufsim.plots.explain import explain_figure

        pictures = {
            directory / f"{paths[0].stem}-{PLURALS[one]}.png": explain_figure(bands, one)
            for one, bands in found.items()
            if all(bands.values())
        }
        failures = outputs.write((path, outputs.picture(figure)) for path, figure in pictures.items())
        if failures:
            raise outputs.Unwritten(failures, printed=True)
        if not as_json:
            for path in pictures:
                print(f"picture: {path}")


def name(log: Log, logs: list[Log]) -> str:
    """What a log is called: its scheme, or its file where schemes repeat."""
    schemes = [one.scheme for one in logs]
    return log.scheme if schemes.count(log.scheme) == 1 else f"{log.scheme} ({log.path.stem})"


def run_again(logs: list[Log], kinds: list[str], process: str | None) -> dict[str, Found]:
    """The bands of the same runs with work that takes no time, by that work."""
    freed: dict[str, Found] = {free: {kind: {} for kind in kinds} for free in FREE}
    with TemporaryDirectory(prefix="ufsim-") as folder, ProgressDisplay() as progress:
        for log in logs:
            for free, other in if_free(log, Path(folder), progress=progress).items():
                for kind in kinds:
                    freed[free][kind][name(log, logs)] = other.bands(other.chosen(kind, process))
    return freed


def tell_freed(found: Found, freed: dict[str, Found]) -> None:
    """Prints the means of the bands beside those of the runs with work that takes no time."""
    screen = Screen()
    for kind, of_logs in found.items():
        for log, bands in of_logs.items():
            table = Table(title=f"{log}: {PLURALS[kind]}, mean latency if work took no time", **STYLE)
            table.add_column("requests")
            for told in ("as it is", *FREE.values()):
                table.add_column(told, justify="right", no_wrap=True)
            for place, band in enumerate(bands):
                others = [freed[free][kind][log][place] for free in FREE]
                table.add_row(band.name, *(duration(one.mean_ns) for one in (band, *others)))
            screen.print(table)


def tell(found: Found, roots: dict[str, dict[str, dict[str, Root]]], worst: dict[str, list[dict[str, object]]]) -> None:
    """Prints the bands, what the slowest come from, and the slowest requests."""
    screen = Screen()
    for kind, of_logs in found.items():
        for log, bands in of_logs.items():
            screen.print(band_table(f"{log}: {PLURALS[kind]}", bands))
            if bands:
                screen.print(in_words(bands[-1], kind), highlight=False)
                screen.print(f"{roots_in_words(roots[kind][log], kind)}\n", highlight=False)
    for log, requests in worst.items():
        screen.print(f"{log}: the slowest requests", highlight=False)
        for request in requests:
            stages = request["stages"]
            assert isinstance(stages, dict)
            parts = ", ".join(f"{stage} {duration(ns)}" for stage, ns in stages.items())
            where = f"{request['units']} units at {request['lba_units']}"
            took = f"{request['kind']} of {where}, {duration(int(str(request['latency_ns'])))}"
            screen.print(f"  {took} from {int(str(request['arrival_ns'])) / 1e9:.6f} s on: {parts}", highlight=False)


def band_table(title: str, bands: list[Band]) -> Table:
    """A row for each band."""
    table = Table(title=title, **STYLE)
    table.add_column("requests")
    for name in ("number", "up to", "mean"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("made of")
    for band in bands:
        table.add_row(band.name, f"{band.requests:,}", duration(band.to_ns), duration(band.mean_ns), made_of(band))
    return table


def as_document(found: Found) -> dict[str, dict[str, list[dict[str, object]]]]:
    """The bands for other programs."""
    return {
        kind: {log: [vars(band) | {"name": band.name} for band in bands] for log, bands in of_logs.items()}
        for kind, of_logs in found.items()
    }


HELP = (
    "Explain latencies: what each band of requests waited for, by logs that run or compare --log has written. "
    f"Bands end at {', '.join(f'{one:g}' for one in PERCENTILES)} per cent of the requests of a kind."
)
