"""The command line `ufsim`."""

import json
import os
import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import ufsim
from ufsim import _core, cli_phone, cli_trace, tables
from ufsim.cli_trace import CleanOption, DeviceOption, FormatOption, JsonOption
from ufsim.crash import crash as run_campaign
from ufsim.crash import replay_command
from ufsim.documents import parse
from ufsim.formats import workload_name
from ufsim.phones import DEFAULT_SCHEMES as DEFAULT_PHONE_SCHEMES
from ufsim.progress import CountDisplay, ProgressDisplay
from ufsim.results import Comparison
from ufsim.runner import compare as compare_schemes
from ufsim.spec import DEFAULT_SCHEMES, Precondition, Replay, Setting, Spec
from ufsim.states import StateCache

app = typer.Typer(
    name="ufsim",
    help="A laboratory for DRAM-less mobile flash storage: one device model, several mapping schemes, real workloads.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(cli_trace.app, name="trace")

INTERRUPTED = 130

Workload = Annotated[
    str, typer.Argument(metavar="WORKLOAD", help="Trace file or directory, fio job, SQLite workload or phone.")
]
SchedulerOption = Annotated[str | None, typer.Option(metavar="NAME", help="Scheduler instead of the scheme's.")]
ProfileOption = Annotated[str, typer.Option(metavar="NAME|FILE", help="Device profile: see `ufsim profiles`.")]
ReplayOption = Annotated[
    Replay,
    typer.Option(
        help="Traces: at recorded times, the same into a queue of the depth, or as fast as the depth allows. "
        "Job files time themselves."
    ),
]
DepthOption = Annotated[int, typer.Option(metavar="N", help="Outstanding requests in a queued or closed replay.")]
StreamsOption = Annotated[
    bool, typer.Option("--per-cpu-streams", help="Closed replay: a stream with its own depth for each per-CPU file.")
]
SeedOption = Annotated[int, typer.Option(metavar="N", help="Seed of everything random.")]
MemoryOption = Annotated[
    str | None,
    typer.Option(metavar="MIB", help="Host memory that a scheme may use, or 'unlimited'. (default: the profile's)"),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Overrides a profile key; repeatable.")
]
PreconditionOption = Annotated[
    Precondition,
    typer.Option(help="Written before, unmeasured: nothing, what the workload may read, or all it touches."),
]
AgeOption = Annotated[
    str | None,
    typer.Option(
        metavar="JOB", help="Age the device first: a fio job file, or options such as 'rw=randwrite size=52g'."
    ),
]
FromOption = Annotated[
    str | None, typer.Option("--from", metavar="FILE", help="Begin with a device that `ufsim age` has aged.")
]
CacheOption = Annotated[bool, typer.Option(help="Keep states of aged devices, and use those that are there.")]
OutOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Directory for the picture, JSON and Parquet. (default: out; with --json: none)"),
]
NameOption = Annotated[str | None, typer.Option(metavar="NAME", help="Name of those files. (default: the workload's)")]


class UsageError(Exception):
    """A command line that means nothing."""


