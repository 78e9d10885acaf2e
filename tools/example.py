"""Builds the worked example of docs/tutorial/scheme.md (examples/no-bitmap) and tests it.

The sources are copied to target/worked-example, and there the example is added as a reader would add it: its file, its
registration, its preset. The conformance tests of the scheme run, and twenty cases of the power-cut campaign. The copy
has a target directory of its own: cargo takes crates at the same place of two workspaces for the same. What comes from
outside of the workspace is the same in both, and is not built again.
"""

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import typer

from tools.changes import metadata
from tools.project import ROOT, failed, output, run

app = typer.Typer(add_completion=False)

EXAMPLE = ROOT / "examples" / "no-bitmap"
COPY = ROOT / "target" / "worked-example" / "sources"
TARGET = ROOT / "target" / "worked-example" / "target"

# Where the example's lines go: the file, and the line before them.
SCHEME = "crates/schemes/src/no_bitmap.rs"
INSERTIONS = {
    "registration.txt": ("crates/schemes/src/lib.rs", '"ideal" => Ideal: ideal::Ideal, in ideal;'),
    "preset.txt": (
        "crates/lab/src/system.rs",
        '"A device with DRAM for the whole L2P table and all valid page bitmaps";',
    ),
}
CASES = 20
# Folders that are part of the Python package; their places in the root are links.
LINKS = ("jobs", "samples")


@app.command(help=(__doc__ or "").split("\n")[0])
def example() -> None:
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
    own = {member["name"] for member in metadata()["packages"]}
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


def copy_sources(to: Path, changed: Mapping[str, str]) -> None:
    """Makes `to` a copy of what git knows, with `changed` in place of files or beside them.

    Files that are the same already are left alone, so that cargo need not build them again.
    """
    listed = output("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    to.mkdir(parents=True, exist_ok=True)
    for link in (to / name for name in LINKS):
        if link.is_dir() and not link.is_symlink():
            shutil.rmtree(link)
        link.unlink(missing_ok=True)
        link.symlink_to(f"python/ufsim/{link.name}")
    for name in names | changed.keys():
        data = changed[name].encode() if name in changed else (ROOT / name).read_bytes()
        path = to / name
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    for path in [path for path in to.rglob("*") if path.is_file()]:
        if path.relative_to(to).as_posix() not in names | changed.keys():
            path.unlink()


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
        failed(f"{path} has {len(places)} lines '{line}', not one: where do the example's lines go?")
    return "".join([*lines[: places[0]], more, *lines[places[0] :]])


def cargo(*arguments: str) -> None:
    run("cargo", arguments[0], "--locked", *arguments[1:], cwd=COPY, environment={"CARGO_TARGET_DIR": str(TARGET)})
