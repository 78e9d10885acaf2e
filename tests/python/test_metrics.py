"""Metrics for Prometheus, and the dashboard whose queries use them."""

import json
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
from promql import Use, uses
from test_serve import BLOCK, Client, ctl, serving
from ufsim.live import Control, Server
from ufsim.metrics import FAMILIES, exposition
from ufsim.metrics_server import MetricsServer

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


def queries() -> list[tuple[str, str]]:
    """Title of a panel and query."""
    dashboard: dict[str, Any] = json.loads(DASHBOARD.read_text())
    return [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel["targets"]]


@pytest.mark.parametrize(("title", "query"), queries())
def test_queries_use_what_is_exposed(exposed: Exposed, title: str, query: str) -> None:
    found = uses(query)
    assert found, title
    for use in found:
        assert use.metric in exposed, f"{title}: there is no {use.metric}"
        check_labels(use, exposed[use.metric])


def check_labels(use: Use, label_sets: list[dict[str, str]]) -> None:
    """Labels that are grouped by are there, and so is every value that is asked for."""
    known = {label for labels in label_sets for label in labels}
    assert use.grouped_by <= known and use.joined_on <= (use.grouped_by or known), use
    for label, operator, pattern in use.matchers:
        assert label in known, f"{use.metric} has no label {label}"
        if not pattern.startswith("$"):
            assert operator in ("=", "=~")
            values = {labels.get(label, "") for labels in label_sets}
            assert set(pattern.split("|")) <= values, f"{use.metric}: {label} is never {pattern}"


def test_variables_and_legends_of_the_dashboard_are_known(exposed: Exposed) -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    variables = {one["name"]: one for one in dashboard["templating"]["list"]}
    asked = re.fullmatch(r"label_values\((\w+), (\w+)\)", variables["export"]["query"]["query"])
    assert asked is not None
    metric, label = asked.groups()
    assert all(label in labels for labels in exposed[metric]) and exposed[metric]
    for name in re.findall(r"\$\{?(\w+)", DASHBOARD.read_text()):
        assert name in variables or name == "__rate_interval", name
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            labels = set.intersection(*(set(labels) for use in uses(target["expr"]) for labels in exposed[use.metric]))
            # The left side of a division has all labels that are left.
            left = uses(target["expr"])[0].grouped_by or labels
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= left, panel["title"]


@pytest.mark.parametrize(
    "wrong", ["sum by (export", "rate(a[5x])", "a b", "a{b}", "a{b=1}", "count(a)", "a ==", 'a{b="c"', "(a", ""]
)
def test_the_reader_of_queries_refuses(wrong: str) -> None:
    with pytest.raises(ValueError):
        uses(wrong)


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
