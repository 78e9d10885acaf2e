"""`ufsim linux`: Linux itself as the host."""

import json
import re
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ufsim import _core, outputs
from ufsim.cli.options import (
    CacheOption,
    JsonOption,
    LogOption,
    SeriesOption,
    StepOption,
    TimelineOption,
    UsageError,
    WindowOption,
    takes,
)
from ufsim.cli.progress import ProgressDisplay
from ufsim.cli.screen import Screen, say
from ufsim.linux.cli_cuts import Wish, cut_sessions
from ufsim.linux.session import CpuCost, GuestRun, Job, run
from ufsim.linux.terminal import terminal
from ufsim.observe import Observed
from ufsim.results import comparison_tables
from ufsim.results.result import Comparison
from ufsim.spec import Spec
from ufsim.states import StateCache

DEFAULT = "hpb-linux"
COST = re.compile(r"(\d{1,9}),(\d{1,9}),(\d{1,9})")
# Events that the kernel's buffer has, and those that have come into it, in the head of a trace.
ENTRIES = re.compile(r"# entries-in-buffer/entries-written: (\d+)/(\d+)")


def listed(scheme: str | None, schemes: str | None) -> list[str]:
    """The schemes that are asked for."""
    if scheme and schemes:
        raise UsageError("--scheme and --schemes exclude each other")
    return [name.strip() for name in schemes.split(",")] if schemes else [scheme or DEFAULT]


def cost(text: str | None) -> CpuCost:
    """What processors cost."""
    if text is None:
        return CpuCost()
    if text == "pixel4":
        return CpuCost.pixel4()
    found = COST.fullmatch(text)
    if not found:
        raise UsageError(
            f"--cpu-cost is '{text}'; allowed: SYSCALL_NS,REGISTER_NS,PAGE_NS, such as 300,100,1000, or pixel4"
        )
    return CpuCost(*(int(part) for part in found.groups()))


