"""What a program sees: names that are nearly right, values of numpy, other processes, and types."""

import json
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import ufsim
from conftest import ROOT, result
from ufsim import Comparison, _core
from ufsim.names import nearest, nearest_key
from ufsim.spec import Spec
from ufsim.states import StateCache

JOB = "[j]\nrw=randrw\nbs=4k\niodepth=4\nsize=40m\nio_size=1m\n"
AGE = "rw=randwrite bs=4k iodepth=8 size=10m io_size=20m"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.fio"
    path.write_text(JOB)
    return path


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"profile": "hp-usf"},
            r"profile is 'hp-usf'; allowed: hp-ufs, .* or the path of a file; did you mean 'hp-ufs'",
        ),
        ({"settings": {"nand.plains": 2}}, "no key 'nand.plains'; did you mean 'nand.planes'"),
        ({"settings": {"scheme.*.segmentkib": 2}}, r"did you mean 'scheme\.\*\.segment_kib'"),
        ({"settings": ["nand.planes=2"]}, "settings is .*; allowed: values by key"),
        ({"replay": "close"}, "replay is 'close'; allowed: timed, queued, closed; did you mean 'closed'"),
        ({"precondition": "foot"}, "precondition is 'foot'; allowed: none, footprint, touched"),
        ({"scheduler": "mq_deadline"}, "scheduler is 'mq_deadline'; allowed: .*; did you mean 'mq-deadline'"),
        ({"booster": "hpb-valve"}, "booster is 'hpb-valve'; allowed: .*; did you mean 'hpbvalve'"),
        ({"mapping": "segmentlog"}, "mapping is 'segmentlog'; allowed: .*; did you mean 'segment-log'"),
    ],
)
def test_a_wrong_name_is_told_with_the_right_one(options: dict, told: str, job: Path) -> None:
    with pytest.raises(ufsim.ConfigError, match=told):
        ufsim.run(job, "ufs", **options)


def test_a_wrong_scheme_is_told_with_the_right_one(job: Path) -> None:
    with pytest.raises(ufsim.ConfigError, match=r"scheme is 'hpufs'; allowed: .*; did you mean 'hp-ufs'"):
        ufsim.compare(job, ["hpufs"])


@pytest.mark.parametrize("function", [ufsim.run, ufsim.compare, ufsim.phone])
def test_a_wrong_option_is_told_with_the_right_one(function, job: Path) -> None:
    with pytest.raises(TypeError, match=rf"^{function.__name__}\(\) has no option 'sede'; did you mean 'seed'\?$"):
        function(job, "ufs", sede=1)
    with pytest.raises(TypeError, match=r"has no option 'zzz'$"):
        function(job, "ufs", zzz=1)


def test_names_without_likeness_suggest_nothing() -> None:
    assert nearest("zfs-on-tape", ["ufs", "hpb"]) is None
    assert nearest("HP_UFS", ["hpb", "hp-ufs"]) == "hp-ufs"


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("gc.pac", "gc.pace"),
        ("gc.reserv", "gc.reserve_superblocks"),
        ("flash.planes", "nand.planes"),
        ("scheme.ufs.segment_kib", "scheme.*.segment_kib"),
        ("nan.plane", "nand.planes"),
        ("scheme.ufs.foo", None),
        ("gc.foo", None),
        ("gc.planes", "nand.planes"),
        ("planes", "nand.planes"),
    ],
)
def test_a_wrong_key_suggests_its_name_elsewhere_or_one_of_its_table(key: str, meant: str | None) -> None:
    keys = ["nand.planes", "gc.pace", "gc.reserve_superblocks", "sram.reserve_kib", "scheme.*.segment_kib"]
    assert nearest_key(key, keys) == meant


def test_values_of_numpy_and_paths_are_plain_values(job: Path, monkeypatch) -> None:
    given = {
        "profile": Path("profiles") / "tiny.toml",
        "seed": np.uint64(2**64 - 1),
        "depth": np.int32(4),
        "host_memory_mib": np.int64(3),
        "per_cpu_streams": np.bool_(True),
        "settings": {"nand.planes": np.int64(2), "gc.pace": np.str_("gained"), "x.y": np.float32(0.5)},
        "clean": np.array(["gaps", "pages"]),
        "age": job,
    }
    seen = []
    monkeypatch.setattr(Spec, "check", lambda spec: seen.append(json.loads(spec.to_json())))
    monkeypatch.setattr(_core, "simulate", lambda text, report: json.dumps(result("ufs", 1.0, 0)))
    ufsim.compare(job, np.array(["ufs"]), seeds=np.int64(1), jobs=np.int64(1), cache=False, **given)
    assert seen[0]["settings"] == {"nand.planes": 2, "gc.pace": "gained", "x.y": 0.5}
    assert (seen[0]["seed"], seen[0]["depth"], seen[0]["host_memory_mib"]) == (2**64 - 1, 4, 3)
    assert (seen[0]["profile"], seen[0]["age"], seen[0]["workload"]) == ("profiles/tiny.toml", str(job), str(job))
    assert (seen[0]["clean"], seen[0]["per_cpu_streams"]) == (["gaps", "pages"], True)


