"""ufsim: a laboratory for DRAM-less mobile flash storage.

    >>> import ufsim
    >>> comparison = ufsim.compare("samples/app-mix", ["ufs", "hp-ufs"])  # doctest: +SKIP
    >>> comparison.table()[["throughput_mib_per_s", "gain_percent"]]  # doctest: +SKIP
    >>> comparison["hp-ufs"].latency()  # doctest: +SKIP

Names are those of the command line `ufsim`. A wrong input raises `ConfigError`, which names the field, its value and
what is allowed; a workload that is not there raises `FileNotFoundError`; `SimulationBug` means that a check inside the
simulator failed. `ufsim.columns` says what the columns of data frames mean; `ufsim.plots` draws diagrams for papers.
Packages that add commands find what they need in `ufsim.commands`.
"""

from typing import TYPE_CHECKING, Any

from ufsim._core import ConfigError, GuestError, OptionError, OutputError, SimulationBug, StateError, __version__
from ufsim.crash import recovery, worst_recovery
from ufsim.devices import describe_profile, profile_toml
from ufsim.kept import RunStore
from ufsim.left_on import LeftOn
from ufsim.phones import Study, phone
from ufsim.results.columns import columns
from ufsim.results.dispatch import dispatch_columns
from ufsim.results.result import Comparison, Result
from ufsim.results.suite import Suite
from ufsim.runner import compare, run
from ufsim.spec import RunOptions, Spec, profile_keys, profile_text, profiles, schemes
from ufsim.states import StateCache
from ufsim.traces import trace_convert, trace_formats, trace_info, trace_join, trace_to_scenario

if TYPE_CHECKING:
    from ufsim import plots
    from ufsim.calibration import Calibration, calibrate
    from ufsim.sweeps import Sweep, sweep
    from ufsim.tuning import Tuned, tune

__all__ = [
    "Calibration",
    "Comparison",
    "ConfigError",
    "GuestError",
    "LeftOn",
    "OptionError",
    "OutputError",
    "Result",
    "RunOptions",
    "RunStore",
    "SimulationBug",
    "Spec",
    "StateCache",
    "StateError",
    "Study",
    "Suite",
    "Sweep",
    "Tuned",
    "__version__",
    "calibrate",
    "columns",
    "compare",
    "describe_profile",
    "dispatch_columns",
    "phone",
    "plots",
    "profile_keys",
    "profile_text",
    "profile_toml",
    "profiles",
    "recovery",
    "run",
    "schemes",
    "sweep",
    "trace_convert",
    "trace_formats",
    "trace_info",
    "trace_join",
    "trace_to_scenario",
    "tune",
    "worst_recovery",
]


def __getattr__(name: str) -> Any:
    # matplotlib, numpy and cma take longer to import than a small simulation to run.
    from importlib import import_module

    if name == "plots":
        return import_module("ufsim.plots")
    if name in ("calibrate", "Calibration"):
        return getattr(import_module("ufsim.calibration"), name)
    if name in ("sweep", "Sweep"):
        return getattr(import_module("ufsim.sweeps"), name)
    if name in ("tune", "Tuned"):
        return getattr(import_module("ufsim.tuning"), name)
    raise AttributeError(f"module 'ufsim' has no attribute '{name}'")
