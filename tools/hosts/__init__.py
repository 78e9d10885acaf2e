"""Two hosts, one truth: the same work through Linux, and through the models of what it does."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, help=__doc__)

Record = Annotated[Path | None, typer.Option(help="file for all numbers")]


@app.command()
def models(record: Record = None) -> None:
    """Compares boosters, block layer, schedulers, SQLite on file systems. Needs make linux; a quarter of an hour."""
    import ufsim
    from tools.hosts import block, hp_ufs, hpb, map_plus, sqlite
    from tools.records import keep, origin

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


@app.command("apps")
def phone_apps(record: Record = None) -> None:
    """Plays a phone's apps under HPB, FOAM and HPBvalve, in the kernel and in the model. Needs make linux."""
    import ufsim
    from tools.hosts.apps import all_compared
    from tools.records import keep, origin

    rows = all_compared()
    for row in rows:
        print(row)
    keep(record, {**origin(ufsim.__version__), "apps": rows})


@app.command("memory")
def phone_memory(
    record: Record = None,
    system_mib: Annotated[
        int | None, typer.Option(help="the phone that is measured; a record keeps the others")
    ] = None,
) -> None:
    """Lets a phone's memory run short, in the kernel and in the model: pressure and kills. Needs make linux; long."""
    import ufsim
    from tools.hosts.memory import measured
    from tools.records import keep, kept, origin

    found = kept(record)["memory"] if record and record.exists() else []
    for row in measured(system_mib):
        print(row, flush=True)
        found = [one for one in found if any(one[key] != row[key] for key in ("case", "system_mib", "seed"))]
        found.append(row)
        keep(record, {**origin(ufsim.__version__), "memory": found})


@app.command()
def claims(
    record: Record = None,
    only: Annotated[
        str, typer.Option(help="beginning of the claims that are measured; a record keeps the others")
    ] = "",
    traces: Annotated[Path | None, typer.Option(help="folder of the papers' traces, which some claims need")] = None,
) -> None:
    """Measures claims of the papers by the kernel's drivers, and by models. Needs make linux; long."""
    import ufsim
    from tools.hosts.sources import measured
    from tools.records import keep, kept, origin

    own = origin(ufsim.__version__)
    before = kept(record)["claims"] if record and record.exists() else []
    for row in measured(only, traces):
        print(row, flush=True)
        # Rows of several days and versions stand together, and one that is measured again takes the old one's place.
        before = [one for one in before if any(one[key] != row[key] for key in ("claim", "about"))]
        before.append({**row, "version": own["version"], "date": own["date"]})
        keep(record, {**own, "claims": before})
