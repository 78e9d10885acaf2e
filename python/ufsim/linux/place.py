"""Where the guest's kernel and its tools lie."""

import os
from pathlib import Path


def cache() -> Path:
    """The folder of all that were built."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ufsim" / "linux"


def newest() -> Path:
    """A link to the one that was built last, or asked for last."""
    return cache() / "newest"
