"""The compiled part: conversions around the Rust crate `lab`, no logic of its own."""

from collections.abc import Callable, Sequence
from os import PathLike

__version__: str
"""Version, and the fingerprint of the sources that decide what a simulation does."""

class ConfigError(ValueError):
    """Wrong input; the message names the field, its value and what is allowed."""

class OptionError(ConfigError):
    """An option that has no effect on this workload, or with the other options; the message says what it is for."""

class OutputError(OSError):
    """A file that cannot be written; the message names it."""

class StateError(ConfigError):
    """A file of an aged state that cannot be used: it is not there, damaged, or of another device or version."""

class GuestError(RuntimeError):
    """A guest that could not be started, or has died; the message has the end of its console."""

    console: str
    """All of it, of a guest that `ufsim.linux.run` has booted."""

class SimulationBug(RuntimeError):
    """A check inside the simulator failed; the message tells how to repeat the run."""

class Server:
    """A running server of live devices. `ufsim.live.Server` says what it takes."""

    def __init__(self, wanted_json: str) -> None: ...
    def wait(self, seconds: float) -> bool:
        """Waits so many seconds at most. True if the server is to end."""

    def control(self, command_json: str) -> str:
        """Does a command of the control socket: JSON to JSON."""

    def port(self) -> int | None:
        """The TCP port, if there is one."""

    def end(self) -> None:
        """Ends the server in an ordinary way. Raises `SimulationBug` if a device has stopped before."""

class LeftOn:
    """A machine that has aged and was not switched off. Who wants several runs of it forks: `ufsim.LeftOn`."""

    def __init__(self, spec_json: str) -> None: ...
    def simulate(self, spec_json: str) -> str:
        """Runs a spec of this machine, once; its result as JSON."""

def replay_arrivals(spec_json: str, path: str | PathLike[str]) -> tuple[str, bool]:
    """Repeats a log of arrivals on a new device: the state afterwards, as JSON."""

def check_store(path: str | PathLike[str]) -> str:
    """Reads all of a file that keeps the data of a live device. Gives its `device_bytes` and `units`, as JSON.

    Raises `StateError` if it is not whole; the message says what is lost.
    """

def rescue_store(old: str | PathLike[str], new: str | PathLike[str], device_bytes: int | None = None) -> str:
    """Writes what is whole in such a file to a new one, also of an earlier version. Says what that is, as JSON.

    `units_kept`; `units_lost`: pairs of a first unit and a number; `units_lost_unnamed`: null if the file does not tell
    how many it held; `slots_damaged`; `may_be_old`: units that were kept may have older data; `whole`: nothing is lost;
    `device_bytes` and `version` of the old file. `device_bytes` is needed if the file does not tell it any more. Raises
    `StateError` if nothing can be saved, `OSError` if the new file cannot be written.
    """

def schemes() -> list[dict[str, str]]:
    """Presets: dictionaries with `name`, `scheduler`, `booster`, `mapping`, `summary`."""

def parts() -> dict[str, list[str]]:
    """The names that each part of a system can have: `scheduler`, `booster`, `mapping`."""

def profiles() -> list[str]:
    """Names of the device profiles that are built in."""

def profile_text(name: str) -> str:
    """The TOML text of a built-in profile."""

def profile_keys() -> str:
    """Every key of a profile as JSON.

    A list of objects with `key` (as `--set` takes it), `kind`, `allowed`, `unit`, `default`, `source` and `doc`.
    """

def check(spec_json: str) -> None:
    """Checks the machine and the options of a run, without reading a trace and without simulating.

    Raises `ConfigError`, or `OptionError` for an option that has no effect.
    """

def drawn(spec_json: str) -> list[str]:
    """What of a run's system is drawn at random, in words; empty if another seed changes at most the workload."""

def profile_description(name: str, settings_json: str) -> str:
    """What can be said of a profile, with `settings_json` (an object) in place of its values, as JSON.

    `profile`, `name`, `summary`; `extends`: the profiles below it; `values`: a list of objects with `key`, `value`,
    `unit`, `source`, `assumed` and `profile`, the one that says so; `facts` by name; `ceilings` by pattern; `schemes`:
    null, or why the scheme can not run on the device. docs/device-facts.md has the formulas.
    """

def profile_toml(name: str, settings_json: str) -> str:
    """A profile with what it extends and with `settings_json` in place of its values, as one TOML file."""

def simulate(spec_json: str, progress: Callable[[int, int | None, int, str], None] | None = None) -> str:
    """Runs one scheme and returns its result as JSON.

    `progress(done, total, sim_ns, phase)` is called a few times per second with the bytes completed, the bytes in all
    (`None` where not known beforehand), the simulated time and "age", "precondition" or "run". An exception that it
    raises stops the run and is passed on. The interpreter's lock is held only during these calls.
    """

