"""Runs fuzz targets under libFuzzer, one after another.

Coverage comes from flags that stable Rust knows, so cargo-fuzz runs without a sanitizer: the project has next to no
unsafe code, and panics are what the targets look for. New inputs go to fuzz/finds and are used again by the next run,
findings go to fuzz/artifacts; the corpus in the tree is only read.
"""

import os
import re
import shutil
import subprocess
from typing import Annotated

import typer

from tools.project import ROOT, cargo_tool, failed, output, run

app = typer.Typer(add_completion=False)

VERSION = "0.13.1"
# An input that takes 10 s or 2 GiB is a finding, too.
LIMITS = ("-max_len=8192", "-len_control=20", "-timeout=10", "-rss_limit_mb=2048")


@app.command(help=__doc__)
def fuzz(
    targets: Annotated[list[str] | None, typer.Argument(help="some of the targets")] = None,
    seconds: Annotated[int, typer.Option(help="for each target")] = 600,
) -> None:
    if shutil.which(os.environ.get("CXX", "c++")) is None:
        failed("libFuzzer is C++, and there is no C++ compiler: install one, or name it in CXX")
    environment = {"PATH": cargo_tool("cargo-fuzz", VERSION)}
    run("cargo", "fuzz", "build", "--sanitizer", "none", environment=environment)
    for target in targets or output("cargo", "fuzz", "list", environment=environment).split():
        print(f"== {target}, {seconds} s", flush=True)
        fuzz_target(target, seconds, environment)


def fuzz_target(target: str, seconds: int, environment: dict[str, str]) -> None:
    finds = ROOT / "fuzz" / "finds" / target
    finds.mkdir(parents=True, exist_ok=True)
    log = finds.with_suffix(".log")
    command = ["cargo", "fuzz", "run", "--sanitizer", "none", target]
    places = [str(finds), f"fuzz/corpus/{target}", "--", f"-max_total_time={seconds}", *LIMITS]
    with log.open("w", encoding="utf-8") as file:
        merged = {**os.environ, **environment}
        done = subprocess.run([*command, *places], cwd=ROOT, env=merged, stdout=file, stderr=file, check=False)
    printed = log.read_text(encoding="utf-8", errors="replace").splitlines()
    if done.returncode == 0:
        print("\n".join([line for line in printed if re.search("DONE +cov:", line)] + printed[-1:]))
        return
    found = [line.partition("Test unit written to ")[2] for line in printed if "Test unit written to " in line]
    again = [*command, *found[:1]]
    replay = f"; to replay what it has found: PATH={environment['PATH']} {' '.join(again)}" if found else ""
    failed("\n".join([*printed[-60:], f"target {target} has failed; the whole output is in {log}{replay}"]))
