"""Measures the claims of the HP-UFS and HPB papers that the job files in `jobs/` are about, as Markdown tables.

Values are throughput gains in per cent. A band is the interval inside which a measured value counts as reproduced.
"""

from __future__ import annotations

import sys
from pathlib import Path

import ufsim

JOBS = Path(__file__).resolve().parent.parent / "jobs"


def throughput(job: str, profile: str, schemes: list[str], **options: object) -> dict[str, float]:
    """MiB/s by scheme."""
    print(f"  {job} ...", file=sys.stderr)
    path = JOBS / f"{job}.fio"
    results = ufsim.compare(path, schemes=schemes, profile=profile, precondition="none", **options).results
    return {scheme: result.throughput_mib_per_s for scheme, result in zip(schemes, results, strict=True)}


def gain(values: dict[str, float], of: str, over: str) -> float:
    """Gain of one scheme over another in per cent."""
    return (values[of] / values[over] - 1) * 100


def row(claim: str, what: str, paper: str, band: tuple[float, float], measured: float, unit: str = "%") -> None:
    """One line of the table."""
    verdict = "hit" if band[0] <= measured <= band[1] else "**miss**"
    limits = f"{band[0]:g} .. {band[1]:g}"
    print(f"| `{claim}` | {what} | {paper} | {limits} | {measured:.1f}{unit} | {verdict} |", flush=True)


def hp_ufs() -> None:
    """HP-UFS Figs. 6 and 7."""
    four = ["ufs", "hpb", "hp-ufs", "ideal"]
    ranges: dict[int, dict[str, float]] = {}
    for gib in (1, 2, 4, 8, 16, 32, 64):
        ranges[gib] = throughput(f"hp-ufs-f6-randwrite-{gib}g", "hp-ufs", four)
    at_16 = gain(ranges[16], "hp-ufs", "hpb")
    row("hp-ufs.f6.randwrite-16g", "random write, 16 GiB: HP-UFS over HPB", "up to 77%", (55, 95), at_16)
    unlimited = throughput("hp-ufs-f6-randwrite-16g", "hp-ufs", ["hp-ufs"], host_memory_mib="unlimited")
    ratio = ranges[16]["hp-ufs"] / unlimited["hp-ufs"]
    row("hp-ufs.f6.cache-20mb", "16 GiB: 20 MB over unlimited host memory", "1.0", (0.95, 1.0), ratio, "")
    falls = ranges[32]["hp-ufs"] < 0.95 * ranges[16]["hp-ufs"]
    row("hp-ufs.f6.cache-20mb", "visible fall at 32 GiB (1 = yes)", "1", (1, 1), float(falls), "")
    close = all(r["hp-ufs"] >= 0.9 * r["ideal"] for gib, r in ranges.items() if gib <= 16)
    shape = close and ranges[1]["hpb"] > ranges[16]["hpb"] and ranges[16]["hpb"] <= 1.03 * ranges[16]["ufs"]
    row("hp-ufs.f6.range-shape", "HP-UFS near Ideal up to 16 GiB, HPB falls (1 = yes)", "1", (1, 1), float(shape), "")
    gc = throughput("hp-ufs-f7-gc", "hp-ufs", four)
    row("hp-ufs.f7.gc", "random write under GC: HP-UFS over HPB", "up to 70%", (45, 100), gain(gc, "hp-ufs", "hpb"))
    order = gc["ufs"] <= 1.01 * gc["hpb"] and gc["hpb"] < gc["hp-ufs"] < gc["ideal"]
    row("hp-ufs.f7.order", "UFS <= HPB < HP-UFS < Ideal under GC (1 = yes)", "1", (1, 1), float(order), "")
    print("\n| MiB/s | " + " | ".join(four) + " |\n|---|" + "--:|" * 4)
    for gib, values in ranges.items():
        print(f"| Fig. 6, {gib} GiB | " + " | ".join(f"{values[s]:.0f}" for s in four) + " |")
    print("| Fig. 7, under GC | " + " | ".join(f"{gc[s]:.0f}" for s in four) + " |\n")


def hpb() -> None:
    """HPB Figs. 6 and 7."""
    print("| claim | what | paper | band | measured | |\n|---|---|---|---|--:|---|")
    for threads in (1, 2, 4, 8, 16):
        values = throughput(f"hpb-f6-randread-{threads}", "hpb", ["ufs", "hpb"])
        measured = gain(values, "hpb", "ufs")
        row("hpb.f6.random-read", f"4 KiB random read in 1 GiB, {threads} threads", "59-67%", (50, 75), measured)
    for kind in ("seqread", "seqwrite", "randwrite"):
        values = throughput(f"hpb-f7-{kind}", "hpb", ["ufs", "hpb"])
        row("hpb.f7.neutral", kind, "0%", (-3, 3), gain(values, "hpb", "ufs"))


def main() -> None:
    """All of them."""
    print("| claim | what | paper | band | measured | |\n|---|---|---|---|--:|---|")
    hp_ufs()
    hpb()


if __name__ == "__main__":
    main()
