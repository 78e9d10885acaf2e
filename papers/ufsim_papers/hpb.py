"""HPB, "Improving Flash Storage Performance by Caching Address Mapping Table in Host Memory" (HotStorage 2017)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim import Spec
from ufsim_papers import draw
from ufsim_papers.claims import Measured, Option, claim_of
from ufsim_papers.figure import Label, Run, Setting, Value, figure
from ufsim_papers.folders import job
from ufsim_papers.maps import needed

SCHEMES = ("ufs", "hpb")
THREADS = (1, 2, 4, 8, 16)
KINDS = ("seqread", "seqwrite", "randwrite")
SHARES = tuple(range(10, 100, 10))
CHUNKS = (4, 8, 16, 32, 64, 128, 256, 512)

# Axes of the maps: time of a map read over that of a data read, and processor time of a read in us; of Fig. 8 also
# when a dirty group may be used again, and how many changed entries wait for a response to carry them.
RATIO, HOST = "hpb.map-over-data", "hpb.host-us"
CLEAN, ENTRIES = "a group is clean again", "entries in responses"
CLEAN_FROM = {"with the response (Sec. 3.2)": "response", "once the host has the entries": "next-command"}
TLC_READ_US = 70
# A Galaxy S7 has eight cores.
PROCESSORS = 8


def at(ratio: float, host_us: float = 0) -> dict[str, Value]:
    """The settings of a point; none at the default, so that figures share its runs. Times are whole microseconds."""
    settings: dict[str, Value] = {}
    if ratio != 1:
        settings["nand.slc_read_us"] = round(TLC_READ_US * ratio)
    if host_us:
        settings |= {"host_time.read_submit_ns": round(host_us * 1000), "host_time.processors": PROCESSORS}
    return settings


def ratios(claim: str) -> list[dict[str, Option]]:
    """The points of a claim's map."""
    own = claim_of(claim)
    return [own.at(place) for place in needed(own)]


def sweep(
    label: str,
    values: Sequence[Label],
    quick: Sequence[Label],
    workload: Callable[[Any], str],
    points: Sequence[Mapping[str, Option]] = ({},),
) -> Callable[[Setting], list[Run]]:
    """Both schemes under the workload of each value of a label, at each point of a map."""

    def spec(value: Label, scheme: str, settings: dict[str, Value], setting: Setting) -> Spec:
        own = workload(value)
        return Spec(
            workload=own, scheme=scheme, profile="hpb", precondition="none", settings=settings, seed=setting.seed
        )

    def runs(setting: Setting) -> list[Run]:
        return [
            Run(
                {label: value, "scheme": scheme, "ratio": ratio, "host_us": host_us},
                spec(value, scheme, at(ratio, host_us), setting),
            )
            for point in (points[:1] if setting.quick else points)
            for ratio, host_us in [(float(point.get(RATIO, 1)), float(point.get(HOST, 0)))]
            for value in (quick if setting.quick else values)
            for scheme in SCHEMES
        ]

    return runs


def threads(number: int) -> str:
    """So many threads that read 256 MiB together."""
    return job("hpb/f6-randread", THREADS=number, IO_SIZE=f"{256 // number}m")


def chunks(kib: int) -> str:
    """Eight threads that read whole chunks of 24,960 KiB each."""
    return job("hpb/f9-chunk", CHUNK=f"{kib}k", IO_SIZE=f"{24_960 // kib * kib}k")


def pairs(frame: pd.DataFrame, label: str) -> pd.DataFrame:
    """Throughput at the default: a row for each value of `label`, a column for each scheme."""
    (table,) = (own for point, own in by_point(frame, label) if not point)
    return table


def by_point(frame: pd.DataFrame, label: str) -> list[tuple[dict[str, Option], pd.DataFrame]]:
    """The same at each point of a map, with the conditions that are not at their default."""
    found = []
    for ratio, host_us in dict.fromkeys(zip(frame["ratio"], frame["host_us"], strict=True)):
        own = frame[(frame["ratio"] == ratio) & (frame["host_us"] == host_us)]
        point: dict[str, Option] = ({RATIO: float(ratio)} if ratio != 1 else {}) | ({HOST: host_us} if host_us else {})
        table = own.pivot(index=label, columns="scheme", values="throughput_mib_per_s")[list(SCHEMES)]
        found.append((point, table))
    return found


