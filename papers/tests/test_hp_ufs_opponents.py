"""By how much HP-UFS is better than its opponents: medians over seeds, and from where to where they lie."""

from pathlib import Path

import pandas as pd
import pytest

from ufsim_papers.figure import Run, Setting
from ufsim_papers.hp_ufs import opponents


def frame_of(gains: list[float]) -> pd.DataFrame:
    """Random writes, of each seed with such a gain over HPB and half of it over the tuned one, and INSERT."""
    rows = []
    for seed, gain in enumerate(gains):
        speeds = {"hp-ufs": 100 + gain, "hpb": 100.0, "hpb-tuned": (100 + gain) / (1 + gain / 200)}
        for scheme, speed in speeds.items():
            rows.append({"of_seed": seed, "experiment": "writes", "load": "16", "scheme": scheme})
            rows[-1] |= {"throughput_mib_per_s": speed}
            rows.append({"of_seed": seed, "experiment": "INSERT, no GC", "load": "", "scheme": scheme})
            rows[-1] |= {"op_insert_program_mean_ns": 1e9 / speed, "op_insert_program_p999_ns": 1e9 / speed}
    return pd.DataFrame(rows)


def test_gains_are_medians_with_their_intervals() -> None:
    table = opponents.gains(frame_of([10.0, 30.0, 20.0, 50.0, 40.0]))
    writes = table.loc["random writes over 16 GiB (Fig. 6)"]
    assert list(writes[["over HPB", "over HPB, from", "over HPB, to"]]) == pytest.approx([30, 10, 50])
    assert list(writes[["over HPB tuned", "over HPB tuned, from", "over HPB tuned, to"]]) == pytest.approx([15, 5, 25])
    insert = table.loc["SQLite INSERT, mean latency without GC (Fig. 8)"]
    assert insert["over HPB"] == pytest.approx((1 - 100 / 130) * 100), "latency is lower by so much"


def test_one_seed_has_no_interval() -> None:
    assert list(opponents.gains(frame_of([10.0]))) == list(opponents.OPPONENTS.values())


def test_every_seed_is_run(traces: Path) -> None:
    (figure,) = opponents.FIGURES
    setting = Setting(quick=True, seed=4, seeds=3, traces=traces)
    runs = [run for run in figure.runs(setting) if isinstance(run, Run)]
    assert {run.spec.seed for run in runs} == {run.labels["of_seed"] for run in runs} == {4, 5, 6}
