"""The folders of the papers: jobs, claims and what was measured of them. What traces they need, and whose these are."""

from dataclasses import dataclass
from pathlib import Path
from string import Template

PACKAGE = Path(__file__).parent
# In an installed package the folders lie inside of it, in the project beside it.
FOLDERS = PACKAGE / "folders" if (PACKAGE / "folders").is_dir() else PACKAGE.parent


@dataclass(frozen=True)
class Paper:
    """A paper, or a question that no paper asks: its name, what it is about, the device profile of all its claims."""

    name: str
    title: str
    about: str
    profile: str


PAPERS = {
    paper.name: paper
    for paper in (
        Paper(
            "hp-ufs", "HP-UFS", "host memory keeps the L2P changes, valid page bitmap and counts (MSST 2024)", "hp-ufs"
        ),
        Paper("hpb", "HPB", "host memory as read cache of L2P entries (HotStorage 2017)", "hpb"),
        Paper("map-plus", "MAP+", "an I/O scheduler that knows the mapping cache (TCAD 2018)", "emmc-map-plus"),
        Paper("msftl", "MSFTL", "mapping segments smaller than a logical page (2020)", "msftl"),
        Paper("hpbvalve", "HPBvalve", "HPB run for the foreground app", "hpbvalve"),
        Paper("phone", "A phone that sleeps", "the papers' questions asked anew", "pixel4"),
        Paper("today", "Devices of today", "does host memory for the mapping still pay?", "ufs-3.1-256"),
    )
}

# Where traces come from, by the first part of their path.
TRACES = {
    "pixel4-hpufs": "the phone traces of the HP-UFS authors (github.com/s3yonsei/hpufs_public, script/application)",
    "pixel6a-technion": "Technion's traces of a Pixel 6a (github.com/acsl-technion/MobileBlockIOTraces)",
    "nexus5-zhou": "Zhou et al.'s traces of a Nexus 5 (github.com/RVerschoren/flashsim-dchoices, traces_old)",
    "nexus5-pocketdata": "PocketData's traces of a Nexus 5 (github.com/grantwra/pocketDataGraphing)",
    "server": "the samples of SPC traces (github.com/CMU-SAFARI/MQSim, github.com/KerubinHo/SSDSim-Linux)",
}


def job(name: str, **variables: object) -> str:
    """A job, `paper/name`, where `.fio` need not be said: its path, or its text with the values of its variables.

    fio takes variables, `${NAME}`, from the environment; so does `ufsim run`.
    """
    paper, _, own = name.partition("/")
    path = FOLDERS / paper / "jobs" / (own if "." in own else f"{own}.fio")
    return Template(path.read_text(encoding="utf-8")).substitute(variables) if variables else str(path)
