"""The page on devices of today: a data sheet beside the simulation, and the study of compressed tables.

`python -m tools docs today out/today` measures the first, reads the second from the sweep `jobs/sweep-today.toml`, and
keeps both in docs/data/today.json. Without a sweep the study stays as it is.
"""

from pathlib import Path
from typing import Any

import pandas

from tools.docs import today_curves, today_loads, today_uses
from tools.docs.today_sheet import SHEET
from tools.project import ROOT
from tools.records import kept, origin
from ufsim.results.chance import gain_percent, gain_text, over, told
from ufsim.results.formats import number
from ufsim_papers.markdown import code, table

RECORD = ROOT / "docs" / "data" / "today.json"
PROFILE = "ufs-4.0-512"
SEEDS = 3
MB = 1_000_000
#: Devices of which makers have published two figures, and by whom.
OTHERS = {
    "ufs-3.1-256": ("Samsung, UFS 3.1, 512 GB", 2100, 1200),
    "ufs-4.1-1tb": ("Micron, UFS 4.0, six planes, 2023; SK hynix, UFS 4.1, 2025 has the reads", 4300, 4000),
}


def measured(points: Path | None) -> dict[str, Any]:
    """The record, from runs of the sheets' jobs and the results of the sweep."""
    import ufsim

    def rates(job: str, settings: dict[str, int], profile: str = PROFILE) -> list[list[float]]:
        result = ufsim.run(job, scheme="ufs", profile=profile, seeds=SEEDS, settings=settings)
        return [[one.iops, one.throughput_mib_per_s * 1024 * 1024 / MB] for one in result.each_seed]

    sheet = [rates(line.job, line.settings) for line in SHEET]
    others = {name: [rates(line.job, {}, name) for line in SHEET[:2]] for name in OTHERS}
    if points is None:
        before = kept(RECORD)
        study, version = before["study"], before.get("study_version", before["version"])
    else:
        version = ufsim.__version__
        frame = pandas.read_parquet(points / "results.parquet")
        columns = ["overwritten_percent", "range_gib", "scheme", "seed", "iops", "read_p99_ns"]
        study = frame[columns].to_dict(orient="records")
    return {
        **origin(ufsim.__version__),
        "sheet": sheet,
        "others": others,
        "study": study,
        "study_version": version,
    }


def sheet() -> str:
    """The data sheet beside the simulation."""
    rows = []
    for line, seeds in zip(SHEET, kept(RECORD)["sheet"], strict=True):
        found = over(seed[0 if line.unit == "IOPS" else 1] for seed in seeds)
        assert found is not None
        off = (found.mean / line.published - 1) * 100
        rows.append(
            [line.what, f"{line.published:,.0f} {line.unit}", line.source, told(found, number), f"{off:+.0f} %"]
        )
    return table(("figure", "published", "by", "simulated>", "off>"), rows)


def others() -> str:
    """Sequential rates of the other devices beside what makers say."""
    rows = []
    for name, (source, *published) in OTHERS.items():
        for line, figure, seeds in zip(SHEET[:2], published, kept(RECORD)["others"][name], strict=True):
            found = over(seed[1] for seed in seeds)
            assert found is not None
            off = (found.mean / figure - 1) * 100
            rows.append([code(name), line.what, f"{figure:,} MB/s", source, told(found, number), f"{off:+.0f} %"])
    return table(("profile", "figure", "published", "by", "simulated>", "off>"), rows)


def study() -> str:
    """Gains over `ufs`, seed by seed."""
    frame = pandas.DataFrame(kept(RECORD)["study"])
    schemes = [scheme for scheme in frame["scheme"].unique() if scheme != "ufs"]
    rows = []
    for (percent, gib), point in frame.groupby(["overwritten_percent", "range_gib"], sort=True):
        by_scheme = point.pivot(index="seed", columns="scheme", values="iops")
        base = over(by_scheme["ufs"])
        gains = [
            over(gain_percent(*pair, shorter=False) for pair in zip(by_scheme["ufs"], by_scheme[scheme], strict=True))
            for scheme in schemes
        ]
        rows.append([f"{percent:g} %", f"{gib} GiB", told(base, number), *map(gain_text, gains)])
    heads = ("overwritten", "range", "`ufs`, IOPS>", *(f"{code(scheme)}>" for scheme in schemes))
    return table(heads, rows)


PARTS = {
    "sheet": sheet,
    "others": others,
    "curves": today_curves.picture,
    "study": study,
    **today_loads.PARTS,
    **today_uses.PARTS,
}


def part(name: str) -> str:
    """A table of the page."""
    return PARTS[name]()
