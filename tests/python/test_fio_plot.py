"""What ufsim writes as fio's results is drawn by fio-plot."""

import subprocess
import sys
from pathlib import Path

import pytest

import ufsim

GRID = """
[fixed]
workload = "rw={rw} bs=4k size=8m iodepth={qd} io_size=2m"
profile = "tiny"
[axes]
scheme = ["ufs", "ideal"]
rw = ["randread", "randwrite"]
qd = [1, 4]
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A sweep over jobs and depths, as folders of fio's results."""
    place = tmp_path_factory.mktemp("fio")
    (place / "grid.toml").write_text(GRID)
    return ufsim.sweep(place / "grid.toml", place / "sweep", cache=False).to_fio(place / "fio")


def drawn(place: Path, *arguments: str) -> bool:
    """Whether fio-plot draws a picture."""
    program = Path(sys.executable).with_name("fio-plot")
    command = [program, "-T", "title", "-r", "randread", "-o", "drawn.png", *arguments]
    told = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert (place / "drawn.png").is_file(), told.stdout + told.stderr
    (place / "drawn.png").unlink()
    return True


def test_schemes_are_folders_and_jobs_and_depths_are_names(folders: list[Path]) -> None:
    assert [folder.name for folder in folders] == ["scheme=ideal", "scheme=ufs"]
    names = [f"{rw}-{depth}-1.json" for rw in ("randread", "randwrite") for depth in (1, 4)]
    assert [sorted(path.name for path in folder.iterdir()) for folder in folders] == [names, names]


def test_no_point_lies_in_the_place_of_another(tmp_path: Path) -> None:
    for name in ("a/b.fio", "a_b.fio"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("[j]\nrw=randread\nbs=4k\nsize=1m\n")
    grid = '[fixed]\nprofile = "tiny"\n[axes]\nworkload = ["a/b.fio", "a_b.fio"]\n'
    (tmp_path / "grid.toml").write_text(grid)
    made = ufsim.sweep(tmp_path / "grid.toml", tmp_path / "sweep").to_fio(tmp_path / "fio")
    assert [folder.name for folder in made] == ["workload=a_b.fio", "workload=a_b.fio,2"]
    assert all((folder / "randread-1-1.json").is_file() for folder in made)


def test_fio_plot_draws_a_sweep(folders: list[Path]) -> None:
    place = folders[0].parent
    one = folders[0].name
    assert drawn(place, "-i", one, "-l", "-d", "1", "4")
    assert drawn(place, "-i", one, "-L", "-t", "iops", "-d", "1", "4")
    assert drawn(place, "-i", one, "-H", "-d", "4")
    assert drawn(place, "-i", *(folder.name for folder in folders), "-C", "-d", "4")


def test_fio_plot_draws_a_latency_log(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "randread-iodepth-4-numjobs-1_lat.1.log"
    log.parent.mkdir()
    ufsim.run("rw=randread bs=4k size=8m iodepth=4", "ufs", profile="tiny", log=log)
    assert drawn(tmp_path, "-i", "logs", "-g", "-t", "lat", "-d", "4", "-n", "1")


def test_a_sweep_of_traces_is_no_folder_of_fio(tmp_path: Path) -> None:
    trace = Path("samples/app-mix").resolve()
    grid = f'[fixed]\nworkload = "{trace}"\n[axes]\nscheme = ["ufs"]\nseed = [1, 2]\n'
    (tmp_path / "grid.toml").write_text(grid)
    done = ufsim.sweep(tmp_path / "grid.toml", tmp_path / "out", cache=False)
    with pytest.raises(ufsim.ConfigError, match="must be a job of fio"):
        done.to_fio(tmp_path / "fio")
