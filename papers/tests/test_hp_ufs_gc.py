"""Fig. 7 of HP-UFS: which points are run, in which order of the scripts, and what the claims make of the series."""

from itertools import cycle

import pandas as pd

from ufsim_papers.book import once
from ufsim_papers.claims import claim_of
from ufsim_papers.figure import Run, Setting
from ufsim_papers.hp_ufs.gc import (
    BEFORE,
    F7,
    GAIN,
    MEMORY,
    ORDER,
    ORDER_OF,
    PLACED,
    SCRIPT,
    TEXT,
    At,
    iterations,
)
from ufsim_papers.hp_ufs.points import START, WARM, labels
from ufsim_papers.hp_ufs.writes import OF_PAPER
from ufsim_papers.maps import needed

# Throughput in the first iteration and in later ones.
SPEED = {"ufs": (200.0, 100.0), "hpb": (210.0, 110.0), "hp-ufs": (300.0, 187.0), "ideal": (330.0, 220.0)}


def frame_of(at: At, speeds: dict[str, tuple[float, float]] = SPEED) -> pd.DataFrame:
    """The runs of a point: in the script's order the first iteration is of a run of its own."""
    rows = []
    for scheme, (first, later) in speeds.items():
        own = {f"group_iteration-{n}_mib_per_s": later if n > 1 else first for n in range(1, 9)}
        for part in ("first", "later") if at[ORDER] == SCRIPT else ("all",):
            kept = {name: value for name, value in own.items() if part == "all" or ("-1_" in name) == (part == "first")}
            rows.append({**labels(at), "scheme": scheme, "part": part, **kept})
    return pd.DataFrame(rows)


def test_iterations_of_two_runs_are_one_series() -> None:
    table = iterations(frame_of(PLACED))
    assert list(table["hpb"]) == [210.0] + [110.0] * 7
    assert list(iterations(frame_of(BEFORE))["hpb"]) == list(table["hpb"])


def test_the_gain_is_the_largest_of_the_iterations_with_gc() -> None:
    parts = F7.measure(pd.concat([frame_of(PLACED), frame_of(BEFORE)]))
    found = {(part.claim, part.part, part.role, part.at.get(ORDER)): part.value for part in parts}
    assert round(float(found[GAIN, "", "point", SCRIPT] or 0), 1) == 70.0
    names = [part.name for part in claim_of(ORDER_OF).needed]
    assert all(found[ORDER_OF, name, "point", SCRIPT] is True for name in names)
    assert all(found[ORDER_OF, name, "foil", None] is True for name in names), "the text's order is the foil"
    falling = frame_of(PLACED, {**SPEED, "hpb": (100.0, 110.0)})
    slower = {part.part: part.value for part in F7.measure(falling) if part.claim == ORDER_OF and part.role == "point"}
    assert slower[names[1]] is False and slower[names[0]] is True


def test_all_points_of_the_order_are_run_and_a_star_of_the_gain() -> None:
    assert F7.judged is None and F7.further is not None
    runs = [run for run in once(F7.runs(Setting())) if isinstance(run, Run)]
    for name, schemes in ((ORDER_OF, OF_PAPER), (GAIN, ("hpb", "hp-ufs"))):
        claim = claim_of(name)
        for place in needed(claim):
            at = {**PLACED, MEMORY: "unlimited", **claim.at(place)}
            own = [run for run in runs if all(run.labels[key] == value for key, value in labels(at).items())]
            assert {run.labels["scheme"] for run in own} >= set(schemes), at
            for run in own:
                assert run.spec.stay_on == (at[START] == WARM and run.labels["part"] != "first")
                assert (run.spec.age is None) == (run.labels["part"] == "first")
                order = {"first": SCRIPT, "later": SCRIPT, "all": TEXT}[str(run.labels["part"])]
                assert order == at[ORDER]


def test_joint_ends_are_asked_for_once_the_star_is_known() -> None:
    claim = claim_of(GAIN)
    assert F7.further is not None

    def star(seed: int, *signs: int) -> pd.DataFrame:
        """Gains of each point, above or below that of the first."""
        speeds = [
            {name: (first, later + sign * number * (name == "hp-ufs")) for name, (first, later) in SPEED.items()}
            for number, sign in zip(range(len(needed(claim))), cycle(signs))
        ]
        frames = [
            frame_of({**PLACED, **claim.at(place)}, own) for place, own in zip(needed(claim), speeds, strict=True)
        ]
        return pd.concat(frames).assign(of_seed=seed)

    frame = star(3, 1)
    more = F7.further(Setting(seed=3), frame)
    assert more and {run.spec.seed for run in more if isinstance(run, Run)} == {3}
    places = {tuple(run.labels[name] for name in labels(PLACED)) for run in more}
    assert 1 <= len(places) <= 2
    of_median = F7.further(Setting(seed=3), pd.concat([star(1, 1, -1), frame, star(4, 1)]))
    assert [run.labels for run in of_median] == [run.labels for run in more], "one odd seed moves no end"
    ends = [dict(zip(PLACED, place, strict=True)) for place in places]
    assert not F7.further(Setting(), pd.concat([frame, *(frame_of(at).assign(of_seed=3) for at in ends)]))
