"""`python -m tools NAME ...`: one tool. Without a name it lists all of them."""

import sys
from importlib import import_module

from tools.project import failed

# What each tool is for. It is the module of that name in this folder, whose `app` has its commands.
TOOLS = {
    "bench": "speed and memory of the simulator, of logs, sweeps and live devices; which of two builds is faster",
    "docs": "the site, and what its pages show of measurements",
    "fio_jobs": "400 job files as fio reads them and as ufsim does",
    "fits": "the phones' profiles, fitted to recorded latencies",
    "fuzz": "fuzz targets under libFuzzer",
    "hosts": "Linux as the host against the models of what it does",
    "mutants": "do the tests notice it, if what a branch has changed is changed again?",
    "quick": "tests of what has changed",
    "release": "wheel and sdist: built, checked, tried",
    "soak": "power cuts, the simulation of the whole, and live devices under fio, for long",
    "tidy": "what a formatter or linter does not see",
}


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name in ("--help", "-h"):
        for one, about in TOOLS.items():
            print(f"{one:<9} {about}")
        return
    if name not in TOOLS:
        failed(f"there is no {name}; allowed: {', '.join(TOOLS)}")
    # Each needs other packages, and some run before the extension is built.
    import_module(f"tools.{name}").app(args=sys.argv[2:], prog_name=f"tools {name}")


if __name__ == "__main__":
    main()
