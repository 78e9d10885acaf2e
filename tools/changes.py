"""What has changed, and which crates that concerns."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tools.project import ROOT, output

# Folders whose files are compiled into a crate or read by its tests.
EMBEDDED = {
    "profiles/": "ufsim-lab",
    "docs/": "ufsim-lab",
    "apps/": "ufsim-android",
    "python/ufsim/samples/": "ufsim-workload",
    "fuzz/corpus/": "ufsim-testkit",
}


def metadata() -> dict[str, Any]:
    """What cargo says of the workspace's own packages."""
    command = ("cargo", "metadata", "--format-version=1", "--no-deps", "--locked")
    found: dict[str, Any] = json.loads(output(*command))
    return found


def fork_point() -> str:
    """Where this branch has left main, as far as this clone knows."""
    for name in ("origin/main", "main"):
        command = ["git", "merge-base", "HEAD", name]
        found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.strip()
    return output("git", "rev-parse", "HEAD").strip()


def changed(base: str) -> list[str]:
    """Files that differ from a commit, untracked ones included."""
    tracked = output("git", "diff", "--name-only", "-z", base)
    untracked = output("git", "ls-files", "-z", "--others", "--exclude-standard")
    return sorted(set((tracked + untracked).split("\0")) - {""})


def owners(files: list[str], workspace: dict[str, Any]) -> set[str]:
    """The crates that files belong to, or that embed them. All, if the workspace itself has changed."""
    folders = {package_folder(package): package["name"] for package in workspace["packages"]}
    found = set()
    for file in files:
        if file in ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml", ".cargo/config.toml"):
            return set(folders.values())
        found |= {name for folder, name in folders.items() if file.startswith(f"{folder}/")}
        found |= {owner for folder, owner in EMBEDDED.items() if file.startswith(folder)}
    return found


def package_folder(package: dict[str, Any]) -> str:
    return Path(package["manifest_path"]).parent.relative_to(ROOT).as_posix()


def with_dependents(crates: set[str], workspace: dict[str, Any]) -> set[str]:
    """The crates and what depends on them directly, in tests as well."""
    dependents = {
        package["name"]
        for package in workspace["packages"]
        if any(dependency["name"] in crates for dependency in package["dependencies"])
    }
    return crates | dependents
