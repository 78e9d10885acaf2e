"""The packages of a release: made, checked, and tried."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

from tools.project import BIN, ROOT, failed, output, run
from tools.release import pgo

DIST = ROOT / "out" / "dist"
WORK = ROOT / "target" / "wheel"

# Parts of the package that no Python file imports; a wheel without them would fail late.
INSIDE = (
    "ufsim/py.typed",
    "ufsim/jobs/sqlite.toml",
    "ufsim/samples/app-mix/trace.0.gz",
    "ufsim/samples/phone/nine-apps.toml",
)
# The same for the sdist.
IN_SDIST = ("Cargo.lock", "profiles/hp-ufs.toml", "apps/categories.toml", "crates/lab/build.rs", "README.md")

Commands = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]

# What a new user does, and files that it leaves. All of it takes seconds; test_demo.py runs the demo.
TRIED: Commands = (
    (("ufsim", "--version"), ()),
    (("ufsim", "profiles", "hp-ufs"), ()),
    (
        ("ufsim", "compare", "samples/app-mix", "--replay", "closed"),
        ("out/app-mix.png", "out/app-mix.json", "out/app-mix.parquet"),
    ),
    (
        ("ufsim", "phone", "samples/phone/small.toml", "--profile", "tiny", "--schemes", "hpbvalve,ideal"),
        ("out/small.png",),
    ),
    (("ufsim", "run", "jobs/sqlite.toml", "--scheme", "ideal", "--json"), ()),
    (("ufsim", "crash", "--runs", "20"), ()),
)
# The same with the package of the papers, without which the first of them says how to get it.
TRIED_WITH_PAPERS: Commands = (
    (("ufsim", "reproduce", "map-plus/t1", "--quick"), ("out/reproduce/report.html",)),
    (("ufsim", "reproduce", "hpb/f7", "--quick"), ("out/reproduce/report.html",)),
)


def build(profile: str) -> None:
    """Makes and checks both packages. The wheel is optimised by a profile where that can be done."""
    tool = pgo.profdata()
    print(
        f"profile-guided optimisation: {tool or 'left out, because there is no llvm-profdata (tools/release/pgo.py)'}"
    )
    own = {"CARGO_TARGET_DIR": str(ROOT / "target" / "pgo")}

    def instrumented(folder: Path, environment: dict[str, str]) -> Path:
        return packed(profile, folder, own | environment)

    rust = own | {"RUSTFLAGS": pgo.flags(tool, WORK / "pgo", instrumented)} if tool else {}
    wheel = packed(profile, DIST, rust)
    maturin("sdist", folder=DIST)
    papers_wheel(DIST)
    check_contents(wheel)
    tools = checking_tools()
    shown = output(tools / "auditwheel", "show", wheel)
    platform = wheel.stem.rsplit("-", 1)[1]
    if "manylinux" not in platform or platform not in shown:
        failed(f"{wheel.name} is not what auditwheel says:\n{shown}")
    run(tools / "twine", "check", "--strict", *DIST.iterdir())
    for path in sorted(DIST.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB")
    print(f"platform of the wheel: {platform}")


def packed(profile: str, folder: Path, environment: dict[str, str] | None = None, features: str = "") -> Path:
    """A wheel, the only file in its folder."""
    shutil.rmtree(folder, ignore_errors=True)
    own = ("--features", features) if features else ()
    maturin("build", "--profile", profile, *own, folder=folder, environment=environment)
    (wheel,) = folder.iterdir()
    return wheel


def papers_wheel(folder: Path) -> Path:
    """The wheel of the package of the papers, which is Python alone."""
    pip = (BIN / "python", "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps")
    run(*pip, "--no-build-isolation", "--wheel-dir", folder, ROOT / "papers")
    (wheel,) = folder.glob("ufsim_papers-*.whl")
    return wheel


def maturin(command: str, *arguments: str, folder: Path, environment: dict[str, str] | None = None) -> None:
    # The same interpreter as `make install`, or cargo would compile the extension anew.
    own = {"PYO3_PYTHON": str(BIN / "python"), "VIRTUAL_ENV": str(BIN.parent)}
    run(BIN / "maturin", command, *arguments, "--out", folder, environment=own | (environment or {}))


def check_contents(wheel: Path) -> None:
    """Everything that is needed is inside, and nothing that was left lying about."""
    names = set(zipfile.ZipFile(wheel).namelist())
    missing = [name for name in INSIDE if name not in names]
    if missing:
        failed(f"{wheel.name} has no {', '.join(missing)}")
    tracked = output("git", "ls-files", "python/ufsim").split("\n")
    known = {name.removeprefix("python/") for name in tracked}
    strange = [name for name in names if name.startswith("ufsim/") and name not in known and "_core" not in name]
    if strange:
        failed(f"{wheel.name} has files that are not part of the project: {', '.join(sorted(strange))}")


def checking_tools() -> Path:
    """An environment with auditwheel and twine, as checks.lock says."""
    lock, folder = Path(__file__).with_name("checks.lock"), WORK / "tools"
    made = folder / "made"
    if not made.exists() or made.stat().st_mtime < lock.stat().st_mtime:
        run(sys.executable, "-m", "venv", "--clear", folder)
        run(folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "-r", lock)
        made.touch()
    return folder / "bin"


def try_wheel(wheel: Path | None, profile: str, features: str) -> None:
    """Installs the wheel, or what `make install` has compiled, where nothing else is, and does what a new user does."""
    wheel = wheel or packed(profile, WORK / "dist", features=features)
    check_contents(wheel)
    packages = dependencies()
    with tempfile.TemporaryDirectory(prefix="ufsim-wheel-") as folder:
        home = Path(folder)
        programs = home / "env" / "bin"
        run(sys.executable, "-m", "venv", home / "env")
        # Nothing but the environment: no compiler is found, no setting of the user's is read.
        environment = {"PATH": str(programs), "HOME": str(home), "LANG": "C.UTF-8", "UFSIM_CACHE": str(WORK / "states")}
        alone = without_network()
        from_here = ("--no-index", "--find-links", str(packages), "--constraint", str(ROOT / "requirements.lock"))
        install = (programs / "pip", "install", "--quiet", "--disable-pip-version-check", *from_here, wheel)
        run(*alone, *install, cwd=home, environment=environment, inherit=False)
        tried(home, alone, environment, TRIED)
        command = [str(programs / "ufsim"), *TRIED_WITH_PAPERS[0][0][1:]]
        refused = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=False)
        if refused.returncode != 2 or "ufsim[papers]" not in refused.stderr:
            failed(f"without its package `ufsim reproduce` says {refused.stderr!r}")
        run(*alone, *install[:-1], papers_wheel(home), cwd=home, environment=environment, inherit=False)
        tried(home, alone, environment, TRIED_WITH_PAPERS)


def tried(home: Path, alone: tuple[str, ...], environment: dict[str, str], commands: Commands) -> None:
    """Runs commands of the environment in `home`; each has to leave its files."""
    for command, files in commands:
        begun = time.monotonic()
        program, *arguments = command
        words = (*alone, str(home / "env" / "bin" / program), *arguments)
        run(*words, cwd=home, environment=environment, inherit=False, quiet=True)
        absent = [name for name in files if not (home / name).is_file()]
        if absent:
            failed(f"{' '.join(command)}: did not make {', '.join(absent)}")
        print(f"{' '.join(command)}: {time.monotonic() - begun:.1f} s", flush=True)


def dependencies() -> Path:
    """Wheels of what ufsim needs, as requirements.lock pins them, fetched once."""
    lock, folder = ROOT / "requirements.lock", WORK / "dependencies"
    made = folder / "made"
    if not made.exists() or made.stat().st_mtime < lock.stat().st_mtime:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
        choice = ("--only-binary", ":all:", "--constraint", lock, "--dest", folder)
        run(BIN / "python", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", *choice, *needed)
        made.touch()
    return folder


def without_network() -> tuple[str, ...]:
    """A prefix that runs a command without a network, where the system allows that."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    prefix = (unshare, "--net") if os.geteuid() == 0 else (unshare, "--user", "--map-root-user", "--net")
    works = subprocess.run([*prefix, sys.executable, "-c", ""], capture_output=True, check=False).returncode == 0
    if not works:
        print("this system does not let a command run without a network; pip alone is kept from it")
    return prefix if works else ()


