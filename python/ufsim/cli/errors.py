"""What the command line says of failures, and its exit status."""

import errno
import json
import logging
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ufsim
from ufsim.cli.exits import Exit
from ufsim.cli.options import FIELDS, UsageError
from ufsim.cli.screen import printable, to_nowhere
from ufsim.outputs import Unwritten

# What only writing gives: without the name of a file, it is standard output that was written to.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EBADF)


@dataclass(frozen=True)
class Failure:
    """Why a command has failed."""

    status: Exit
    lines: list[str]
    # A result stands on standard output already.
    printed: bool = False


def guarded(run: Callable[[], Any], arguments: list[str]) -> int:
    """Runs a command; failures become a line on stderr, with --json a document on stdout, and the exit status."""
    try:
        with notices():
            outcome = run()
        sys.stdout.flush()
    except SystemExit as end:
        # Typer ends the process by itself when nobody reads its output any more.
        if isinstance(end.__context__, BrokenPipeError):
            return report(failure_of(end.__context__), arguments)
        return end.code if isinstance(end.code, int) else Exit.USAGE
    except BaseException as error:
        return report(failure_of(error), arguments)
    if outcome == Exit.INTERRUPTED:  # typer swallows the interrupt in some versions
        return report(Failure(Exit.INTERRUPTED, ["interrupted"]), arguments)
    return outcome if isinstance(outcome, int) else Exit.OK


def failure_of(error: BaseException) -> Failure:
    """What an exception means to whoever has typed the command."""
    match error:
        case KeyboardInterrupt():
            return Failure(Exit.INTERRUPTED, ["interrupted"])
        case ufsim.SimulationBug():
            return Failure(Exit.INTERNAL, [str(error)])
        case UsageError() | ufsim.OptionError():
            return Failure(Exit.USAGE, [str(error)])
        case Unwritten():
            return Failure(Exit.NOT_WRITTEN, error.failures, error.printed)
        case ufsim.OutputError():
            return Failure(Exit.NOT_WRITTEN, [str(error)])
        case ufsim.ConfigError():
            return Failure(Exit.INPUT, [str(error)])
        case ufsim.GuestError():
            return Failure(Exit.GUEST_DIED, str(error).splitlines())
        case BrokenPipeError():
            return Failure(Exit.READER_GONE, [], printed=True)
        case OSError(filename=None) if error.errno in FULL:
            return Failure(Exit.NOT_WRITTEN, [f"standard output: {error.strerror}"], printed=True)
        case OSError():
            return Failure(Exit.INPUT, [describe_os_error(error)])
        case UnicodeEncodeError():
            return Failure(Exit.INPUT, [f"'{error.object}': not UTF-8; names of files have to be"])
    return usage_failure(error) or defect(error)


def usage_failure(error: BaseException) -> Failure | None:
    """What typer found wrong with the command line."""
    # Typer has its own copy of click's exceptions in some versions and click's in others; all have this method.
    describe = getattr(error, "format_message", None)
    if describe is not None:
        message = in_our_words(describe())
        command = getattr(getattr(error, "ctx", None), "command_path", "ufsim")
        # Without a message only the help was asked for.
        return Failure(Exit.USAGE, [f"{message} (see {command} --help)"] if message else [], printed=not message)
    return Failure(Exit.INTERRUPTED, ["interrupted"]) if type(error).__name__ == "Abort" else None


def in_our_words(message: str) -> str:
    """A message of typer without words of its library, and with the range of the option."""
    message = message.replace("Value error, ", "")
    # Of typer up to 0.28, and of later ones.
    problem = r"(?:'.*' is not a valid (int|float)\.|Input should be a valid (integer|number).*)"
    told = re.fullmatch(rf"(Invalid value for '(--[a-z-]+)': ){problem}", message, re.DOTALL)
    if told is None:
        return message
    ranges = {option.metadata["flag"]: option.metadata.get("range") for option in FIELDS.values()}
    what = "a whole number" if "int" in (told[3] or told[4]) else "a number"
    least, most = ranges.get(told[2]) or (None, None)
    return told[1] + f"must be {what}" + ("" if least is None else f" from {least} to {most}")


def defect(error: BaseException) -> Failure:
    """An exception that nobody has thought of, with the place where it was raised."""
    traceback.print_exception(error)
    return Failure(Exit.INTERNAL, [f"{type(error).__name__}: {error}"])


def report(failure: Failure, arguments: list[str]) -> int:
    """Says what has happened, and returns the exit status."""
    try:
        if wants_json(arguments) and not failure.printed:
            print(json.dumps(document(failure), indent=2))
        sys.stdout.flush()
    except OSError:
        to_nowhere(1)
    try:
        for line in lines_of(failure, arguments):
            print(printable(" ".join(line.split())), file=sys.stderr)
        sys.stderr.flush()
    except OSError:
        to_nowhere(2)
    return failure.status


def lines_of(failure: Failure, arguments: list[str]) -> list[str]:
    """What stderr shows of a failure."""
    if failure.status == Exit.INTERRUPTED:
        return [f"ufsim: {line}" for line in failure.lines]
    if failure.status != Exit.INTERNAL:
        return [f"ufsim: error: {line}" for line in failure.lines]
    return [
        *(f"ufsim: internal error: {line}" for line in failure.lines),
        f"This is a defect of ufsim {ufsim.__version__}, not of your input, and no result was written. Please report "
        f"it to the project with the message above and this command: ufsim {shlex.join(arguments)}",
    ]


def wants_json(arguments: list[str]) -> bool:
    """Is standard output to be a JSON document?"""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options or "--fio-json" in options


def document(failure: Failure) -> dict[str, Any]:
    """A failure as JSON."""
    what = {"kind": failure.status.kind, "status": int(failure.status), "message": " ".join(failure.lines)}
    return {"ufsim": ufsim.__version__, "error": what}


def describe_os_error(error: OSError) -> str:
    """What went wrong with which file."""
    if error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


class notices(logging.Handler):  # noqa: N801
    """While it is entered, notices of the package and warnings of Python are printed on stderr, a line each."""

    def __enter__(self) -> None:
        log = logging.getLogger("ufsim")
        self._shown = warnings.showwarning
        warnings.showwarning = lambda message, *_, **__: log.warning("%s", message)
        self._before = (log.level, log.propagate)
        log.setLevel(logging.INFO)
        log.propagate = False
        log.addHandler(self)

    def __exit__(self, *_: object) -> None:
        log = logging.getLogger("ufsim")
        warnings.showwarning = self._shown
        log.removeHandler(self)
        log.level, log.propagate = self._before

    def emit(self, record: logging.LogRecord) -> None:
        """Prints a notice."""
        kind = "warning" if record.levelno >= logging.WARNING else "note"
        print(printable(f"ufsim: {kind}: {' '.join(record.getMessage().split())}"), file=sys.stderr, flush=True)
