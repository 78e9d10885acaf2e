"""Metrics for Prometheus, and the dashboard whose queries use them."""

import re
import socket
import sys
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import ufsim
from conftest import ROOT
from live_stats import kind, stats
from test_serve import BLOCK, Client, ctl, serving
from ufsim.live.metrics import FAMILIES, exposition
from ufsim.live.metrics_server import MetricsServer
from ufsim.live.server import Control, Server

DASHBOARD = ROOT / "docs" / "howto" / "grafana.json"
# Label sets by the name of a sample.
Exposed = dict[str, list[dict[str, str]]]


def samples(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    for family in text_string_to_metric_families(text):
        assert family.documentation and family.type != "unknown", family.name
        for sample in family.samples:
            yield sample.name, sample.labels, sample.value


def fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        return str(answer.read().decode())


def test_values_are_those_of_stats() -> None:
    one = stats(
        2.5,
        requests={"read": kind(10, failed=2, mean_us=50.0)},
        host={"booster_hits": 7, "booster_misses": 3, "dram_bytes_used": 1 << 10},
        device={"host_units_written": 5, "gc_units_programmed": 4},
        flash={"gc_read.read": 9},
        flash_busy_ns={"gc_read": 450_000_000},
        cuts=1,
        last_recovery_ns=1_500_000,
        host_dram_bytes=4096,
    )
    found = {
        (name, *sorted(labels.items())): value for name, labels, value in samples(exposition({"x": one})[0].decode())
    }

    def value(name: str, **labels: str) -> float:
        return found["ufsim_" + name, *sorted({"export": "x", **labels}.items())]

    assert value("requests_total", kind="read", result="done") == 10
    assert value("requests_total", kind="read", result="failed") == 2
    assert value("request_bytes_total", kind="read") == 40_960
    assert value("request_latency_seconds_sum", kind="read") == pytest.approx(10 * 50e-6)
    assert value("request_latency_seconds_count", kind="read") == 10
    assert value("request_latency_seconds", kind="read", quantile="0.99") == 150e-6
    assert value("mapping_lookups_total", result="miss") == 3
    assert value("flash_units_programmed_total", content="gc") == 4
    assert value("flash_operations_total", cause="gc_read", kind="read") == 9
    assert (value("flash_busy_seconds_total", cause="gc_read"), value("dies")) == (0.45, 4)
    assert value("host_dram_bytes") == 4096
    assert value("host_cache_limit_bytes") == 64 << 20
    assert value("host_cache_bytes") == 1 << 10
    assert value("last_recovery_seconds") == 0.0015
    assert value("simulated_seconds_total") == 2.5
    assert value("ready") == 1


def test_what_is_not_known_is_absent() -> None:
    names = {name for name, _, _ in samples(exposition({"x": stats(host={"dram_bytes_limit": 0})})[0].decode())}
    assert not names & {"ufsim_host_cache_limit_bytes", "ufsim_last_recovery_seconds", "ufsim_request_latency_seconds"}
    assert "ufsim_request_latency_seconds_count" in names


def test_names_follow_conventions() -> None:
    names = [family.name for family in FAMILIES]
    assert len(set(names)) == len(names)
    for family in FAMILIES:
        assert re.fullmatch(r"ufsim_[a-z_]+", family.name)
        assert not family.name.endswith(("_total", "_ns", "_ms", "_mib")), family.name
        assert family.help.endswith("."), family.name


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> Exposed:
    """What live devices expose that have seen reads, writes and GC."""
    place = tmp_path_factory.mktemp("exposed")
    found: Exposed = defaultdict(list)
    with (
        Server(["ufs", "hp-ufs"], place / "s", speed=None, profile="tiny") as server,
        MetricsServer(server.stats, 0) as metrics,
    ):
        for name in ("ufs", "hp-ufs"):
            client = Client(place / "s", name)
            overwrite(server, client, name)
            client.read(0)
            client.socket.close()
        for name, labels, _ in samples(fetched(metrics.url)):
            found[name].append(labels)
        assert exposition(server.stats())[0].decode() == fetched(metrics.url)
    return found


def overwrite(server: Server, client: Client, export: str) -> None:
    """Writes until GC has moved something."""
    blocks = 64
    for turn in range(10_000):
        block = turn * 7919 * blocks % (client.size // BLOCK - blocks)
        client.write(block, bytes(blocks * BLOCK))
        if turn % 50 == 0 and any(name.startswith("gc_write") for name in server.stats()[export]["flash"]):
            return
    raise AssertionError("no GC")


def test_the_dashboard_asks_for_what_is_exposed(exposed: Exposed) -> None:
    text = DASHBOARD.read_text()
    asked = set(re.findall(r"\bufsim_\w+", text))
    assert asked and asked <= set(exposed)
    labels = {label for label_sets in exposed.values() for one in label_sets for label in one}
    assert set(re.findall(r"{{(\w+)}}", text)) <= labels


def test_the_command_line_prints_and_serves_metrics(tmp_path: Path) -> None:
    said: list[str] = []
    with serving(tmp_path, "--scheme", "ufs,hp-ufs", "--clock", "free", "--metrics", "0", said=said) as process:
        (url,) = said
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", url)
        printed = {(name, *labels.items()) for name, labels, _ in samples(ctl(tmp_path, "metrics"))}
        assert printed == {(name, *labels.items()) for name, labels, _ in samples(fetched(url))}
        one = ctl(tmp_path, "metrics", "--export", "ufs")
        assert {labels["export"] for _, labels, _ in samples(one)} == {"ufs"}
        with pytest.raises(urllib.error.HTTPError, match="404"):
            fetched(url.removesuffix("metrics"))
        with Control(tmp_path / "c") as control:
            control.quit()
        assert process.wait(30) == 0


def test_what_cannot_be_served_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ufsim.ConfigError, match=f"metrics port {port}: .*in use"):
            MetricsServer(dict, port)
    with pytest.raises(ufsim.ConfigError, match="metrics port is 70000"):
        MetricsServer(dict, 70_000)


def test_a_device_that_is_gone_is_unavailable() -> None:
    def gone() -> dict[str, Any]:
        raise ufsim.ConfigError("the device is gone")

    with MetricsServer(gone, 0) as metrics, pytest.raises(urllib.error.HTTPError, match="503"):
        fetched(metrics.url)


def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ufsim.ConfigError, match=r"ufsim\[metrics\]"):
        exposition({})
