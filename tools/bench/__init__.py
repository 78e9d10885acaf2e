"""How fast the simulator is, and what it costs. Every command prints its numbers and can keep them."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

Words = Annotated[list[str] | None, typer.Argument(help="words; cases whose names contain one of them are run")]
Cpu = Annotated[bool, typer.Option("--cpu", help="compare processor time instead of requests per second")]
Threshold = Annotated[float, typer.Option(help="per cent that a case may be slower")]
Program = Annotated[Path, typer.Argument(exists=True, resolve_path=True)]
Record = Annotated[Path | None, typer.Option(help="file for all numbers")]


@app.command()
def run(words: Words = None, repeats: Annotated[int, typer.Option()] = 1, record: Record = None) -> None:
    """Speed and memory of the cases of crates/lab/benches/throughput.rs; medians of some runs of each."""
    from tools.bench.cases import measure_cases

    measure_cases(words or [], repeats, record)


@app.command()
def pairs(
    before: Program,
    after: Program,
    words: Words = None,
    pairs: Annotated[int, typer.Option()] = 9,
    threshold: Threshold = 2.0,
    cpu: Cpu = False,
    record: Record = None,
) -> None:
    """Compares two benchmark programs in turns; ends with 1 if AFTER is slower or takes more memory.

    `cargo bench -p ufsim-lab --bench throughput --no-run` names such a program. Shown are the medians of the ratios of
    speed and of peak memory. Processor time is steadier than speed where the machine has other work, but counts
    preconditioning, too.
    """
    from tools.bench.compared import compare_pairs

    raise typer.Exit(compare_pairs(before, after, words or [], pairs, threshold, cpu=cpu, record=record))


@app.command()
def compare(before: Path, after: Path, threshold: Threshold = 2.0, cpu: Cpu = False) -> None:
    """Compares two files of `bench run`; ends with 1 if AFTER is slower.

    Files of different machines, or of different days on a noisy one, say little: `pairs` is for decisions.
    """
    from tools.bench.compared import compare_records

    raise typer.Exit(compare_records(before, after, threshold, cpu=cpu))


@app.command()
def log(
    pairs: Annotated[int, typer.Option()] = 5,
    long: Annotated[int, typer.Option(help="requests of one more log; 0 = none")] = 50_000_000,
    record: Record = None,
) -> None:
    """What a log of requests costs. Wants a quiet machine with two processors: a thread writes the file."""
    from tools.bench.logs import measure_log

    measure_log(pairs, long, record)


@app.command()
def sweep(turns: Annotated[int, typer.Option()] = 2, record: Record = None) -> None:
    """How much faster a sweep is on two processors. Wants a quiet machine that has them."""
    from tools.bench.sweeps import measure_sweep

    measure_sweep(turns, record)


@app.command()
def live(
    figures: Annotated[
        list[str] | None, typer.Argument(help="some of throughput, lateness, prediction, memory")
    ] = None,
    turns: Annotated[int, typer.Option()] = 5,
    record: Annotated[Path | None, typer.Option(help="file for all numbers; figures left out stay as they are")] = None,
) -> None:
    """Live devices: speed beside nbdkit, lateness of replies, fio beside the simulator, memory.

    Needs fio, nbdkit and a quiet machine.
    """
    from tools.bench.devices import measure_live

    measure_live(figures or [], turns, record)


@app.command()
def guest(turns: Annotated[int, typer.Option()] = 3, record: Record = None) -> None:
    """Linux as the host: boots, and requests per second of real time. Wants a quiet machine and make linux."""
    from tools.bench.guest import measure_guest

    measure_guest(turns, record)


@app.command()
def cuts(
    kept: Annotated[Path, typer.Argument(help="file of the cuts; those that stand in it are not repeated")],
    jobs: Annotated[int, typer.Option(help="cuts at a time")] = 2,
    record: Record = None,
) -> None:
    """Every power cut along sessions of Linux, some 11,000: takes an hour and a half, and needs make linux."""
    from tools.bench.cuts import measure_cuts

    measure_cuts(jobs, kept, record)
