"""Two hosts, one truth: the same work through Linux, and through the models of what it does."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, help=__doc__)


@app.command()
def hosts(
    record: Annotated[Path | None, typer.Option(help="file for all numbers")] = None,
    only_apps: Annotated[
        bool, typer.Option("--apps", help="HPBvalve on a phone's apps alone, which has a record of its own")
    ] = False,
) -> None:
    """Compares boosters, block layer, schedulers, SQLite on file systems. Needs make linux; a quarter of an hour."""
    import ufsim
    from tools.hosts import apps, block, hp_ufs, hpb, map_plus, sqlite
    from tools.records import keep, origin

    if only_apps:
        rows = apps.all_compared()
        for row in rows:
            print("apps", row)
        keep(record, {**origin(ufsim.__version__), "apps": rows})
        return
    found = {
        "hpb": [row for control in ("device", "host") for row in hpb.both(control)],
        "hp_ufs": hp_ufs.counted(),
        "splits": [block.split(rw, size) for rw in ("read", "write") for size in ("4k", "128k", "512k", "1m", "4m")],
        "merges": [block.merged(case) for case in block.MERGES],
        "orders": [block.ordered(case) for case in block.ORDERS],
        "schedulers": map_plus.all_compared(),
        "sqlite": sqlite.all_compared(),
    }
    for name, rows in found.items():
        for row in rows:
            print(name, row)
    keep(record, {**origin(ufsim.__version__), "transactions": sqlite.TRANSACTIONS, **found})
