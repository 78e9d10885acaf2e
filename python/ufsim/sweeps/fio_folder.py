"""A sweep as a folder of fio's results, as fio-plot reads them: `RW-DEPTH-JOBS.json`."""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ufsim import _core, outputs
from ufsim.kept import RunStore
from ufsim.results.result import Result
from ufsim.sweeps.points import WALL

if TYPE_CHECKING:
    from ufsim.sweeps.finished import Sweep

POINTS = "points"


def write(sweep: "Sweep", directory: Path, folder: Path) -> list[Path]:
    """Writes fio's JSON of each point of the sweep in `directory`, and returns the folders that have some.

    Axes that such a name cannot tell, as the scheme, become folders beside each other: `AXIS=VALUE`. Raises
    `ConfigError` for a sweep whose workloads are no jobs of fio, and `outputs.Unwritten`.
    """
    store = RunStore(directory / POINTS)
    results = {}
    for place, point in enumerate(sweep.frame["point"]):
        document = store.read(point)
        if document is None:
            raise _core.ConfigError(f"{store.path(point)}: its result is not there; the sweep makes it again")
        # Sweeps keep no real time, which would differ each time.
        results[place] = Result({**dict.fromkeys(WALL, 0.0), **document})
    names = {place: _name(result) for place, result in results.items()}
    axes = [axis for axis in sweep.axes if _differs_within_a_name(sweep, axis, names)]
    each = [tuple(f"{axis}={sweep.frame[axis].iloc[place]}" for axis in axes) for place in results]
    folders = _folders(each)
    steps = []
    for (place, result), labels in zip(results.items(), each, strict=True):
        own = outputs.ready(folder / folders[labels])
        steps.append((own / names[place], outputs.text(result.to_fio_json() + "\n")))
    if failures := outputs.write(steps):
        raise outputs.Unwritten(failures)
    return sorted({path.parent for path, _ in steps})


def _folders(each: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """A folder for each combination of labels. A value may be a path: what would lie in one place then, is numbered."""
    found: dict[tuple[str, ...], str] = {}
    for labels in dict.fromkeys(each):
        name = ",".join(labels).replace("/", "_")
        numbered = (f"{name},{number}" for number in itertools.count(2))
        found[labels] = next(one for one in itertools.chain([name], numbered) if one not in found.values())
    return found


def _name(result: Result) -> str:
    options = result.groups[0]["options"] if result.groups else {}
    if not options:
        raise _core.ConfigError(f"{result.workload}: must be a job of fio, for a folder of its results")
    return f"{options['rw']}-{options['iodepth']}-{options['numjobs']}.json"


def _differs_within_a_name(sweep: "Sweep", axis: str, names: dict[int, str]) -> bool:
    seen: dict[str, set[str]] = {}
    for place, name in names.items():
        seen.setdefault(name, set()).add(str(sweep.frame[axis].iloc[place]))
    return any(len(values) > 1 for values in seen.values())