def check_sdist() -> None:
    """Builds a wheel from the unpacked sdist, far from the project."""
    shutil.rmtree(WORK / "dist", ignore_errors=True)
    maturin("sdist", folder=WORK / "dist")
    (sdist,) = (WORK / "dist").iterdir()
    with tempfile.TemporaryDirectory(prefix="ufsim-sdist-") as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (sources,) = Path(folder).iterdir()
        missing = [name for name in IN_SDIST if not (sources / name).is_file()]
        if missing:
            failed(f"{sdist.name} has no {', '.join(missing)}")
        made = Path(folder) / "made"
        environment = {"PYO3_PYTHON": str(BIN / "python"), "CARGO_TARGET_DIR": str(WORK / "sdist")}
        # Not for speed: this is about what has to be there.
        build = (BIN / "maturin", "build", "--profile", "dev", "--out", made)
        run(*build, cwd=sources, environment=environment)
        (wheel,) = made.glob("*.whl")
        check_contents(wheel)
        same_version(wheel, Path(folder) / "inside")
    print(f"{sdist.name}: builds {wheel.name} from itself")


def same_version(wheel: Path, folder: Path) -> None:
    """The fingerprint of the sources is that of the project, so nothing that decides results is missing or other."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    code = "import ufsim._core; print(ufsim._core.__version__)"
    versions = [
        output(BIN / "python", "-c", code, cwd=Path("/"), environment={"PYTHONPATH": str(place)}).strip()
        for place in (folder, ROOT / "python")
    ]
    if versions[0] != versions[1] or not re.fullmatch(r"[0-9.]+\+[0-9a-f]{16}", versions[0]):
        failed(f"the sdist makes version {versions[0]}, the project is {versions[1]}")
