"""HPBvalve (FAST 2023), Fig. 4: the addresses that apps read when they are launched and used for a while."""

import json
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim import phone
from ufsim_papers import draw
from ufsim_papers.figure import Point, Setting, figure
from ufsim_papers.folders import job
from ufsim_papers.hpbvalve.runs import PROFILE

# The apps of Table 1, of which the paper shows more elsewhere, too (Fig. 14).
APPS = ("AP", "CR", "UB", "IG")
GIB_UNITS = (1 << 30) // 4096


@dataclass(frozen=True)
class FirstUse:
    """The reads of an app's first use, a cold launch, from the user's touch on."""

    app: str
    seed: int
    verify: bool

    def __call__(self) -> dict[str, Any]:
        """Simulates the scenario as far as it goes with `--quick`, and keeps what the app reads."""
        scenario = job("hpbvalve/quick.toml")
        study = phone(scenario, ["ufs"], profile=PROFILE, seed=self.seed, verify=self.verify, log=True, jobs=1)
        uses, reads = study.uses(), study.reads()
        use = uses[uses["app"] == self.app].iloc[0]
        own = reads[(reads["use"] == use["use"]) & (reads["app"] == self.app) & (reads["phase"] != "background")]
        places = [
            {"s": round(at - use["at_s"], 4), "gib": round(lpa / GIB_UNITS, 4)}
            for at, lpa in zip(own["at_s"], own["lpa"], strict=True)
        ]
        launch = int((own["phase"] == "launch").sum())
        return {"launch_ms": float(use["launch_ms"]), "launch_reads": launch, "places": json.dumps(places)}


def _runs(setting: Setting) -> list[Point]:
    uses = [FirstUse(app, setting.seed, setting.verify) for app in APPS]
    scenario = job("hpbvalve/quick.toml")
    return [Point({"app": use.app}, use, inputs={**asdict(use), "workload": scenario}) for use in uses]


def _draw(frame: pd.DataFrame) -> Drawing:
    figure, axes = draw.canvas(columns=4, width=3.0, height=3.2)
    for each, (_, row) in zip(axes, frame.iterrows(), strict=True):
        places = json.loads(row["places"])
        seconds, addresses = ([place[name] for place in places] for name in ("s", "gib"))
        each.scatter(seconds, addresses, s=0.6, color="#0072b2", linewidths=0)
        each.axvspan(0, row["launch_ms"] / 1000, color="#e69f00", alpha=0.25, linewidth=0)
        each.set_title(row["app"], fontsize=9)
    axes[0].set_ylabel("address (GiB)")
    axes[1].set_xlabel("s after the touch")
    return figure


F4 = figure("hpbvalve/f4", runs=_runs, draw=_draw)

FIGURES = (F4,)
