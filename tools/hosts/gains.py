"""Claims of the papers, measured by the kernel's drivers and by the models, with the same jobs."""

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

import ufsim
from ufsim import linux
from ufsim.states import StateCache
from ufsim_papers.folders import job

SEEDS = (1, 2, 3)
#: GC has begun when an aged device has used up what is free above its threshold: so many iterations of Fig. 7 are part
#: of its ageing, and the next one is measured.
BEFORE_GC = 3


@dataclass(frozen=True)
class Case:
    """A job, and two schemes whose throughput is compared."""

    claim: str
    about: str
    scheme: str
    opponent: str
    profile: str
    #: Of fio, as the paper's figure has it.
    job: str
    #: What is measured: the mean of these parts of the job.
    parts: Sequence[str] = ("measured",)
    settings: Mapping[str, str | int] = field(default_factory=dict)
    age: str | None = None


def cases() -> Iterator[Case]:
    """What can be asked of the kernel's HPB driver and of ours of HP-UFS."""
    for threads in (1, 4, 16):
        text = job("hpb/f6-randread", THREADS=threads, IO_SIZE=f"{256 // threads}m")
        yield Case("hpb.f6.random-read", f"{threads} threads", "hpb-linux", "ufs", "hpb", text)
    for share in (10, 50, 90):
        text = job("hpb/f8-mixed", READS=share)
        yield Case("hpb.f8.mixed", f"{share}% reads", "hpb-linux", "ufs", "hpb", text)
    sides, cache = ("hp-ufs", "hpb-linux", "hp-ufs"), {"host.memory_mib": 20}
    for gib in (1, 4, 16):
        text = job("hp-ufs/f6-randwrite", RANGE=f"{gib}g")
        yield Case("hp-ufs.f6.randwrite-16g", f"{gib} GiB", *sides, text, settings=cache)
    yield under_gc(*sides, cache)


def under_gc(scheme: str, opponent: str, profile: str, settings: Mapping[str, str | int]) -> Case:
    """Fig. 7. A guest makes only the iteration that is measured: each is a quarter of a million writes."""
    options, _, _ = Path(job("hp-ufs/f7-gc")).read_text(encoding="utf-8").partition("[iteration-1]\n")
    before = "".join(f"[iteration-{n}]\nstonewall\n" for n in range(1, BEFORE_GC + 1))
    # Its range is the first part of what is aged.
    own = options.replace("filename=range", "filename=aged") + before
    age = Path(job("hp-ufs/age-gc")).read_text(encoding="utf-8") + own
    name = f"iteration-{BEFORE_GC + 1}"
    sides = (scheme, opponent, profile)
    return Case("hp-ufs.f7.gc", name.replace("-", " "), *sides, f"{options}[{name}]\n", (name,), settings, age)


def by_kernel(text: str, scheme: str, **options: Any) -> list[Any]:
    """The jobs of a job file, as the guest's fio tells them."""
    # Random numbers are the guest's, which follow from the seed.
    text = "[global]\nioengine=libaio\nrandrepeat=0\nzero_buffers\n" + re.sub(
        r"^filename=.*$", "filename=/dev/sda", text, flags=re.MULTILINE
    )
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "job.sh"
        script.write_text(
            f"cat > /tmp/job.fio <<'END'\n{text}END\n"
            "fio --clocksource=clock_gettime --output-format=json /tmp/job.fio\n"
        )
        run = linux.run(linux.Job(script=script, fs="none"), scheme, cache=StateCache(), **options)
    if run.status:
        raise SystemExit(f"fio in the guest: {run.stdout}{run.stderr}")
    return list(json.loads(run.stdout[run.stdout.index("{") :])["jobs"])


def by_model(text: str, scheme: str, **options: Any) -> list[Any]:
    """The same of the models."""
    run = ufsim.run(text, scheme, precondition="none", seeds=1, **options)
    return list(json.loads(run.to_fio_json())["jobs"])


HOSTS: dict[str, Callable[..., list[Any]]] = {"kernel": by_kernel, "model": by_model}


def rate(jobs: Sequence[Any], parts: Sequence[str]) -> float:
    """MiB/s of parts of a job file, their mean."""
    own = [one for one in jobs if one["jobname"] in parts]
    return mean(float(sum(one[kind]["bw_bytes"] for kind in ("read", "write"))) / 2**20 for one in own)


def gained(case: Case) -> dict[str, Any]:
    """What a scheme gains over another in per cent, for each seed."""

    def gain(host: Callable[..., list[Any]], seed: int) -> float:
        options = {"profile": case.profile, "settings": dict(case.settings), "seed": seed, "age": case.age}
        ours, theirs = (rate(host(case.job, name, **options), case.parts) for name in (case.scheme, case.opponent))
        return round((ours / theirs - 1) * 100, 1)

    found = {name: [gain(host, seed) for seed in SEEDS] for name, host in HOSTS.items()}
    return {"claim": case.claim, "about": case.about, "of": case.scheme, "over": case.opponent, **found}
