"""Phones: apps, memory and the low-memory killer around a device, and what the user waits for.

    >>> import ufsim
    >>> study = ufsim.phone("samples/phone/nine-apps.toml", ["ufs", "ideal"], profile="hpbvalve")  # doctest: +SKIP
    >>> study.uses().groupby(["scheme", "app", "start"]).launch_ms.mean()  # doctest: +SKIP

docs/phone.md describes scenarios, the model and every column.
"""

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, SupportsIndex, Unpack

from ufsim import _core
from ufsim.documents import parse
from ufsim.results import conditions, frames
from ufsim.results.columns import text_type, typed
from ufsim.results.formats import workload_name
from ufsim.results.html import html_table
from ufsim.results.phone_frames import app_rows, energy_rows, headline_rows, reads_frame, summary_row
from ufsim.results.result import Result, ResultSet
from ufsim.runner import Cache, Progress, jobs_of, run_threads, states_of
from ufsim.spec import RunOptions, Spec, specs_of
from ufsim.states import simulated

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DEFAULT_SCHEMES = ("ufs", "foam", "hpbvalve", "ideal")
PROFILE = "hpbvalve"


@dataclass(frozen=True)
class Study(ResultSet):
    """A scenario under several schemes, in the order in which they were asked for.

    It has a length, can be iterated over, and gives the result of a scheme: `study["ufs"]`. Every row of its frames
    ends with what was run: `workload`, `profile`, `settings`, `seed`, `version`. `Result.uses` describes `uses`.
    """

    scenario: str
    results: list[Result]
    read_logs: Mapping[str, dict[str, tuple[str, bytes]]]

    def __repr__(self) -> str:
        return f"<ufsim.Study of {', '.join(self.schemes)} on {self.scenario}>"

    def _repr_html_(self) -> str:
        caption = f"{workload_name(self.scenario)}: {conditions.run_text(conditions.described(self.results))}"
        return html_table(caption, ["", *self.schemes], headline_rows(self))

    def kills(self) -> "pd.DataFrame":
        """One row for each choice of the killer, those averted by the driver among them.

        Columns: `scheme`, `at_s` (s), `app`, `adj` (its oom_score_adj), `category` (0 for what matters most),
        `category_name`, `expected_mib` that its end would free, `returned_mib` that the driver gave back instead (MiB),
        `spared` (it was enough, and the app lives), and what was run.
        """
        return self._frame("kills", frames.kill_rows)

    def recorded_kills(self) -> "pd.DataFrame":
        """The kills of the phone whose recording the scenario repeats: `at_s`, `app`, `adj` (missing if unknown)."""
        import pandas as pd

        kills = self.results[0].phone["recorded_kills"]
        rows = [{"at_s": kill["at_ns"] / 1e9, "app": kill["app"], "adj": kill["adj"]} for kill in kills]
        types = {"at_s": "float64", "app": text_type(), "adj": "Int64"}
        return pd.DataFrame(rows, columns=list(types)).astype(types)

    def timeline(self) -> "pd.DataFrame":
        """The phone every half second.

        Columns: `scheme`, `at_s` (s), `foreground` (the app), `pressure` (share of the last second in which some task
        was stalled for memory, 0 to 1), `alive` (apps of the user that have a process), who has the memory: `hpb_mib`,
        `free_mib`, `cache_mib`, `apps_mib`, `system_mib` (MiB), and what was run.
        """
        return self._frame("timeline", frames.timeline_rows)

    def apps(self) -> "pd.DataFrame":
        """One row for each scheme and app of the user.

        Columns: `scheme`, `app`, `title`, `io` (what its I/O comes from), `launches`, of them `cold`; means over uses
        `launch_ms`, `cold_ms`, `warm_ms`, `loading_ms`, `blocked_ms` (ms; missing where there was none); `reads` in the
        foreground and of them `host`, `sram`, `map`, the same with `background_`; `kills`; and what was run.
        """
        uses, kills = self.uses(), self.kills()
        return typed("apps", (row for result in self.results for row in app_rows(result, uses, kills)))

    def summary(self) -> "pd.DataFrame":
        """One row for each scheme, by which it is indexed: what the table of the command line shows.

        Columns: means over uses `launch_ms`, `cold_ms`, `warm_ms`, `loading_ms`, `blocked_ms` (ms); `cold_launches`,
        `launches`; `reads` of apps in the foreground, `host_hit` and `miss` (shares of them, 0 to 1);
        `background_reads`, `background_miss`; `kills`, `kills_of_apps`, `spared`; `hpb_mib` (most, MiB), `pressure`
        (mean, 0 to 1), `energy_j` (J), and what was run.
        """
        tables = self.uses(), self.kills(), self.timeline(), self.energy()
        return self._frame("summary", lambda result: [summary_row(result, *tables)]).set_index("scheme")

    def reads(self) -> "pd.DataFrame":
        """Every read of every app, if the study was made with `log=True`.

        Columns: `scheme`, `at_s` (issued, s), `use`, `app`, `phase` (launch, loading, run, background), `outcome`
        (host, sram, map: where its mapping came from), `latency_us` (us), `lpa`, `units` (of 4 KiB), `share` (where in
        its use it was issued, 0 to 1), and what was run. Texts are categories: there may be millions of rows.
        """
        if not self.read_logs:
            raise _core.ConfigError("the study has no log of reads; make it with log=True")
        return reads_frame(self.results, self.read_logs)

    def energy(self) -> "pd.DataFrame":
        """A proxy of the energy that the scenario takes, with its parts, in joules: one row for each scheme.

        `user_j` = FOREGROUND_WATTS x time that users wait for launches and loading (`waited_s`), `use_j` = the same x
        length of the scenario's uses (`used_s`), `flash_j` = flash operations (`read`, `program`, `erase`) x
        OPERATION_MICROJOULES, `energy_j` = all three; and what was run. A use's length holds a wait already,
        which leaves differences between schemes as they are. For shares, subtract the `user_j` of one scheme from all:
        then uses last as long as given under that one.
        """
        return self._frame("energy", energy_rows)

    def to_dict(self) -> dict[str, Any]:
        """The document that `to_json` writes."""
        results = [dict(result.data) for result in self.results]
        return {"ufsim": _core.__version__, "scenario": self.scenario, "results": results}

    def to_json(self) -> str:
        """One JSON document with the version, the scenario and a list of results."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def plot(self, path: str | PathLike[str] | None = None) -> "Figure":
        """Draws the scenario over time, a block for each scheme; writes the picture if `path` is given."""
        from ufsim.plots import save
        from ufsim.plots.phone import study_figure

        figure = study_figure(self)
        if path is not None:
            save(figure, path)
        return figure


def phone(
    scenario: str | PathLike[str],
    schemes: str | Iterable[str] = DEFAULT_SCHEMES,
    *,
    log: bool = False,
    jobs: SupportsIndex | None = None,
    progress: Progress | None = None,
    cache: Cache = True,
    **options: Unpack[RunOptions],
) -> Study:
    """Simulates a scenario of a phone under several schemes, `jobs` at a time (default: one for each processor).

    `options` are those of `ufsim.RunOptions` (`profile`, here "hpbvalve" unless it is given, `settings`, `seed`,
    `host_memory_mib`, ...). With `log` every read is kept. The results come in the order of `schemes` and are the same
    for every number of jobs. Otherwise as `ufsim.run`.
    """
    options.setdefault("profile", PROFILE)
    specs = specs_of("phone", scenario, schemes, options)
    states = states_of(cache)
    logs: dict[str, dict[str, tuple[str, bytes]]] = {}
    lock = threading.Lock()

    def simulate(spec: Spec, report: Callable[..., None]) -> Result:
        document, reads = simulated(
            states, spec, report, lambda begun: _core.simulate_phone(begun.to_json(), log, report)
        )
        if reads is not None:
            with lock:
                logs[spec.scheme] = reads
        return Result(parse(document))

    results = run_threads(specs, jobs_of(jobs), simulate, progress)
    return Study(scenario=specs[0].workload, results=results, read_logs=logs)
