"""Linux and the models of what it does, side by side, as docs/explanation/two-hosts.md shows them."""

from collections.abc import Callable
from typing import Any

from tools.docs import hosts_memory
from tools.docs.measured import DATA, of_version
from tools.records import kept
from ufsim_papers.markdown import code, table

Row = dict[str, Any]
TIMES = ("mean_us", "p99_us")


def hpb(rows: list[Row]) -> str:
    """Counters of `ufshpb`: the same number, or the range over the phases."""
    cells = [
        [one["control"], code(one["counter"]), *(span(one[host], "{:,.0f}") for host in ("kernel", "model"))]
        for one in rows
    ]
    return table(("who decides", "counter", "driver>", "model>"), cells)


def hp_ufs(rows: list[Row]) -> str:
    """Counters of HP-UFS's host."""
    cells = [[code(one["counter"]), f"{one['kernel']:,}", f"{one['model']:,}"] for one in rows]
    return table(("counter", "driver>", "model>"), cells)


def counted(rows: list[Row]) -> str:
    """Requests or commands that come out."""
    cells = [[one["case"], *(f"{one[key]:,}" for key in ("queued", "kernel", "model") if key in one)] for one in rows]
    queued = ["bios>"] if "queued" in rows[0] else []
    return table(("job", *queued, "Linux>", "model>"), cells)


def orders(rows: list[Row]) -> str:
    """What mq-deadline makes of the order."""
    cells = [
        [one["case"], who, f"{one[key]['up']:.1%}", f"{one[key]['turns']:.1%}"]
        for one in rows
        for who, key in (("as they arrive", "arrived"), ("Linux", "kernel"), ("model", "model"))
    ]
    return table(("job", "order", "to a higher address>", "to the other direction>"), cells)


def schedulers(rows: list[Row]) -> str:
    """What the schedulers of MAP+ count, Linux / model, and how many reads they send at the same place."""
    names = ("prioritised", "batches", "notices")

    def counted_by_both(one: Row, name: str) -> str:
        return f"{one['kernel'][name]:,} / {one['model'][name]:,}" if name in one["kernel"] else ""

    cells = [
        [code(one["scheduler"]), *(counted_by_both(one, name) for name in names), f"{one['same']:.1%}"] for one in rows
    ]
    return table(("scheduler", *(f"{name}>" for name in names), "at the same place>"), cells)


def sqlite(rows: list[Row]) -> str:
    """What a transaction takes and asks for: Linux / model."""
    cells = []
    for one in rows:
        hosts = [one[host] for host in ("kernel", "model")]
        asked = [" / ".join(f"{host[key]:.2f}" for host in hosts) for key in ("writes", "fua", "flushes")]
        means, tails = ([span([us / 1e3 for us in host[key]], "{:.2f}") for host in hosts] for key in TIMES)
        cells.append([one["fs"], one["mode"], one["operation"], one["scheme"], *asked, *means, *tails])
    times = ("Linux mean ms>", "model mean ms>", "Linux p99 ms>", "model p99 ms>")
    heads = ("file system", "journal", "operation", "scheme", "writes>", "FUA>", "flushes>", *times)
    return table(heads, cells)


def apps(rows: list[Row]) -> str:
    """HPB policies on a phone's apps: launches, hits by who reads, fetches, what was given back. Linux / model."""
    cells = []
    for one in rows:
        hosts = [one[host] for host in ("kernel", "model")]
        shares = [pair(hosts, name, "{:.1%}") for name in ("launch", "front", "other", "hits")]
        times, fetches = pair(hosts, "launch_ms", "{:.1f}"), pair(hosts, "fetches", "{:,}")
        back = pair([{"mib": host.get("hpbvalve_reclaimed_bytes", 0) / 2**20} for host in hosts], "mib", "{:.1f}")
        cells.append([one["case"], times, *shares, fetches, back])
    hits = ("hits in launches>", "of the app in front>", "of others>", "of all>")
    return table(("scheme", "reads of a launch, ms>", *hits, "fetches>", "given back, MiB>"), cells)


def pair(hosts: list[Row], name: str, form: str) -> str:
    """Linux / model, if that is counted."""
    return " / ".join(form.format(host[name]) for host in hosts) if name in hosts[0] else ""


def span(values: list[float], form: str) -> str:
    """A number, or the least and the largest."""
    texts = dict.fromkeys((form.format(min(values)), form.format(max(values))))
    return " to ".join(texts)


def claims(paper: str) -> str:
    """Claims of a paper as drivers and schedulers of the kernel show them, beside the models on the same jobs."""
    record, of_memory = kept(DATA / "kernel-claims.json"), kept(DATA / RECORDS["memory"])
    found = record["claims"] + [{**of_memory, **one} for one in hosts_memory.claims(of_memory["memory"])]
    own = [one for one in found if one["claim"].startswith(f"{paper}.")]
    cells = [
        [
            code(one["claim"]),
            one["about"],
            f"{one['of']} over {one['over']}",
            *(span(one[host], "{:z.1f}") for host in ("kernel", "model")),
            str(len(one["kernel"])),
        ]
        for one in own
    ]
    heads = ("claim", "case", "gain, or cut of a latency, in per cent", "Linux>", "models>", "seeds>")
    told = dict.fromkeys(of_version({**record, **one}) for one in own)
    return table(heads, cells) + f"\nMeasured with {'; '.join(told)}.\n"


PARTS: dict[str, Callable[[list[Row]], str]] = {
    "hpb": hpb,
    "hp_ufs": hp_ufs,
    "splits": counted,
    "merges": counted,
    "orders": orders,
    "schedulers": schedulers,
    "sqlite": sqlite,
    "apps": apps,
    "memory": hosts_memory.shown,
}
#: What has a record of its own.
RECORDS = {"apps": "two-hosts-apps.json", "memory": "two-hosts-memory.json"}


def part(name: str) -> str:
    """A table of the page."""
    record = kept(DATA / RECORDS.get(name, "two-hosts.json"))
    return PARTS[name](record[name]) + (
        f"\n{of_version(record).capitalize()}.\n" if name in ("sqlite", *RECORDS) else ""
    )