def gains(table: pd.DataFrame) -> pd.Series:
    """Gain of HPB in per cent."""
    return (table["hpb"] / table["ufs"] - 1) * 100


def draw_pairs(table: pd.DataFrame, x_label: str, paper: tuple[float, float] | None) -> Drawing:
    """Throughput on the left, the gain on the right."""
    figure, (left, right) = draw.canvas(columns=2, width=5.2)
    draw.grouped_bars(left, table)
    left.set_ylabel("throughput (MiB/s)")
    left.set_xlabel(x_label)
    draw.legend(left)
    gain = gains(table)
    right.bar(range(len(gain)), gain, color="#e69f00", width=0.6, label="measured")
    right.set_xticks(range(len(gain)), [str(label) for label in gain.index])
    right.axhline(0, color="black", lw=0.8)
    if paper is not None:
        draw.paper_band(right, *paper, "paper")
    right.set_ylabel("gain of HPB (%)")
    right.set_xlabel(x_label)
    draw.legend(right)
    return figure


def _f6_measure(frame: pd.DataFrame) -> list[Measured]:
    claim = "hpb.f6.random-read"
    measured = [
        Measured(claim, float(gain), at=point, case=f"{number} threads")
        for point, table in by_point(frame, "threads")
        for number, gain in gains(table).items()
    ]
    # Fig. 1 taken literally is the default, and the foil.
    return measured + [replace(one, role="foil", at={}) for one in measured if not one.at]


F6 = figure(
    "hpb/f6",
    runs=sweep("threads", THREADS, (1, 16), threads, ratios("hpb.f6.random-read")),
    draw=lambda frame: draw_pairs(pairs(frame, "threads"), "threads", (59, 67)),
    measure=_f6_measure,
)


# The foils of Fig. 7: a device that keeps single entries, and so reads its map for every 4 KiB; HPB that does not wait.
FOILS: dict[str, tuple[str, dict[str, Value]]] = {
    "a map read for each 4 KiB": ("seqread", {"scheme.segment-log.cached": "entries"}),
    "groups fetched while writes wait": ("randwrite", {"scheme.hpb.max_defer_us": 0}),
}


def _f7_runs(setting: Setting) -> list[Run]:
    usual = sweep("access", KINDS, KINDS, lambda kind: job(f"hpb/f7-{kind}"), ratios("hpb.f7.neutral"))(setting)
    default = [run for run in usual if run.labels["ratio"] == 1]
    return [Run({**run.labels, "foil": ""}, run.spec) for run in usual] + [
        Run({**run.labels, "foil": name}, replace(run.spec, settings=settings))
        for name, (kind, settings) in FOILS.items()
        for run in default
        if run.labels["access"] == kind
    ]


def _f7_measure(frame: pd.DataFrame) -> list[Measured]:
    claim = "hpb.f7.neutral"
    measured = [
        Measured(claim, float(gain), at=point, case=str(kind))
        for point, table in by_point(frame[frame["foil"] == ""], "access")
        for kind, gain in gains(table).reindex(KINDS).items()
    ]
    for name in FOILS:
        gain = gains(pairs(frame[frame["foil"] == name], "access"))
        measured.append(Measured(claim, float(gain.iloc[0]), case=f"{name}, {gain.index[0]}", role="foil", foil=name))
    return measured


F7 = figure(
    "hpb/f7",
    runs=_f7_runs,
    draw=lambda frame: draw_pairs(pairs(frame[frame["foil"] == ""], "access").reindex(KINDS), "access", (-3, 3)),
    measure=_f7_measure,
)


# The foil of Fig. 8: every read finds its mapping, whatever has changed, as the cache of the device holds all of it.
UNTOLD: dict[str, Value] = {"sram.segment_cache_kib": 1280, "sram.pool_kib": 1664}


def _delivery(point: Mapping[str, Option]) -> dict[str, Value]:
    """How changes reach the host at a point; nothing at the default."""
    settings: dict[str, Value] = {}
    if (own := CLEAN_FROM[str(point[CLEAN])]) != "response":
        settings["scheme.segment-log.hpb_clean_from"] = own
    match point[ENTRIES]:
        case 64:
            pass
        case 0:
            settings["scheme.segment-log.hpb_tracked_groups"] = 0
        case more:
            settings["scheme.segment-log.hpb_pending_entries"] = int(str(more))
    return settings


