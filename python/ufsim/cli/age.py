"""`ufsim age`: states of devices that have been in use, as files."""

import json
from pathlib import Path
from typing import Any

import ufsim
from ufsim import _core, inputs, outputs
from ufsim.cli.options import UsageError
from ufsim.cli.progress import ProgressDisplay
from ufsim.cli.screen import say
from ufsim.documents import parse
from ufsim.results.formats import plural
from ufsim.runner import Progress
from ufsim.spec import Spec
from ufsim.states import StateCache


def asked(job: str | None, out: Path | None, show: Path | None, *, clear_cache: bool) -> None:
    """Raises `UsageError` unless one of three things is wanted: to age, to show a state, to clear the cache."""
    given = {"JOB": job is not None, "--out": out is not None, "--show": show is not None}
    given["--clear-cache"] = clear_cache
    for alone in ("--show", "--clear-cache"):
        if given[alone] and (beside := [name for name in given if given[name] and name != alone]):
            raise UsageError(f"{alone} does nothing else: leave out {' and '.join(beside)}")
    if not (given["--show"] or given["--clear-cache"] or (given["JOB"] and given["--out"])):
        raise UsageError("JOB and --out are needed (or --show FILE, or --clear-cache)")


def age(job: str, out: Path, options: dict[str, Any], *, as_json: bool) -> None:
    """Ages a device under a progress bar, and tells its file."""
    spec = Spec(workload="", age=job, **options)
    spec.check_system()
    _core.check_age(spec.to_json())
    outputs.apart([out], inputs.files_read(spec))
    outputs.ready_file(out, outputs.STATE)
    with ProgressDisplay() as progress:
        make_state(spec, out, progress)
    size = out.stat().st_size
    told(as_json, {"state": str(out), "bytes": size}, f"{out}: {size / 1e6:.1f} MB")


def make_state(spec: Spec, out: Path, progress: Progress) -> None:
    """Ages a device and writes its state."""
    try:
        _core.age(
            spec.to_json(),
            out,
            lambda done, total, sim_ns, phase: progress(spec.scheme, phase, done, total, sim_ns),
        )
    except OSError as error:
        raise outputs.Unwritten([str(error)]) from error


def show_state(path: Path, *, as_json: bool) -> None:
    """Says how a state was made; in JSON with all values of its profile."""
    header = parse(_core.state_header(path))
    parts = " + ".join(header[part] for part in ("scheduler", "booster", "mapping"))
    job = " ".join(header["age"].split())
    lines = [
        f"{path}: scheme {header['scheme']} ({parts}), profile {header['profile']}, seed {header['seed']}",
        f"aged by: {job}",
        f"ufsim {header['version']}; --json also has all values of the profile",
    ]
    told(as_json, header, "\n".join(lines))


def clear_states(*, as_json: bool) -> None:
    """Removes all states that runs have kept."""
    cache = StateCache()
    removed = cache.clear()
    directory = str(cache.directory)
    told(as_json, {"removed": removed, "directory": directory}, f"{plural(removed, 'state')} removed from {directory}")


def told(as_json: bool, document: dict[str, Any], text: str) -> None:
    """Prints one of them."""
    if as_json:
        print(json.dumps({"ufsim": ufsim.__version__} | document, indent=2))
    else:
        say(text)
