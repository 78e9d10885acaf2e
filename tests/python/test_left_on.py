"""Machines that aged and were not switched off: each run finds the same one, as if it had aged its own."""

from dataclasses import asdict, replace

import pytest

import ufsim
from ufsim import ConfigError, LeftOn, OptionError, Spec

AGE = "rw=randwrite bs=4k iodepth=8 size=120m io_size=400m"
READS = "rw=randread bs=4k iodepth=4 size=40m io_size=8m"
WRITES = "rw=randwrite bs=4k iodepth=4 size=40m io_size=8m"


def spec(workload: str = READS, seed: int = 1) -> Spec:
    return Spec(workload=workload, scheme="hp-ufs", profile="tiny", age=AGE, stay_on=True, seed=seed)


def alone(own: Spec) -> str:
    result = ufsim.run(**asdict(own), seeds=1)
    assert isinstance(result, ufsim.Result)
    return result.digest


def test_runs_on_one_machine_are_those_that_age_their_own() -> None:
    with LeftOn() as machines:
        for own in (spec(READS), spec(WRITES), spec(READS), spec(READS, seed=2)):
            assert machines.simulated(own)["digest"] == alone(own)
        assert len(machines._machines) == 1, "the machine of the first seed has gone"


def test_what_decides_a_machine_is_all_that_it_is_asked_while_it_ages() -> None:
    plain = spec()
    assert LeftOn.machine(replace(plain, workload=WRITES, precondition="none")) == LeftOn.machine(plain)
    for other in ({"seed": 2}, {"host_memory_mib": 3}, {"settings": {"gc.units_per_step": 32}}, {"scheme": "ufs"}):
        assert LeftOn.machine(replace(plain, **other)) != LeftOn.machine(plain), other


def test_what_a_run_raises_is_raised_here() -> None:
    with LeftOn() as machines:
        too_large = replace(spec(), workload="rw=read bs=4k size=1t")
        with pytest.raises(ConfigError, match="of the device"):
            machines.simulated(too_large)
        assert machines.simulated(spec())["digest"] == alone(spec()), "the machine is still there"


def test_a_machine_that_was_killed_is_aged_anew() -> None:
    with LeftOn() as machines:
        digest = machines.simulated(spec())["digest"]
        (machine,) = machines._machines.values()
        machine.process.kill()
        machine.process.wait()
        assert [machines.simulated(spec())["digest"] for _ in range(2)] == [digest, digest]
        assert len(machines._machines) == 1


def test_a_machine_that_has_not_aged_is_refused() -> None:
    with LeftOn() as machines, pytest.raises(OptionError, match=r"--stay-on \(stay_on\) has no effect without --age"):
        machines.simulated(replace(spec(), age=None))
    result = ufsim.run(**asdict(spec()), seeds=1)
    assert isinstance(result, ufsim.Result)
    assert result.data["stay_on"] is True
