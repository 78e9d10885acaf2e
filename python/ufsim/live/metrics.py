"""Metrics of live devices in Prometheus' text format, made from `stats`.

`FAMILIES` is the only list of them: names, help and values. Conventions are those of
https://prometheus.io/docs/practices/naming: base units, `_total` for counters (which the library adds). What is counted
since power-on begins again at 0 with a power cut, which Prometheus' `rate` and `increase` expect of counters.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ufsim import _core
from ufsim.live.top_rates import PROGRAMMED, Stats, cache_limit, total_ns

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

NS_IN_S = 1e9
QUANTILES = {"0.5": "p50_ns", "0.9": "p90_ns", "0.99": "p99_ns", "0.999": "p999_ns"}

# A sample: the end of its name, its labels beside `export`, and its value.
Sample = tuple[str, Mapping[str, str], float]


@dataclass(frozen=True)
class Family:
    """A metric of each export."""

    name: str
    # As Prometheus names it: counter, gauge or summary.
    kind: str
    # One sentence, with the unit.
    help: str
    samples: Callable[[Stats], Iterable[Sample]]


def value(of: Callable[[Stats], float | None]) -> Callable[[Stats], Iterator[Sample]]:
    """The only sample of a family; none if there is no value."""

    def samples(stats: Stats) -> Iterator[Sample]:
        found = of(stats)
        if found is not None:
            yield "", {}, float(found)

    return samples


def results(stats: Stats) -> Iterator[Sample]:
    """Requests by kind and result."""
    for kind, of in stats["requests"].items():
        for result in ("done", "failed"):
            yield "", {"kind": kind, "result": result}, of[result]


def request_bytes(stats: Stats) -> Iterator[Sample]:
    """Bytes of requests by kind."""
    for kind, of in stats["requests"].items():
        yield "", {"kind": kind}, of["bytes"]


def latencies(stats: Stats) -> Iterator[Sample]:
    """Quantiles, sum and number of latencies by kind; no quantiles of nothing."""
    for kind, of in stats["requests"].items():
        if of["done"]:
            yield from quantiles(of["latency"], {"kind": kind})
        yield "_sum", {"kind": kind}, total_ns(of) / NS_IN_S
        yield "_count", {"kind": kind}, of["done"]


def lateness(stats: Stats) -> Iterator[Sample]:
    """Quantiles by which replies were late."""
    if stats["lateness"] is not None:
        yield from quantiles(stats["lateness"], {})


def quantiles(times: Mapping[str, float], labels: Mapping[str, str]) -> Iterator[Sample]:
    """The quantiles that there are, in seconds."""
    for quantile, key in QUANTILES.items():
        yield "", {**labels, "quantile": quantile}, times[key] / NS_IN_S


def lookups(stats: Stats) -> Iterator[Sample]:
    """Parts of reads by whether the host had their mapping."""
    yield "", {"result": "hit"}, stats["host"]["booster_hits"]
    yield "", {"result": "miss"}, stats["host"]["booster_misses"]


def programmed(stats: Stats) -> Iterator[Sample]:
    """Programmed units by content."""
    for content, counter in PROGRAMMED.items():
        yield "", {"content": content}, stats["device"][counter]


def busy(stats: Stats) -> Iterator[Sample]:
    """Time of dies by what flash operations are for."""
    for cause, busy_ns in stats["flash_busy_ns"].items():
        yield "", {"cause": cause}, busy_ns / NS_IN_S


def operations(stats: Stats) -> Iterator[Sample]:
    """Flash operations by cause and kind."""
    for name, count in stats["flash"].items():
        cause, kind = name.split(".")
        yield "", {"cause": cause, "kind": kind}, count


FAMILIES = (
    Family("ufsim_requests", "counter", "Requests that have ended, since the server's start.", results),
    Family(
        "ufsim_request_bytes",
        "counter",
        "Bytes of requests that have ended well, since the server's start.",
        request_bytes,
    ),
    Family(
        "ufsim_request_latency_seconds",
        "summary",
        "Simulated latency in seconds of requests that have ended well, since the server's start.",
        latencies,
    ),
    Family(
        "ufsim_reply_lateness_seconds",
        "summary",
        "Seconds by which replies left later than the real clock wanted, since the server's start.",
        lateness,
    ),
    Family("ufsim_requests_outstanding", "gauge", "Requests under way.", value(lambda of: of["outstanding"])),
    Family("ufsim_connections", "gauge", "Connections of clients.", value(lambda of: of["connections"])),
    Family(
        "ufsim_mapping_lookups",
        "counter",
        "Parts of reads that looked for their mapping in host DRAM, since power-on.",
        lookups,
    ),
    Family(
        "ufsim_host_units_written",
        "counter",
        "Units of 4096 bytes that the device has accepted from the host, since power-on.",
        value(lambda of: of["device"]["host_units_written"]),
    ),
    Family(
        "ufsim_flash_units_programmed",
        "counter",
        "Units of 4096 bytes programmed to flash, by content, since power-on.",
        programmed,
    ),
    Family("ufsim_flash_operations", "counter", "Flash operations by cause and kind, since power-on.", operations),
    Family(
        "ufsim_flash_busy_seconds",
        "counter",
        "Simulated seconds that flash operations have occupied dies, by cause, summed over dies, since power-on.",
        busy,
    ),
    Family("ufsim_dies", "gauge", "Dies of the flash.", value(lambda of: of["dies"])),
    Family(
        "ufsim_host_dram_bytes",
        "gauge",
        "Bytes of host DRAM that the driver takes for mappings: cached ones, and what it keeps beside them.",
        value(lambda of: of["host_dram_bytes"]),
    ),
    Family(
        "ufsim_host_cache_bytes",
        "gauge",
        "Bytes of host DRAM that cached mappings take.",
        value(lambda of: of["host"]["dram_bytes_used"]),
    ),
    Family(
        "ufsim_host_cache_limit_bytes",
        "gauge",
        "Bytes of host DRAM that cached mappings may take; absent where the host caches none.",
        value(cache_limit),
    ),
    Family("ufsim_power_cuts", "counter", "Power cuts since the server's start.", value(lambda of: of["cuts"])),
    Family("ufsim_ready", "gauge", "1 if the device is ready, 0 while it recovers.", value(lambda of: of["ready"])),
    Family(
        "ufsim_last_recovery_seconds",
        "gauge",
        "Simulated seconds that the last recovery took; absent before the first power cut.",
        value(lambda of: of["last_recovery_ns"] / NS_IN_S if of["cuts"] else None),
    ),
    Family(
        "ufsim_simulated_seconds",
        "counter",
        "Simulated seconds that have passed.",
        value(lambda of: of["sim_ns"] / NS_IN_S),
    ),
    Family("ufsim_capacity_bytes", "gauge", "Size of the device in bytes.", value(lambda of: of["capacity_bytes"])),
)


def library(module: str = "prometheus_client") -> Any:
    """A module of the library for Prometheus' formats. Raises `ConfigError` if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise _core.ConfigError("metrics need the package prometheus_client: pip install 'ufsim[metrics]'") from error


class Collector:
    """Gives all metrics of exports, as the library's registry asks for them."""

    def __init__(self, exports: Mapping[str, Stats]) -> None:
        self._exports = exports

    def collect(self) -> Iterator["Metric"]:
        """The families that have samples."""
        metric_type = library("prometheus_client.metrics_core").Metric
        for family in FAMILIES:
            metric = metric_type(family.name, family.help, family.kind)
            for export, stats in self._exports.items():
                for suffix, labels, number in family.samples(stats):
                    end = "_total" if family.kind == "counter" else suffix
                    metric.add_sample(family.name + end, {"export": export, **labels}, number)
            if metric.samples:
                yield metric


def exposition(exports: Mapping[str, Stats], accept: str = "") -> tuple[bytes, str]:
    """The metrics of exports, and their content type: the newest format that a client accepts (a header of HTTP)."""
    registry = library().CollectorRegistry()
    registry.register(Collector(exports))
    encode, content_type = library("prometheus_client.exposition").choose_encoder(accept)
    return encode(registry), content_type
