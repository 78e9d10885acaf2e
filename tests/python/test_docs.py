"""The documentation: it builds without a warning, needs nothing from elsewhere, and what it tells to type works."""

import json
import os
import re
import shlex
import statistics
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import ufsim as package
from conftest import ROOT, Command
from tools.docs import cli, demo, measured, results, today_curves, today_uses
from ufsim.results.chance import Estimate, gain
from ufsim.results.result import latency_value
from ufsim_papers.today import uses

DOCUMENTS = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "papers").rglob("README.md")])
BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
# Whatever a browser would fetch by itself.
FETCHED = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?https?:|<link\b[^>]*\bhref=["']?https?:""")


def blocks(path: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(path.read_text()) if kind == language]


def commands() -> Iterator[tuple[Path, list[str]]]:
    """Every command line `ufsim ...` in the shell examples of README and pages, in words."""
    for path in [*DOCUMENTS, *PAGES]:
        for block in blocks(path, "sh"):
            # Of a pipe or a redirection only ufsim's part is looked at.
            for line in block.replace("\\\n", " ").replace("|\n", "| ").splitlines():
                words = shlex.split(re.sub(r"^(\w+=\S* )+", "", line), comments=True)
                end = next((place for place, word in enumerate(words) if word in ("|", ">")), len(words))
                if words and words[0] == "ufsim":
                    yield path, words[1:end]


EXAMPLES = [pytest.param(words, id=f"{path.name}: {' '.join(words)}") for path, words in commands()]
# Those that take a moment are run.
QUICK = [case for case in EXAMPLES if {"trace", "schemes", "profiles", "tiny"} & set(case.values[0])]


# One process builds it for all of these tests.
with_site = pytest.mark.xdist_group("site")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as `make docs` builds it. The notebook is run for it, and a cell that fails is fatal."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(place)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"make docs\n{done.stdout}{done.stderr}"
    assert "Documentation built" in done.stderr, "mkdocs says nothing, and then counts no warning"
    return place


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A directory in which examples find what lies in the project's root, and may write to out/."""
    for name in ("samples", "jobs", "papers"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "out").mkdir()
    return tmp_path


@pytest.mark.slow
@with_site
def test_the_site_needs_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    for path in pages:
        assert not FETCHED.search(path.read_text()), path
    styles = [path.read_text() for path in site.rglob("*.css")]
    assert styles
    assert not any(re.search(r"url\([\"']?https?:|@import", text) for text in styles)


@pytest.mark.slow
@with_site
def test_the_notebook_shows_its_figure(site: Path) -> None:
    page = (site / "notebooks/from-trace-to-figure.html").read_text()
    pictures = re.findall(r'<img[^>]*src="([^"]+)"', page)
    assert pictures
    assert (site / "notebooks" / pictures[-1]).read_bytes().startswith(b"\x89PNG")
    assert (ROOT / "out/notebook/figure.pdf").read_bytes().startswith(b"%PDF")


def test_every_scheme_and_scheduler_is_explained(ufsim: Command) -> None:
    families = [path for path in (ROOT / "docs/schemes").glob("*.md") if path.stem not in ("index", "schedulers")]
    text = {path: path.read_text() for path in families}
    for path in families:
        assert f"(../img/{path.stem}.svg)" in text[path], f"{path.name} has no drawing of its own"
    for scheme in package.schemes():
        heads = [words for words in (page.splitlines()[0] for page in text.values()) if f"`{scheme['name']}`" in words]
        assert len(heads) == 1, f"{scheme['name']} stands in the title of {len(heads)} pages, not of one"
    told = ufsim("run", "samples/app-mix", "--scheduler", "none-of-these").stderr
    known = re.findall(r"[\w-]+", told.split("allowed:")[1])
    page = (ROOT / "docs/schemes/schedulers.md").read_text()
    assert "noop" in known
    for name in known:
        assert f"| `{name}` |" in page, name


def test_results_are_documented() -> None:
    result = package.run("samples/app-mix", "hp-ufs", replay="closed")
    assert set(result.data) <= set(results.declared()["result"]["properties"])
    page = results.page()
    for name in ("### Latency", "### Waf", "### Use", "| `valid_page_search` |", "| `p999` | integer |  | 99.9th"):
        assert name in page


def test_the_command_line_is_documented() -> None:
    page = cli.page()
    assert "## ufsim trace convert" in page
    assert "| `--depth N` | a whole number |" in page
    assert "| `--seeds N` | a whole number | `5` |" in page
    assert "| `--replay` | `timed`, `queued`, `closed` |" in page


def test_counters_are_documented() -> None:
    page = (ROOT / "docs/counters.md").read_text()
    result = package.run("samples/app-mix", "hp-ufs", replay="closed")
    for name in [*result.counters["host"], *result.counters["device"]]:
        assert f"| `{name}` |" in page, name


