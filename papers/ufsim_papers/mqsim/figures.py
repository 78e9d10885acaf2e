"""What separates ufsim from MQSim on the same device: `python -m ufsim_papers.mqsim.figures`.

Both simulated the device of profiles/mqsim.toml under scheme `ideal`: 4 KiB requests at random addresses, 32 at a time.
Each figure of each simulator is derived (`closed_network`), and ufsim's are measured beside it.
"""

import argparse
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import ufsim
from ufsim import outputs
from ufsim_papers.folders import FOLDERS
from ufsim_papers.mqsim.closed_network import Network
from ufsim_papers.record_text import record_text

PROFILE = "mqsim"
RESULT = FOLDERS / "mqsim/figures.json"
Kind = Literal["reads", "writes"]
Figures = dict[str, float]

KINDS: tuple[Kind, ...] = ("reads", "writes")
DEPTH = 32
SEEDS = (1, 2, 3, 4, 5)

# What MQSim told of this device.
TOLD: dict[Kind, Figures] = {
    "reads": {"iops": 111_000, "mean_us": 288, "shortest_us": 65},
    "writes": {"iops": 13_000},
}


@dataclass(frozen=True)
class Case:
    """A run of ufsim that the derivation has to foretell."""

    what: str
    kind: Kind
    settings: Mapping[str, Any] = field(default_factory=dict)


CASES = {
    "reads": Case("random reads", "reads"),
    "reads-31": Case("with 31 instead of 24 requests under way", "reads", {"host.internal_tags": 1}),
    "reads-tprog": Case("the same, reads that take tPROG", "reads", {"host.internal_tags": 1, "nand.tlc_read_us": 550}),
    "writes": Case("random writes, both planes a program", "writes"),
    # Blocks of twice as many pages keep the size of superblocks.
    "writes-plane": Case(
        "random writes, one plane a program", "writes", {"nand.planes": 1, "nand.pages_per_block": 512}
    ),
}


@dataclass(frozen=True)
class Terms:
    """What the sums are made of, in microseconds, as the profile says it."""

    dies: int
    planes: int
    pages_per_block: int
    under_way: int
    read_us: float
    program_us: float
    transfer_us: float
    """A page of 4 KiB over its channel."""
    firmware_us: float
    link_us: float
    """A read's command, its data and its response on the wire, and their handling at both ends."""

    @property
    def reads(self) -> Network:
        """Random reads."""
        service = self.read_us + self.transfer_us
        return Network(self.dies, self.under_way, service, self.firmware_us + self.link_us)

    @property
    def write_iops(self) -> float:
        """Random writes that go to the dies in turn, so that all are busy, and are programmed on all planes at once."""
        return self.dies * self.planes / (self.program_us + self.planes * self.transfer_us) * 1e6


def terms(settings: Mapping[str, Any] | None = None) -> Terms:
    """The terms of the profile with these settings."""
    told = ufsim.describe_profile(PROFILE, settings)
    values = {one["key"]: one["value"] for one in told["values"]}
    limits = told["ceilings"]["random_read"]["requests_per_s_by"]
    dies, under_way = told["facts"]["dies"], told["facts"]["user_commands"]
    # A die is the limit of so many services, and tags of so many whole reads.
    service, whole = dies / limits["die"] * 1e6, under_way / limits["tags"] * 1e6
    firmware = values["firmware.command_ns"] / 1e3
    return Terms(
        dies=dies,
        planes=values["nand.planes"],
        pages_per_block=values["nand.pages_per_block"],
        under_way=under_way,
        read_us=values["nand.tlc_read_us"],
        program_us=values["nand.tlc_program_us"],
        transfer_us=service - values["nand.tlc_read_us"],
        firmware_us=firmware,
        link_us=whole - service - firmware,
    )


def derived(case: Case) -> Figures:
    """What a run of ufsim has to give."""
    given = terms(case.settings)
    if case.kind == "writes":
        return {"iops": given.write_iops}
    return figures(given.reads)


