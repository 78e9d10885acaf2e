"""Builds the worked example of docs/tutorial/scheme.md (examples/no-bitmap) and tests it: `make example`.

The sources are copied to target/worked-example, and there the example is added as a reader would add it: its file, its
registration, its preset. The conformance tests of the scheme run, and twenty cases of the power-cut campaign. The copy
has a target directory of its own: cargo takes crates at the same place of two workspaces for the same. What comes from
outside of the workspace is the same in both, and is not built again.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from source_copy import copy_sources

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "no-bitmap"
COPY = ROOT / "target" / "worked-example" / "sources"
TARGET = ROOT / "target" / "worked-example" / "target"

# Where the example's lines go: the file, and the line before them.
SCHEME = "crates/device/src/mapping/no_bitmap.rs"
INSERTIONS = {
    "registration.txt": ("crates/device/src/mapping/mod.rs", '"ideal" => Ideal: ideal::Ideal, in ideal;'),
    "preset.txt": (
        "crates/lab/src/system.rs",
        'Ideal = "ideal", of(BoosterKind::None, MappingKind::Ideal);',
    ),
}
CASES = 20


def main() -> None:
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    begun = time.monotonic()
    copy_sources(COPY, edited())
    share_foreign(ROOT / "target" / "debug", TARGET / "debug")
    cargo("test", "-p", "ufsim-testkit", "--test", "conformance", "NoBitmap")
    cargo("run", "-p", "ufsim-campaign", "--example", "cases", "--", "no-bitmap", str(CASES))
    print(f"example: {time.monotonic() - begun:.0f} s")


def share_foreign(built: Path, to: Path) -> None:
    """Links what has been built of crates from outside of the workspace to another target directory, if that is new.

    Cargo names what belongs to a unit of work by its hash: the folder of its fingerprint, its files, its build script.
    """
    if to.exists() or not (built / ".fingerprint").is_dir():
        return
    own = {member["name"] for member in json.loads(metadata())["packages"]}
    units = [path.name.rpartition("-") for path in (built / ".fingerprint").iterdir()]
    foreign = {digest for name, _, digest in units if name not in own}
    for folder in (".fingerprint", "build", "deps"):
        (to / folder).mkdir(parents=True)
        for path in (built / folder).iterdir():
            if path.name.split(".")[0].rpartition("-")[2] not in foreign:
                continue
            if path.is_dir():
                shutil.copytree(path, to / folder / path.name, copy_function=shutil.copy2)
            else:
                os.link(path, to / folder / path.name)


def metadata() -> str:
    """What cargo says of the workspace's own packages."""
    command = ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def edited() -> dict[str, str]:
    """The files that the example adds or changes, with their new text."""
    files = {SCHEME: (EXAMPLE / "no_bitmap.rs").read_text(encoding="utf-8")}
    for name, (path, line) in INSERTIONS.items():
        text = files.get(path) or (ROOT / path).read_text(encoding="utf-8")
        files[path] = insert_after(text, path, line, (EXAMPLE / name).read_text(encoding="utf-8"))
    return files


def insert_after(text: str, path: str, line: str, more: str) -> str:
    lines = text.splitlines(keepends=True)
    places = [number for number, found in enumerate(lines, 1) if found.strip() == line]
    if len(places) != 1:
        sys.exit(
            f"check_example.py: {path} has {len(places)} lines '{line}', not one: where do the example's lines go?"
        )
    return "".join([*lines[: places[0]], more, *lines[places[0] :]])


def cargo(*arguments: str) -> None:
    command = ["cargo", arguments[0], "--locked", *arguments[1:]]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    if shutil.which("cargo") is None:
        sys.exit("check_example.py: cargo is needed")
    if subprocess.run(command, cwd=COPY, check=False, env=environment).returncode:
        sys.exit(f"check_example.py: failed in {COPY}: {' '.join(command)}")


if __name__ == "__main__":
    main()
