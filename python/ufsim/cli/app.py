"""The command line `ufsim`."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import ufsim
from ufsim import commands, devices, outputs, phones
from ufsim.cli import age as cli_age
from ufsim.cli import calibrate as cli_calibrate
from ufsim.cli import explain as cli_explain
from ufsim.cli import phone as cli_phone
from ufsim.cli import profiles as cli_profiles
from ufsim.cli import screen
from ufsim.cli import serve as cli_serve
from ufsim.cli import store as cli_store
from ufsim.cli import sweep as cli_sweep
from ufsim.cli import top as cli_top
from ufsim.cli import trace as cli_trace
from ufsim.cli import tune as cli_tune
from ufsim.cli.crash import ListsSabotages
from ufsim.cli.errors import guarded
from ufsim.cli.exits import Exit
from ufsim.cli.options import (
    OUTPUT,
    CacheOption,
    JobsOption,
    JsonOption,
    LogOption,
    NameOption,
    OutOption,
    PanelOption,
    SchemesOption,
    SeedsOption,
    SeriesOption,
    StepOption,
    TimelineOption,
    UsageError,
    WindowOption,
    takes,
)
from ufsim.cli.progress import CountDisplay, ProgressDisplay
from ufsim.cli.screen import Screen, say
from ufsim.crash import crash as run_campaign
from ufsim.crash import failure_lines
from ufsim.documents import parse
from ufsim.linux import cli as linux_cli
from ufsim.live.server import CLIENTS
from ufsim.observe import Observed
from ufsim.results import comparison_tables, conditions, suite_tables, tables
from ufsim.results.formats import workload_name
from ufsim.results.result import Comparison, Result
from ufsim.results.suite import Suite
from ufsim.runner import compare as compare_schemes
from ufsim.spec import DEFAULT_SCHEME, DEFAULT_SCHEMES, Spec
from ufsim.states import StateCache

FIO_JSON_PLUS = "--fio-json-plus"
COMPARED = ",".join(DEFAULT_SCHEMES)
ON_PHONES = ",".join(phones.DEFAULT_SCHEMES)

# Of `ufsim crash`.
CASES = 200

# The options of a run that a command has, by field of `Spec`.
Arguments = dict[str, Any]

app = typer.Typer(
    name="ufsim",
    help="A laboratory for DRAM-less mobile flash storage: one device model, several mapping schemes, real workloads.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Groups of commands in the help.
BEGIN = "Begin here"
MORE = "More devices, workloads and searches"
LIVE = "Live devices"
PROVE = "Checks"

app.add_typer(cli_trace.app, name="trace", rich_help_panel=MORE)
app.add_typer(cli_sweep.app, name="sweep", rich_help_panel=MORE)
app.add_typer(cli_store.app, name="store", rich_help_panel=LIVE)


@app.callback(invoke_without_command=True)
def options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Options before any command."""
    if version:
        print(f"ufsim {ufsim.__version__}")
        raise typer.Exit


@app.command(rich_help_panel=BEGIN)
@takes("run", scheme=DEFAULT_SCHEME)
def run(
    options: Arguments,
    seeds: SeedsOption = None,
    cache: CacheOption = True,
    log: LogOption = None,
    timeline: TimelineOption = None,
    timeline_window: WindowOption = None,
    series: SeriesOption = None,
    step: StepOption = None,
    as_json: JsonOption = False,
    fio_json: Annotated[
        bool, typer.Option("--fio-json", rich_help_panel=OUTPUT, help="Print the result as fio's JSON.")
    ] = False,
    fio_json_plus: Annotated[
        bool,
        typer.Option(
            FIO_JSON_PLUS, rich_help_panel=OUTPUT, help="The same with fine bins of latencies; also --fio-json=plus."
        ),
    ] = False,
) -> None:
    """Simulate one scheme."""
    fio_json |= fio_json_plus
    if as_json and fio_json:
        raise UsageError("--json and --fio-json exclude each other")
    if fio_json and len(options["workload"]) > 1:
        raise UsageError("--fio-json is for one workload; --json takes several")
    if fio_json and seeds not in (None, 1):
        raise UsageError("--fio-json is for one seed; --json takes several")
    observed = Observed(log or False, timeline, timeline_window, series, step, fio_json_plus)
    names = [options.pop("scheme")]
    check_outputs(names, options, observed)
    seeds = 1 if fio_json else seeds
    done, failures = simulate(names, options, seeds, cache=cache, jobs=None, observed=observed)
    if fio_json:
        print(json.dumps(parse(done.results[0].to_fio_json()), indent=2))
    elif as_json:
        print(done.to_json())
    else:
        print_done(done)
    finish(done.results, failures)