@takes("linux")
def linux(
    options: dict[str, Any],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="Behind --: a program of the guest, such as fio, with its arguments."),
    ] = None,
    scheme: Annotated[str | None, typer.Option(metavar="NAME", help=f"Scheme. (default: {DEFAULT})")] = None,
    schemes: Annotated[
        str | None, typer.Option(metavar="NAME,...", help="Several schemes, compared; gains are over the first.")
    ] = None,
    script: Annotated[Path | None, typer.Option(metavar="FILE", help="A script for the guest's shell instead.")] = None,
    shell: Annotated[
        bool, typer.Option("--shell", help="A shell of the guest, in this terminal; its time stops while it waits.")
    ] = False,
    fs: Annotated[
        str, typer.Option(metavar="f2fs|ext4|none", help="File system of the disk, made anew and mounted at /mnt.")
    ] = "f2fs",
    memory: Annotated[int, typer.Option(metavar="MIB", help="Memory of the guest.")] = 512,
    folder: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="A folder that the guest can read in /host; repeatable.")
    ] = None,
    cpu_cost: Annotated[
        str | None,
        typer.Option(
            metavar="NS,NS,NS|pixel4", help="Cost of a system call, a register access, a copied page. (default: none)"
        ),
    ] = None,
    guest_trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the guest's block and UFS events, as ftrace text.")
    ] = None,
    console: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the guest's console.")] = None,
    cuts: Annotated[
        int | None, typer.Option(metavar="N", help="Cut the power at N turns of a session, chosen by --seed.")
    ] = None,
    cut_at: Annotated[
        str | None,
        typer.Option(metavar="TURN|TIME", help="The same at one, or at the first after a time such as 1.5s."),
    ] = None,
    every_cut: Annotated[bool, typer.Option("--every-cut", help="The same at each turn.")] = False,
    check: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Script for the guest after a cut; $BEFORE has what was said.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep cuts in a file; those that are there are not repeated."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Cuts at a time. (default: one per processor)")] = None,
    cache: CacheOption = True,
    log: LogOption = None,
    timeline: TimelineOption = None,
    timeline_window: WindowOption = None,
    series: SeriesOption = None,
    step: StepOption = None,
    as_json: JsonOption = False,
) -> None:
    """Boot Linux on a simulated device: its UFS driver, block layer, file systems and the real fio."""
    names = listed(scheme, schemes)
    if len(names) > 1 and (guest_trace or console):
        raise UsageError("--guest-trace and --console are for one scheme")
    if shell and (as_json or len(names) > 1):
        raise UsageError("--shell is for one scheme, and without --json")
    wish = Wish(cuts, cut_at, every_cut, check, record, jobs)
    job = Job(
        command=tuple(command or ()),
        script=script,
        fs=fs,
        memory_mib=memory,
        cpu_cost=cost(cpu_cost),
        folders=tuple(folder or ()),
        trace=guest_trace is not None,
    )
    if wish.asked():
        if shell:
            raise UsageError("--shell and cuts exclude each other")
        without: dict[str, Any] = {"guest-trace": guest_trace, "console": console, "no-cache": not cache, "log": log}
        without |= {"timeline": timeline, "timeline-window": timeline_window, "series": series, "step": step}
        if given := [name for name, value in without.items() if value]:
            raise UsageError(f"--{given[0]} has no effect with power cuts")
        cut_sessions(job, names, options, wish, as_json=as_json)
        return
    observed = Observed(log or False, timeline, timeline_window, series, step)
    specs = [Spec(workload="linux", scheme=name, **options) for name in names]
    texts = [path for path in (guest_trace, console) if path is not None]
    observed.check(specs, texts, [path for path in (script, *(folder or [])) if path is not None])
    for path in (*observed.places(names), *texts):
        outputs.ready_file(path, outputs.OWN_TEXT if path in texts else None)
    states = StateCache() if cache else None
    runs = []
    with ExitStack() as stack:
        progress = None if shell else stack.enter_context(ProgressDisplay())
        if shell:
            job = replace(job, terminal=stack.enter_context(terminal()))
        for name in names:

            def report(done: int, total: int | None, sim_ns: int, phase: str, name: str = name) -> None:
                if progress:
                    progress(name, phase, done, total, sim_ns)

            try:
                runs.append(
                    run(job, name, observed=observed, report=report, cache=states, alone=len(names) == 1, **options)
                )
            except _core.GuestError as error:
                # What a guest has said before it died is wanted most.
                if console is not None:
                    outputs.write([(console, outputs.text(marked(error.console, "console")))])
                raise
    said = {"events": (guest_trace, runs[0].trace or ""), "console": (console, runs[0].console)}
    failures = [line for run in runs for line in run.result.unwritten]
    failures += outputs.write(
        [(path, outputs.text(marked(text, what))) for what, (path, text) in said.items() if path is not None]
    )
    tell(runs, as_json=as_json)
    if failures:
        raise outputs.Unwritten(failures, printed=True)
    if failed := [run.status or 1 for run in runs if run.status != 0]:
        raise typer.Exit(failed[0])


def marked(text: str, what: str) -> str:
    """What a guest has written, with a comment by which the file can be replaced later.

    It is the second line behind one such as `# tracer: nop`, by which other tools tell what the file is.
    """
    first, end, rest = text.partition("\n") if text.startswith("#") else ("", "", text)
    return f"{first}{end}# ufsim {_core.__version__}: {what} of a guest\n{rest}"


def starved(hpb_stats: dict[str, int]) -> bool:
    """True if the kernel's HPB driver had subregions to fetch, and never came to it."""
    return hpb_stats.get("rcmd_active_cnt", 0) > 0 and hpb_stats["map_req_cnt"] == 0


def tell(runs: list[GuestRun], *, as_json: bool) -> None:
    """Prints what the job has said, then what the device did."""
    if as_json:
        documents = [run.to_json() for run in runs]
        print(json.dumps(documents[0] if len(runs) == 1 else documents, indent=2))
        return
    for one in runs:
        if len(runs) > 1:
            say(f"== {one.result.scheme}")
        print(one.stdout, end="")
        print(one.stderr, end="", file=sys.stderr)
        if one.status is None:
            say("the job has no status: the guest has halted before its end")
        elif one.status:
            say(f"the job has ended with status {one.status}")
        if one.trace and (events := ENTRIES.search(one.trace)) and events[1] != events[2]:
            say(f"note: the guest's trace has the last {int(events[1]):,} of {int(events[2]):,} events")
        if starved(one.hpb_stats):
            say("note: ufshpb has fetched nothing of what it wanted: with free processors it starves (--cpu-cost)")
    comparison_tables.print_comparison(Screen(), Comparison(runs[0].result.workload, [one.result for one in runs]))