# A column has its type as numpy spells it, and its values.
Columns = dict[str, tuple[str, bytes]]

def simulate_observed(
    spec_json: str,
    progress: Callable[[int, int | None, int, str], None] | None = None,
    *,
    keep: int | None = None,
    log: tuple[int, Callable[[LogPart], None]] | None = None,
    timeline: tuple[str | PathLike[str], str, int] | None = None,
    series: tuple[str, Callable[[Columns], None]] | None = None,
    bins: bool = False,
) -> tuple[str, LogPart | None, str | None]:
    """Runs one scheme: its result as JSON, a log of at most `keep` requests, if one is to be kept, and an error.

    The error says why a timeline could not be written; the run has gone on without it.

    `log`: each so many requests, and in the end the rest, are handed over in the order of completion. `timeline`: a
    file of Perfetto's format, the window (`FROM..TO`), and how many events it may have. `series`: a step, and what some
    rows at a time are handed over to. Whoever takes something may stop the run by raising. Otherwise as `simulate`.
    """

def check_observed(window: str, step: str) -> None:
    """Raises `ConfigError` if the window of a timeline or the step of a series can not be read."""

class LogPart:
    """Requests of a log, in the order of completion."""

    processes: list[str]
    """Names of processes, as far as they are known; the column `process` has places in this list."""
    left_out: int
    """Requests that completed after the log was full."""

    def __len__(self) -> int:
        """Number of requests."""

    def columns(self) -> Columns:
        """A row for each; made without the interpreter's lock."""

def columns_json() -> str:
    """The columns of logs, series and reads of phones as JSON: lists of objects with `name`, `dtype`, `unit`,
    `meaning`, `words`."""

class OpenedTrace:
    """A trace in memory, for many runs."""

    def __init__(self, spec_json: str) -> None:
        """Reads the trace of a spec; raises `ConfigError` if its workload is none."""

    def columns(self) -> Columns:
        """What the trace says of its requests: the first columns of a log, in the order of arrival."""

    def processes(self) -> list[str]:
        """Names of processes, indexed by the column `process`."""

    def simulate(
        self, spec_json: str, most: int, progress: Callable[[int, int | None, int, str], None] | None = None
    ) -> tuple[str, LogPart]:
        """As `simulate`, with this trace in place of the spec's workload, and a log of at most `most` requests."""

class LinuxDevice:
    """A device for Linux as its host, and the guests that use it one after another."""

    def __init__(self, spec_json: str, progress: Callable[[int, int | None, int, str], None] | None = None) -> None:
        """A device, new or aged; raises `ConfigError` for a scheme that no driver of Linux serves."""

    @property
    def disks(self) -> int:
        """Disks that the kernel finds: the logical units."""

    @property
    def scheduler(self) -> str:
        """What the kernel is to call the scheduler of the disks."""

    @property
    def map_cache(self) -> tuple[int, int]:
        """Entries of the device's mapping cache, and of a translation page."""

    @property
    def has_hpb(self) -> bool:
        """True if the kernel has to have a driver for HPB."""

    @property
    def hpb_policy(self) -> str | None:
        """The policy of the kernel's HPB driver; None for the driver as it is."""

    @property
    def memory_limit_kib(self) -> int | None:
        """KiB of host memory that the booster may use; None if there is no limit."""

    @property
    def has_hp_ufs(self) -> bool:
        """True if the kernel has to have a driver for HP-UFS."""

    @property
    def host_controls_hpb(self) -> bool:
        """True if the kernel decides of which regions it keeps HPB entries."""

    def boot(
        self,
        kernel: str | PathLike[str],
        folder: str | PathLike[str],
        memory_mib: int,
        seed: int,
        costs: tuple[int, int, int],
        progress: Callable[[int, int | None, int, str], None] | None = None,
        *,
        stops: tuple[Sequence[int], int | None, Callable[[int, int], bool]] | None = None,
        keep: int | None = None,
        log: tuple[int, Callable[[LogPart], None]] | None = None,
        timeline: tuple[str | PathLike[str], str, int] | None = None,
        series: tuple[str, Callable[[Columns], None]] | None = None,
        terminal: tuple[int, int] | None = None,
    ) -> tuple[str, LogPart | None, str | None]:
        """Boots a guest in a folder and serves it until it halts, or loses power at the last of `stops`.

        These are turns, in order, and then a time in ns; the function gets turn and time, and says whether this process
        goes on with the guest. `terminal`: descriptors that the guest's `/dev/ufsim` reads from and writes to.

        Gives `result` (as of `simulate`), `ended`, `at_ns`, `began_ns`, `turns` and `controller` (its counters) as
        JSON, the log if one is kept, and why a timeline could not be written. `costs` are those of a system call, an
        access to a register and a page that is copied, in ns. Raises `GuestError` if the guest dies; otherwise as
        `simulate_observed`.
        """

    def power_cut(self, at_ns: int) -> None:
        """Cuts the power of the device at a time of the guest, which was stopped, and lets it recover."""

