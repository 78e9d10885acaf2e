"""States of aged devices, kept between runs: 100 GiB of random writes are paid for once.

A state is named by everything that decides its bytes: the sources of the simulator, the profile's file, the mapping
scheme, ageing job, seed, and those replaced values of the profile that hold while a device ages. What is only asked of
the aged device is not part of it: workload, host memory, flash times, what-if, scheduler, booster, replay. A run on a
kept state gives the same result as one that ages its device first.

The cache never stands in the way of a result. Where a state cannot be kept, the run ages its device itself; one that
cannot be read is made again. Both are told to the logger `ufsim`. Of several processes that need the same state one
makes it, and the others wait for it.
"""

import logging
import os
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ufsim import _core, outputs
from ufsim.locks import held
from ufsim.spec import Spec

GIB = 1 << 30
DEFAULT_LIMIT_GIB = 10
ENDING = ".state"

# bytes completed, bytes in all if known, simulated nanoseconds, phase
Report = Callable[[int, int | None, int, str], None]

T = TypeVar("T")

log = logging.getLogger("ufsim")


class StateCache:
    """A directory of states. Beyond `limit_bytes` those go first that have not been used for longest."""

    def __init__(self, directory: Path | None = None, limit_bytes: int = DEFAULT_LIMIT_GIB * GIB) -> None:
        self.directory = directory if directory is not None else default_directory()
        self.limit_bytes = limit_bytes
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        self._takes_files: bool | None = None

    def simulated(self, spec: Spec, report: Report | None, simulate: Callable[[Spec], T]) -> T:
        """What `simulate` gives for a spec, which begins with a kept state if it asks for an aged device."""
        begun = self.aged(spec, report)
        try:
            return simulate(begun)
        except _core.StateError as error:
            if begun is spec:
                raise
            log.warning("%s; the state is made again", error)
            return simulate(self.aged(spec, report) if self._removed(self.path(spec)) else spec)

    def aged(self, spec: Spec, report: Report | None = None) -> Spec:
        """A spec that begins with a kept state instead of ageing its device; the state is made if there is none.

        The same spec, if it asks for no aged device or its state cannot be kept.
        """
        if spec.age is None or spec.stay_on:  # of a machine that stays on no file tells enough
            return spec
        path = self.path(spec)
        # Two runs that need the same state: one makes it, the other waits.
        with self._guard:
            lock = self._locks.setdefault(path.name, threading.Lock())
        with lock:
            if not (_used(path) or self._made(path, spec, report)):
                return spec
        return replace(spec, age=None, from_state=str(path))

    def path(self, spec: Spec) -> Path:
        """Where the state of a spec is or would be kept."""
        return self.directory / f"{_core.age_key(spec.to_json())}{ENDING}"

    def files(self) -> list[Path]:
        """All states, those first that have not been used for longest."""
        found = [
            (used, path) for path in self.directory.glob(f"[!.]*{ENDING}") if (used := _last_use(path)) is not None
        ]
        return [path for _, path in sorted(found)]

    def clear(self) -> int:
        """Removes all states and returns how many there were."""
        files = self.files()
        for path in files:
            path.unlink(missing_ok=True)
        for pattern in (f".*{ENDING}.*", f"{outputs.UNFINISHED}*{ENDING}"):
            for left in self.directory.glob(pattern):
                left.unlink(missing_ok=True)
        return len(files)

    def _made(self, path: Path, spec: Spec, report: Report | None) -> bool:
        """Makes a state, or waits for another process to make it. False if it cannot be kept."""
        if not self._ready():
            return False

        def waits(first: bool) -> None:
            if first:
                log.info("waiting for another process that ages the same device: %s", path)
            if report is not None:
                report(0, None, 0, "wait")

        try:
            with held(path.with_name(f".{path.name}.lock"), waits):
                if not _used(path):
                    _core.age(spec.to_json(), path, report)
                    self._make_room(path)
        except OSError as error:
            log.warning("%s; the state is not kept", error)
            self._takes_files = False
            return False
        return True

    def _ready(self) -> bool:
        """Asks once, before anything is simulated, whether the directory takes files."""
        with self._guard:
            if self._takes_files is None:
                try:
                    outputs.ready(self.directory)
                    self._takes_files = True
                except outputs.Unwritten as error:
                    log.warning("%s; states of aged devices are not kept", error)
                    self._takes_files = False
            return self._takes_files

    def _removed(self, path: Path) -> bool:
        """Removes a state that is of no use. False if that is not allowed."""
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _make_room(self, newest: Path) -> None:
        sizes = {path: _size(path) for path in self.files()}
        size = sum(sizes.values())
        for path, own in sizes.items():
            if size <= self.limit_bytes or path == newest:
                return
            size -= own
            path.unlink(missing_ok=True)


def simulated(cache: StateCache | None, spec: Spec, report: Report | None, simulate: Callable[[Spec], T]) -> T:
    """What `simulate` gives for a spec, with or without a cache."""
    return simulate(spec) if cache is None else cache.simulated(spec, report, simulate)


def default_directory() -> Path:
    """`$UFSIM_CACHE`, or `ufsim` in the user's directory for caches."""
    own = os.environ.get("UFSIM_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "ufsim"
    except RuntimeError:  # a user without a home, as in some containers
        return Path(tempfile.gettempdir()) / f"ufsim-{os.getuid()}"


def _used(path: Path) -> bool:
    """Notes that a state is used now; false if there is none."""
    if not path.exists():
        return False
    try:
        path.touch()
    except OSError:
        log.debug("%s: its time of use cannot be set", path)
    return True


def _last_use(path: Path) -> int | None:
    """Nothing if another process has just removed it."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
