"""HPBvalve, "Integrated Host-SSD Mapping Table Management for Improving User Experience of Smartphones" (FAST 2023):
the runs that its figures share, and what they have in common.

Every figure comes from the same scenario, nine apps in an order of chance, on the same device. A run is a scheme and a
size of HPB; its uses, kills and samples over time stand as JSON in its row.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from ufsim import Study, outputs, phone
from ufsim.plots import scheme_colours
from ufsim_papers import draw
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Point, Setting, Value
from ufsim_papers.hpbvalve.setups import Setup
from ufsim_papers.intervals import jackknife

PROFILE = "hpbvalve"
APPS = ("AP", "CR", "GI", "FB", "IG", "TW", "AB", "FBM", "UB")
GAMES = ("AP", "CR", "GI")
# What the paper calls the schemes.
PAPER_NAMES = {
    "ufs": "UFS",
    "hpb-linux": "HPB, upstream",
    "foam": "UFS+HPB",
    "foam-reserved": "UFS+HPB, reserved",
    "hpb-linux-reserved": "HPB, upstream, reserved",
    "HPB of the phone": "UFS+HPB",
    "hpbvalve": "HPBvalve",
    "ideal": "Optimal",
}
# Their colours are those of all pictures; the last is a set-up of one of them.
COLOURED = ("ufs", "hpb-linux", "foam", "hpbvalve", "ideal", "foam-reserved")
COLOURS = {PAPER_NAMES[name]: colour for name, colour in scheme_colours(COLOURED).items()}
MEMORY_MIB = 256
# Sec. 4 calls Android's driver HPB, with counts and a timer; Sec. 6.1 evicts as FOAM does and calls that UFS+HPB, and
# Sec. 4 has the same setup. And "statically allocates the HPB size and adjusts it with a simple timer" (6.2.2) is
# memory that is taken and freed up to that size, as Fig. 17 draws it, or all of it from boot on (`foam-reserved`).
HPB_POLICIES = ("foam", "hpb-linux")
RESERVED, TIMED = "foam-reserved", "hpb-linux-reserved"
# Named wrong models of HPBvalve, which claims have as foils.
NO_PREFETCH, DROPS_LEFT = "hpbvalve, no prefetch", "hpbvalve, drops what leaves the front"
GIVES_NOTHING = "hpbvalve, gives nothing back"
SETTINGS: dict[str, tuple[str, dict[str, Value]]] = {
    RESERVED: ("foam", {"scheme.foam.reserved_mib": "all"}),
    TIMED: ("hpb-linux", {"scheme.hpb-linux.reserved_mib": "all"}),
    NO_PREFETCH: ("hpbvalve", {"scheme.hpbvalve.prefetch": False}),
    DROPS_LEFT: ("hpbvalve", {"scheme.hpbvalve.keeps_left": False}),
    GIVES_NOTHING: ("hpbvalve", {"scheme.hpbvalve.gives_back": False}),
}
# Sec. 6.1: twenty runs, of which five outliers are left out. The order of the apps and their memory differ from one run
# to another, and all schemes have the same twenty. Figures whose claims ask for enough sequences draw more of them, and
# leave out as large a share.
REPEATS = 20
OUTLIERS = 5
# Sequences at a point of a map.
AT_A_POINT = 6
# The phone of figures that show no map.
USUAL = Setup()
# What rows of a study end with; the book's own columns say what was run.
WHAT_WAS_RUN = ("workload", "profile", "settings", "seed", "version")
# Column of runs of which the outliers have been left out.
KEPT = "kept"


@dataclass(frozen=True)
class PhoneRun:
    """A scheme with so much memory for HPB, on the nine apps. Shows as itself, so that figures share equal ones."""

    scheme: str
    memory_mib: int
    seed: int
    scenario: str
    setup: Setup
    verify: bool
    timeline: bool

    def __call__(self) -> dict[str, Any]:
        """Simulates it."""
        scheme, own = SETTINGS.get(self.scheme, (self.scheme, {}))
        with TemporaryDirectory(prefix="ufsim-") as folder:
            path = Path(folder) / "scenario.toml"
            outputs.write([(path, outputs.text(self.setup.scenario(self.scenario)))])
            study = phone(
                str(path),
                [scheme],
                settings=self.setup.settings() | own,
                profile=PROFILE,
                host_memory_mib=self.memory_mib,
                seed=self.seed,
                verify=self.verify,
                jobs=1,
            )
        return row(study, timeline=self.timeline)


def row(study: Study, *, timeline: bool) -> dict[str, Any]:
    """The columns of one run; samples over time only if they are wanted, for they are many."""
    result = study.results[0]
    host, device = result.counters["host"], result.counters["device"]
    energy = study.energy().iloc[0]
    columns: dict[str, Any] = {
        "uses": _json(study.uses()),
        "kills": _json(study.kills()),
        "timeline": _json(study.timeline()) if timeline else "[]",
        "map_reads": int(device["segment_reads"]),
        "fetches": int(host["map_req_cnt"]),
        "profile_bytes": int(host["hpbvalve_profile_bytes"]),
        "reclaimed_bytes": int(host["hpbvalve_reclaimed_bytes"]),
        "energy_j": float(energy.energy_j),
        "user_j": float(energy.user_j),
        "launch_ms": float(study.uses().launch_ms.mean()),
        "kills_of_apps": int(study.summary().kills_of_apps.iloc[0]),
        "digest": result.digest,
    }
    return columns


def _json(frame: pd.DataFrame) -> str:
    own = frame.drop(columns=list(WHAT_WAS_RUN))
    return json.dumps(json.loads(own.to_json(orient="records", double_precision=9)))


def points(
    setting: Setting,
    schemes: Sequence[str],
    sizes: Sequence[int] = (MEMORY_MIB,),
    repeats: range | None = None,
    setup: Setup = USUAL,
) -> list[Point]:
    """Runs of schemes with sizes of HPB on a phone, each with some seeds; a scheme without HPB has one size.

    `repeats` are the places of the sequences, from the setting's seed on; the paper's twenty if nothing is said.
    """
    repeats = range(1 if setting.quick else REPEATS) if repeats is None else repeats
    scenario = "hpbvalve/quick.toml" if setting.quick else "hpbvalve/nine-apps.toml"
    return [
        Point(
            {"scheme": scheme, "memory_mib": size, "seed": seed, **setup.labels()},
            run,
            inputs={
                **asdict(run),
                "text": run.setup.scenario(scenario),
                "profile": run.setup.settings(),
                "settings": SETTINGS.get(scheme),
            },
        )
        for scheme in schemes
        for size in (sizes if scheme not in ("ufs", "ideal") else (MEMORY_MIB,))
        for seed in (setting.seed + place for place in repeats)
        for phone_of in [setup.simulated(gives_back=base_of(scheme) == "hpbvalve")]
        for run in [PhoneRun(scheme, size, seed, scenario, phone_of, setting.verify, timeline=seed == setting.seed)]
    ]


def base_of(scheme: str) -> str:
    """The scheme of ufsim that a figure's scheme is, perhaps with settings of its own."""
    return SETTINGS.get(scheme, (scheme, {}))[0]


