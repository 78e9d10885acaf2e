"""An HTTP server of metrics, for Prometheus on the same machine."""

import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from ufsim import _core
from ufsim.live import metrics
from ufsim.live.top_rates import Stats
from ufsim.names import check_range

# There is no access control, so nobody else may connect.
ADDRESS = "127.0.0.1"
PATH = "/metrics"


class MetricsServer:
    """Answers `GET /metrics` on a port of 127.0.0.1 (0: any) while it is entered.

    `stats` is asked for the state of all exports at each request.
    """

    def __init__(self, stats: Callable[[], Mapping[str, Stats]], port: int) -> None:
        check_range("metrics port", port, 0, 65_535)
        metrics.library()

        class Answers(Handler):
            look = staticmethod(stats)

        try:
            self._http = QuietServer((ADDRESS, port), Answers)
        except OSError as error:
            raise _core.ConfigError(f"metrics port {port}: {error.strerror}") from error
        self._thread = threading.Thread(target=self._http.serve_forever, name="ufsim-metrics", daemon=True)

    @property
    def url(self) -> str:
        """Where the metrics are."""
        return f"http://{ADDRESS}:{self._http.server_port}{PATH}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class QuietServer(ThreadingHTTPServer):
    """Says nothing of clients that have gone: standard error is for what concerns the devices."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Tells of defects alone."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    look: Callable[[], Mapping[str, Stats]]
    # A client that says nothing does not keep the server from ending.
    timeout = 10

    def do_GET(self) -> None:
        """Metrics; 404 for other paths, 503 if the devices are gone."""
        if self.path.partition("?")[0] != PATH:
            self.send_error(404, explain=f"The metrics are at {PATH}")
            return
        try:
            body, content_type = metrics.exposition(self.look(), self.headers.get("Accept", ""))
        except (ValueError, OSError) as error:
            self.send_error(503, explain=str(error))
            return
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing, for the same reason."""