@app.command(rich_help_panel=BEGIN)
@takes("compare")
def compare(
    *,
    schemes: SchemesOption = COMPARED,
    seeds: SeedsOption = None,
    options: Arguments,
    cache: CacheOption = True,
    jobs: JobsOption = None,
    log: LogOption = None,
    timeline: TimelineOption = None,
    timeline_window: WindowOption = None,
    series: SeriesOption = None,
    step: StepOption = None,
    as_json: JsonOption = False,
    out: OutOption = None,
    name: NameOption = None,
    panel: PanelOption = None,
) -> None:
    """Simulate several schemes under the same workload, or under each of several, and compare them."""
    workloads = options["workload"]
    if panel is not None and len(workloads) > 1:
        raise UsageError("--panel is for one workload; the picture of several has a panel for each measure")
    check_name(name)
    stem = name or ("suite" if len(workloads) > 1 else workload_name(workloads[0]))
    directory = directory_for(out, as_json)
    if directory is None and (name is not None or panel is not None):
        raise UsageError(f"--{'panel' if name is None else 'name'} has no effect with --json and without --out")
    observed = Observed(log or False, timeline, timeline_window, series, step)
    check_outputs(listed(schemes), options, observed, directory, stem)
    done, failures = simulate(listed(schemes), options, seeds, cache=cache, jobs=jobs, observed=observed)
    failures += [] if directory is None else write_files(done, directory, stem, panel)
    if as_json:
        print(done.to_json())
    else:
        print_done(done)
        tell_picture(directory, stem, failures)
    finish(done.results, failures)


@app.command(rich_help_panel=BEGIN)
def demo(
    seeds: Annotated[
        int, typer.Option(metavar="N", help="Run with so many seeds and say how far chance goes; each ages anew.")
    ] = 1,
    cache: CacheOption = True,
    jobs: JobsOption = None,
    as_json: JsonOption = False,
    out: OutOption = None,
) -> None:
    """Compare four schemes on an aged device, under a recorded trace: two minutes on two cores."""
    from ufsim import demo as shown

    directory = directory_for(out, as_json)
    if directory is not None:
        outputs.ready(directory, results_of("demo"))
    with ProgressDisplay() as progress:
        comparison = shown.demo(seeds=seeds, jobs=jobs, progress=progress, cache=StateCache() if cache else None)
    failures = [] if directory is None else write_files(comparison, directory, "demo")
    if as_json:
        print(comparison.to_json())
    else:
        print_done(comparison)
        tell_picture(directory, "demo", failures)
    finish(comparison.results, failures)


