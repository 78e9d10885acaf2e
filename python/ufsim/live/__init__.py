"""Live devices: their server, its control socket, and what it tells."""

from ufsim.live.server import Control, Server

__all__ = ["Control", "Server"]
