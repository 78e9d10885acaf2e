"""Profile-guided optimisation of the wheel.

The extension is compiled with counters, runs the workloads below, and is compiled once more with what they have
counted. It needs `llvm-profdata` of the LLVM that rustc was built with: `rustup component add llvm-tools`, or a program
of that name on the PATH. Without it the wheel is an ordinary one.
"""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

from tools.project import UFSIM, output, run

# Names in profiles are not compressed, because not every build of llvm-profdata can read that.
INSTRUMENT = "-Cprofile-generate={raw} -Cllvm-args=-enable-name-compression=false"
# Code that the workloads did not reach is compiled as without profile, and that is no news.
OPTIMISE = "-Cprofile-use={merged} -Cllvm-args=-pgo-warn-missing-function=false"

# What people wait for: random writes and reads under the schemes of the demo, and GC.
WORKLOADS = (
    ("rw=randwrite bs=4k iodepth=8 size=16g io_size=8g", "ufs,hpb,hp-ufs,ideal"),
    ("rw=randread bs=4k iodepth=8 size=16g io_size=4g", "ufs,hp-ufs,ideal"),
    ("rw=randwrite bs=4k iodepth=16 size=106g io_size=8g", "hp-ufs,ufs"),
)


def profdata() -> Path | None:
    """The program that merges profiles, if there is one."""
    of_toolchain = Path(output("rustc", "--print", "sysroot").strip()).glob("lib/rustlib/*/bin/llvm-profdata")
    found = next(of_toolchain, None) or shutil.which("llvm-profdata")
    return Path(found) if found else None


def flags(tool: Path, folder: Path, build: Callable[[Path, dict[str, str]], Path]) -> str:
    """Flags of rustc for the second build. `build` makes a wheel in a folder with these variables of environment.

    Ends the program if a workload or the merging fails: a wheel from half a profile would be a slow one.
    """
    raw, site, merged = folder / "raw", folder / "site", folder / "merged.profdata"
    shutil.rmtree(folder, ignore_errors=True)
    wheel = build(folder / "dist", {"RUSTFLAGS": INSTRUMENT.format(raw=folder / "of-build")})
    zipfile.ZipFile(wheel).extractall(site)
    environment = {"PYTHONPATH": str(site), "LLVM_PROFILE_FILE": str(raw / "%p-%m.profraw")}
    for job, schemes in WORKLOADS:
        command = (*UFSIM, "compare", job, "--schemes", schemes, "--out", folder / "out")
        run(*command, environment=environment, quiet=True)
    run(tool, "merge", "-o", merged, *raw.glob("*.profraw"), quiet=True)
    return OPTIMISE.format(merged=merged)
