"""What all Python tests share: the program, and the folder of traces beside the project."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import program

ROOT = Path(__file__).parent

# A slow machine must not add lines that tell how far a run is.
os.environ["UFSIM_HEARTBEAT"] = "0"

# Started in the background, tests ignore interrupts, and so would what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """What was imported stays to the end, and so do the tests: no search for garbage goes through them again."""
    gc.freeze()


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside the project with what is not part of it: traces, claims. On CI it has to be there."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        assert "CI" not in os.environ, f"on CI this folder has to be there: {folder}"
        print(f"SKIPPED: {folder} is not there", file=sys.stderr)
        pytest.skip(f"{folder} is not there")
    return folder


@pytest.fixture(scope="session")
def traces(shared: Path) -> Path:
    """The real traces."""
    return shared / "traces"


@pytest.fixture(scope="session")
def ufsim() -> Command:
    """Runs the command line in the project's root and returns the finished process."""

    def call(*arguments: object, seconds: int = 300) -> subprocess.CompletedProcess[str]:
        return program.run([str(one) for one in arguments], ROOT, seconds)

    return call
