"""Files that come with ufsim: job files and samples.

They are named as in the project, `jobs/used-phone.fio` or `samples/app-mix`, wherever a path is taken, so that
the examples of the documentation work with an installed ufsim, too. A file of that name in the current directory goes
first.
"""

from os import PathLike, fspath
from pathlib import Path

PACKAGE = Path(__file__).parent
FOLDERS = ("jobs", "samples")


def is_there(path: str) -> bool:
    """Whether a text names a file; a job of many options is too long a name for some systems."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def located(path: str | PathLike[str]) -> str:
    """The path itself, or that of the bundled file if nothing is there under this name."""
    given = Path(path)
    if given.parts[:1] and given.parts[0] in FOLDERS and ".." not in given.parts and not given.exists():
        inside = PACKAGE / given
        if inside.exists():
            return str(inside)
    return fspath(path)
