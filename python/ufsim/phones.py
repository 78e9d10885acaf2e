"""Phones: apps, memory and the low-memory killer around a device, and what the user waits for.

    >>> import ufsim
    >>> study = ufsim.phone("samples/phone/nine-apps.toml", ["ufs", "ideal"], profile="hpbvalve")  # doctest: +SKIP
    >>> study.uses().groupby(["scheme", "app", "start"]).launch_ms.mean()  # doctest: +SKIP

docs/phone.md describes scenarios, the model and every column.
"""

import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ufsim import _core
from ufsim.documents import parse
from ufsim.results import Result
from ufsim.runner import Progress, run_threads
from ufsim.spec import Spec, check_range
from ufsim.states import StateCache

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DEFAULT_SCHEMES = ("ufs", "foam", "hpbvalve", "ideal")
PROFILE = "hpbvalve"
PHASES = ("launch", "loading", "run", "background")
OUTCOMES = ("host", "sram", "map")
MIB = 1024 * 1024

# Energy: what the phone takes while the user waits, and what a flash operation takes. Only comparisons of schemes mean
# something; docs/phone.md has the formula and where the numbers come from.
FOREGROUND_WATTS = 2.0
OPERATION_MICROJOULES = {"read": 50.0, "program": 800.0, "erase": 8000.0}


