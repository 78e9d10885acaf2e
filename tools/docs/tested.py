"""What long tests have met, as pages show it: the soaks and the search of all orders."""

from typing import Any

from tools.docs.measured import DATA, of_version
from tools.records import kept
from ufsim import schemes as schemes_of_today
from ufsim.cli.progress import clock
from ufsim_papers.markdown import code, table


def soak() -> str:
    """Where the soak ran and what it met."""
    record = kept(DATA / "soak.json")
    schemes = (
        [code(name), f"{one['cases']:,}", f"{one['cuts']:,}", f"{one['longest_recovery_ms']:.0f}"]
        for name, one in record["schemes"].items()
    )
    newer = [code(one["name"]) for one in schemes_of_today() if one["name"] not in record["schemes"]]
    moments = ([name, f"{count:,}"] for kind in ("moments", "circumstances") for name, count in record[kind].items())
    return "\n".join(
        [
            told(record, f"{record['cuts']:,} power cuts"),
            table(("the device was doing, or what else was going on", "power cuts>"), moments),
            table(("scheme", "cases>", "power cuts>", "longest recovery ms>"), schemes),
            *([f"Not in it are schemes that are newer than it: {', '.join(newer)}.\n"] if newer else []),
        ]
    )


def whole() -> str:
    """What the simulation of the whole met."""
    record = kept(DATA / "whole.json")
    length = f"{record['steps']:,} steps, {record['requests']:,} requests, {record['checked_units']:,} units compared"
    ends, faults = (
        table((what, "times>"), ([name, f"{count:,}"] for name, count in record[kind].items()))
        for what, kind in (("how servers and devices ended", "moments"), ("what else happened", "circumstances"))
    )
    return "\n".join([told(record, length), ends, faults])


def fio_jobs() -> str:
    """What 400 job files gave under fio and here, and why some gave something else."""
    record = kept(DATA / "fio-jobs.json")
    same = ("equal", "equal, in the same order", "refused by both")
    rows = []
    reasons: dict[str, int] = {}
    for family, found in record["families"].items():
        counts = [sum(found.get(one, 0) for one in which) for which in (same[:2], same[1:2], same[2:])]
        others = {why: count for why, count in found.items() if why not in same}
        for why, count in others.items():
            reasons[why] = reasons.get(why, 0) + count
        rows.append([code(family) if "=" in family else family, *map(str, (*counts, sum(others.values())))])
    total = sum(sum(found.values()) for found in record["families"].values())
    return "\n".join(
        [
            f"{total} jobs of {len(rows)} families of options, under {record['fio']} and under ufsim, "
            f"{of_version(record)} (`python -m tools fio_jobs`):\n",
            table(("jobs with", "equal>", "of them in the same order>", "refused by both>", "different>"), rows),
            table(("why jobs differ", "jobs>"), ([why, str(count)] for why, count in reasons.items())),
        ]
    )


def told(record: dict[str, Any], what: str) -> str:
    """How long it was, and where it ran."""
    return (
        f"{what} in {record['runs']:,} cases, seeds {record['first_seed']} to {record['last_seed']}, "
        f"{clock(record['seconds'])}: {len(record['failures'])} failures ({of_version(record)}).\n"
    )


def condensed(result: dict[str, Any]) -> dict[str, Any]:
    """What pages show of the result of `make explore`."""
    counts = ("scheme", "sabotage", "states", "steps", "cuts", "surveys", "depth")
    searches = [
        {
            **{key: one[key] for key in counts},
            "seconds": round(one["seconds"]),
            # Requests and power cuts within which every state was seen.
            "complete": [[done["level"]["requests"], done["level"]["cuts"]] for done in one["complete"]],
            "example": len(one["failure"]["steps"]) if one["failure"] else None,
        }
        for one in result["searches"]
    ]
    return {"searches": searches, "beyond": result["beyond"]}


def explored() -> str:
    """What `make explore` has seen and found."""
    record = kept(DATA / "explore.json")
    between = "Steps of the example found, for each promise that the device was made to break:"
    searches = record["searches"]
    correct, broken = ([one for one in searches if (one["sabotage"] is None) == right] for right in (True, False))
    return f"{states(correct)}\n{between}\n\n{sabotages(broken)}\n{beyond(record['beyond'])}"


def states(searches: list[dict[str, Any]]) -> str:
    """States and depth of the searches of correct devices."""
    rows = (
        [
            code(one["scheme"]),
            *(f"{one[key]:,}" for key in ("states", "steps", "cuts", "surveys", "depth", "seconds")),
            "; ".join(f"{requests} and {cuts}" for requests, cuts in one["complete"]) or "none",
        ]
        for one in searches
    )
    head = ("scheme", "states>", "steps>", "power cuts>", "read after a cut>", "depth>", "s>", "all of")
    return table(head, rows)


def sabotages(searches: list[dict[str, Any]]) -> str:
    """With how many steps each sabotage was found under each scheme."""
    schemes = list(dict.fromkeys(one["scheme"] for one in searches))
    names = list(dict.fromkeys(one["sabotage"] for one in searches))
    steps = {(one["sabotage"], one["scheme"]): str(one["example"] or "-") for one in searches}
    body = ([code(name), *(steps.get((name, scheme), "") for scheme in schemes)] for name in names)
    return table(("sabotage", *(f"{code(scheme)}>" for scheme in schemes)), body)


def beyond(searches: list[dict[str, Any]]) -> str:
    """The sabotages that no search of this size can show, with the reason."""
    return table(("sabotage", "why it is not searched for"), ([code(one["sabotage"]), one["why"]] for one in searches))
