"""Copies of this process (fork), some at a time, each of which finds out something for this one."""

import json
import os
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ufsim import _core, outputs


@dataclass
class Forks:
    """The copies. Each ends with its answer in a file of the folder, and this process hands it on."""

    folder: Path
    #: Most at a time.
    most: int
    answered: Callable[[Any], None]
    #: Which of these places each has; by it copies take different processors.
    places: dict[int, int] = field(default_factory=dict)
    #: In a copy, its place.
    mine: int | None = None

    def fork(self) -> bool:
        """True in this process, as soon as there is a place for one more; False in the copy."""
        while len(self.places) >= self.most:
            self.wait()
        place = min(set(range(self.most)) - set(self.places.values()))
        child = os.fork()
        if not child:
            self.mine = place
            return False
        self.places[child] = place
        return True

    def end(self, answer: Callable[[], Any]) -> None:
        """Ends a copy with its answer. Here it does nothing."""
        if self.mine is not None:
            processors = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(0, {processors[self.mine % len(processors)]})
            self._tell({"answer": answer()})

    def fail(self, error: BaseException) -> None:
        """Ends a copy that has none."""
        if self.mine is not None:
            self._tell({"error": f"{type(error).__name__}: {error}"})

    def _tell(self, told: dict[str, Any]) -> None:
        outputs.write([(self.folder / str(os.getpid()), outputs.text(json.dumps(told)))])
        # Nothing of this process is cleaned up: that is the other one's.
        os._exit(0)

    def wait(self) -> None:
        """Waits until one of the copies has ended, and hands its answer on. Raises `SimulationBug` if it has none."""
        child, status = self._ended()
        path = self.folder / str(child)
        told = json.loads(path.read_text()) if path.exists() else {"error": f"a copy has ended with status {status}"}
        if "error" in told:
            raise _core.SimulationBug(told["error"])
        path.unlink()
        self.answered(told["answer"])

    def _ended(self) -> tuple[int, int]:
        """Waits for one of the copies, and for no other child of this process."""
        watched = {os.pidfd_open(child): child for child in self.places}
        try:
            ended, *_ = select.select(list(watched), [], [])[0]
        finally:
            for descriptor in watched:
                os.close(descriptor)
        child = watched[ended]
        del self.places[child]
        return os.waitpid(child, 0)


@contextmanager
def forks(most: int, answered: Callable[[Any], None]) -> Iterator[Forks]:
    """Copies of this process, all of which have ended in the end. `answered` gets their answers as they come."""
    with TemporaryDirectory(prefix="ufsim-forks-") as folder:
        copies = Forks(Path(folder), most, answered)
        try:
            yield copies
            while copies.places:
                copies.wait()
        except BaseException as error:
            copies.fail(error)
            while copies.places:
                copies._ended()
            raise
