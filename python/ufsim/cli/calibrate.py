"""`ufsim calibrate`: parameters of a profile from what a real phone took."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ufsim import inputs, outputs
from ufsim.bundled import located
from ufsim.cli.options import UsageError
from ufsim.cli.progress import CountDisplay
from ufsim.cli.screen import Screen, say
from ufsim.spec import Spec

# Without a booster: hardly any phone has one.
SCHEME = "ufs"

TracesArgument = Annotated[list[str], typer.Argument(metavar="TRACE...", help="Traces with recorded latencies.")]
FitOption = Annotated[
    list[str] | None,
    typer.Option(
        "--fit",
        metavar="KEY[=LOW..HIGH]|FILE",
        help="Fit a key of the profile within bounds (default: a quarter and four times its value), or the keys of a "
        "TOML file with bounds in place of values; repeatable. Left out, the profile is only scored.",
    ),
]
FileOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE.toml", help="File for the fitted profile, which extends that of --profile."),
]
PictureOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="File for a picture of recorded against simulated latencies.")
]
KeepOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Keep here what was evaluated: a fit that was stopped goes on.")
]
EvaluationsOption = Annotated[
    int | None, typer.Option(metavar="N", help="End a fit after so many evaluations. (default: 80 for each key)")
]
SeedsOption = Annotated[int, typer.Option(metavar="N", help="Score runs with so many seeds.")]
LeaveOneOutOption = Annotated[
    bool, typer.Option("--leave-one-out", help="Score each trace under a fit to the others: a prediction.")
]


def run(traces: list[str], options: dict[str, Any], fit: list[str] | None, **arguments: Any) -> Any:
    """Calibrates under a progress bar, and gives the `Calibration`."""
    # numpy and cma take longer to import than `ufsim --help` may.
    from ufsim.calibration import calibrate
    from ufsim.calibration.parameters import asked

    with CountDisplay("evaluations") as display:
        return calibrate(
            traces, fit=asked(fit or []), progress=lambda done, total, _: display(done, total), **arguments, **options
        )


def places(written: dict[str, Path | None], traces: list[str], options: dict[str, Any], fit: list[str] | None) -> None:
    """Asks before the work whether files can be written, by the option that names them."""
    out, picture, keep = (written[name] for name in ("out", "picture", "keep"))
    if out is not None and not fit:
        raise UsageError("--out needs --fit: without it there is no fitted profile")
    if out is not None and out.suffix != ".toml":
        raise UsageError(f"--out is '{out}'; allowed: a file whose name ends with .toml")
    if picture is not None:
        # matplotlib takes longer to import than `ufsim --help` may.
        from ufsim.plots import picture_ending

        picture_ending(picture)
    wanted = [path for path in (out, picture) if path is not None]
    if all_of_them := [path for path in (*wanted, keep) if path is not None]:
        read = [*inputs.files_read(Spec(workload="", **options)), *map(located, traces), *(fit or [])]
        outputs.apart(all_of_them, read)
    for path in wanted:
        outputs.ready_file(path)


def finish(done: Any, out: Path | None, picture: Path | None, *, as_json: bool) -> None:
    """Writes the files and prints tables or the document."""
    steps: list[outputs.Step] = []
    if out is not None:
        steps.append((out, outputs.text(done.to_toml(out.parent))))
    if picture is not None:
        steps.append((picture, done.plot))
    failures = outputs.write(steps)
    if as_json:
        print(done.to_json())
    else:
        from ufsim.calibration.tables import print_calibration

        print_calibration(Screen(), done)
        for label, path in (("profile", out), ("picture", picture)):
            if path is not None and not failures:
                say(f"{label}: {path}")
    if failures:
        raise outputs.Unwritten(failures, printed=True)
