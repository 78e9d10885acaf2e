"""Tests of what has changed: `make quick`, or `scripts/quick.py [--base COMMIT] [--list]`.

What has changed is the working tree against the commit where it left main; on main itself, against the last commit that
origin/main has. Tests of each changed crate run, and of each crate that depends on it directly. If any crate or Python
file has changed, the extension is built without optimisation across crates (profile `dev`, which the tests share), and
the Python tests that are not marked `slow` run beside the others.

What is left out: crates that depend on a change only through others, the long tests of .config/nextest.toml,
documentation and its examples, clippy, and the Python tests marked `slow`. `make test` runs all of that.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent

# A change of these concerns every crate, or none; the crates' own tests say nothing about it.
PYTHON_FOLDERS = ("python/", "papers/", "tests/python/", "scripts/")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--base", help="commit to compare with")
    options.add_argument("--list", action="store_true", help="only print what would be tested")
    chosen = options.parse_args()

    base = chosen.base or fork_point()
    files = changed(base)
    metadata = json.loads(output("cargo", "metadata", "--format-version=1", "--no-deps", "--locked"))
    crates = owners(files, metadata)
    tested = with_dependents(crates, metadata)
    python = bool(crates) or any(file.startswith(PYTHON_FOLDERS) for file in files)
    print(f"changed since {base[:10]}: {', '.join(sorted(crates)) or 'no crate'}; {len(files)} files")
    print(f"tested: {', '.join(tested) or 'no crate'}{'; Python' if python else ''}", flush=True)
    if chosen.list:
        return
    begun = time.monotonic()
    if python:
        build_extension()
    with python_tests() if python else nullcontext():
        if tested:
            test_crates(tested)
    print(f"quick: {time.monotonic() - begun:.0f} s; left out: see scripts/quick.py, run by make test")


def output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def fork_point() -> str:
    """Where this branch has left main, as far as this clone knows."""
    for name in ("origin/main", "main", "HEAD"):
        found = subprocess.run(
            ["git", "merge-base", "HEAD", name], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if found.returncode == 0:
            return found.stdout.strip()
    sys.exit("quick: no commit to compare with; name one with --base")


def changed(base: str) -> list[str]:
    """Files that differ from a commit, untracked ones included."""
    tracked = output("git", "diff", "--name-only", "-z", base)
    untracked = output("git", "ls-files", "-z", "--others", "--exclude-standard")
    return sorted(set((tracked + untracked).split("\0")) - {""})


def owners(files: list[str], metadata: dict[str, Any]) -> set[str]:
    """The crates that files belong to, or that embed them. All, if the workspace itself has changed."""
    folders = {package_folder(package): package["name"] for package in metadata["packages"]}
    found = set()
    for file in files:
        if file in ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml", ".cargo/config.toml"):
            return set(folders.values())
        found |= {name for folder, name in folders.items() if file.startswith(f"{folder}/")}
        found |= {owner for folder, owner in EMBEDDED.items() if file.startswith(folder)}
    return found


# Folders whose files are compiled into a crate or read by its tests.
EMBEDDED = {
    "profiles/": "ufsim-lab",
    "docs/": "ufsim-lab",
    "apps/": "ufsim-android",
    "python/ufsim/samples/": "ufsim-workload",
    "fuzz/corpus/": "ufsim-testkit",
}


def package_folder(package: dict[str, Any]) -> str:
    return Path(package["manifest_path"]).parent.relative_to(ROOT).as_posix()


def with_dependents(crates: set[str], metadata: dict[str, Any]) -> list[str]:
    """The crates and what depends on them directly, in tests as well. The extension has no Rust tests."""
    dependents = {
        package["name"]
        for package in metadata["packages"]
        if any(dependency["name"] in crates for dependency in package["dependencies"])
    }
    return sorted((crates | dependents) - {"ufsim-py"})


def test_crates(crates: list[str]) -> None:
    chosen = [word for crate in crates for word in ("-p", crate)]
    if shutil.which("cargo-nextest"):
        # A crate without tests is no error.
        run("cargo", "nextest", "run", "--profile", "quick", "--no-tests", "pass", "--locked", *chosen)
    else:
        run("cargo", "test", "--no-fail-fast", "--locked", *chosen, "--", "--skip", "wear_")


def build_extension() -> None:
    # `make install` has to build anew what this replaces.
    (ROOT / ".venv" / ".extension").unlink(missing_ok=True)
    run(BIN / "maturin", "develop", "--quiet", "--locked")


@contextmanager
def python_tests() -> Iterator[None]:
    """Runs the Python tests beside what is done meanwhile, and shows what they print at the end."""
    command = [str(BIN / "pytest"), "-n", "auto", "-m", "not slow", "--ignore-glob=*/test_tidy.py"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as tests:
        try:
            yield
        except SystemExit:
            tests.terminate()
            raise
        printed, _ = tests.communicate()
    print(printed, end="")
    if tests.returncode:
        sys.exit("quick: failed: the Python tests")


def run(*command: str | Path) -> None:
    if subprocess.run(command, cwd=ROOT, check=False, env={**os.environ, "PIP_QUIET": "1"}).returncode:
        sys.exit(f"quick: failed: {' '.join(map(str, command))}")


if __name__ == "__main__":
    main()
