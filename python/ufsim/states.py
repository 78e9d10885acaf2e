"""States of aged devices, kept between runs: 100 GiB of random writes are paid for once.

A state is named by everything that decides its bytes: the sources of the simulator, profile, scheme, ageing job and
seed. A run on a kept state gives the same result as one that ages its device first.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ufsim import _core
from ufsim.spec import Spec

GIB = 1 << 30
DEFAULT_LIMIT_GIB = 10
ENDING = ".state"

# bytes completed, bytes in all if known, simulated nanoseconds, phase
Report = Callable[[int, int | None, int, str], None]


class StateCache:
    """A directory of states. Beyond `limit_bytes` those go first that have not been used for longest."""

    def __init__(self, directory: Path | None = None, limit_bytes: int = DEFAULT_LIMIT_GIB * GIB) -> None:
        self.directory = directory if directory is not None else default_directory()
        self.limit_bytes = limit_bytes
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def aged(self, spec: Spec, report: Report | None = None) -> Spec:
        """A spec that begins with a kept state instead of ageing its device; the state is made if there is none."""
        if spec.age is None:
            return spec
        path = self.path(spec)
        # Two runs that need the same state: one makes it, the other waits.
        with self._guard:
            lock = self._locks.setdefault(path.name, threading.Lock())
        with lock:
            if path.exists():
                path.touch()
            else:
                self.directory.mkdir(parents=True, exist_ok=True)
                _core.age(spec.to_json(), path, report)
                self._make_room(path)
        return replace(spec, age=None, from_state=str(path))

    def path(self, spec: Spec) -> Path:
        """Where the state of a spec is or would be kept."""
        return self.directory / f"{spec.scheme}-{_core.age_key(spec.to_json())}{ENDING}"

    def files(self) -> list[Path]:
        """All states, those first that have not been used for longest."""
        return sorted(self.directory.glob(f"*{ENDING}"), key=lambda path: path.stat().st_mtime_ns)

    def clear(self) -> int:
        """Removes all states and returns how many there were."""
        files = self.files()
        for path in files:
            path.unlink(missing_ok=True)
        return len(files)

    def _make_room(self, newest: Path) -> None:
        files = self.files()
        size = sum(path.stat().st_size for path in files)
        for path in files:
            if size <= self.limit_bytes or path == newest:
                return
            size -= path.stat().st_size
            path.unlink(missing_ok=True)


def default_directory() -> Path:
    """`$UFSIM_CACHE`, or `ufsim` in the user's directory for caches."""
    own = os.environ.get("UFSIM_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ufsim"