def _f8_runs(setting: Setting) -> list[Run]:
    """UFS knows nothing of how changes reach a host, so it is run once for all of these points."""
    claim = claim_of("hpb.f8.mixed")
    places = [claim.place({})] if setting.quick else product(*(axis.options for axis in claim.axes))
    points = [claim.at(place) for place in places]

    def run(share: int, scheme: str, point: Mapping[str, Option], own: dict[str, Value], foil: str = "") -> Run:
        spec = Spec(
            workload=job("hpb/f8-mixed", READS=share),
            scheme=scheme,
            profile="hpb",
            precondition="none",
            settings=at(float(str(point[RATIO])), float(str(point[HOST]))) | own,
            seed=setting.seed,
        )
        return Run({"reads": share, "scheme": scheme, "foil": foil, **point}, spec)

    shares = (10, 50, 90) if setting.quick else SHARES
    return [
        run(share, scheme, point, _delivery(point) if scheme == "hpb" else {})
        for point in points
        for share in shares
        for scheme in SCHEMES
    ] + [run(share, "hpb", points[0], UNTOLD, "untold") for share in shares]


def _f8_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Throughput at the default."""
    own = frame[frame["foil"] == ""]
    first = own.iloc[0]
    for name in (RATIO, HOST, CLEAN, ENTRIES):
        own = own[own[name] == first[name]]
    return own.pivot(index="reads", columns="scheme", values="throughput_mib_per_s")[list(SCHEMES)]


def _f8_measure(frame: pd.DataFrame) -> list[Measured]:
    usual = frame[frame["foil"] == ""]
    axes = [RATIO, HOST, CLEAN, ENTRIES]
    measured = []
    for point, own in usual.groupby(axes, sort=False):
        table = own.pivot(index="reads", columns="scheme", values="throughput_mib_per_s")
        measured += _mixed(gains(table), at=dict(zip(axes, point, strict=True)))
    untold = frame[frame["foil"] != ""].set_index("reads")["throughput_mib_per_s"]
    return measured + _mixed(gains(_f8_table(frame).assign(hpb=untold)), role="foil")


def _mixed(gain: pd.Series, **told: Any) -> list[Measured]:
    """What the claim says of a series."""
    series = "by share of reads in per cent: " + ", ".join(f"{share} {value:.1f}" for share, value in gain.items())
    return [
        Measured("hpb.f8.mixed", float(gain.max()), told=series, **told),
        Measured("hpb.f8.mixed", float(gain.loc[10]), "10% reads", **told),
    ]


F8 = figure(
    "hpb/f8",
    runs=_f8_runs,
    draw=lambda frame: draw_pairs(_f8_table(frame), "share of reads (%)", (8, 43)),
    measure=_f8_measure,
)


def _f9_runs(setting: Setting) -> list[Run]:
    quick = (4, 64, 512)
    usual = sweep("chunk_kib", CHUNKS, quick, chunks, ratios("hpb.f9.chunk-size"))(setting)
    (settings,) = (own for kind, own in FOILS.values() if kind == "seqread")
    foil = [
        Run({**run.labels, "foil": True}, replace(run.spec, settings=settings))
        for run in usual
        if run.labels["ratio"] == 1
    ]
    return [Run({**run.labels, "foil": False}, run.spec) for run in usual] + foil


def _f9_measure(frame: pd.DataFrame) -> list[Measured]:
    claim, usual = "hpb.f9.chunk-size", frame[~frame["foil"]]
    series = [(point, gains(table)) for point, table in by_point(usual, "chunk_kib")]
    # A device that keeps single entries reads its map for each 4 KiB of a chunk.
    literal = gains(pairs(frame[frame["foil"]], "chunk_kib"))
    return [
        *(Measured(claim, falling(gain), told=_by_chunk(gain), at=point) for point, gain in series),
        Measured(claim, falling(literal), told=_by_chunk(literal), role="foil"),
    ]


def falling(values: pd.Series) -> bool:
    """Is each value below the one before?"""
    return bool(values.is_monotonic_decreasing and values.is_unique)


def _by_chunk(gain: pd.Series) -> str:
    return ", ".join(f"{chunk} KiB {value:.1f}" for chunk, value in gain.items())


F9 = figure(
    "hpb/f9",
    runs=_f9_runs,
    draw=lambda frame: draw_pairs(pairs(frame[~frame["foil"]], "chunk_kib"), "chunk (KiB)", None),
    measure=_f9_measure,
)

FIGURES = (F6, F7, F8, F9)