def figures(network: Network) -> Figures:
    """The three figures of reads."""
    return {"iops": network.iops, "mean_us": network.mean_us(DEPTH), "shortest_us": network.shortest_us}


def measured(case: Case, seed: int) -> Figures:
    """What a run of ufsim gives; each address is drawn for itself, as an address of MQSim's RANDOM_UNIFORM."""
    job = f"rw=rand{case.kind.removesuffix('s')} bs=4k size=1g io_size=1g iodepth={DEPTH} norandommap=1"
    result = ufsim.run(job, "ideal", profile=PROFILE, settings=dict(case.settings), seed=seed)
    found = {"iops": result.data["completed"] / result.data["sim_seconds"]}
    if case.kind == "writes":
        return found
    latency = result.data["latency_ns"]["read"]
    return found | {"mean_us": latency["mean"] / 1e3, "shortest_us": latency["min"] / 1e3}


def mqsim(kind: Kind) -> Network:
    """MQSim as its documents say it: all requests are under way, and wait for dies and channels alone."""
    ours = terms()
    cells = ours.read_us if kind == "reads" else ours.program_us
    return Network(ours.dies, DEPTH, cells + ours.transfer_us)


def paired_iops(kind: Kind) -> float:
    """The same if a die takes a second request along, of another plane and with the same page number."""
    ours = terms()
    chance = (1 - 1 / ours.planes) / ours.pages_per_block
    return mqsim(kind).paired_iops(chance, ours.transfer_us)


def derived_of_mqsim(kind: Kind) -> dict[str, Figures]:
    """What is derived of what MQSim told, without pairs and with them."""
    alone = figures(mqsim(kind))
    paired = alone | {"iops": paired_iops(kind), "mean_us": DEPTH / paired_iops(kind) * 1e6}
    return {name: {figure: of[figure] for figure in TOLD[kind]} for name, of in (("alone", alone), ("paired", paired))}


def steps(kind: Kind) -> list[tuple[str, float]]:
    """Requests per second from ufsim's to MQSim's, one difference after the other."""
    ours, theirs = terms(), mqsim(kind).iops
    if kind == "reads":
        more = replace(ours.reads, under_way=DEPTH).iops
        differences = [
            ("ufsim", ours.reads.iops),
            (f"{DEPTH} instead of {ours.under_way} requests under way", more),
            ("no time outside", theirs),
        ]
    else:
        differences = [
            ("ufsim", ours.write_iops),
            ("one plane a program", replace(ours, planes=1).write_iops),
            ("the die by the address, not in turn", theirs),
        ]
    return [*differences, ("pairs, at least", paired_iops(kind))]


def document() -> dict[str, Any]:
    """Everything that the page shows."""
    cases = {}
    for name, case in CASES.items():
        runs = [measured(case, seed) for seed in SEEDS]
        cases[name] = {"what": case.what, "derived": derived(case), "measured": runs}
    made: dict[str, Any] = {
        "ufsim": ufsim.__version__,
        "seeds": SEEDS,
        "told": TOLD,
        "terms": asdict(terms()),
        "cases": cases,
        "mqsim": {kind: derived_of_mqsim(kind) for kind in KINDS},
        "steps": {kind: steps(kind) for kind in KINDS},
    }
    return {key: rounded(value) for key, value in made.items()}


def rounded(made: Any) -> Any:
    """The same with three decimals."""
    if isinstance(made, dict):
        return {key: rounded(value) for key, value in made.items()}
    if isinstance(made, list | tuple):
        return [rounded(value) for value in made]
    return round(made, 3) if isinstance(made, float) else made


def main() -> None:
    """Writes everything that the page shows."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    failures = outputs.write([(RESULT, outputs.text(record_text(document()) + "\n"))])
    if failures:
        raise outputs.Unwritten(failures)
    print(f"{RESULT.name} is written")


if __name__ == "__main__":
    main()