def test_documents_name_files_that_are_there() -> None:
    for path in [*DOCUMENTS, *PAGES]:
        prose = BLOCK.sub("", path.read_text())
        for target in LINK.findall(prose):
            if "://" not in target and not (target.endswith(".md") and made(path.parent / target)):
                assert (path.parent / target).exists(), f"{path.relative_to(ROOT)}: {target}"


def test_pages_name_tests_that_are_there() -> None:
    sources = [*(ROOT / "crates").rglob("*.rs"), *(ROOT / "tests/python").glob("*.py")]
    there = {name for path in sources for name in re.findall(r"\b(?:fn|mod|def) (\w+)", path.read_text())}
    for name in ("power-cuts", "promises"):
        named = re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+)+)`", (ROOT / f"docs/explanation/{name}.md").read_text())
        assert len(named) > 10
        assert not set(named) - there, f"{name}.md names tests that do not exist"


def made(path: Path) -> bool:
    """A page that has no file, for it is made."""
    name = os.path.relpath(path.resolve(), ROOT / "docs")
    return name.removeprefix("reference/") in ("cli.md", "frames.md", "results.md") or name.startswith("notebooks/")


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize("words", EXAMPLES)
def test_examples_name_options_and_files_that_are_there(words: list[str]) -> None:
    known = cli.known_options()
    name = next((" ".join(["ufsim", *words[:count]]) for count in (2, 1) if known_name(words, count, known)), None)
    if name is None:
        assert words[0].startswith("-"), f"no such command: {words}"
        return
    # What comes behind -- is another program's.
    for word in words[: words.index("--")] if "--" in words else words:
        if word.startswith("--"):
            assert word.partition("=")[0] in known[name], f"{name} has no option {word}"
        elif word.startswith(("samples/", "jobs/", "papers/")):
            assert (ROOT / word).exists(), word


def known_name(words: list[str], count: int, known: dict[str, set[str]]) -> bool:
    return " ".join(["ufsim", *words[:count]]) in known


@pytest.mark.parametrize("words", QUICK)
def test_quick_examples_run(words: list[str], workplace: Path) -> None:
    program = Path(sys.executable).with_name("ufsim")
    # An example may go on with what the one before it has made.
    if "out/session.toml" in words:
        package.trace_to_scenario(workplace / "samples/phone/session.txt", workplace / "out/session.toml")
    done = subprocess.run([program, *words], cwd=workplace, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in [*DOCUMENTS, *PAGES] if blocks(path, "python")], ids=lambda p: p.name
)
def test_python_examples_run(path: Path, workplace: Path) -> None:
    for number, block in enumerate(blocks(path, "python")):
        script = workplace / f"example_{number}.py"
        script.write_text(block)
        command = [sys.executable, script.name]
        done = subprocess.run(command, cwd=workplace, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, f"{path.name}, example {number + 1}:\n{block}\n{done.stderr}"


def readme_with_the_demo(text: str) -> str:
    """README with the table of the demo, as docs/data/demo.json has it."""
    begin, end = "<!-- demo: made by tests/python/test_docs.py -->\n", "<!-- end of demo -->\n"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{demo.numbers()}\n{end}{rest.partition(end)[2]}"


def test_readme_shows_what_the_demo_gave() -> None:
    """`UFSIM_BLESS=1 .venv/bin/pytest tests/python/test_docs.py -k readme` writes the table anew."""
    path = ROOT / "README.md"
    made = readme_with_the_demo(path.read_text())
    if "UFSIM_BLESS" in os.environ:
        path.write_text(made)
    assert path.read_text() == made
    assert "| `hp-ufs` |" in made


def test_the_demo_shows_what_its_page_says_of_the_tails_of_writes() -> None:
    shown = demo.comparison()

    def gain_of_hp_ufs(statistic: str) -> Estimate:
        found = gain(
            shown["ideal"], shown["hp-ufs"], partial(latency_value, kind="write", statistic=statistic), shorter=True
        )
        assert found is not None
        return found

    at = {statistic: gain_of_hp_ufs(statistic) for statistic in ("p90", "p99", "p999")}
    assert at["p90"].differs and at["p90"].mean < 0 < at["p99"].mean and at["p99"].differs
    assert not at["p999"].differs
    for scheme in ("ideal", "hp-ufs"):
        counters = shown[scheme].counters["device"]
        assert counters["gc_steps"] == counters["gc_urgent_steps"] > 0


def test_what_the_page_on_devices_of_today_concludes_of_applications_is_in_its_record() -> None:
    reads = today_uses.gains("reads")
    apps = [name for name in uses.WORKLOADS if name != uses.MODEL]

    def means(condition: str, scheme: str) -> list[float]:
        return [reads[condition, app, scheme][0] for app in apps]

    ideal, hpb = means(uses.AS_IT_IS, "ideal"), means(uses.AS_IT_IS, "hpb")
    assert max(ideal) <= 10 and 0.6 < sum(hpb) / sum(ideal) < 0.75
    assert max(max(means("pixel4-used", scheme)) for scheme in uses.COMPARED) < 3.5
    sure = [app for app in apps if (cell := reads[uses.AS_IT_IS, app, "hp-ufs"])[0] > (cell[1] or 0)]
    assert sorted(sure) == ["genshin_impact", "pubg", "telegram"]
    lost = [app for app in apps if (cell := reads[uses.AS_IT_IS, app, "hp-ufs"])[0] < -(cell[1] or 0)]
    assert lost == ["chrome"]
    hosted = ("10 MiB of host memory", "host memory for all")
    assert means(hosted[0], "hp-ufs") == pytest.approx(means(hosted[1], "hp-ufs"), abs=0.05)
    assert max(means("ufs-4.0-512", "ideal")) <= 10
    boosted = [reads["WriteBooster", app, scheme] for app in apps for scheme in ("hpb", "ideal")]
    plain = [reads[uses.AS_IT_IS, app, scheme] for app in apps for scheme in ("hpb", "ideal")]
    assert all(abs(a - b) <= (x or 0) + (y or 0) + 0.5 for (a, x), (b, y) in zip(boosted, plain, strict=True))
    model = {name: reads[name, uses.MODEL, "hpb"][0] for name in (uses.AS_IT_IS, hosted[0])}
    assert model[uses.AS_IT_IS] == pytest.approx(12, abs=0.5) and 3 < model[hosted[0]] < 4
    without, chance = reads["no SLC cache", "telegram", "ufs-compressed"]
    assert abs(without) <= (chance or 0)


def test_large_reads_are_the_phone_s_with_three_or_four_outstanding_and_alike_with_32() -> None:
    depths = json.loads(today_curves.RECORD.read_text())["depths"]

    def speed(order: str, outstanding: int) -> float:
        return statistics.fmean(depths[order][today_curves.OUTSTANDING.index(outstanding)])

    for outstanding in (3, 4):
        assert speed("sequential", outstanding) == pytest.approx(today_curves.SEQUENTIAL_READS, rel=0.1)
        assert speed("random", outstanding) == pytest.approx(today_curves.LARGE_READS.published, rel=0.1)
    assert speed("random", 32) == pytest.approx(speed("sequential", 32), rel=0.01)


def test_what_is_written_before_a_phone_in_use_is_measured_changes_the_sign_of_four_small_gains() -> None:
    phones: dict[tuple[str, str, str], list[float]] = {}
    for kind in ("reads", "writes"):
        for (condition, workload, scheme), (mean, half) in today_uses.gains(kind).items():
            if condition.startswith(uses.PHONE) and abs(mean) > half:
                phones.setdefault((kind, workload, scheme), []).append(mean)
    assert sum(condition.startswith(uses.PHONE) for condition in uses.CONDITIONS) == 3
    changed = {cell: own for cell, own in phones.items() if min(own) < 0 < max(own)}
    large = [cell for cell, own in changed.items() if max(map(abs, own)) > 0.65]
    assert (len(phones), len(changed), large) == (41, 4, [("writes", "genshin_impact", "hp-ufs")])
    assert 5 < max(mean for (kind, *_), own in phones.items() if kind == "reads" for mean in own) < 6
    for kind in ("reads", "writes"):
        of_all = today_uses.gains(kind, "of_all")
        for scheme in uses.COMPARED:
            cells = [of_all[condition, uses.APPLICATIONS, scheme] for condition in uses.OF_PHONE]
            sure = [mean for mean, half in cells if abs(mean) > half]
            assert not min(sure, default=0) < 0 < max(sure, default=0)


def test_measured_speed_has_every_file_the_newest_first(tmp_path: Path) -> None:
    assert "No measurement" in measured.speed(tmp_path)
    for date, rate in (("2025-01-02", 1_000_000), ("2026-03-04", 2_500_000)):
        run = {"requests_per_second": rate, "flash_ops_per_second": 7, "cpu_seconds": 1.25, "peak_mib": 80}
        document = {
            "version": "1",
            "commit": "abc",
            "date": date,
            "rustc": "rustc 1",
            "machine": {"processor": "P", "cpus": 2, "system": "Linux"},
            "cases": {"randwrite": {"runs": [run, {**run, "peak_mib": None}]}},
        }
        (tmp_path / f"{date}.json").write_text(json.dumps(document))
    text = measured.speed(tmp_path)
    assert text.index("2026-03-04") < text.index("2025-01-02")
    assert "| `randwrite` | 2 | 2,500,000 | 7 | 1.2 | 80 |" in text
