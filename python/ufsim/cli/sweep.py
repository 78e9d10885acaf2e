"""`ufsim sweep`: many runs that differ along axes, and what they say together."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

import ufsim
from ufsim.cli.exits import Exit
from ufsim.cli.options import CacheOption, JobsOption, JsonOption, UsageError
from ufsim.cli.progress import CountDisplay
from ufsim.cli.screen import Screen, say
from ufsim.results.formats import plural

if TYPE_CHECKING:
    from ufsim.sweeps import Failure, Sweep


class WithDefault(TyperGroup):
    """A group whose first argument may be that of its command `run`, instead of a command's name."""

    default = "run"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts the name of the command before its arguments, if it was left out."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [self.default, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=WithDefault,
    help="Run every point of a grid, or show what they say: `ufsim sweep GRID --out DIR`, then `ufsim sweep show DIR`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    subcommand_metavar="GRID --out DIR | COMMAND ...",
    context_settings={"help_option_names": ["-h", "--help"]},
)

OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Directory for the results.")]
DaskOption = Annotated[
    str | None,
    typer.Option(
        "--dask", metavar="tcp://HOST:PORT", help="Run the points on the workers of this Dask scheduler instead."
    ),
]
ShipOption = Annotated[
    bool, typer.Option("--ship", help="Send files and aged states to the workers, which share no directories.")
]


@app.command("run")
def run(
    grid: Annotated[Path, typer.Argument(metavar="GRID", help="TOML file with fixed options and axes.")],
    out: OutOption,
    jobs: JobsOption = None,
    cache: CacheOption = True,
    dask: DaskOption = None,
    ship: ShipOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run every point of a grid, and write DIR/results.parquet. The word `run` may be left out.

    Results of points are kept in the directory: the same command goes on where the last one was stopped.
    """
    from ufsim.sweeps import sweep

    exclude(dask, jobs, ship)
    with CountDisplay("points") as display:
        done = sweep(grid, out, jobs=jobs, cache=cache, dask=dask, ship=ship, progress=display)
    if as_json:
        print(json.dumps(document(done), indent=2))
    else:
        told = f"{len(done.frame)} of {plural(done.points, 'point')}, {done.run} of them run now"
        say(f"{done.path}: {told}")
    finish(done)


@app.command()
def show(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of a sweep.")],
    y: Annotated[
        str | None,
        typer.Option(
            "--y", metavar="COLUMN", help="What is looked at. (default: throughput; p99 where times are recorded ones)"
        ),
    ] = None,
    x: Annotated[str | None, typer.Option("--x", metavar="AXIS", help="The axis along the pictures.")] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="AXIS", help="The axis of lines and markers. (default: scheme)")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Directory for the pictures. (default: the sweep's)")
    ] = None,
    fio: Annotated[
        Path | None,
        typer.Option("--fio", metavar="DIR", help="Also write each point as fio's RW-DEPTH-JOBS.json, for fio-plot."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print means with confidence intervals and what each axis explains; draw lines, heat map, Pareto front."""
    from ufsim import outputs
    from ufsim.sweeps.finished import Sweep
    from ufsim.sweeps.show import document, print_sweep

    sweep = Sweep.read(directory)
    place = outputs.ready(out or directory)
    drawn = sweep.plot(place, y, x=x, by=by)
    folders = sweep.to_fio(fio) if fio is not None else []
    if as_json:
        print(json.dumps({"ufsim": ufsim.__version__, **document(sweep, y)}, indent=2))
        return
    print_sweep(Screen(), sweep, y)
    for name in drawn:
        say(f"picture: {place / f'{name}.png'}")
    for folder in folders:
        say(f"fio: {folder}")


def exclude(dask: str | None, jobs: int | None, ship: bool) -> None:
    """Refuses options that have no effect beside each other."""
    if dask is not None and jobs is not None:
        raise UsageError("--jobs and --dask exclude each other: the cluster's workers say how many runs there are")
    if ship and dask is None:
        raise UsageError("--ship needs --dask")


def document(sweep: "Sweep") -> dict[str, Any]:
    """What `--json` prints of a sweep that has been run."""
    failed = [{"point": one.point.labels, "error": one.error, "command": one.command} for one in sweep.failures]
    counts = {"points": sweep.points, "done": len(sweep.frame), "run": sweep.run}
    return {"ufsim": ufsim.__version__, "results": str(sweep.path), **counts, "failed": failed}


def finish(sweep: "Sweep") -> None:
    """Tells failures, and ends with a status of their own."""
    tell(sweep.failures)
    if sweep.failures:
        raise typer.Exit(Exit.FAILED_POINTS)
    if (sweep.frame["failed"] > 0).any():
        raise typer.Exit(Exit.FAILED_REQUESTS)


def tell(failures: "list[Failure] | tuple[Failure, ...] | Any") -> None:
    """A line for each failed point, and the command that repeats it."""
    for failure in failures:
        typer.echo(f"ufsim: failed: {failure.point}: {failure.error}", err=True)
        typer.echo(f"ufsim: repeat: {failure.command}", err=True)
