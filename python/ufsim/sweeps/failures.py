"""Points without a result."""

from dataclasses import dataclass

from ufsim import _core
from ufsim.sweeps.points import Point

# What may be wrong with a single point. Anything else is a defect of the sweep, and ends it.
FAILURES = (_core.ConfigError, _core.SimulationBug, OSError)


@dataclass(frozen=True)
class Failure:
    """A point without a result, and why."""

    point: Point
    error: str

    @property
    def command(self) -> str:
        """The command that repeats it."""
        return self.point.command()


def told(error: BaseException) -> str:
    """An error on one line."""
    return " ".join(str(error).split())
