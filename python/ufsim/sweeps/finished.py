"""A finished sweep: its rows, and what they say together."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ufsim import _core
from ufsim.names import check_choice
from ufsim.sweeps import statistics, table
from ufsim.sweeps.failures import Failure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Sweep:
    """The results of a sweep.

    `frame` has a row for each point that is done, `failures` the others, `path` is the file of the rows, and `run` says
    how many points were not there before.
    """

    frame: "pd.DataFrame"
    failures: Sequence[Failure] = field(default=())
    path: Path | None = None
    run: int = 0

    @classmethod
    def read(cls, directory: str | PathLike[str]) -> "Sweep":
        """The sweep of a directory, as `ufsim sweep` has written it."""
        path = table.place(Path(directory))
        return cls(table.read(path), path=path)

    @property
    def axes(self) -> list[str]:
        """Names of the axes."""
        return list(table.about(self.frame)["axes"])

    @property
    def points(self) -> int:
        """How many points the grid has."""
        return int(table.about(self.frame)["points"])

    @property
    def columns(self) -> list[str]:
        """Columns with numbers that runs give."""
        return table.numeric(self.frame)

    def __repr__(self) -> str:
        return f"<ufsim.Sweep over {', '.join(self.axes)}: {len(self.frame)} of {self.points} points>"

    @cached_property
    def _means(self) -> "pd.DataFrame":
        return statistics.means(self.frame, self.axes, self.columns)

    def means(self) -> "pd.DataFrame":
        """A row for each combination of the axes but `seed`: `seeds`, and each column's mean over them.

        `COLUMN_ci95` is half of the 95% confidence interval of the mean, by Student's t; missing with a single seed.
        """
        return self._means.copy()

    def sensitivity(self, y: str | None = None) -> dict[str, float]:
        """Which share of the variance of column `y` each axis explains alone, the largest first.

        What they leave to 1 is interaction of axes, and chance. docs/sweep.md has the formula.
        """
        drawn = table.about(self.frame)["drawn"]
        return statistics.shares(self.frame, self.axes, drawn, self.measure(y))

    def measure(self, y: str | None) -> str:
        """A column of numbers: the one that is asked for, or else the one that tells these runs apart best.

        That is throughput where the workload goes as fast as the device allows, and otherwise the 99th percentile of
        reads or, where there are none, of writes.
        """
        if y is not None:
            check_choice("y", y, self.columns)
            if self.frame[y].isna().all():
                raise _core.ConfigError(f"y is '{y}'; allowed: a column that some run of the sweep has a value of")
            return y
        if not (self.frame["replay"] == "timed").any() or len(self.frame) == 0:
            return "throughput_mib_per_s"
        return "read_p99_ns" if self.frame["read_p99_ns"].notna().any() else "write_p99_ns"

    def to_fio(self, folder: str | PathLike[str]) -> list[Path]:
        """Writes each point as fio's JSON, named `RW-DEPTH-JOBS.json` as fio-plot wants it; returns the folders.

        Axes that such a name cannot tell, as the scheme, become folders beside each other. Raises `ConfigError` if the
        workloads are no jobs of fio.
        """
        from ufsim.sweeps import fio_folder

        if self.path is None:
            raise _core.ConfigError("the sweep must be one of a directory, where the results of its points are")
        return fio_folder.write(self, self.path.parent, Path(folder))

    def plot(self, directory: str | PathLike[str], y: str | None = None, **axes: str | None) -> dict[str, "Figure"]:
        """Draws the pictures that the axes allow into a directory, and returns them by name.

        `lines`, `heat`, `pareto` and `sensitivity`. `x` and `by` name the axis along the picture and that of its lines.
        """
        from ufsim.sweeps.plots import pictures

        return pictures(self, Path(directory), y, **axes)
