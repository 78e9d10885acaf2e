"""A live device that is used for long, its power cut, its server killed.

fio fills an area with blocks that it can check, trims parts of it, and flushes. While other jobs of fio write and trim
beside it, the power is cut, or the server is killed and started again with its store. Then fio reads the area: every
block has to be what was written.
"""

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rich.progress import Progress

from tools.project import MIB, failed
from tools.served import PATIENCE_S, ended, started
from ufsim.live.server import Control


class Rig:
    """A server with a store, and fio as its client. All files are in `folder`."""

    def __init__(self, folder: Path, scheme: str, profile: str, area_mib: int) -> None:
        self._folder, self._area_mib = folder, area_mib
        names = {"socket": "s", "control": "c", "store": "data"}
        places = [word for option, name in names.items() for word in (f"--{option}", str(folder / name))]
        self._options = ("--scheme", scheme, "--profile", profile, "--clock", "free", *places)
        self._server = started(*self._options)

    def cut(self) -> None:
        """Cuts the power."""
        with Control(self._folder / "c") as control:
            control.cut()

    def kill(self) -> None:
        """Kills the server and starts it again with what its store has."""
        self._server.kill()
        self._server.wait(PATIENCE_S)
        self._server = started(*self._options)

    def end(self) -> None:
        """Ends the server in an ordinary way."""
        with Control(self._folder / "c") as control:
            control.quit()
        ended(self._server)

    def stop(self) -> None:
        """Stops the server if it still runs."""
        self._server.kill()

    def fio(self, name: str, rw: str, place: int, seed: int, *options: str) -> list[str]:
        """A job of fio on the area number `place`."""
        job = {
            "name": name,
            "ioengine": "nbd",
            "uri": f"nbd+unix:///?socket={self._folder / 's'}",
            "rw": rw,
            "bs": "4k",
            "iodepth": 16,
            "offset": place * self._area_mib * MIB,
            "size": self._area_mib * MIB,
            "randseed": seed,
            "verify_state_save": 0,
        }
        return ["fio", *(f"--{key}={value}" for key, value in job.items()), *options]

    def checked(self, rw: str, place: int, seed: int, *options: str) -> None:
        """A job whose blocks fio can check; ends the soak if it fails."""
        command = self.fio("checked", rw, place, seed, "--verify=crc32c", "--verify_fatal=1", *options)
        done = subprocess.run(
            command, cwd=self._folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        if done.returncode != 0:
            failed(f"{' '.join(command)}\n{done.stdout}{done.stderr}")

    @contextlib.contextmanager
    def busy(self, seed: int) -> Iterator[None]:
        """Jobs that write and trim in areas of their own, until they lose the device."""
        endless = ("--time_based", f"--runtime={PATIENCE_S}")
        commands = [self.fio("writes", "randrw", 2, seed, *endless), self.fio("trims", "randtrim", 3, seed, *endless)]
        quiet = subprocess.DEVNULL
        jobs = [subprocess.Popen(one, cwd=self._folder, stdout=quiet, stderr=quiet) for one in commands]
        try:
            yield
        finally:
            for job in jobs:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    job.wait(2)
                job.kill()
                job.wait()


def turn(rig: Rig, seed: int, ends: str, *, flushes: bool) -> None:
    """Fills two areas, loses the power or the server while others write, and checks both areas."""
    kinds = (("randwrite", 0), ("trimwrite", 1))
    for rw, place in kinds:
        rig.checked(rw, place, seed, "--do_verify=0", f"--end_fsync={int(flushes)}")
    if not flushes:
        # Before others have pushed everything to flash.
        rig.cut()
    with rig.busy(seed):
        # Neither the beginning nor the end of what the others do.
        time.sleep(0.2 + seed % 7 / 10)
        rig.kill() if ends == "kill" else rig.cut()
    for rw, place in kinds:
        rig.checked("randwrite" if rw == "randwrite" else "write", place, seed, "--verify_only")


def soak(rig: Rig, minutes: float, cuts: int, kills: int, *, flushes: bool) -> None:
    """Goes through at least so many turns, for at least so long; the kills are spread among the cuts."""
    least, begin, done = cuts + kills, time.monotonic(), {"cut": 0, "kill": 0}
    every = least // kills if kills else 0
    with Progress(disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("turns", total=least)
        number = 0
        while number < least or time.monotonic() - begin < minutes * 60:
            is_kill = every and number % every == every - 1 and done["kill"] < kills
            ends = "kill" if is_kill else "cut"
            turn(rig, number + 1, ends, flushes=flushes)
            done[ends] += 1
            number += 1
            bar.update(task, completed=number)
    rig.end()
    minutes = (time.monotonic() - begin) / 60
    print(f"{done['cut']} power cuts, {done['kill']} kills, {minutes:.1f} minutes, no difference")


def soak_device(
    scheme: str, profile: str, area_mib: int, minutes: float, cuts: int, kills: int, *, flushes: bool
) -> None:
    """Uses a device of that kind; without flushes it has to find a difference."""
    with tempfile.TemporaryDirectory(prefix="ufsim-") as folder:
        rig = Rig(Path(folder), scheme, profile, area_mib)
        try:
            soak(rig, minutes, cuts, kills, flushes=flushes)
        finally:
            rig.stop()