@dataclass(frozen=True)
class Study:
    """A scenario under several schemes, in the order in which they were asked for."""

    scenario: str
    results: list[Result]
    read_logs: Mapping[str, dict[str, tuple[str, bytes]]]

    def uses(self) -> "pd.DataFrame":
        """One row for each use of an app by the user: times in milliseconds, reads by phase and by outcome."""
        import pandas as pd

        return pd.DataFrame([row for result in self.results for row in use_rows(result)])

    def kills(self) -> "pd.DataFrame":
        """One row for each choice of the killer, those averted by the driver among them (`spared`)."""
        import pandas as pd

        columns = [
            "scheme",
            "at_s",
            "app",
            "adj",
            "category",
            "category_name",
            "expected_mib",
            "returned_mib",
            "spared",
        ]
        rows = []
        for result in self.results:
            names = result.phone["categories"]
            for kill in result.phone["kills"]:
                rows.append(
                    {
                        "scheme": result.scheme,
                        "at_s": kill["at_ns"] / 1e9,
                        "app": kill["app"],
                        "adj": kill["adj"],
                        "category": kill["category"],
                        "category_name": names[kill["category"]],
                        "expected_mib": kill["expected_bytes"] / MIB,
                        "returned_mib": kill["returned_bytes"] / MIB,
                        "spared": kill["spared"],
                    }
                )
        return pd.DataFrame(rows, columns=columns)

    def recorded_kills(self) -> "pd.DataFrame":
        """The kills of the phone whose recording the scenario repeats: `at_s`, `app`, `adj`."""
        import pandas as pd

        kills = self.results[0].phone["recorded_kills"]
        rows = [{"at_s": kill["at_ns"] / 1e9, "app": kill["app"], "adj": kill["adj"]} for kill in kills]
        return pd.DataFrame(rows, columns=["at_s", "app", "adj"])

    def timeline(self) -> "pd.DataFrame":
        """The phone every half second: foreground app, pressure (0 to 1), and who has the memory, in MiB."""
        import pandas as pd

        rows = []
        for result in self.results:
            for sample in result.phone["timeline"]:
                memory = ("hpb", "free", "cache", "apps", "system")
                row = {"scheme": result.scheme, "at_s": sample["at_ns"] / 1e9}
                row |= {name: sample[name] for name in ("foreground", "pressure", "alive")}
                rows.append(row | {f"{name}_mib": sample[f"{name}_bytes"] / MIB for name in memory})
        return pd.DataFrame(rows)

    def apps(self) -> "pd.DataFrame":
        """One row for each scheme and app of the user: launches, mean times, reads by outcome, kills."""
        import pandas as pd

        uses, kills = self.uses(), self.kills()
        kills = kills[~kills.spared.astype(bool)]
        rows = []
        for result in self.results:
            report = result.phone
            for index, app in enumerate(report["apps"][: report["users"]]):
                own = uses[(uses.scheme == result.scheme) & (uses.app == app)]
                cold, warm = own[own.start == "cold"], own[own.start == "warm"]
                row = {
                    "scheme": result.scheme,
                    "app": app,
                    "title": report["titles"][index],
                    "io": report["io"][index],
                    "launches": len(own),
                    "cold": len(cold),
                    "launch_ms": own.launch_ms.mean(),
                    "cold_ms": cold.launch_ms.mean(),
                    "warm_ms": warm.launch_ms.mean(),
                    "loading_ms": cold.loading_ms.mean(),
                    "blocked_ms": own.blocked_ms.mean(),
                }
                row |= {name: int(own[name].sum()) for name in ("reads", *OUTCOMES)}
                background = report["background"][index]
                row |= {f"background_{name}": background[name] for name in ("reads", *OUTCOMES)}
                row["kills"] = int(((kills.scheme == result.scheme) & (kills.app == app)).sum())
                rows.append(row)
        return pd.DataFrame(rows)

    def summary(self) -> "pd.DataFrame":
        """One row for each scheme: what the table of the command line shows."""
        import pandas as pd

        uses, kills, timeline, energy = self.uses(), self.kills(), self.timeline(), self.energy()
        rows = []
        for result in self.results:
            own = uses[uses.scheme == result.scheme]
            killed = kills[(kills.scheme == result.scheme) & ~kills.spared.astype(bool)]
            times = timeline[timeline.scheme == result.scheme]
            reads, background = own.reads.sum(), own.background_reads.sum()
            spared = kills[(kills.scheme == result.scheme) & kills.spared.astype(bool)]
            rows.append(
                {
                    "scheme": result.scheme,
                    "launch_ms": own.launch_ms.mean(),
                    "cold_ms": own[own.start == "cold"].launch_ms.mean(),
                    "warm_ms": own[own.start == "warm"].launch_ms.mean(),
                    "loading_ms": own.loading_ms.mean(),
                    "blocked_ms": own.blocked_ms.mean(),
                    "cold_launches": int((own.start == "cold").sum()),
                    "launches": len(own),
                    "reads": int(reads),
                    "host_hit": own.host.sum() / max(1, reads),
                    "miss": own["map"].sum() / max(1, reads),
                    "background_reads": int(background),
                    "background_miss": own.background_map.sum() / max(1, background),
                    "kills": len(killed),
                    "kills_of_apps": int((killed.category < 3).sum()),
                    "spared": len(spared),
                    "hpb_mib": times.hpb_mib.max(),
                    "pressure": times.pressure.mean(),
                    "energy_j": energy.set_index("scheme").energy_j[result.scheme],
                }
            )
        return pd.DataFrame(rows).set_index("scheme")

    def reads(self) -> "pd.DataFrame":
        """Every read of every app, if the study was made with `log=True`.

        `share` is where in its use a read was issued, 0 to 1.
        """
        import numpy as np
        import pandas as pd

        if not self.read_logs:
            raise _core.ConfigError("the study has no log of reads; make it with log=True")
        frames = []
        for result in self.results:
            log = self.read_logs[result.scheme]
            columns = {name: np.frombuffer(data, dtype=kind) for name, (kind, data) in log.items()}
            report = result.phone
            starts = np.array([use["at_ns"] for use in report["uses"]], dtype=float)
            lengths = np.array([max(1, use["duration_ns"]) for use in report["uses"]], dtype=float)
            number = columns["use"].astype(int)
            frame = pd.DataFrame(
                {
                    "scheme": result.scheme,
                    "at_s": columns["at_ns"] / 1e9,
                    "use": number,
                    "app": pd.Categorical.from_codes(columns["app"].astype(int), report["apps"]),
                    "phase": pd.Categorical.from_codes(columns["phase"].astype(int), pd.Index(PHASES)),
                    "outcome": pd.Categorical.from_codes(columns["outcome"].astype(int), pd.Index(OUTCOMES)),
                    "latency_us": columns["latency_ns"] / 1e3,
                    "lpa": columns["lpa"],
                    "units": columns["units"],
                }
            )
            frame["share"] = ((columns["at_ns"] - starts[number]) / lengths[number]).clip(0.0, 1.0)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def energy(self) -> "pd.DataFrame":
        """A proxy of the energy that the scenario takes, with its parts, in joules.

        `user_j` = FOREGROUND_WATTS x time that users wait for launches and loading, `flash_j` = flash operations x
        OPERATION_MICROJOULES.
        """
        import pandas as pd

        rows = []
        for result in self.results:
            waited = sum(max(use["launch_ns"], use["loading_ns"] or 0) for use in result.phone["uses"]) / 1e9
            operations: dict[str, int] = {}
            for counts in result.nand_ops.values():
                for kind, count in counts.items():
                    operations[kind] = operations.get(kind, 0) + count
            flash = sum(count * OPERATION_MICROJOULES[kind] for kind, count in operations.items()) / 1e6
            user = FOREGROUND_WATTS * waited
            row = {
                "scheme": result.scheme,
                "energy_j": user + flash,
                "user_j": user,
                "flash_j": flash,
                "waited_s": waited,
            }
            rows.append(row | operations)
        return pd.DataFrame(rows).fillna(0)

    def to_dict(self) -> dict[str, Any]:
        """The document that `to_json` writes."""
        results = [dict(result.data) for result in self.results]
        return {"ufsim": version("ufsim"), "scenario": self.scenario, "results": results}

    def to_json(self) -> str:
        """One JSON document with the version, the scenario and a list of results."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draws the scenario over time, a block for each scheme; writes the picture if `path` is given."""
        from ufsim.phone_plots import study_figure

        figure = study_figure(self)
        if path is not None:
            figure.savefig(path)
        return figure


