"""What a worker of a cluster does with a point.

Files and aged states are paths that the worker shares with whoever has sent the point, or bytes that came along.
"""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from ufsim import _core, inputs, outputs
from ufsim.documents import Document
from ufsim.spec import Spec
from ufsim.states import StateCache
from ufsim.sweeps.failures import FAILURES, told


@dataclass(frozen=True)
class Parcel:
    """Files that come along, as they lie to each other: contents by path within a folder, and which one is meant."""

    meant: str
    files: Mapping[str, bytes]


# A path that is shared, or the files themselves.
Sent = str | Parcel


@dataclass(frozen=True)
class Order:
    """A run as it is sent: the sender's version, the options, and which of them are files that come along.

    `inputs` is what it hangs on (`inputs.of_spec`), where it is sent from. `states` is a directory of aged states that
    all share; without one, states come along, too.
    """

    version: str
    options: Mapping[str, Any]
    files: Sequence[str]
    inputs: Document
    states: str | None


@dataclass(frozen=True)
class Outcome:
    """What became of a run: its report and where its files lay, or why there is none."""

    report: str = ""
    paths: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


def carry(content: Sent) -> Sent:
    """Brings files to the cluster, which hands them from worker to worker, and makes them again if one is lost."""
    return content


def age(order: Order, *sent: Sent) -> Sent | Outcome:
    """Makes an aged state: in the directory that all share, or else its bytes."""
    try:
        spec = received(order, sent)
        if order.states is not None:
            StateCache(Path(order.states)).aged(spec)
            return order.states
        with tempfile.TemporaryDirectory(prefix="ufsim-") as folder:
            path = Path(folder) / "state"
            _core.age(spec.to_json(), path)
            return Parcel(path.name, {path.name: path.read_bytes()})
    except FAILURES as error:
        return Outcome(error=told(error))


def simulate(order: Order, state: Sent | Outcome | None, *sent: Sent) -> Outcome:
    """Makes a run, which begins with its aged state if it has one."""
    if isinstance(state, Outcome):
        return state
    try:
        spec = received(order, sent)
        paths = {name: str(getattr(spec, name)) for name in order.files}
        if isinstance(state, Parcel):
            spec = replace(spec, age=None, from_state=path_of(state))
        cache = None if state is None or order.states is None else StateCache(Path(order.states))
        if cache is None:
            return Outcome(_core.simulate(spec.to_json()), paths)
        return Outcome(cache.simulated(spec, None, lambda begun: _core.simulate(begun.to_json())), paths)
    except FAILURES as error:
        return Outcome(error=told(error))


def received(order: Order, sent: Sequence[Sent]) -> Spec:
    """The specification, with files where this worker has them; refused if it would give another result here."""
    if order.version != _core.__version__:
        raise _core.ConfigError(f"a worker has ufsim {_core.__version__}; allowed: {order.version}, as here")
    places = {name: path_of(one) for name, one in zip(order.files, sent, strict=True)}
    for name, place in places.items():
        if not os.path.exists(place):
            raise FileNotFoundError(f"{name} '{place}' is not there on a worker; --ship sends files to them")
    spec = Spec(**{**order.options, **places})
    for name, there in inputs.of_spec(spec).items():
        if there != order.inputs[name]:
            said = order.options[name]
            told = "what it names by relative paths, and the same variables in the environment of every worker"
            raise _core.ConfigError(f"{name} '{said}' says something else on a worker; allowed: {told}")
    return spec


def path_of(sent: Sent) -> str:
    """Where the worker finds what was sent; bytes are written once, into a directory for temporary files."""
    if isinstance(sent, str):
        return sent
    name = sha256()
    for path, content in sorted(sent.files.items()):
        name.update(f"{path}\n".encode() + sha256(content).digest())
    directory = Path(tempfile.gettempdir()) / f"ufsim-{os.getuid()}-{name.hexdigest()[:32]}"
    place = outputs.private_directory(directory)
    for path, content in sent.files.items():
        file = place / path
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            with outputs.replacing(file) as beside:
                beside.write_bytes(content)
    return str(place / sent.meant)


def parcel_of(name: str, path: str) -> Parcel:
    """The file of an option, or all files of a directory, with those that they name, as they are sent."""
    place = Path(path).parent.resolve() / Path(path).name
    if name == "profile":
        return Parcel(place.name, {place.name: inputs.resolved_profile(path).encode()})
    files = inputs.whole(place)
    folder = Path(os.path.commonpath([place.parent, *(file.parent for file in files)]))
    return Parcel(str(place.relative_to(folder)), {str(file.relative_to(folder)): file.read_bytes() for file in files})
