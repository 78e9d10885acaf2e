"""What the command line says of failures, and its exit status."""

import os
import shlex
import sys
from collections.abc import Callable
from typing import Any

import ufsim
from ufsim.cli_options import UsageError

INTERRUPTED = 130


def guarded(run: Callable[[], Any], arguments: list[str]) -> int:
    """Runs a command; failures become one line on stderr and the exit status."""
    try:
        status = run()
        sys.stdout.flush()
        if status == INTERRUPTED:  # typer swallows the interrupt in some versions
            return report_interrupt()
        return status if isinstance(status, int) else 0
    except ufsim.SimulationBug as bug:
        report("internal", str(bug))
        print(
            f"This is a defect of ufsim {ufsim.__version__}, not of your input, and no result was written. Please "
            f"report it to the project with the message above and this command: ufsim {shlex.join(arguments)}",
            file=sys.stderr,
        )
        return 1
    except BrokenPipeError:
        # The reader of our output has had enough; keep the interpreter from complaining when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return report_interrupt()
    except (UsageError, ufsim.OptionError) as error:
        return report("error", str(error), 2)
    except ufsim.ConfigError as error:
        return report("error", str(error))
    except OSError as error:
        return report("error", describe_os_error(error))
    except Exception as error:
        return report_usage_error(error)


def report(kind: str, message: str, status: int = 1) -> int:
    """Prints one line on stderr and returns the exit status."""
    line = " ".join(message.split())
    prefix = "ufsim: error:" if kind == "error" else "ufsim: internal error:"
    print(f"{prefix} {line}", file=sys.stderr)
    return status


def report_interrupt() -> int:
    """Says that the user stopped the run and returns the exit status that shells give to it."""
    print("ufsim: interrupted", file=sys.stderr)
    return INTERRUPTED


def describe_os_error(error: OSError) -> str:
    """What went wrong with which file."""
    if error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def report_usage_error(error: Exception) -> int:
    """Reports what typer found wrong with the command line; anything else is raised again."""
    # Typer has its own copy of click's exceptions in some versions and click's in others; all have this method.
    describe = getattr(error, "format_message", None)
    if describe is None:
        if type(error).__name__ == "Abort":
            return report_interrupt()
        raise error
    message = describe()
    if not message:  # only the help was asked for
        return 2
    return report("error", f"{message} (see ufsim --help)", 2)
