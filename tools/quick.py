"""Tests of what has changed.

What has changed is the working tree against the commit where it left main; on main itself, against the last commit that
origin/main has. Tests of each changed crate run, and of each crate that depends on it directly. If any crate or Python
file has changed, the extension is built without optimisation across crates (profile `dev`, which the tests share), and
the Python tests that are not marked `slow` run beside the others.

What is left out: crates that depend on a change only through others, the long tests of .config/nextest.toml,
documentation and its examples, clippy, and the Python tests marked `slow`. `make test` runs all of that.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Annotated

import typer

from tools.changes import changed, fork_point, metadata, owners, with_dependents
from tools.project import BIN, ROOT, failed, run

app = typer.Typer(add_completion=False)

# A change below them concerns no crate.
PYTHON_FOLDERS = ("python/", "papers/", "tests/python/", "tools/")


@app.command(help=(__doc__ or "").split("\n\n")[1])
def quick(
    base: Annotated[str | None, typer.Option(help="commit to compare with")] = None,
    show: Annotated[bool, typer.Option("--list", help="only print what would be tested")] = False,
) -> None:
    base = base or fork_point()
    files, workspace = changed(base), metadata()
    crates = owners(files, workspace)
    # The extension has no Rust tests.
    tested = sorted(with_dependents(crates, workspace) - {"ufsim-py"})
    python = bool(crates) or any(file.startswith(PYTHON_FOLDERS) for file in files)
    print(f"changed since {base[:10]}: {', '.join(sorted(crates)) or 'no crate'}; {len(files)} files")
    print(f"tested: {', '.join(tested) or 'no crate'}{'; Python' if python else ''}", flush=True)
    if show:
        return
    begun = time.monotonic()
    if python:
        build_extension()
    with python_tests() if python else nullcontext():
        if tested:
            test_crates(tested)
    print(f"quick: {time.monotonic() - begun:.0f} s; left out: see tools/quick.py, run by make test")


def test_crates(crates: list[str]) -> None:
    chosen = [word for crate in crates for word in ("-p", crate)]
    if shutil.which("cargo-nextest"):
        # A crate without tests is no error.
        run("cargo", "nextest", "run", "--profile", "quick", "--no-tests", "pass", "--locked", *chosen)
    else:
        run("cargo", "test", "--no-fail-fast", "--locked", *chosen, "--", "--skip", "wear_")


def build_extension() -> None:
    run("make", "install", "PROFILE=dev")


@contextmanager
def python_tests() -> Iterator[None]:
    """Runs the Python tests beside what is done meanwhile, and shows what they print at the end."""
    command = [str(BIN / "pytest"), "-n", "auto", "-m", "not slow"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as tests:
        try:
            yield
        except SystemExit:
            tests.terminate()
            raise
        printed, _ = tests.communicate()
    print(printed, end="")
    if tests.returncode:
        failed("the Python tests have failed")