# In lists of schemes: that which the paper calls UFS+HPB, or HPB, on a phone.
HPB = "HPB of the phone"


def hpb_of(setup: Setup) -> str:
    """The scheme that stands for HPB."""
    return f"{setup.policy}-reserved" if setup.reserved else setup.policy


def same_phone(frame: pd.DataFrame, setup: Setup) -> pd.DataFrame:
    """The runs on a phone."""
    chosen = pd.Series(True, index=frame.index)
    for name, value in setup.labels().items():
        chosen &= frame[name] == value
    return frame[chosen]


def on(frame: pd.DataFrame, setup: Setup) -> pd.DataFrame:
    """The same; what is HPB there is called so."""
    own = same_phone(frame, setup)
    return own.assign(scheme=[HPB if name == hpb_of(setup) else name for name in own["scheme"]])


def comparison(setting: Setting, setup: Setup = USUAL) -> list[Point]:
    """The four systems of the paper's Sec. 6."""
    return points(setting, ("ufs", hpb_of(setup), "hpbvalve", "ideal"), setup=setup)


def kept(frame: pd.DataFrame) -> pd.DataFrame:
    """The runs without outliers: five in twenty sequences are left out. Runs of which this was done are all kept.

    The paper does not say how it tells them. Here a sequence is as far out as its mean launch time is from the median
    of all, as a share of it, on average over the figure's schemes and sizes; all of these lose the same ones.
    """
    if KEPT in frame.columns:
        return frame
    cases = frame.pivot_table(index="seed", columns=["scheme", "memory_mib"], values="launch_ms")
    away = (cases / cases.median() - 1).abs().mean(axis=1)
    left = frame[~frame["seed"].isin(away.nlargest(len(away) * OUTLIERS // REPEATS).index)]
    return left.assign(**{KEPT: True})


def pooled(measure: Callable[[pd.DataFrame], list[Measured]]) -> Callable[[pd.DataFrame], list[Measured]]:
    """What a figure measures from all sequences that are kept, each value with its interval.

    As in the paper, the uses of all sequences are put together. What chance does to a value, the values without each of
    the sequences tell (`intervals.jackknife`).
    """

    def from_sequences(frame: pd.DataFrame) -> list[Measured]:
        runs = kept(frame)
        seeds = list(dict.fromkeys(runs["seed"]))
        without = [measure(runs[runs["seed"] != seed]) for seed in seeds] if len(seeds) > 1 else []
        return [
            replace(value, seeds=len(seeds), interval=jackknife(value.value, [own[at].value for own in without]))
            for at, value in enumerate(measure(runs))
        ]

    return from_sequences


def expanded(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """The uses, kills or samples of all runs that are kept, with scheme and size of each."""
    parts = [
        table_of(run[column]).assign(scheme=run["scheme"], memory_mib=run["memory_mib"], seed=run["seed"])
        for _, run in kept(frame).iterrows()
    ]
    return pd.concat(parts, ignore_index=True)


def chosen(frame: pd.DataFrame) -> pd.DataFrame:
    """What the killer has chosen, which may be nothing."""
    kills = expanded(frame, "kills")
    return kills.reindex(columns=[*kills.columns, "at_s", "category", "spared"]) if kills.empty else kills


def killed(frame: pd.DataFrame) -> pd.DataFrame:
    """What it has ended; a victim that was spared is not among that."""
    kills = chosen(frame)
    return kills[~kills["spared"].astype(bool)]


@lru_cache(maxsize=2048)
def table_of(text: str) -> pd.DataFrame:
    """Rows that stand as JSON in a cell of a frame. The same ones are asked for again and again."""
    return pd.DataFrame(json.loads(text))


def uses(frame: pd.DataFrame, *, first: bool = False) -> pd.DataFrame:
    """Uses of apps; without the first of each app, when nothing of it is known and nothing runs, unless `first`."""
    table = expanded(frame, "uses")
    return table if first else table[table["launch"] > 1]


def by_app(table: pd.DataFrame, column: str, apps: Sequence[str] = APPS) -> pd.DataFrame:
    """Means of a column: a row for each app, a column for each scheme in the order of the frame."""
    order = list(dict.fromkeys(table["scheme"]))
    means = table.groupby(["app", "scheme"])[column].mean().unstack()
    return means.reindex([app for app in apps if app in means.index])[order]


def over(table: pd.DataFrame, of: str, by: str = "ideal") -> pd.Series:
    """Per cent by which the scheme `of` is above the scheme `by`, for each row."""
    return (table[of] / table[by] - 1) * 100


def times(sums: pd.Series, *, by: str, of: str) -> float | None:
    """How many times the one is the other; nothing if there is nothing to compare with."""
    return float(sums[by] / sums[of]) if sums[of] else None


def more_of(sums: pd.Series, *, by: str, of: str) -> float | None:
    """By how many per cent the one is above the other."""
    ratio = times(sums, by=by, of=of)
    return None if ratio is None else (ratio - 1) * 100


def less(sums: pd.Series, *, by: str, of: str) -> float | None:
    """By how many per cent the one is below the other."""
    above = more_of(sums, by=by, of=of)
    return None if above is None else 0.0 - above


def named(table: pd.DataFrame) -> pd.DataFrame:
    """Columns as the paper calls the schemes."""
    return table.rename(columns=PAPER_NAMES)


def bars(axes: Axes, table: pd.DataFrame, label: str) -> None:
    """Bars of schemes by app."""
    table = named(table)
    known = {**dict(scheme_colours(list(table.columns))), **COLOURS}
    draw.grouped_bars(axes, table, labels=False, colours={name: known[name] for name in table.columns})
    axes.set_ylabel(label)


def listed(values: pd.Series, digits: int = 1) -> str:
    """Values with their names."""
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in values.items())
