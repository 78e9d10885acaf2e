"""The figures on devices of today."""

import math
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest

import ufsim
from ufsim_papers.figure import Run, Setting
from ufsim_papers.today import stages, uses


@pytest.fixture
def points(traces: Path) -> list[Run]:
    return [point for point in uses.USES.runs(Setting(traces=traces)) if isinstance(point, Run)]


def test_every_run_is_allowed(points: list[Run]) -> None:
    firsts = {(run.labels["condition"], run.labels["scheme"]): run for run in points}
    assert {condition for condition, _ in firsts} == set(uses.CONDITIONS)
    for run in firsts.values():
        run.spec.check()


def test_every_condition_differs_from_the_device_in_use(points: list[Run]) -> None:
    own = {name: {run.spec.to_json() for run in points if run.labels["condition"] == name} for name in uses.CONDITIONS}
    for name, specs in own.items():
        assert name == uses.AS_IT_IS or not specs & own[uses.AS_IT_IS], name


def test_gains_are_taken_seed_by_seed_from_the_same_condition() -> None:
    def rows(condition: str, times: dict[str, tuple[int, int, int]]) -> list[dict[str, object]]:
        head = {"condition": condition, "workload": "twitter", uses.TOKEN: math.nan}
        return [
            head | {"scheme": scheme, "seed": seed, uses.READS: ns}
            for scheme, three in times.items()
            for seed, ns in enumerate(three)
        ]

    frame = pd.DataFrame(
        rows(uses.AS_IT_IS, {"ufs": (100, 200, 400), "ideal": (90, 180, 360)})
        + rows("new", {"ufs": (50, 50, 50), "ideal": (50, 40, 30)})
        + rows("host memory for all", {"hpb": (100, 100, 100)})
    )
    found = uses.gains(frame, uses.READS)
    assert found[uses.AS_IT_IS, "twitter", "ideal"] == pytest.approx((10, 0), abs=1e-9)
    assert found["new", "twitter", "ideal"] == pytest.approx((20, 4.303 * 20 / math.sqrt(3)))
    assert found["host memory for all", "twitter", "hpb"][0] == pytest.approx((0 + 50 + 75) / 3)
    other = frame.assign(workload="chrome", **{uses.READS: frame[uses.READS].where(frame.scheme == "ufs", 0)})
    model = frame.assign(workload=uses.MODEL, **{uses.TOKEN: frame[uses.READS]})
    of_all = uses.of_all(pd.concat([frame, other, model]), uses.READS)
    assert of_all["new", uses.APPLICATIONS, "ideal"] == pytest.approx((60, 4.303 * 10 / math.sqrt(3)))


def test_groups_of_stages_add_up_to_the_mean_time(traces: Path) -> None:
    names = [stage for _, own in stages.GROUPS.values() for stage in own]
    known = [name for name in ufsim.columns("log").index if name.startswith("stage_")]
    assert sorted(f"stage_{name}_ns" for name in names) == sorted(known)
    options = dict(uses.workloads(Setting(traces=traces, quick=True), 1))["twitter"]
    spec = uses.spec(uses.CONDITIONS["new"], "hpb", 1, options)
    parts = stages.measured(spec)
    run = ufsim.run(**asdict(spec), seeds=1)
    # Means of a run are those of a histogram, whose buckets are a thousandth wide.
    for kind in stages.KINDS:
        own = sum(value for name, value in parts.items() if name.startswith(f"{kind} "))
        assert own == pytest.approx(run.data["latency_ns"][kind]["mean"], rel=1e-3)