@app.command(rich_help_panel=MORE)
@takes("phone", profile=phones.PROFILE)
def phone(
    options: Arguments,
    schemes: SchemesOption = ON_PHONES,
    cache: CacheOption = True,
    jobs: JobsOption = None,
    log: Annotated[bool, typer.Option("--log", help="Also write every read to NAME-reads.parquet.")] = False,
    as_json: JsonOption = False,
    out: OutOption = None,
    name: NameOption = None,
) -> None:
    """Simulate a phone: apps that are launched, switched and killed, memory pressure, and what the user waits for."""
    scenario = options.pop("workload")
    stem = name or Path(scenario).stem
    check_name(name)
    directory = directory_for(out, as_json)
    if directory is None and (name is not None or log):
        raise UsageError(f"--{'log' if name is None else 'name'} has no effect with --json and without --out")
    if directory is not None:
        spec = Spec(workload=scenario, scheme=phones.DEFAULT_SCHEMES[0], **options)
        cli_phone.check_outputs(spec, directory, stem, log=log)
    states = StateCache() if cache else None
    study = cli_phone.run(scenario, listed(schemes), log=log, jobs=jobs, cache=states, **options)
    failures = [] if directory is None else cli_phone.write_files(study, directory, stem)
    if as_json:
        print(study.to_json())
    else:
        cli_phone.print_study(Screen(), study)
        tell_picture(directory, stem, failures)
    finish(study.results, failures)


app.command("linux", rich_help_panel=MORE)(linux_cli.linux)


@app.command("age", rich_help_panel=MORE)
@takes("age", scheme=DEFAULT_SCHEME)
def age_device(
    options: Arguments,
    job: Annotated[
        str | None,
        typer.Argument(
            metavar="JOB", help="A fio job file, options such as 'rw=randwrite bs=4k size=52g', or '85% full'."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="File for the state.")] = None,
    show: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Say what a file holds, and do nothing else.")
    ] = None,
    clear_cache: Annotated[bool, typer.Option("--clear-cache", help="Remove all states that runs have kept.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Age a device, switch it off, and keep its state in a file for --from."""
    cli_age.asked(job, out, show, clear_cache=clear_cache)
    if show is not None:
        cli_age.show_state(show, as_json=as_json)
    elif clear_cache:
        cli_age.clear_states(as_json=as_json)
    else:
        assert job is not None and out is not None
        cli_age.age(job, out, options, as_json=as_json)


@app.command(help=cli_explain.HELP, rich_help_panel=BEGIN)
def explain(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG.parquet...", exists=True, dir_okay=False)],
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="Only read, write, flush or trim.")] = None,
    process: Annotated[str | None, typer.Option(metavar="NAME", help="Only requests of this process.")] = None,
    slowest: Annotated[int, typer.Option(metavar="N", help="Also list the slowest N requests, one by one.")] = 0,
    what_if: Annotated[
        bool, typer.Option("--what-if", help="Also run each again twice: with GC, and with mapping, taking no time.")
    ] = False,
    as_json: JsonOption = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory for pictures. (default: out; with --json: none)")
    ] = None,
) -> None:
    """Explain latencies."""
    directory = out or (None if as_json else Path("out"))
    cli_explain.explain(logs, kind, process, slowest, directory, what_if=what_if, as_json=as_json)


@app.command(rich_help_panel=LIVE)
@takes("serve")
def serve(
    options: Arguments,
    socket: cli_serve.SocketOption,
    scheme: cli_serve.ServeSchemesOption = DEFAULT_SCHEME,
    clock: cli_serve.ClockOption = cli_serve.Clock.REAL,
    speed: cli_serve.SpeedOption = None,
    store: cli_serve.StoreOption = None,
    log: cli_serve.ArrivalsOption = None,
    control: cli_serve.ControlOption = None,
    saves: cli_serve.SavesOption = None,
    clients: cli_serve.ClientsOption = CLIENTS,
    tcp: cli_serve.PortOption = None,
    tcp_all_users: cli_serve.AllUsersOption = False,
    metrics: cli_serve.MetricsOption = None,
    read_only: cli_serve.ReadOnlyOption = False,
    overwrite: cli_serve.OverwriteOption = False,
    cache: CacheOption = True,
) -> None:
    """Serve live devices as NBD exports, to real programs. Prints ready when clients can connect."""
    files = {"store": store, "log": log, "overwrite": overwrite, "control": control, "saves": saves}
    rules = {"clients": clients, "tcp_port": tcp, "read_only": read_only}
    more = cli_serve.agreed(files | rules, tcp_all_users=tcp_all_users)
    states = {"cache": StateCache() if cache else None}
    cli_serve.serve(scheme, socket, clock, speed, metrics, options | more | states)


