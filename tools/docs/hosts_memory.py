"""A phone's memory in the kernel and in the model: what `tools hosts memory` has measured, and claims of it."""

from collections.abc import Callable, Sequence
from math import nan
from statistics import mean
from typing import Any

from tools.hosts.memory import SHORT_MIB
from ufsim_papers.markdown import code, table

Row = dict[str, Any]
#: A number of one host, from its runs of two schemes.
Compared = Callable[[Row, Row], float]
HOSTS = ("kernel", "model")


def shown(rows: list[Row]) -> str:
    """Kills, and what launches come to: Linux and model, over the orders of apps."""
    columns: tuple[tuple[str, str, str], ...] = (
        ("cold launches>", "cold", "{:.0f}"),
        ("kills of apps>", "kills_of_apps", "{:.0f}"),
        ("of services>", "kills_of_services", "{:.0f}"),
        ("spared>", "spared", "{:.0f}"),
        ("given back, MiB>", "reclaimed_mib", "{:.0f}"),
        ("launch, ms>", "launch_ms", "{:.0f}"),
        ("reads in front>", "front_reads", "{:,.0f}"),
        ("waited for memory, s>", "some_ms", "{:.1f}"),
    )
    cells = []
    for system_mib in dict.fromkeys(row["system_mib"] for row in rows):
        phone = [row for row in rows if row["system_mib"] == system_mib]
        for case in dict.fromkeys(row["case"] for row in phone):
            for host, name in zip(HOSTS, ("Linux", "model"), strict=True):
                numbers = (span(phone, case, host, *one[1:]) for one in columns)
                cells.append([f"{system_mib:,}", code(case), name, *numbers])
    return table(("system, MiB>", "scheme", "host", *(head for head, *_ in columns)), cells)


def span(rows: list[Row], case: str, host: str, name: str, form: str) -> str:
    """A number, or the least and the largest over the sequences; nothing if that host does not count it."""
    values = [row[host][name] for row in rows if row["case"] == case and name in row[host]]
    if name == "some_ms":
        values = [value / 1e3 for value in values]
    return " to ".join(dict.fromkeys(form.format(value) for value in (min(values), max(values)))) if values else ""


def gain(name: str) -> Compared:
    """How much less the first has than the second, in per cent of the first."""
    return lambda ours, theirs: (theirs[name] / ours[name] - 1) * 100


def cut(name: str) -> Compared:
    """How much less the first has than the second, in per cent of the second."""
    return lambda ours, theirs: (1 - ours[name] / theirs[name]) * 100


def over(name: str) -> Compared:
    """How much more the first has than the second, in per cent of the second."""
    return lambda ours, theirs: (ours[name] / theirs[name] - 1) * 100


def of_apps(pick: Callable[[list[float]], float], measure: Compared, only: Sequence[str] = ()) -> Compared:
    """One number of those of all apps, or of some; an app that has none in a run is left out."""

    def picked(ours: Row, theirs: Row) -> float:
        names = only or sorted(ours["apps"])
        values = [
            one for name in names if (one := of_app(measure, ours["apps"][name], theirs["apps"][name])) is not None
        ]
        return pick(values) if values else nan

    return picked


def of_app(measure: Compared, ours: Row, theirs: Row) -> float | None:
    """A number of an app; none without such launches, and without misses of the opponent."""
    try:
        return measure(ours, theirs)
    except (TypeError, ZeroDivisionError):
        return None


def fewer_misses(name: str) -> Compared:
    """Misses for each read of a phase, in per cent of the opponent's."""
    return lambda ours, theirs: (1 - missed(ours[name]) / missed(theirs[name])) * 100


def more_hits(ours: Row, theirs: Row) -> float:
    """Hits of the app in front, in points."""
    return (missed(theirs["front"]) - missed(ours["front"])) * 100


def missed(counts: tuple[int, int]) -> float:
    """Share of misses among hits and misses."""
    return counts[1] / sum(counts)


#: Those of which Fig. 14 shows the first tenth.
FIRST_TENTH = ("AP", "CR", "UB", "IG")
#: Claim, what is shown of it, whose, over whom. UFS+HPB is `foam`, Optimal `ideal`.
CLAIMS: tuple[tuple[str, str, str, str, Compared], ...] = (
    ("hpbvalve.f13.launch", "cold launches, mean of the apps", "hpbvalve", "foam", of_apps(mean, gain("cold_ms"))),
    ("hpbvalve.f13.launch", "cold launches, the furthest app", "hpbvalve", "ideal", of_apps(max, over("cold_ms"))),
    ("hpbvalve.f13.switching", "warm launches, mean of the apps", "hpbvalve", "foam", of_apps(mean, gain("warm_ms"))),
    ("hpbvalve.f13.switching", "warm launches, the furthest app", "hpbvalve", "ideal", of_apps(max, over("warm_ms"))),
    ("hpbvalve.f13.switching", "warm launches, the furthest app", "foam", "ideal", of_apps(max, over("warm_ms"))),
    ("hpbvalve.f13.loading", "loading behind a launch, mean", "hpbvalve", "foam", gain("loading_ms")),
    ("hpbvalve.f14.first-tenth", "misses, cut, best app", "hpbvalve", "foam", of_apps(max, fewer_misses("front"))),
    (
        "hpbvalve.f14.first-tenth",
        "in launches, best of AP, CR, UB, IG",
        "hpbvalve",
        "foam",
        of_apps(max, fewer_misses("launch"), FIRST_TENTH),
    ),
    (
        "hpbvalve.f14.first-tenth",
        "in launches, least of AP, CR, UB, IG",
        "hpbvalve",
        "foam",
        of_apps(min, fewer_misses("launch"), FIRST_TENTH),
    ),
    ("hpbvalve.f15.hit-ratio", "hits in front, points, most of an app", "hpbvalve", "foam", of_apps(max, more_hits)),
    ("hpbvalve.f15.hit-ratio", "hits in front, points, least of an app", "hpbvalve", "foam", of_apps(min, more_hits)),
    ("hpbvalve.f16.kills", "kills of opened apps, cut", "hpbvalve", "foam", cut("kills_of_apps")),
    ("hpbvalve.f16.kills-vs-ufs", "kills of opened apps, more", "foam", "ufs", over("kills_of_apps")),
    ("hpbvalve.f16.reads", "reads in front, more", "hpbvalve", "ufs", over("front_reads")),
    ("hpbvalve.f16.reads", "reads in front, more", "foam", "ufs", over("front_reads")),
)


def claims(rows: list[Row]) -> list[Row]:
    """The claims on the phone where not all apps fit, as rows of kernel-claims.json: a value for each order."""
    runs = {(row["case"], row["seed"]): row for row in rows if row["system_mib"] == SHORT_MIB}
    seeds = list(dict.fromkeys(seed for _, seed in runs))
    return [
        {
            "claim": claim,
            "about": about,
            "of": of,
            "over": opponent,
            **{host: [measure(runs[of, seed][host], runs[opponent, seed][host]) for seed in seeds] for host in HOSTS},
        }
        for claim, about, of, opponent, measure in CLAIMS
    ]
