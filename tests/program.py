"""The command line in a process of its own, without the fifth of a second in which Python imports it.

A server that has imported it forks for each call. Tests of how the program starts and ends call it as a shell does.
"""

import multiprocessing
import os
import sys
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from tempfile import TemporaryDirectory

SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["ufsim.cli.app", "ufsim_start", __name__])


def run(words: list[str], folder: Path, seconds: float) -> CompletedProcess[str]:
    """Calls `ufsim` in this folder and the environment of now; it must have ended after these seconds."""
    with TemporaryDirectory() as place:
        files = [Path(place, name) for name in ("out", "errors")]
        child = SERVER.Process(target=_called, args=(words, folder, dict(os.environ), files))
        child.start()
        child.join(seconds)
        if child.exitcode is None:
            child.kill()
            raise TimeoutExpired(words, seconds)
        return CompletedProcess(words, child.exitcode, *(file.read_text() for file in files))


def _called(words: list[str], folder: Path, environment: dict[str, str], files: list[Path]) -> None:
    for descriptor, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_CREAT | os.O_WRONLY), descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["ufsim", *words]
    from ufsim_start import main

    main()