def simulate_phone(
    spec_json: str,
    keep_reads: bool = False,
    progress: Callable[[int, int | None, int, str], None] | None = None,
) -> tuple[str, dict[str, tuple[str, bytes]] | None]:
    """Runs a scenario of a phone: its result as JSON, and every read in columns if `keep_reads`.

    A column has its type as numpy spells it, and its values. Otherwise as `simulate`.
    """

def age(
    spec_json: str, path: str | PathLike[str], progress: Callable[[int, int | None, int, str], None] | None = None
) -> None:
    """Ages a device by the job under `age`, switches it off and writes its state to a file; `workload` is ignored.

    It ages under the conditions of its profile's file: replaced flash times, host memory and the like play no part. The
    file appears when it is complete; `OSError` if it cannot be written. `progress` as for `simulate`.
    """

def check_age(spec_json: str) -> None:
    """Raises `ConfigError` if a value of the profile is replaced that has no effect on `age`."""

def age_key(spec_json: str) -> str:
    """A name for the state that `age` would write: equal for specs that give the same bytes."""

def state_header(path: str | PathLike[str]) -> str:
    """What a file of an aged state says about itself, as JSON."""

def is_inline_job(text: str) -> bool:
    """Whether a text is a fio job itself, not the name of a file.

    Options such as `rw=read bs=4k`, a command line of fio, or several lines. A file of that name goes first.
    """

def crash_case(case: str, whole: bool = False, tried: Callable[[int], None] | None = None) -> str:
    """Goes through one case of the power-cut campaign, or of the simulation of the whole; a JSON object.

    `case` is a seed, and perhaps what is left out of its case and what the device breaks, as in
    `17/acts=0-4,9/plain=faults,gc.pace/break=forget-trims`. A case that keeps all promises gives `scheme`, `cuts`,
    `moments` and `circumstances` (cuts by what the device was doing, and by what else was going on) and
    `longest_recovery_ns`. One that does not gives `seed`, `scheme`, `what`, the smallest `case` that still fails, and
    its `acts` in words; `tried` is called with the number of smaller cases tried. The interpreter's lock is not held
    meanwhile.
    """

def crash_sabotages(whole: bool = False) -> list[tuple[str, str]]:
    """The promises that a device can be made to break: name, and what the device does, in one line."""

def recovery(segments: int, pages: int, segment_kib: int | None = None) -> str:
    """A recovery of the HP-UFS paper's device, as JSON: `recovered_segments`, `scanned_pages`, and in milliseconds
    `total_ms` and its parts.

    Its log blocks hold `pages` (up to 32768) pages of `segments` segments. With `segment_kib` (1, 2 or 4) these are
    written to flash in parts of that size, and tables lie beside the SRAM pool. The interpreter's lock is not held.
    """

def worst_recovery(unlimited_memory: bool = False) -> str:
    """The longest recovery of 16 cuts in a run under the limits of profile `hp-ufs`, as `recovery` gives one.

    The run writes every page to another segment; `writes` is the number of these before the cut. With
    `unlimited_memory` the host may cache all segments. The interpreter's lock is not held.
    """

def declared() -> str:
    """What documentation is made of; a JSON object.

    `setup` and `result` are the JSON schemas of a result's choices and of a result, `causes` are pairs of a name and
    its meaning, `fio_options` lists of the names of each option of fio that is modelled.
    """

def trace_formats() -> str:
    """The formats of traces as JSON: a list of objects with `name`, `about` and `writable`."""

def clean_rules() -> list[str]:
    """Names of the cleaning rules for traces."""

def trace_info(spec_json: str) -> str:
    """What is in the trace of a specification (`path`, `format`, `device`, `clean`), as JSON."""

def trace_convert(spec_json: str, out: str | PathLike[str], format: str) -> str:
    """Writes a trace in another format; the file appears when it is complete.

    The JSON object that it returns says what was lost.
    """

def trace_join(spec_json: str, out: str | PathLike[str]) -> str:
    """Joins the traces of a specification (`traces`, `rule`, `addresses`, `turn_seconds`, `shift_seconds`) as CSV.

    The file appears when it is complete. The JSON object that it returns says what was joined.
    """

def trace_to_scenario(spec_json: str, out: str | PathLike[str]) -> str:
    """Writes a session of a phone, an ftrace text, as a scenario, and its requests as CSV beside it.

    The JSON object that it returns says what is in them.
    """

def fio_json(result_json: str) -> str:
    """A result in the form of `fio --output-format=json`."""
