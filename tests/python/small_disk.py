"""A disk that is soon full."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(path: Path, kib: int) -> Iterator[Path]:
    """A real file system with so much room, where one may be mounted."""
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(path)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        print("no tmpfs can be mounted here; limits of file sizes stand in for a full disk", file=sys.stderr)
        pytest.skip("no tmpfs can be mounted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)
