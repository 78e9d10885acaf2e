"""A server of live devices, as a process of its own."""

import subprocess

from tools.project import UFSIM, failed

# Seconds for a server to start, fill a device from its store, or end; and for a job of fio.
PATIENCE_S = 120


def started(*options: str) -> subprocess.Popen[str]:
    """A server that is ready."""
    command = [*UFSIM, "serve", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    if server.stdout.readline() != "ready\n":
        server.kill()
        failed(f"does not start: {' '.join(command)}")
    return server


def ended(server: subprocess.Popen[str]) -> None:
    """Waits for a server that was asked to quit."""
    if server.wait(PATIENCE_S):
        failed("the server has not ended well")
