"""Files are the old ones or the new ones, whatever ends a command: a kill, a full disk, one that fails, at any write.

Real commands run on a simulated disk over results of an earlier run. Each state that a kill could leave is looked at,
and at some changes the disk becomes full or breaks.
"""

import errno
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import simulated_disk
from conftest import ROOT
from ufsim.cli.exits import Exit

PROGRAM = Path(sys.executable).with_name("ufsim")
JOB = "rw=randrw bs=4k iodepth=4 size=16m io_size=1m"
AGE = "rw=randwrite bs=4k iodepth=8 size=16m io_size=16m"
TINY = ("--profile", "tiny")
GRID = (
    '[fixed]\nprofile = "tiny"\nworkload = "rw=randread bs=4k size=16m io_size=256k"\n[axes]\nscheme = ["ufs", "hpb"]\n'
)


@dataclass(frozen=True)
class Case:
    """A command that writes to a directory; `old` and `new` are what it is told to do the first and the second time."""

    command: Callable[[Path], Sequence[object]]
    old: Sequence[object] = ("--seed", 1)
    new: Sequence[object] = ("--seed", 2)
    # Files that have to be there in the end.
    made: Sequence[str] = ()
    variables: Callable[[Path], dict[str, str]] = field(default=lambda _: {})
    # Files that may be gone until they are there anew, as their documentation says.
    gone: Sequence[str] = ()
    # A cache costs no result: the command says that it is without, and goes on.
    is_cache: bool = False


CASES = {
    "run": Case(
        lambda at: (
            *("run", JOB, *TINY, "--json", "--log", at / "x.parquet"),
            *("--series", at / "s.parquet", "--step", "1ms", "--timeline", at / "t.pftrace"),
        ),
        made=["x.parquet", "s.parquet", "t.pftrace"],
    ),
    "compare": Case(
        lambda at: ("compare", JOB, *TINY, "--schemes", "ufs,ideal", "--name", "c", "--out", at),
        made=["c.json", "c.parquet", "c.png"],
    ),
    "convert": Case(
        lambda at: ("trace", "convert", ROOT / "samples" / "app-mix", at / "t.csv"),
        old=("--format", "csv"),
        new=("--format", "msr"),
        made=["t.csv"],
    ),
    "age": Case(lambda at: ("age", AGE, *TINY, "--out", at / "x.state"), made=["x.state"]),
    "cache": Case(
        lambda at: ("run", JOB, *TINY, "--age", AGE, "--seeds", "1", "--json"),
        variables=lambda at: {"UFSIM_CACHE": str(at)},
        is_cache=True,
    ),
    "sweep": Case(
        lambda at: ("sweep", "run", at.parent / "grid.toml", "--no-cache", "--out", at),
        old=(),
        new=(),
        made=["results.parquet"],
        gone=["results.parquet"],
    ),
}


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated_disk.library(tmp_path_factory.mktemp("disk"))


def test_a_writer_in_place_is_found_out(disk: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "x").write_text("old")
    command = [sys.executable, "-c", "import sys; open(sys.argv[1], 'w').write('new')", root / "x"]
    ran = simulated_disk.run(disk, root, command)
    assert simulated_disk.half_written(ran.states) == ["before change 1 write: x"]
    (root / "x").write_text("old")
    failed = simulated_disk.run(disk, root, command, (1, errno.ENOSPC))
    assert simulated_disk.after_failing(failed, 1, errno.ENOSPC) == ["x has changed"]


@pytest.mark.parametrize("name", CASES)
def test_files_are_the_old_or_the_new(disk: Path, tmp_path: Path, name: str) -> None:
    case, root, old = CASES[name], tmp_path / "root", tmp_path / "old"
    root.mkdir()
    (tmp_path / "grid.toml").write_text(GRID)
    command = [PROGRAM, *case.command(root)]
    variables = case.variables(root)
    simulated_disk.run(disk, root, [*command, *case.old], **variables)
    if name == "sweep":
        # One point is made anew.
        next(iter(sorted((root / "points").iterdir()))).unlink()
    shutil.copytree(root, old)

    whole = simulated_disk.run(disk, root, [*command, *case.new], **variables)
    assert whole.ended.returncode == Exit.OK, whole.ended.stderr
    assert not simulated_disk.half_written(whole.states, case.gone)
    assert whole.states[-1].files == whole.states[-1].results, "something is left"
    before, after = whole.states[0].results, whole.states[-1].results
    assert set(case.made) <= set(after) and before != after, "the command changes nothing"

    for number, error in failures(whole.changes):
        shutil.rmtree(root)
        shutil.copytree(old, root)
        failed = simulated_disk.run(disk, root, [*command, *case.new], (number, error), **variables)
        how = f"change {number} of {whole.changes} and those after it: {errno.errorcode[error]}"
        assert not simulated_disk.after_failing(failed, number, error), how
        told = failed.ended.stderr
        if case.is_cache:
            assert failed.ended.returncode == Exit.OK, f"{how}: {told}"
        else:
            assert failed.ended.returncode == Exit.NOT_WRITTEN, f"{how}: {told}"
        assert str(root) in told and "Traceback" not in told, f"{how}: {told}"


def failures(changes: int) -> list[tuple[int, int]]:
    """Where the disk begins to fail, and how: at the first change, in the middle, when hardly anything is left."""
    return [(0, errno.ENOSPC), (changes // 3, errno.EIO), (changes * 2 // 3, errno.ENOSPC)]
