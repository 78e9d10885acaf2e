"""Fits the phones' profiles to recorded latencies.

For each phone: parameters in `profiles/fits/PHONE.toml` are fitted to all of its traces, and, where one trace can say
anything about another, to all but one in turn.

A phone in use is no fit: its profile has GC as firmware has it, and is scored on an aged device.

Writes `profiles/PHONE.toml`, what the fit says in `docs/data/calibration/PHONE.json`, a picture beside it, and what was
fitted without each trace in `papers/phone`. The same traces give the same files. What was evaluated is kept under
`out/fits`, so that a stopped fit goes on.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import ufsim
from tools.project import ROOT, failed
from tools.records import keep
from ufsim.calibration.calibration import Calibration
from ufsim.calibration.parameters import asked
from ufsim.calibration.tables import print_calibration
from ufsim.cli.progress import CountDisplay

app = typer.Typer(add_completion=False)

KEPT = ROOT / "out/fits"


@dataclass(frozen=True)
class Phone:
    """A phone: the profile of its device, its traces, and what holds during the fit, each with the reason."""

    title: str
    summary: str
    comment: str
    device: str
    traces: tuple[str, ...]
    held: Mapping[str, tuple[Any, str]]
    clean: tuple[str, ...] = ()
    leave_one_out: bool = True


PHONES = {
    "pixel4": Phone(
        title="Pixel 4",
        summary="a Pixel 4, its host's time and its link's sleep included, fitted to recorded latencies",
        comment="A Pixel 4 in use: the device of ufs21, and the time that kernel, processors and a sleeping link take.",
        device="ufs21",
        traces=tuple(
            f"pixel4-hpufs/{app}" for app in ("twitter", "chrome", "facebook", "camera-picture", "genshinimpact")
        ),
        held={
            "power.clkgate_delay_ms": (50, "Qualcomm's driver: 50 ms at a high clock (clkgate_delay_ms_perf)"),
            "host_time.nr_requests": (128, "Linux 4.14, which the phone ran: BLKDEV_MAX_RQ"),
            "host_time.processors": (8, "Snapdragon 855: eight cores"),
            "merge.plug_requests": (16, "Linux 4.14, which the phone ran: BLK_MAX_REQUEST_COUNT"),
        },
    ),
    "nexus5": Phone(
        title="Nexus 5",
        summary="a Nexus 5, its host's time and its eMMC's sleep included, fitted to recorded latencies",
        comment="A Nexus 5 in use: the device of emmc45, and the time that the host takes, asleep or awake.",
        device="emmc45",
        traces=("nexus5-zhou/Installing_log181.txt.xz", "nexus5-zhou/Movie_log121.txt.xz"),
        held={
            "host_time.nr_requests": (128, "Linux 3.4, which the phone ran: BLKDEV_MAX_RQ"),
            "host_time.processors": (4, "Snapdragon 800: four cores"),
        },
        clean=("packed", "pages"),
        # One trace has writes and hardly a read, the other reads and hardly a write.
        leave_one_out=False,
    ),
}


# Phones in use: whose profile it extends, and what the device has been through.
USED = {"pixel4-used": ("pixel4", "jobs/used-phone.fio")}


@app.command(help=(__doc__ or "").split("\n")[0])
def fits(
    traces: Annotated[Path, typer.Option(help="folder that holds pixel4-hpufs and nexus5-zhou")],
    phones: Annotated[list[str] | None, typer.Argument(help=f"some of {', '.join([*PHONES, *USED])}")] = None,
    evaluations: Annotated[int | None, typer.Option(help="end each fit after so many")] = None,
) -> None:
    known = [*PHONES, *USED]
    if unknown := set(phones or []) - set(known):
        failed(f"no such phone: {', '.join(sorted(unknown))}; allowed: {', '.join(known)}")
    for name in phones or known:
        if name in USED:
            score_used(name, traces)
        else:
            fit(name, PHONES[name], traces, evaluations)


def score_used(name: str, traces: Path) -> None:
    """Scores the profile of a phone in use on an aged device."""
    phone, age = USED[name]
    of = PHONES[phone]
    with CountDisplay("evaluations") as display:
        done = ufsim.calibrate(
            [str(traces / trace) for trace in of.traces],
            profile=name,
            age=str(ROOT / age),
            clean=list(of.clean),
            progress=lambda at, total, _: display(at, total),
        )
    keep(ROOT / f"docs/data/calibration/{name}.json", document(done))
    print_calibration(Console(width=120), done)


def fit(name: str, phone: Phone, traces: Path, evaluations: int | None) -> None:
    """Fits a phone's profile and writes its files."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with CountDisplay("evaluations") as display:
        done = ufsim.calibrate(
            [str(traces / trace) for trace in phone.traces],
            profile=phone.device,
            settings={key: value for key, (value, _) in phone.held.items()},
            fit=asked([str(ROOT / f"profiles/fits/{name}.toml")]),
            precondition="touched",
            clean=list(phone.clean),
            leave_one_out=phone.leave_one_out,
            evaluations=evaluations,
            keep=KEPT / f"{name}.jsonl",
            progress=lambda at, total, _: display(at, total),
        )
    data = ROOT / "docs/data/calibration"
    (ROOT / f"profiles/{name}.toml").write_text(profile(phone, done), encoding="utf-8")
    keep(data / f"{name}.json", document(done))
    if done.folds:  # the report predicts each trace anew from these
        told = {
            "profile": phone.device,
            "set": done.settings,
            "left_out": {one.left_out: one.values for one in done.folds},
        }
        keep(ROOT / f"papers/phone/folds-{name}.json", told)
    done.plot(data / f"{name}.png")
    print_calibration(Console(width=120), done)


def profile(phone: Phone, done: Calibration) -> str:
    """The fitted profile with a name of its own, and with the reasons for what was held."""
    text = done.to_toml(ROOT / "profiles")
    lines = []
    for line in text.splitlines():
        key = line.partition(" = ")[0].strip('"')
        if key == "name":
            lines += [f"name = {json.dumps(phone.title)}", f"summary = {json.dumps(phone.summary)}"]
        elif key in phone.held:
            lines.append(f'"{key}" = {json.dumps(phone.held[key][1])}')
        else:
            lines.append(line)
    head = f"# {phone.comment}\n# Made by `make fits`; what it says of the fit is in docs/data/calibration.\n"
    return head + "\n".join(lines) + "\n"


def document(done: Calibration) -> dict[str, Any]:
    """What pages show of the fit, with its version; a trace's path is its place in the folder of traces."""
    told: dict[str, Any] = json.loads(done.to_json())
    fit = told["calibration"]
    for trace in fit["traces"]:
        del trace["path"]
    fit["residuals"] = [one for one in fit["residuals"] if one["view"] == "idle"]
    return told
