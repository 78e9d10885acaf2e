"""The derivation that compares ufsim with MQSim: papers/mqsim/README.md."""

import json
import random
from dataclasses import replace

import pytest

from ufsim_papers.folders import FOLDERS
from ufsim_papers.mqsim import figures as mqsim
from ufsim_papers.mqsim import page
from ufsim_papers.mqsim.closed_network import Network

# What the derivation promises.
PROMISED = 0.01


def served_by_play(dies: int, requests: int, rounds: int, pages: int | None = None) -> float:
    """Requests served in a round when those served are thrown at the dies again: what the closed form stands for.

    With `pages` a waiting request of the other plane goes with the first one if it has the same page number.
    """
    chance = random.Random(1)
    queues: list[list[tuple[int, int]]] = [[] for _ in range(dies)]

    def throw(count: int) -> None:
        for _ in range(count):
            queues[chance.randrange(dies)].append((chance.randrange(2), chance.randrange(pages or 1)))

    throw(requests)
    total = 0
    for _ in range(rounds):
        served = 0
        for queue in filter(None, queues):
            served += 1
            plane, page = queue.pop(0)
            if pages and (1 - plane, page) in queue:
                queue.remove((1 - plane, page))
                served += 1
        throw(served)
        total += served
    return total / rounds


@pytest.mark.parametrize(("dies", "requests"), [(4, 8), (8, 16), (8, 24), (8, 32), (8, 128), (16, 32)])
def test_the_closed_form_is_what_play_gives(dies: int, requests: int) -> None:
    played = served_by_play(dies, requests, 20_000)
    assert Network(dies, requests, 65.0).busy == pytest.approx(played, rel=PROMISED)


def test_time_outside_of_dies_takes_requests_from_them() -> None:
    """Those outside are the rate times their time there; the dies have the others, as if there were no more."""
    whole = Network(8, 32, 60.0, outside_us=30.0)
    outside = whole.iops * whole.outside_us / 1e6
    assert 2 < outside < 4
    fewer, more = (Network(8, under_way, 60.0).iops for under_way in (28, 30))
    assert fewer < whole.iops < more
    assert whole.mean_us(32) == pytest.approx(32 / whole.iops * 1e6)
    assert whole.shortest_us == 90.0


def test_pairs_are_a_lower_bound_and_near() -> None:
    rounds = Network(8, 32, 1e6)
    assert rounds.paired_iops(0.0, 0.0) == rounds.iops
    derived = rounds.paired_iops(1 / 512, 0.0)
    played = served_by_play(8, 32, 40_000, pages=256)
    assert rounds.iops < derived < played < derived * (1 + PROMISED)
    # What a second transfer takes of a service, it takes of the rate.
    assert rounds.paired_iops(1 / 512, 1e5) == pytest.approx(derived / (1 + 0.1 * (derived / rounds.iops - 1)))


@pytest.mark.parametrize("name", mqsim.CASES)
def test_the_simulator_gives_what_is_derived(name: str) -> None:
    case = mqsim.CASES[name]
    found = mqsim.measured(case, seed=7)
    assert found == pytest.approx(mqsim.derived(case), rel=PROMISED)


def test_every_term_is_that_of_the_profile() -> None:
    terms = mqsim.terms()
    assert (terms.dies, terms.planes, terms.under_way) == (8, 2, 24)
    assert (terms.read_us, terms.program_us) == (60, 550)
    assert terms.transfer_us == pytest.approx(4096 / 800)
    # A command of 32 bytes and a response of 4160 on lanes of 2307 MB/s, each handled in 0.5 us; up to 1 ns each.
    assert terms.firmware_us + terms.link_us == pytest.approx(1 + (32 + 4160) / 2307 + 2 * 0.5, abs=0.002)
    slower = mqsim.terms({"firmware.command_ns": 3000})
    assert slower == replace(terms, firmware_us=3.0, link_us=slower.link_us)
    assert slower.link_us == pytest.approx(terms.link_us)


def test_what_mqsim_told_is_derived_with_pairs_and_nearly_without() -> None:
    for kind in mqsim.KINDS:
        derived = mqsim.derived_of_mqsim(kind)
        assert derived["paired"] == pytest.approx(mqsim.TOLD[kind], rel=PROMISED)
        # What the page calls left: without pairs rates and the mean are 1.0% to 1.5% worse.
        rest = mqsim.TOLD[kind]["iops"] / derived["alone"]["iops"] - 1
        assert 0.010 < rest < 0.015
    assert mqsim.derived_of_mqsim("reads")["alone"]["shortest_us"] == pytest.approx(65, rel=PROMISED)


def test_the_kept_result_is_what_the_script_writes() -> None:
    kept = json.loads(mqsim.RESULT.read_text())
    assert list(kept["cases"]) == list(mqsim.CASES)
    for name, case in mqsim.CASES.items():
        assert kept["cases"][name]["derived"] == mqsim.rounded(mqsim.derived(case)), (
            "python -m ufsim_papers.mqsim.figures"
        )
        for run in kept["cases"][name]["measured"]:
            assert run == pytest.approx(mqsim.derived(case), rel=PROMISED)
    assert kept["steps"] == mqsim.rounded({kind: mqsim.steps(kind) for kind in mqsim.KINDS})
    assert kept["mqsim"] == mqsim.rounded({kind: mqsim.derived_of_mqsim(kind) for kind in mqsim.KINDS})


def test_the_page_shows_every_part() -> None:
    text = (FOLDERS / "mqsim/README.md").read_text()
    for name in page.PARTS:
        assert f"<!-- mqsim {name} -->" in text
        assert page.part(name).startswith(("|", "Means of"))
    assert "| ufsim | 105,0" in page.part("reads")