@app.command(rich_help_panel=LIVE)
@takes("serve")
def replay(
    options: Arguments,
    log: cli_serve.LogArgument,
    scheme: Annotated[str, typer.Option(metavar="NAME", help="Scheme: see `ufsim schemes`.")] = DEFAULT_SCHEME,
    as_json: JsonOption = False,
) -> None:
    """Repeat in simulation what serve --log has written: with the same options the same happens, digest included."""
    cli_serve.replay(log, scheme, options, as_json=as_json)


@app.command(rich_help_panel=LIVE)
def ctl(
    path: cli_serve.PathArgument,
    command: cli_serve.DoArgument,
    value: cli_serve.ValueArgument = None,
    export: cli_serve.ExportOption = None,
    timeout: cli_serve.TimeoutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Control a server: counters, latencies and metrics, a power cut, host memory, faults of flash, its end."""
    cli_serve.ctl(path, command, value, export=export, timeout=timeout, as_json=as_json)


@app.command(rich_help_panel=LIVE)
def top(
    path: cli_serve.PathArgument,
    interval: cli_top.IntervalOption = cli_top.INTERVAL_S,
    export: cli_serve.ExportOption = None,
    once: cli_top.OnceOption = False,
) -> None:
    """Watch a server on a terminal: rates of its exports, hit ratio, GC, host DRAM. Ctrl-C or q ends it.

    If the server ends first, or does not answer for 30 s, it says so, with status 1.
    """
    cli_top.top(path, interval, export, once=once)


@app.command(rich_help_panel=MORE)
@takes("calibrate", scheme=cli_calibrate.SCHEME)
def calibrate(
    options: Arguments,
    traces: cli_calibrate.TracesArgument,
    fit: cli_calibrate.FitOption = None,
    seeds: cli_calibrate.SeedsOption = 5,
    leave_one_out: cli_calibrate.LeaveOneOutOption = False,
    evaluations: cli_calibrate.EvaluationsOption = None,
    keep: cli_calibrate.KeepOption = None,
    jobs: JobsOption = None,
    as_json: JsonOption = False,
    out: cli_calibrate.FileOption = None,
    picture: cli_calibrate.PictureOption = None,
) -> None:
    """Fit a profile to what traced phones took, or score how well it predicts that."""
    cli_calibrate.places({"out": out, "picture": picture, "keep": keep}, traces, options, fit)
    work = {"seeds": seeds, "leave_one_out": leave_one_out, "evaluations": evaluations, "keep": keep, "jobs": jobs}
    done = cli_calibrate.run(traces, options, fit, **work)
    cli_calibrate.finish(done, out, picture, as_json=as_json)


@app.command(rich_help_panel=MORE)
def tune(
    task: cli_tune.TaskArgument,
    out: cli_tune.OutOption,
    runs: cli_tune.RunsOption = None,
    jobs: JobsOption = None,
    cache: CacheOption = True,
    dask: cli_sweep.DaskOption = None,
    ship: cli_sweep.ShipOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search the values of profile keys that serve an aim best, such as the shortest p99, within a budget of runs.

    Results of runs are kept in the directory: the same command goes on where the last one was stopped.
    """
    cli_sweep.exclude(dask, jobs, ship)
    done = cli_tune.run(task, out, runs=runs, jobs=jobs, cache=cache, dask=dask, ship=ship)
    cli_tune.finish(done, as_json=as_json)


@app.command(cls=ListsSabotages, rich_help_panel=PROVE)
def crash(
    runs: Annotated[int | None, typer.Option(metavar="N", help=f"Cases. (default: {CASES})")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the first case; the others follow.")] = 0,
    case: Annotated[
        str | None, typer.Option(metavar="CASE", help="Go through this case instead, as a failure names it.")
    ] = None,
    sabotage: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Break a promise on purpose: one of the sabotages that --help lists."),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option("--whole", help="Simulate what is around the device, too: server, clients, connections, disk."),
    ] = False,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Cases at a time. (default: one per processor)")] = None,
    as_json: JsonOption = False,
) -> None:
    """Cut the power of random small devices at random moments and check what they hold afterwards."""
    if case is not None and runs is not None:
        raise UsageError("--runs has no effect with --case, which is one")
    runs = CASES if runs is None else runs
    jobs = os.cpu_count() or 1 if jobs is None else jobs
    with CountDisplay("cases", 1 if case is not None else runs) as progress:

        def smaller(case: str, tried: int) -> None:
            progress.doing(f"case {case} fails: {tried} smaller ones tried")

        campaign = run_campaign(
            runs,
            seed=seed,
            case=case,
            sabotage=sabotage,
            jobs=jobs,
            whole=whole,
            progress=progress,
            smaller=smaller,
        )
    if as_json:
        print(json.dumps(campaign.document(), indent=2))
    else:
        console = Screen()
        console.print(tables.crash_table(campaign, whole=whole))
        for failure in campaign.failures:
            say("\n".join(failure_lines(failure, whole=whole)))
    if campaign.failures:
        raise typer.Exit(Exit.BROKEN_PROMISE)


@app.command(rich_help_panel=BEGIN)
def schemes(as_json: JsonOption = False) -> None:
    """List the schemes and what they are made of."""
    if as_json:
        print(json.dumps(ufsim.schemes(), indent=2))
    else:
        tables.print_schemes(Screen(), ufsim.schemes())


@app.command(rich_help_panel=BEGIN)
@takes("profiles")
def profiles(
    options: Arguments,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME|FILE]", help="A built-in profile, or the path of a file.")
    ] = None,
    as_toml: Annotated[
        bool, typer.Option("--toml", help="Print the profile as one TOML file that extends nothing.")
    ] = False,
    capacity: Annotated[
        str | None,
        typer.Option(
            "--capacity",
            metavar="SIZE",
            help="Print a file for a device of this size, such as 256g, that extends the profile: to be filled in.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the device profiles, or check one and tell what follows from it and where each number comes from."""
    settings = options["settings"]
    if as_toml and as_json:
        raise UsageError("--toml and --json exclude each other")
    if capacity is not None and (as_toml or as_json):
        raise UsageError("--capacity prints a file of its own: it excludes --toml and --json")
    if name is None:
        if as_toml or settings or capacity is not None:
            raise UsageError("--toml, --capacity and --set need the NAME of a profile, or a FILE")
        cli_profiles.print_list(as_json)
    elif capacity is not None:
        from ufsim.skeleton import skeleton

        say(skeleton(name, capacity, settings))
    elif as_toml:
        say(devices.profile_toml(name, settings).rstrip())
    elif as_json:
        print(json.dumps(devices.describe_profile(name, settings), indent=2))
    else:
        cli_profiles.print_profile(Screen(), devices.describe_profile(name, settings))


commands.add_to(app)


def check_name(name: str | None) -> None:
    """Refuses a name of files that is none."""
    if name is not None and (Path(name).name != name or name in ("", ".", "..")):
        raise UsageError(f"--name is '{name}'; allowed: a file name without directories and ending")


def listed(schemes: str) -> list[str]:
    """The names in a list with commas."""
    return [scheme.strip() for scheme in schemes.split(",")]


def directory_for(out: Path | None, as_json: bool) -> Path | None:
    """The directory for files; none is needed where JSON is printed."""
    return Path("out") if out is None and not as_json else out


def results_of(stem: str) -> list[str]:
    """Names of the files with the results of a comparison."""
    return [f"{stem}.json", f"{stem}.parquet", f"{stem}.png"]


def check_outputs(
    names: list[str], options: Arguments, observed: Observed, directory: Path | None = None, stem: str = ""
) -> None:
    """Asks for all files of a command whether they can be had and written; makes the directory as the last of it."""
    shared = {key: value for key, value in options.items() if key != "workload"}
    specs = [Spec(workload=path, scheme=name, **shared) for path in options["workload"] for name in names]
    observed.check(specs, [] if directory is None else [directory / name for name in results_of(stem)])
    for path in observed.places(names):
        outputs.ready_file(path)
    if directory is not None:
        outputs.ready(directory, results_of(stem))


def simulate(
    names: list[str], options: Arguments, seeds: int | None, *, cache: bool, jobs: int | None, observed: Observed
) -> tuple[Comparison | Suite, list[str]]:
    """Runs the schemes under a progress bar: a comparison or a suite, and what could not be written."""
    states = StateCache() if cache else None
    workloads: list[str] = options.pop("workload")
    with ProgressDisplay() as progress:
        shared = options | vars(observed) | {"schemes": names, "seeds": seeds, "jobs": jobs}
        shared |= {"progress": progress, "cache": states}
        try:
            one = len(workloads) == 1
            return compare_schemes(workloads[0], **shared) if one else compare_schemes(workloads, **shared), []
        except outputs.Unwritten as error:
            if error.done is None:
                raise
            return error.done, error.failures


def print_done(done: Comparison | Suite) -> None:
    """Prints the tables of a comparison or a suite."""
    if isinstance(done, Suite):
        suite_tables.print_suite(Screen(), done)
    else:
        comparison_tables.print_comparison(Screen(), done)


def finish(results: Sequence[Result], failures: list[str]) -> None:
    """Ends with a status of its own if files were not written or requests ended with an error."""
    if failures:
        raise outputs.Unwritten(failures, printed=True)
    if conditions.failures(results):
        raise typer.Exit(Exit.FAILED_REQUESTS)


def write_files(done: Comparison | Suite, directory: Path, name: str, panel: str | None = None) -> list[str]:
    """Writes the JSON document, the Parquet table and the picture; returns a line for each that failed."""
    stem = directory / name
    draw = partial(done.plot, panel=panel) if panel is not None and isinstance(done, Comparison) else done.plot
    return outputs.write(
        [
            (Path(f"{stem}.json"), outputs.text(done.to_json() + "\n")),
            (Path(f"{stem}.parquet"), done.to_parquet),
            (Path(f"{stem}.png"), draw),
        ]
    )


def tell_picture(directory: Path | None, name: str, failures: list[str]) -> None:
    """Says where the picture is, if it was written."""
    if directory is None:
        return
    picture = directory / f"{name}.png"
    if not any(line.startswith(f"{picture}: ") for line in failures):
        Screen().print(f"picture: {picture}", soft_wrap=True, highlight=False)


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and ends the process; `ufsim.cli.exits` lists the exit statuses."""
    sys.exit(execute_program(sys.argv[1:] if arguments is None else arguments))


def execute_program(arguments: list[str], ready: Callable[[], object] = lambda: None) -> int:
    """The same for a process of its own, whose standard streams are prepared; `ready` is called before the command."""
    screen.prepare_streams()

    def command() -> Any:
        ready()
        return call(arguments)

    return guarded(command, arguments)


def execute(arguments: list[str]) -> int:
    """Runs the command line; failures become one line on stderr and the exit status."""
    return guarded(lambda: call(arguments), arguments)


def call(arguments: list[str]) -> Any:
    """Hands the arguments to the command that they name."""
    # A switch of typer has no value.
    arguments = [FIO_JSON_PLUS if word == "--fio-json=plus" else word for word in arguments]
    for word in arguments[: arguments.index("--")] if "--" in arguments else arguments:
        if word.startswith("--fio-json="):
            raise UsageError(f"--fio-json is '{word.partition('=')[2]}'; allowed: plus, or nothing")
    return app(args=arguments, prog_name="ufsim", standalone_mode=False)