@app.callback(invoke_without_command=True)
def options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Options before any command."""
    if version:
        print(f"ufsim {ufsim.__version__}")
        raise typer.Exit


@app.command()
def run(
    workload: Workload,
    scheme: Annotated[str, typer.Option(metavar="NAME", help="Scheme: see `ufsim schemes`.")] = "hp-ufs",
    scheduler: SchedulerOption = None,
    booster: Annotated[str | None, typer.Option(metavar="NAME", help="Booster instead of the scheme's.")] = None,
    mapping: Annotated[str | None, typer.Option(metavar="NAME", help="Mapping instead of the scheme's.")] = None,
    profile: ProfileOption = Spec.profile,
    replay: ReplayOption = Spec.replay,
    depth: DepthOption = Spec.depth,
    per_cpu_streams: StreamsOption = False,
    seed: SeedOption = Spec.seed,
    host_memory: MemoryOption = None,
    settings: SetOption = None,
    precondition: PreconditionOption = Spec.precondition,
    device: DeviceOption = None,
    format_name: FormatOption = None,
    clean: CleanOption = None,
    age: AgeOption = None,
    from_state: FromOption = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
    fio_json: Annotated[bool, typer.Option("--fio-json", help="Print the result as fio's JSON.")] = False,
) -> None:
    """Simulate one scheme."""
    if as_json and fio_json:
        raise UsageError("--json and --fio-json exclude each other")
    comparison = simulate(
        workload,
        [scheme],
        jobs=1,
        scheduler=scheduler,
        booster=booster,
        mapping=mapping,
        profile=profile,
        replay=replay,
        depth=depth,
        per_cpu_streams=per_cpu_streams,
        seed=seed,
        host_memory_mib=None if host_memory is None else parse_value(host_memory),
        settings=parse_settings(settings),
        precondition=precondition,
        device=device,
        format=format_name,
        clean=clean or [],
        age=age,
        from_state=from_state,
        cache=StateCache() if cache else None,
    )
    if fio_json:
        print(comparison.results[0].to_fio_json())
    elif as_json:
        print(comparison.to_json())
    else:
        tables.print_comparison(Console(), comparison)


@app.command()
def compare(
    workload: Workload,
    schemes: Annotated[
        str, typer.Option(metavar="NAME,...", help="Schemes with commas between; gains are over the first.")
    ] = ",".join(DEFAULT_SCHEMES),
    scheduler: SchedulerOption = None,
    profile: ProfileOption = Spec.profile,
    replay: ReplayOption = Spec.replay,
    depth: DepthOption = Spec.depth,
    per_cpu_streams: StreamsOption = False,
    seed: SeedOption = Spec.seed,
    host_memory: MemoryOption = None,
    settings: SetOption = None,
    precondition: PreconditionOption = Spec.precondition,
    device: DeviceOption = None,
    format_name: FormatOption = None,
    clean: CleanOption = None,
    age: AgeOption = None,
    from_state: FromOption = None,
    cache: CacheOption = True,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Schemes run at a time. (default: one per CPU)")] = None,
    as_json: JsonOption = False,
    out: OutOption = None,
    name: NameOption = None,
) -> None:
    """Simulate several schemes under the same workload and compare them."""
    if out is None and not as_json:
        out = Path("out")
    check_name(name)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    comparison = simulate(
        workload,
        [scheme.strip() for scheme in schemes.split(",")],
        jobs=jobs,
        scheduler=scheduler,
        profile=profile,
        replay=replay,
        depth=depth,
        per_cpu_streams=per_cpu_streams,
        seed=seed,
        host_memory_mib=None if host_memory is None else parse_value(host_memory),
        settings=parse_settings(settings),
        precondition=precondition,
        device=device,
        format=format_name,
        clean=clean or [],
        age=age,
        from_state=from_state,
        cache=StateCache() if cache else None,
    )
    picture = None if out is None else write_files(comparison, out, name or workload_name(workload))
    if as_json:
        print(comparison.to_json())
        return
    console = Console()
    tables.print_comparison(console, comparison)
    console.print(f"picture: {picture}", soft_wrap=True, highlight=False)


@app.command()
def phone(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="A scenario file: see docs/phone.md.")],
    schemes: Annotated[str, typer.Option(metavar="NAME,...", help="Schemes with commas between.")] = ",".join(
        DEFAULT_PHONE_SCHEMES
    ),
    profile: ProfileOption = "hpbvalve",
    seed: SeedOption = Spec.seed,
    host_memory: MemoryOption = None,
    settings: SetOption = None,
    age: AgeOption = None,
    from_state: FromOption = None,
    cache: CacheOption = True,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Schemes run at a time. (default: one per CPU)")] = None,
    log: Annotated[bool, typer.Option("--log", help="Also write every read to NAME-reads.parquet.")] = False,
    as_json: JsonOption = False,
    out: OutOption = None,
    name: NameOption = None,
) -> None:
    """Simulate a phone: apps that are launched, switched and killed, memory pressure, and what the user waits for."""
    if out is None and not as_json:
        out = Path("out")
    check_name(name)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    study = cli_phone.run(
        scenario,
        [scheme.strip() for scheme in schemes.split(",")],
        log=log,
        jobs=jobs,
        profile=profile,
        seed=seed,
        host_memory_mib=None if host_memory is None else parse_value(host_memory),
        settings=parse_settings(settings),
        age=age,
        from_state=from_state,
        cache=StateCache() if cache else None,
    )
    picture = None if out is None else cli_phone.write_files(study, out, name or Path(scenario).stem)
    if as_json:
        print(study.to_json())
        return
    console = Console()
    cli_phone.print_study(console, study)
    console.print(f"picture: {picture}", soft_wrap=True, highlight=False)


@app.command("age")
def age_device(
    job: Annotated[
        str | None,
        typer.Argument(metavar="JOB", help="A fio job file, or options such as 'rw=randwrite bs=4k size=52g'."),
    ] = None,
    scheme: Annotated[str, typer.Option(metavar="NAME", help="Scheme: see `ufsim schemes`.")] = "hp-ufs",
    profile: ProfileOption = Spec.profile,
    seed: SeedOption = Spec.seed,
    settings: SetOption = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="File for the state.")] = None,
    show: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Say what a file holds, and do nothing else.")
    ] = None,
    clear_cache: Annotated[bool, typer.Option("--clear-cache", help="Remove all states that runs have kept.")] = False,
) -> None:
    """Age a device, switch it off, and keep its state in a file for --from."""
    if show is not None:
        print(json.dumps(parse(_core.state_header(show)), indent=2))
    elif clear_cache:
        cache = StateCache()
        print(f"{cache.clear()} states removed from {cache.directory}")
    elif job is None or out is None:
        raise UsageError("JOB and --out are needed (or --show FILE, or --clear-cache)")
    else:
        spec = Spec(workload="", scheme=scheme, profile=profile, seed=seed, settings=parse_settings(settings), age=job)
        spec.check_system()
        with ProgressDisplay() as progress:
            _core.age(
                spec.to_json(), out, lambda done, total, sim_ns, phase: progress(scheme, phase, done, total, sim_ns)
            )
        print(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


@app.command()
def reproduce(
    wish: Annotated[
        str | None, typer.Argument(metavar="[PAPER[/FIGURE]]", help="A paper or a figure, such as hpb or hpb/f6.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer points: a minute or two instead of many.")] = False,
    scorecard: Annotated[bool, typer.Option("--scorecard", help="Print all claims with their verdicts.")] = False,
    traces: Annotated[
        Path | None,
        typer.Option(metavar="DIR", envvar="UFSIM_TRACES", help="Directory of the traces: pixel4-hpufs, server, ..."),
    ] = None,
    seed: SeedOption = Spec.seed,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Runs at a time. (default: one per processor)")] = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Directory for report, data and drawings.")] = Path(
        "out/reproduce"
    ),
) -> None:
    """Measure the papers' figures again, and check what the papers claim."""
    from ufsim.reproduce import reproduce as make_book
    from ufsim.reproduce.figure import Setting

    setting = Setting(quick=quick, seed=seed, traces=traces or default_traces())
    with CountDisplay("runs") as progress:
        book = make_book(wish, setting, jobs=jobs, cache=StateCache() if cache else None, progress=progress)
    report = book.write(out)
    if as_json:
        print(book.to_json())
        return
    console = Console()
    console.print(tables.claims_table(book.outcomes if scorecard else [o for o in book.outcomes if o.parts]))
    for drawn in book.figures:
        if drawn.missing:
            console.print(f"{drawn.figure.id}: {drawn.missing}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"report: {report}", soft_wrap=True, highlight=False)


def default_traces() -> Path | None:
    """Traces that lie beside the project, as they do for whoever works on it."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "traces"
    return beside if beside.is_dir() else None


@app.command()
def crash(
    runs: Annotated[int, typer.Option(metavar="N", help="Cases.")] = 200,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the first case; the others follow.")] = 0,
    rounds: Annotated[int | None, typer.Option(metavar="N", help="Power cuts in a case. (default: 3)")] = None,
    requests: Annotated[
        int | None, typer.Option(metavar="N", help="Most requests before each cut. (default: 3000)")
    ] = None,
    sabotage: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Break a promise on purpose: {', '.join(_core.crash_sabotages())}."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Cases at a time. (default: one per processor)")] = None,
    as_json: JsonOption = False,
) -> None:
    """Cut the power of random small devices at random moments and check what they hold afterwards."""
    jobs = os.cpu_count() or 1 if jobs is None else jobs
    with CountDisplay("power cuts", runs) as progress:
        campaign = run_campaign(
            runs, seed=seed, rounds=rounds, requests=requests, sabotage=sabotage, jobs=jobs, progress=progress
        )
    if as_json:
        print(json.dumps(campaign.document(), indent=2))
    else:
        console = Console()
        console.print(tables.crash_table(campaign))
        for failure in campaign.failures:
            text = f"{failure['scheme']}: {failure['what']}\n  repeat with: {replay_command(failure, sabotage)}"
            console.print(text, markup=False, highlight=False, soft_wrap=True)
    if campaign.failures:
        raise typer.Exit(1)


@app.command()
def schemes(as_json: JsonOption = False) -> None:
    """List the schemes and what they are made of."""
    if as_json:
        print(json.dumps(ufsim.schemes(), indent=2))
    else:
        Console().print(tables.schemes_table(ufsim.schemes()))


@app.command()
def profiles(name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A profile to print.")] = None) -> None:
    """List the device profiles, or print one with the source of each number."""
    print("\n".join(ufsim.profiles()) if name is None else ufsim.profile_text(name).rstrip())


def check_name(name: str | None) -> None:
    """Refuses a name of files that is none."""
    if name is not None and (Path(name).name != name or name in ("", ".", "..")):
        raise UsageError(f"--name is '{name}'; allowed: a file name without directories and ending")


def simulate(workload: str, names: list[str], **arguments: Any) -> Comparison:
    """Runs the schemes under a progress bar."""
    with ProgressDisplay() as progress:
        return compare_schemes(workload, names, progress=progress, **arguments)


def write_files(comparison: Comparison, directory: Path, name: str) -> Path:
    """Writes the picture, the JSON document and the Parquet table; returns the picture's path."""
    picture = directory / f"{name}.png"
    comparison.plot(picture)
    comparison.to_parquet(directory / f"{name}.parquet")
    (directory / f"{name}.json").write_text(comparison.to_json() + "\n")
    return picture


def parse_settings(texts: list[str] | None) -> dict[str, Setting]:
    """Reads `section.key=value` arguments; values are written as in TOML, and what is not TOML is a string."""
    settings: dict[str, Setting] = {}
    for text in texts or []:
        key, separator, value = text.partition("=")
        key = key.strip()
        if not separator or not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+", key):
            raise UsageError(f"--set is '{text}'; allowed: SECTION.KEY=VALUE")
        if key in settings:
            raise UsageError(f"--set names '{key}' twice")
        settings[key] = parse_value(value.strip())
    return settings


def parse_value(text: str) -> Setting:
    """A TOML string, integer, float or boolean, or else the text itself."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return value if isinstance(value, str | int | float | bool) else text


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and ends the process: 0 after success, 1 after a failure, 2 after wrong usage."""
    sys.exit(execute(sys.argv[1:] if arguments is None else arguments))


def execute(arguments: list[str]) -> int:
    """Runs the command line; failures become one line on stderr and the exit status."""
    try:
        status = app(args=arguments, prog_name="ufsim", standalone_mode=False)
        sys.stdout.flush()
        if status == INTERRUPTED:  # typer swallows the interrupt in some versions
            return report_interrupt()
        return status if isinstance(status, int) else 0
    except ufsim.SimulationBug as bug:
        report("internal", str(bug))
        print(
            f"This is a defect of ufsim {ufsim.__version__}, not of your input, and no result was written. Please "
            f"report it to the project with the message above and this command: ufsim {shlex.join(arguments)}",
            file=sys.stderr,
        )
        return 1
    except BrokenPipeError:
        # The reader of our output has had enough; keep the interpreter from complaining when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return report_interrupt()
    except UsageError as error:
        return report("error", str(error), 2)
    except ufsim.ConfigError as error:
        return report("error", str(error))
    except OSError as error:
        return report("error", describe_os_error(error))
    except Exception as error:
        return report_usage_error(error)


def report(kind: str, message: str, status: int = 1) -> int:
    """Prints one line on stderr and returns the exit status."""
    line = " ".join(message.split())
    prefix = "ufsim: error:" if kind == "error" else "ufsim: internal error:"
    print(f"{prefix} {line}", file=sys.stderr)
    return status


def report_interrupt() -> int:
    """Says that the user stopped the run and returns the exit status that shells give to it."""
    print("ufsim: interrupted", file=sys.stderr)
    return INTERRUPTED


def describe_os_error(error: OSError) -> str:
    """What went wrong with which file."""
    if error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def report_usage_error(error: Exception) -> int:
    """Reports what typer found wrong with the command line; anything else is raised again."""
    # Typer has its own copy of click's exceptions in some versions and click's in others; all have this method.
    describe = getattr(error, "format_message", None)
    if describe is None:
        if type(error).__name__ == "Abort":
            return report_interrupt()
        raise error
    message = describe()
    if not message:  # only the help was asked for
        return 2
    return report("error", f"{message} (see ufsim --help)", 2)
