"""How the program `ufsim` starts.

Importing the package takes a moment, in which an interrupt would end in a traceback from somewhere inside of it. So the
first thing done is to answer interrupts, and this happens in a package of its own, as `import ufsim.anything` begins
with all of `ufsim`. SIGTERM, with which batch systems end a program, is an interrupt as Ctrl-C is.
"""

import gc
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, NoReturn


def main() -> None:
    """Runs the command line and ends the process; `ufsim.cli.exits` lists the exit statuses."""
    # What a user's environment has for other programs must not end this one: pictures go to files alone, and a
    # terminal without columns would show nothing.
    os.environ["MPLBACKEND"] = "agg"
    for size in ("COLUMNS", "LINES"):
        if not os.environ.get(size, "1").isdecimal() or int(os.environ.get(size, "1")) == 0:
            del os.environ[size]
    # Whoever starts us may have chosen that a signal is ignored.
    ways = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    ends = [number for number, usual in ways.items() if signal.getsignal(number) is usual]
    _answer(ends, _stop)
    cli = _command_line()
    try:
        status = cli.execute_program(sys.argv[1:], lambda: _answer(ends, signal.default_int_handler))
    except KeyboardInterrupt:
        _stop()
    # The interpreter has work of its own to do at the end, which an interrupt simply ends.
    _answer(ends, signal.SIG_DFL)
    sys.exit(status)


def _answer(ends: list[signal.Signals], handler: Callable[[int, FrameType | None], Any] | signal.Handlers) -> None:
    for number in ends:
        signal.signal(number, handler)


def _command_line() -> ModuleType:
    """The module of the command line. What an import makes lives to the end, so no garbage is looked for in it."""
    gc.disable()
    from ufsim.cli import app

    gc.freeze()
    gc.enable()
    return app


def _stop(*_: object) -> NoReturn:
    try:
        os.write(2, b"ufsim: interrupted\n")
    finally:
        os._exit(130)