def use_rows(result: Result) -> Iterable[dict[str, Any]]:
    """The uses of a result as rows of a frame."""
    for number, use in enumerate(result.phone["uses"]):
        loading = use["loading_ns"]
        row = {
            "scheme": result.scheme,
            "use": number,
            "app": use["app"],
            "launch": use["launch"],
            "start": "cold" if use["cold"] else "warm",
            "at_s": use["at_ns"] / 1e9,
            "launch_ms": use["launch_ns"] / 1e6,
            "loading_ms": float("nan") if loading is None else loading / 1e6,
            "compute_ms": use["compute_ns"] / 1e6,
            "blocked_ms": use["blocked_ns"] / 1e6,
            "stalled_ms": use["stalled_ns"] / 1e6,
            "loading_blocked_ms": float("nan") if loading is None else use["loading_blocked_ns"] / 1e6,
            "duration_s": use["duration_ns"] / 1e9,
        }
        for name in ("reads", *OUTCOMES):
            row[name] = sum(use[f"{phase}_reads"][name] for phase in ("launch", "loading", "run"))
        for phase in PHASES:
            row |= {f"{phase}_{name}": use[f"{phase}_reads"][name] for name in ("reads", *OUTCOMES)}
        row["map_tenths"] = use["misses_by_tenth"]
        yield row


def phone(
    scenario: str | Path,
    schemes: Iterable[str] = DEFAULT_SCHEMES,
    *,
    log: bool = False,
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: StateCache | None = None,
    **options: Any,
) -> Study:
    """Simulates a scenario of a phone under several schemes, `jobs` at a time (default: one for each processor).

    `options` are the fields of `ufsim.spec.Spec` (`profile`, `settings`, `seed`, `host_memory_mib`, ...). With `log`
    every read is kept. The results come in the order of `schemes` and are the same for every number of jobs. Raises
    `ConfigError`, `FileNotFoundError` or `SimulationBug`.
    """
    names = [schemes] if isinstance(schemes, str) else list(schemes)
    if not names:
        raise _core.ConfigError("schemes is empty; at least one is needed")
    if len(set(names)) != len(names):
        raise _core.ConfigError(f"schemes is '{','.join(names)}'; each scheme may be named once")
    jobs = os.cpu_count() or 1 if jobs is None else jobs
    check_range("jobs", jobs, 1, 1024)
    specs = [Spec(**({"workload": str(scenario), "scheme": name, "profile": PROFILE} | options)) for name in names]
    for spec in specs:
        spec.check()
    logs: dict[str, dict[str, tuple[str, bytes]]] = {}
    lock = threading.Lock()

    def simulate(spec: Spec, report: Callable[..., None]) -> Result:
        aged = spec if cache is None else cache.aged(spec, report)
        document, reads = _core.simulate_phone(aged.to_json(), log, report)
        if reads is not None:
            with lock:
                logs[spec.scheme] = reads
        return Result(parse(document))

    return Study(scenario=str(scenario), results=run_threads(specs, jobs, simulate, progress), read_logs=logs)
