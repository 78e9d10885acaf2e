"""A copy of the sources in which some files are different, for the scripts beside."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Folders that are part of the Python package; their places in the root are links.
LINKS = ("jobs", "samples")


def copy_sources(to: Path, changed: Mapping[str, str]) -> None:
    """Makes `to` a copy of what git knows, with `changed` in place of files or beside them.

    Files that are the same already are left alone, so that cargo need not build them again.
    """
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
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
