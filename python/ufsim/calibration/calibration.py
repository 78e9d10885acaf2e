"""What a calibration gave, as frames, JSON, a profile and a picture."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ufsim import _core, outputs
from ufsim._options import Setting
from ufsim.calibration.determined import Fitted
from ufsim.calibration.recording import Floats, Recording
from ufsim.calibration.residuals import residuals
from ufsim.calibration.score import Score
from ufsim.calibration.search import Fit
from ufsim.calibration.written import profile_text
from ufsim.results.formats import plural

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Fold:
    """A fit without one of the traces: its values by key, its loss, and that of the trace that was left out."""

    left_out: str
    values: dict[str, int]
    loss: float
    left_out_loss: float


@dataclass(frozen=True)
class Calibration:
    """Recordings, a profile fitted to them or only scored, and how far it is from each of them.

    `parameters` are the fitted ones, none if the profile was only scored. `loss` is the mean over the recordings,
    `losses` those by trace, `first_loss` that of the profile before the fit. `scores` are those of the fitted profile,
    or, with `folds`, of each trace under the profile that was fitted to the others.
    """

    profile: str
    scheme: str
    settings: Mapping[str, Setting]
    seed: int
    seeds: int
    recordings: Sequence[Recording]
    runs: Sequence[Floats]
    losses: Mapping[str, float]
    first_loss: float
    fit: Fit | None
    parameters: Sequence[Fitted]
    folds: Sequence[Fold]
    scores: Sequence[Score]

    def __repr__(self) -> str:
        what = f"{len(self.parameters)} parameters of " if self.parameters else ""
        return f"<ufsim.Calibration of {what}{self.profile} on {len(self.recordings)} traces, loss {self.loss:.3f}>"

    @property
    def loss(self) -> float:
        """The mean loss over the recordings."""
        return sum(self.losses.values()) / len(self.losses)

    @property
    def values(self) -> dict[str, int]:
        """The fitted values by key."""
        return {one.key: one.value for one in self.parameters}

    @property
    def warnings(self) -> list[str]:
        """What to know before believing it."""
        told = [warning for one in self.parameters if (warning := one.warning())]
        for recording in self.recordings:
            if recording.without:
                told.append(
                    f"{recording.name}: {recording.without:,} requests have no recorded latency and are left out"
                )
            if recording.blocks < 10:
                told.append(
                    f"{recording.name}: only {plural(recording.blocks, 'block')} of 10 s: its intervals are rough"
                )
        return told

    def score(self) -> "pd.DataFrame":
        """The score table: a row for each trace, kind with at least 1000 requests, and statistic.

        Columns: `trace`, `kind`, `requests`, `statistic` (p50, p99: ns; over_8ms: share of requests over 8 ms),
        `recorded`, its interval of 80% from resampling in blocks of 10 s (`low`, `high`), `simulated` (median over the
        seeds) with the ends of what they gave (`simulated_low`, `simulated_high`), and `verdict`: hit, hit by interval,
        miss.
        """
        import pandas as pd

        return pd.DataFrame([score.row() for score in self.scores], columns=list(Score.__dataclass_fields__))

    def residuals(self) -> "pd.DataFrame":
        """Recorded and simulated latencies side by side, over all traces: a row for each view, kind and bin.

        Columns: `view` (idle: 4 KiB after so much idleness; size: after less than 0.8 ms of it; depth: outstanding on
        arrival; flag), `kind`, `bin`, `requests`, quantiles in ns and shares over 8 ms on either side
        (`recorded_p50_ns`, `simulated_p50_ns`, `recorded_over_8ms`, ...), and `log_error`, the mean absolute difference
        of the sorted logarithms.
        """
        import pandas as pd

        return pd.DataFrame(residuals(self.recordings, self.runs))

    def fitted(self) -> "pd.DataFrame":
        """The fitted parameters: a row for each.

        Columns: `key`, `unit`, bounds `low` and `high`, `start`, `value`, the interval of values that do as well
        (`interval_low`, `interval_high`), `verdict` (determined, wide, at its lower bound, at its upper bound, not
        determined), and `is_own`: the fit began with the profile's value.
        """
        import pandas as pd

        return pd.DataFrame([one.row() for one in self.parameters], columns=list(Fitted.__dataclass_fields__))

    def requests(self) -> "pd.DataFrame":
        """Every request of the recordings with both latencies.

        Columns: `trace`, `arrival_s` (s), `kind`, `bytes`, `depth` on arrival, `idle_ms` before it (missing where
        something was outstanding), `recorded_ns`, `simulated_ns`.
        """
        import pandas as pd

        from ufsim.results.columns import KINDS

        frames = [
            pd.DataFrame(
                {
                    "trace": pd.Categorical([one.name]).repeat(len(one)),
                    "arrival_s": one.arrival_ns / 1e9,
                    "kind": pd.Categorical.from_codes(one.kind, pd.Index(KINDS)),
                    "bytes": one.bytes,
                    "depth": one.depth,
                    "idle_ms": one.idle_ns / 1e6,
                    "recorded_ns": one.latency_ns,
                    "simulated_ns": run,
                }
            )
            for one, run in zip(self.recordings, self.runs, strict=True)
        ]
        return pd.concat(frames, ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """The document that `to_json` writes."""
        return {
            "ufsim": _core.__version__,
            "calibration": {
                "profile": self.profile,
                "scheme": self.scheme,
                "set": dict(self.settings),
                "seed": self.seed,
                "seeds": self.seeds,
                "traces": [
                    {"name": one.name, "path": one.path, "requests": len(one), "without": one.without}
                    | {"loss": self.losses[one.name]}
                    for one in self.recordings
                ],
                "loss": self.loss,
                "first_loss": self.first_loss,
                "evaluations": self.fit.evaluations if self.fit else 0,
                "ended": self.fit.ended if self.fit else None,
                "parameters": [one.row() for one in self.parameters],
                "left_out": [asdict(fold) for fold in self.folds],
                "scores": [score.row() for score in self.scores],
                "residuals": residuals(self.recordings, self.runs),
                "warnings": self.warnings,
            },
        }

    def to_json(self) -> str:
        """One JSON document: `ufsim`, the version, and `calibration`.

        That has what was fitted (`profile`, `scheme`, `set`, `traces` with their losses), the `loss` with that before
        the fit (`first_loss`), `parameters`, `scores` and `residuals` as the frames of the same names have them
        (`parameters`: `fitted`), and for `--leave-one-out` each fit without a trace (`left_out`).
        """
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, default=np.ndarray.tolist)

    def to_toml(self, folder: str | PathLike[str] = ".") -> str:
        """The fitted profile: it extends the one that the fit began with. `folder` is where its file is to lie."""
        if not self.parameters:
            raise _core.ConfigError("nothing was fitted: there is no profile to write")
        traces = ", ".join(recording.name for recording in self.recordings)
        fitted = {one.key: (one.value, self._source(one, traces)) for one in self.parameters if not one.is_kept}
        head = f"# Fitted by ufsim calibrate {_core.__version__}.\n\n"
        return head + profile_text(self.profile, self.settings, fitted, Path(folder))

    def _source(self, one: Fitted, traces: str) -> str:
        """Where a fitted value comes from."""
        unit = f" {one.unit}" if one.unit else ""
        known = {
            "determined": f"{one.interval_low} to {one.interval_high}{unit} do as well",
            "wide": f"hardly determined: {one.interval_low} to {one.interval_high}{unit} do as well",
            "not determined": "not determined by them",
        }.get(one.verdict, one.verdict)
        return f"fitted to {traces} (scheme {self.scheme}, {one.low} to {one.high}, loss {self.loss:.3f}); {known}"

    def write(self, path: str | PathLike[str]) -> None:
        """Writes the fitted profile to a file."""
        failures = outputs.write([(Path(path), outputs.text(self.to_toml(Path(path).parent)))])
        if failures:
            raise outputs.Unwritten(failures)

    def plot(self, path: str | PathLike[str] | None = None) -> "Figure":
        """Draws recorded against simulated latencies, distributions and quantiles by kind; writes it to `path`."""
        from ufsim.calibration.plots import calibration_figure
        from ufsim.plots import save

        figure = calibration_figure(self)
        if path is not None:
            save(figure, path)
        return figure
