"""ufsim: a laboratory for DRAM-less mobile flash storage.

    >>> import ufsim
    >>> comparison = ufsim.compare("samples/app-mix", ["ufs", "hp-ufs"])  # doctest: +SKIP
    >>> comparison.table()[["throughput_mib_per_s", "gain_percent"]]  # doctest: +SKIP

Names are those of the command line `ufsim`. A wrong input raises `ConfigError`, which names the field, its value and
what is allowed; a workload that is not there raises `FileNotFoundError`; `SimulationBug` means that a check inside the
simulator failed.
"""

from importlib.metadata import version

from ufsim._core import ConfigError, OptionError, SimulationBug
from ufsim.phones import Study, phone
from ufsim.results import Comparison, Result
from ufsim.runner import compare, run
from ufsim.spec import profile_text, profiles, schemes
from ufsim.suite import Suite
from ufsim.traces import trace_convert, trace_formats, trace_info, trace_to_scenario

__version__ = version("ufsim")

__all__ = [
    "Comparison",
    "ConfigError",
    "OptionError",
    "Result",
    "SimulationBug",
    "Study",
    "Suite",
    "__version__",
    "compare",
    "phone",
    "profile_text",
    "profiles",
    "run",
    "schemes",
    "trace_convert",
    "trace_formats",
    "trace_info",
    "trace_to_scenario",
]