def test_one_cleaning_rule_need_not_be_a_list() -> None:
    assert Spec(workload="x", scheme="ufs", clean="gaps").clean == ["gaps"]


def test_numpy_runs_as_python_does(job: Path) -> None:
    plain = ufsim.run(job, "ufs", profile="tiny", seed=3, settings={"nand.planes": 2})
    numpy = ufsim.run(job, "ufs", profile="tiny", seed=np.int16(3), settings={"nand.planes": np.uint8(2)})
    assert plain.digest == numpy.digest


@pytest.mark.parametrize("kind", [ufsim.ConfigError, ufsim.StateError, ufsim.SimulationBug])
def test_exceptions_can_be_pickled(kind: type[Exception]) -> None:
    copy = pickle.loads(pickle.dumps(kind("nand.planes is 0")))
    assert type(copy) is kind and str(copy) == "nand.planes is 0"
    assert f"{kind.__module__}.{kind.__qualname__}" == f"ufsim.{kind.__name__}"


def simulate(job: Path, scheme: str) -> str:
    return ufsim.run(job, scheme, profile="tiny").digest


def test_process_pools_bring_back_results_and_exceptions(job: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        good, bad = pool.submit(simulate, job, "ufs"), pool.submit(simulate, job, "usf")
        assert good.result() == simulate(job, "ufs")
        with pytest.raises(ufsim.ConfigError, match="did you mean 'ufs'"):
            bad.result()


def test_a_comparison_is_a_collection(comparison: Comparison) -> None:
    assert len(comparison) == 3
    assert [one.scheme for one in comparison] == comparison.schemes == ["ufs", "mine", "hp-ufs"]
    assert comparison["hp-ufs"] is comparison.results[2] is comparison[-1]
    assert "mine" in comparison and "hpb" not in comparison
    with pytest.raises(KeyError, match=r"'hpufs'; there are: ufs, mine, hp-ufs; did you mean 'hp-ufs'"):
        comparison["hpufs"]


def test_a_misspelt_field_is_told_with_the_right_one(comparison: Comparison) -> None:
    with pytest.raises(AttributeError, match="no field 'latencies'; did you mean 'latency"):
        _ = comparison["ufs"].latencies


def test_notebooks_show_tables(comparison: Comparison) -> None:
    html = comparison._repr_html_()
    assert html.count("<td") == 3 * (html.count("<tr>") - 1)
    for told in ("ufs", "hp-ufs", "+50.0 %", "example: profile: phone.toml with nand.planes=2", "seed: 7"):
        assert told in html
    comparison.results[0].data["profile"] = "<script>"
    assert "<script>" not in comparison._repr_html_() and "&lt;script&gt;" in comparison["ufs"]._repr_html_()


def test_states_are_kept_unless_they_are_not_wanted(job: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("UFSIM_CACHE", str(tmp_path / "usual"))
    options = {"profile": "tiny", "age": AGE, "seeds": 1}
    digests = {ufsim.run(job, "ufs", cache=False, **options).digest}
    assert not (tmp_path / "usual").exists()
    digests.add(ufsim.run(job, "ufs", **options).digest)
    assert len(StateCache().files()) == 1
    digests.add(ufsim.run(job, "ufs", cache=tmp_path / "mine", **options).digest)
    assert len(StateCache(tmp_path / "mine").files()) == 1
    assert len(digests) == 1


SNIPPET = """
import numpy as np
from pathlib import Path
import ufsim

good = ufsim.run(Path("x"), "ufs", seed=np.int64(1), settings={"nand.planes": np.int64(2)}, profile=Path("p.toml"))
ufsim.compare("x", ["ufs"], replay="closed", cache=False, jobs=np.int64(2))
ufsim.phone("x", host_memory_mib="unlimited")
ufsim.run("x", sede=1)
ufsim.compare("x", replay="close")
ufsim.phone("x", seed="1")
"""


@pytest.mark.slow
def test_a_type_checker_knows_the_options(tmp_path: Path) -> None:
    (tmp_path / "snippet.py").write_text(SNIPPET)
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", tmp_path / "snippet.py"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    wrong = [line for line in checked.stdout.splitlines() if ": error:" in line]
    assert list(dict.fromkeys(line.split(":")[1] for line in wrong)) == ["9", "10", "11"], checked.stdout


def test_editors_show_what_every_option_means() -> None:
    source = (ROOT / "python" / "ufsim" / "_options.py").read_text()
    typed = source[source.index("class RunOptions") :]
    for name in ufsim.RunOptions.__annotations__:
        assert f"\n    {name}: " in typed
    assert typed.count('"""') == 2 * (len(ufsim.RunOptions.__annotations__) + 1)
    assert set(ufsim.RunOptions.__annotations__) == set(Spec.__dataclass_fields__) - {"workload", "scheme"}
