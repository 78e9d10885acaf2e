"""Linux itself as the host of a simulated device: its driver, block layer and file systems, on the simulation's clock.

    >>> from ufsim import linux
    >>> run = linux.run(["fio", "--name=r", "--rw=randread", "--size=64m"], "hpb-linux")  # doctest: +SKIP
    >>> run.stdout, run.result.iops, run.hpb_stats["hit_cnt"]  # doctest: +SKIP

`make linux` builds the kernel. docs/linux.md has the rest.
"""

from ufsim.linux.session import FILE_SYSTEMS, CpuCost, GuestRun, Job, run

__all__ = ["FILE_SYSTEMS", "CpuCost", "GuestRun", "Job", "run"]
