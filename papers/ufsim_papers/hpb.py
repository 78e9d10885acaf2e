"""HPB, "Improving Flash Storage Performance by Caching Address Mapping Table in Host Memory" (HotStorage 2017)."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure as Drawing

from ufsim import Spec
from ufsim_papers import draw
from ufsim_papers.claims import Measured
from ufsim_papers.figure import Label, Run, Setting, figure
from ufsim_papers.folders import job

SCHEMES = ("ufs", "hpb")
THREADS = (1, 2, 4, 8, 16)
KINDS = ("seqread", "seqwrite", "randwrite")
SHARES = tuple(range(10, 100, 10))
CHUNKS = (4, 8, 16, 32, 64, 128, 256, 512)

# Why claims miss, as far as it is known; shown only beside a miss.
READS_MISS = (
    "the paper gives no flash times; with a map read as long as a data read, as its Fig. 1 draws it, and the flash as "
    "the only bottleneck, HPB saves more than on the paper's phone, where processor and kernel take their share of "
    "each read. With metadata in SLC mode and read in half the time it saves less"
)


def sweep(
    label: str, values: Sequence[Label], quick: Sequence[Label], workload: Callable[[Any], str]
) -> Callable[[Setting], list[Run]]:
    """Both schemes under the workload of each value of a label."""

    def spec(value: Label, scheme: str, setting: Setting) -> Spec:
        own = workload(value)
        return Spec(workload=own, scheme=scheme, profile="hpb", precondition="none", seed=setting.seed)

    def runs(setting: Setting) -> list[Run]:
        return [
            Run({label: value, "scheme": scheme}, spec(value, scheme, setting))
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
    """Throughput: a row for each value of `label`, a column for each scheme."""
    return frame.pivot(index=label, columns="scheme", values="throughput_mib_per_s")[list(SCHEMES)]


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


F6 = figure(
    "hpb/f6",
    runs=sweep("threads", THREADS, (1, 16), threads),
    draw=lambda frame: draw_pairs(pairs(frame, "threads"), "threads", (59, 67)),
    measure=lambda frame: [
        Measured("hpb.f6.random-read", gain, f"{number} threads", reason=READS_MISS)
        for number, gain in gains(pairs(frame, "threads")).items()
    ],
)


F7 = figure(
    "hpb/f7",
    runs=sweep("access", KINDS, KINDS, lambda kind: job(f"hpb/f7-{kind}")),
    draw=lambda frame: draw_pairs(pairs(frame, "access").reindex(KINDS), "access", (-3, 3)),
    measure=lambda frame: [
        Measured(
            "hpb.f7.neutral",
            gain,
            str(kind),
            reason="eight streams of 512 KiB reads fill the SRAM with data and push segments out between two uses",
        )
        for kind, gain in gains(pairs(frame, "access").reindex(KINDS)).items()
    ],
)


def _f8_measure(frame: pd.DataFrame) -> list[Measured]:
    gain = gains(pairs(frame, "reads"))
    rising = all(later > earlier for earlier, later in zip(gain, gain.iloc[1:], strict=False))
    return [
        Measured("hpb.f8.mixed", float(gain.loc[10]), "10% reads", band=(3, 15)),
        Measured("hpb.f8.mixed", float(gain.loc[90]), "90% reads", reason=f"follows from hpb.f6: {READS_MISS}"),
        Measured("hpb.f8.mixed", rising, "rising with the share of reads"),
    ]


F8 = figure(
    "hpb/f8",
    runs=sweep("reads", SHARES, (10, 50, 90), lambda reads: job("hpb/f8-mixed", READS=reads)),
    draw=lambda frame: draw_pairs(pairs(frame, "reads"), "share of reads (%)", (8, 43)),
    measure=_f8_measure,
)


def _f9_measure(frame: pd.DataFrame) -> list[Measured]:
    gain = gains(pairs(frame, "chunk_kib"))
    # Neighbours may be level within what one more or one less map read changes.
    shrinks = all(later < earlier + 2 for earlier, later in zip(gain, gain.iloc[1:], strict=False))
    told = ", ".join(f"{chunk} KiB {value:.1f}" for chunk, value in gain.items())
    return [
        Measured("hpb.f9.chunk-size", shrinks, "shrinks with the chunk", told),
        Measured(
            "hpb.f9.chunk-size", bool(gain.iloc[-1] < gain.iloc[0] / 4), "512 KiB: less than a quarter of 4 KiB's"
        ),
    ]


F9 = figure(
    "hpb/f9",
    runs=sweep("chunk_kib", CHUNKS, (4, 64, 512), chunks),
    draw=lambda frame: draw_pairs(pairs(frame, "chunk_kib"), "chunk (KiB)", None),
    measure=_f9_measure,
)

FIGURES = (F6, F7, F8, F9)
