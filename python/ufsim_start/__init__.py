"""How the program `ufsim` starts.

Importing the package takes a moment, in which an interrupt would end in a traceback from somewhere inside of it. So the
first thing done is to answer interrupts, and this happens in a package of its own, as `import ufsim.anything` begins
with all of `ufsim`.
"""

import gc
import os
import signal
import sys
from types import ModuleType
from typing import NoReturn


def main() -> None:
    """Runs the command line and ends the process; `ufsim.cli.exits` lists the exit statuses."""
    # What a user's environment has for other programs must not end this one: pictures go to files alone, and a
    # terminal without columns would show nothing.
    os.environ["MPLBACKEND"] = "agg"
    for size in ("COLUMNS", "LINES"):
        if not os.environ.get(size, "1").isdecimal() or int(os.environ.get(size, "1")) == 0:
            del os.environ[size]
    # Whoever starts us may have chosen that interrupts are ignored.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        sys.exit(_command_line().execute_program(sys.argv[1:]))
    signal.signal(signal.SIGINT, _stop)
    cli = _command_line()
    try:
        status = cli.execute_program(sys.argv[1:], lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    except KeyboardInterrupt:
        _stop()
    # The interpreter has work of its own to do at the end, which an interrupt simply ends.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(status)


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
