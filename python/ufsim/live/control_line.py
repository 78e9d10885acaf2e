"""A connection to the control socket of a server: a line of JSON for each command, and one for its reply.

Whatever listens at the other end, every call ends within its time limit: with a reply, or with what is wrong.
"""

import errno
import json
import os
import socket
import stat
import time
from contextlib import suppress
from os import PathLike
from typing import Any

# The server answers the first word at once, however busy its devices are.
HELLO_S = 5.0
# Replies to a greeting, and to commands, are no longer than this.
HELLO_BYTES = 64 << 10
REPLY_BYTES = 64 << 20
# Between two tries to connect to a server at whose door many wait.
TRY_AGAIN_S = 0.02
# With this an NBD server begins, unasked.
NBD = b"NBDMAGIC"

FOREIGN = "does not answer as the control socket of ufsim does"
SILENT = (
    f"no answer within {HELLO_S:g} s: this is not the control socket of ufsim, or its server is stopped or too busy"
)
CLOSED_AT_ONCE = (
    "the server has closed the connection: this is not the control socket of ufsim, or the server is ending, or has "
    "too many control connections"
)
CLOSED = "the server has closed the connection: it has ended, or had too many control connections"


class ControlLine:
    """Commands and replies. After an error it is closed, so that a late reply is not taken for that of the next."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = os.fsdecode(path)
        self._rest = b""
        end = time.monotonic() + HELLO_S
        self._socket = self._connected(end)
        try:
            hello = self._talk({"do": "hello"}, end, HELLO_BYTES)
        except TimeoutError as error:
            raise self._failed(errno.ETIMEDOUT, SILENT) from error
        except ConnectionError as error:
            raise self._failed(errno.ECONNRESET, CLOSED_AT_ONCE) from error
        # A server from before there was this command refuses it.
        if hello["ok"] and not isinstance(hello.get("ufsim"), str):
            self.close()
            raise self._failed(errno.EPROTO, FOREIGN)

    def exchange(self, command: dict[str, Any], limit_s: float) -> dict[str, Any]:
        """Says a command, and gives its reply, which has `ok`, and `error` where that is false."""
        if self._socket.fileno() < 0:
            raise self._failed(errno.ENOTCONN, "the connection to the server is closed")
        try:
            return self._talk(command, time.monotonic() + limit_s, REPLY_BYTES)
        except TimeoutError as error:
            text = f"the server has not answered {command['do']} within {limit_s:g} s, and may still do it"
            raise self._failed(errno.ETIMEDOUT, text) from error
        except ConnectionError as error:
            raise self._failed(errno.ECONNRESET, CLOSED) from error

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()

    def _failed(self, number: int, text: str) -> OSError:
        """An error of the class that the number has."""
        return OSError(number, text, self._path)

    def _connected(self, end: float) -> socket.socket:
        connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            while True:
                try:
                    # It does not wait where too many wait already, but says so.
                    connecting.settimeout(HELLO_S)
                    connecting.connect(self._path)
                    return connecting
                except (BlockingIOError, TimeoutError) as error:
                    if time.monotonic() + TRY_AGAIN_S >= end:
                        raise self._failed(errno.ETIMEDOUT, SILENT) from error
                    time.sleep(TRY_AGAIN_S)
                except OSError as error:
                    raise self._failed(error.errno or errno.ENAMETOOLONG, self._why_not(error)) from error
        except BaseException:
            connecting.close()
            raise

    def _why_not(self, error: OSError) -> str:
        """Why there is no connection."""
        match error.errno:
            case None:  # Python has looked at the name.
                return "no server: the name is too long for a socket"
            case errno.ENOENT | errno.ENOTDIR:
                return "no server: there is no such socket"
            case errno.EACCES | errno.EPERM:
                return "no permission to connect: the control socket is for the user who has started the server"
            case errno.ECONNREFUSED:
                return self._what_is_there()
            case errno.EPROTOTYPE:
                return "this is not the control socket of ufsim"
        return f"no server: {error.strerror}"

    def _what_is_there(self) -> str:
        with suppress(OSError):
            mode = os.stat(self._path).st_mode
            if stat.S_ISDIR(mode):
                return "no server: this is a directory, not a socket"
            if not stat.S_ISSOCK(mode):
                return "no server: this is a file, not a socket"
        return "no server listens there any more"

    def _talk(self, command: dict[str, Any], end: float, longest: int) -> dict[str, Any]:
        """Raises `TimeoutError` and `ConnectionError` of its own, and `OSError` for what is no reply."""
        try:
            # What the other side has said before it closed tells more than that it takes nothing.
            with suppress(ConnectionError):
                self._socket.settimeout(_left(end))
                self._socket.sendall(json.dumps(command).encode() + b"\n")
            return self._reply(self._line(end, longest))
        except BaseException:
            self.close()
            raise

    def _line(self, end: float, longest: int) -> bytes:
        """The next line."""
        line, looked = bytearray(self._rest), 0
        while (end_of_line := line.find(b"\n", looked)) < 0:
            if line.startswith(NBD):
                raise self._failed(errno.EPROTO, "is the socket of the NBD exports, not the control socket")
            if len(line) > longest:
                raise self._failed(errno.EPROTO, f"{FOREIGN}: a line of more than {longest >> 10:,} KiB")
            looked = len(line)
            self._socket.settimeout(_left(end))
            piece = self._socket.recv(1 << 16)
            if not piece:
                raise ConnectionResetError
            line += piece
        self._rest = bytes(line[end_of_line + 1 :])
        return bytes(line[:end_of_line])

    def _reply(self, line: bytes) -> dict[str, Any]:
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._failed(errno.EPROTO, FOREIGN) from error
        match reply:
            case {"ok": True} | {"ok": False, "error": str()}:
                return dict(reply)
        raise self._failed(errno.EPROTO, FOREIGN)


def _left(end: float) -> float:
    """The time until then, or the end of it."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
