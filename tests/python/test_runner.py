"""Order, failure and interruption of parallel runs, with a stand-in for the core's `simulate`."""

import json
import threading
import time

import pytest

import ufsim
from conftest import result
from ufsim import _core
from ufsim.spec import Spec


def stand_in(monkeypatch: pytest.MonkeyPatch, simulate) -> None:
    monkeypatch.setattr(_core, "simulate", lambda text, progress: simulate(json.loads(text), progress))


def test_results_come_in_the_order_asked_for(monkeypatch, tmp_path) -> None:
    ideal_done = threading.Event()

    def simulate(spec: dict, progress) -> str:
        if spec["scheme"] == "ideal":
            ideal_done.set()
        else:
            assert ideal_done.wait(10), "the schemes do not run at the same time"
        return json.dumps(result(spec["scheme"], 1.0, 0))

    stand_in(monkeypatch, simulate)
    comparison = ufsim.compare(tmp_path, ["ufs", "hpb", "ideal"], jobs=3)
    assert [entry.scheme for entry in comparison.results] == ["ufs", "hpb", "ideal"]


def test_jobs_limit_what_runs_at_a_time(monkeypatch, tmp_path) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def simulate(spec: dict, progress) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1
        return json.dumps(result(spec["scheme"], 1.0, 0))

    stand_in(monkeypatch, simulate)
    ufsim.compare(tmp_path, ["ufs", "hpb", "hp-ufs", "ideal"], jobs=2)
    assert most == 2


def test_the_first_failure_stops_the_others(monkeypatch, tmp_path) -> None:
    stopped = threading.Event()
    started = threading.Event()

    def simulate(spec: dict, progress) -> str:
        if spec["scheme"] == "hpb":
            assert started.wait(10)
            raise ufsim.ConfigError("nand.planes is 0; allowed: 1 to 4")
        started.set()
        try:
            for _ in range(1000):
                progress(0, 100, 0, "run")
                time.sleep(0.01)
        except Exception:
            stopped.set()
            raise
        raise AssertionError("nobody stopped this run")

    stand_in(monkeypatch, simulate)
    with pytest.raises(ufsim.ConfigError, match=r"nand\.planes"):
        ufsim.compare(tmp_path, ["ufs", "hpb"], jobs=2)
    assert stopped.is_set()


def test_progress_names_the_scheme_and_the_phase(monkeypatch, tmp_path) -> None:
    def simulate(spec: dict, progress) -> str:
        progress(10, 100, 5, "precondition")
        progress(20, None, 6, "run")
        return json.dumps(result(spec["scheme"], 1.0, 0))

    calls = []
    stand_in(monkeypatch, simulate)
    ufsim.run(tmp_path, "hpb", progress=lambda *call: calls.append(call))
    assert calls == [("hpb", "precondition", 10, 100, 5), ("hpb", "run", 20, None, 6)]


def test_the_core_gets_every_option(monkeypatch, tmp_path) -> None:
    seen = []

    def simulate(spec: dict, progress) -> str:
        seen.append(spec)
        return json.dumps(result(spec["scheme"], 1.0, 0))

    stand_in(monkeypatch, simulate)
    ufsim.run(tmp_path, "ufs", settings={"nand.planes": 2}, replay="closed", depth=3, seed=9, device="253:5")
    assert seen[0]["settings"] == {"nand.planes": 2}
    assert (seen[0]["workload"], seen[0]["scheme"], seen[0]["depth"], seen[0]["seed"]) == (str(tmp_path), "ufs", 3, 9)
    assert set(seen[0]) == set(Spec.__dataclass_fields__)


@pytest.mark.parametrize(
    ("schemes", "options", "told"),
    [
        ([], {}, "schemes is empty"),
        (["ufs", "ufs"], {}, "may be named once"),
        (
            ["usf"],
            {},
            "scheme is 'usf'; allowed: ufs, hpb, ufs-tuned, hpb-tuned, ufs-compressed, leaftl, hpb-linux, foam, ",
        ),
        (["ufs"], {"jobs": 0}, "jobs is 0; allowed: an integer from 1"),
        (["ufs"], {"depth": 0}, "depth is 0; allowed: an integer from 1 to 65536"),
        (["ufs"], {"depth": True}, "depth is True"),
        (["ufs"], {"seed": -1}, "seed is -1"),
    ],
)
def test_wrong_options_are_named(schemes: list[str], options: dict, told: str, tmp_path) -> None:
    with pytest.raises(ufsim.ConfigError, match=told):
        ufsim.compare(tmp_path, schemes, **options)


def test_a_missing_workload_is_a_missing_file(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere.*no such file"):
        ufsim.run(tmp_path / "nowhere", "ufs")
