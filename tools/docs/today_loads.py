"""What two loads of today make of a device: a language model on flash, and a loop that fragments the volume.

`python -m tools docs loads out/llm` measures both, reads the study from the sweep `jobs/sweep-llm.toml`, and keeps all
of it in docs/data/today-loads.json. Without a sweep the study stays as it is.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pandas

from tools.project import ROOT
from tools.records import kept, origin
from ufsim.results.chance import gain_percent, gain_text, over, told
from ufsim.results.formats import number
from ufsim_papers.markdown import code, table

RECORD = ROOT / "docs" / "data" / "today-loads.json"
PROFILE = "ufs-4.0-512"
SEEDS = 3
MIB = 1024 * 1024
NANOSECONDS = 1e9


class Model(NamedTuple):
    """How a model is read: in words, what is published, and what differs from the defaults."""

    what: str
    published: str
    lines: str


MODELS = (
    Model("bundles, 25 % active", "2.3 tokens/s, 77 % I/O (LLM in a flash)", ""),
    Model("rows apart", "1.4 tokens/s, 82 % I/O (PowerInfer)", "bundled = false"),
    Model("3 % active", "runs of 1.06 (OPT, 3 to 10 %)", "active_percent = 3"),
    Model("10 % active", "the same", "active_percent = 10"),
    Model("30 % active", "runs of 1.42 (Llama-2, 20 to 30 %)", "active_percent = 30"),
    Model("placed together", "runs of 3.1, given", "run_hundredths = 310\nlongest_run = 589"),
    Model("placed together", "runs of 6.6, given", "run_hundredths = 660\nlongest_run = 2845"),
    Model("a layer prefetched", "–", "prefetch_layers = 1"),
    Model("mapped, 128 KiB around a fault", "–", 'access = "mapped"'),
    Model("mapped, a page for a fault", "–", 'access = "mapped"\nreadahead_kib = 4'),
)
#: Rounds of the loop that are simulated, and shown.
ROUNDS = 104
SHOWN = (1, 45, 90, 97, ROUNDS)
#: Loops that are simulated at a time; each takes more than a gigabyte.
AT_A_TIME = 2
SCHEMES = ("ufs", "ufs-compressed", "hpb", "hp-ufs", "ideal")
#: By name: what differs from the defaults, under `ufs`.
VARIANTS = {
    "a request at a time": "depth = 1",
    "nothing is discarded": "discard = false",
    "one large file at a time": "keep_large = false",
}


def measured_models() -> list[list[dict[str, Any]]]:
    """What each way of reading gives, seed by seed."""
    import ufsim

    def report(model: Model) -> list[dict[str, Any]]:
        text = f"[llm]\ntokens = 5\n{model.lines}\n"
        return [dict(one.llm) for one in ufsim.run(text, "ufs-compressed", profile=PROFILE, seeds=SEEDS).each_seed]

    return [report(model) for model in MODELS]


def all_rounds(scheme: str, lines: str) -> list[dict[str, Any]]:
    """The rounds of a loop."""
    import ufsim

    text = f"[fragmentation]\nrounds = {ROUNDS}\n{lines}\n"
    return [dict(one) for one in ufsim.run(text, scheme, profile=PROFILE, precondition="none").fragmentation]


def measured_rounds(scheme: str, lines: str) -> list[dict[str, Any]]:
    """Those that are shown."""
    rounds = all_rounds(scheme, lines)
    return [rounds[number - 1] for number in SHOWN]


def measured(points: Path | None) -> dict[str, Any]:
    """The record."""
    import ufsim

    cases = {scheme: (scheme, "") for scheme in SCHEMES} | {name: ("ufs", lines) for name, lines in VARIANTS.items()}
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        loops = dict(zip(cases, pool.map(lambda case: measured_rounds(*case), cases.values()), strict=True))
    record = {**origin(ufsim.__version__), "models": measured_models(), "loops": loops}
    return record | (kept_study() if points is None else study_of(points))


def kept_study() -> dict[str, Any]:
    """The study that was kept before."""
    before = kept(RECORD) if RECORD.exists() else {}
    return {name: before.get(name) for name in ("study", "study_version")}


def study_of(points: Path) -> dict[str, Any]:
    """The study of a sweep."""
    import ufsim

    frame = pandas.read_parquet(points / "results.parquet")
    columns = ["file", "model", "scheme", "host_memory_mib", "seed", "operation_mean_ns"]
    return {"study": frame[columns].to_dict(orient="records"), "study_version": ufsim.__version__}


def models() -> str:
    """Ways of reading a model, beside what is published."""
    rows = []
    for model, seeds in zip(MODELS, kept(RECORD)["models"], strict=True):
        cells = [
            [one["tokens_per_s"] for one in seeds],
            [one["io_share"] * 100 for one in seeds],
            [one["bytes_per_token"] / MIB for one in seeds],
            [one["mean_run"] for one in seeds],
        ]
        longest = max(one["longest_run"] for one in seeds)
        rows.append([model.what, model.published, *(told(over(cell), number) for cell in cells), f"{longest:,}"])
    return table(
        ("read", "published", "tokens/s>", "waiting for reads, %>", "MiB a token>", "mean run>", "longest>"), rows
    )


def study() -> str:
    """Tokens a second under `ufs`, and gains over it, seed by seed."""
    frame = pandas.DataFrame(kept(RECORD)["study"])
    names = frame["scheme"] + frame["host_memory_mib"].map(" {} MiB".format).where(
        frame["scheme"].isin(["hpb", "hp-ufs"]), ""
    )
    frame = frame.assign(scheme=names, tokens=NANOSECONDS / frame["operation_mean_ns"])
    schemes = [scheme for scheme in frame["scheme"].unique() if scheme != "ufs"]
    rows = []
    for (model, file), point in frame.groupby(["model", "file"], sort=False):
        by_scheme = point.pivot(index="seed", columns="scheme", values="tokens")
        gains = [
            over(gain_percent(*pair, shorter=False) for pair in zip(by_scheme["ufs"], by_scheme[scheme], strict=True))
            for scheme in schemes
        ]
        rows.append([str(model), str(file), told(over(by_scheme["ufs"]), number), *map(gain_text, gains)])
    heads = ("model", "its file", "`ufs`, tokens/s>", *(f"{headed(scheme)}>" for scheme in schemes))
    return table(heads, rows)


def headed(scheme: str) -> str:
    """A scheme, and its host memory behind it."""
    name, _, memory = scheme.partition(" ")
    return f"{code(name)} {memory}".strip()


def loop() -> str:
    """Writes and reads of the large file, by round."""
    rows = []
    for name, rounds in kept(RECORD)["loops"].items():
        cells = [f"{one['write_mb_per_s']:,.0f} / {one['read_mb_per_s']:,.0f}" for one in rounds]
        rows.append([code(name) if name in SCHEMES else f"`ufs`, {name}", *cells])
    return table(("", *(f"round {number}>" for number in SHOWN)), rows)


PARTS = {"models": models, "llm": study, "loop": loop}
