"""Changes what a branch has changed once more, place by place, and tells which of these changes no test notices.

cargo-mutants makes the changes. For each, the tests of the crate run, and for driver and firmware those of crate
`campaign` as well. Files that a registration macro declares are not seen by cargo-mutants; they are named.
"""

from typing import Annotated

import typer

from tools.changes import fork_point, metadata, owners
from tools.project import ROOT, cargo_tool, output, run

app = typer.Typer(add_completion=False)

VERSION = "27.1.0"
CAMPAIGN = "ufsim-campaign"
PLACE = ROOT / "out" / "mutants"


@app.command(help=__doc__)
def mutants(base: Annotated[str | None, typer.Option(help="commit to compare with")] = None) -> None:
    base = base or fork_point()
    changed = output("git", "diff", "--name-only", base, "--", "crates/*/src/*.rs").split()
    if not changed:
        print(f"no crate has changed since {base[:10]}")
        return
    PLACE.mkdir(parents=True, exist_ok=True)
    diff = PLACE / "changes.diff"
    diff.write_text(output("git", "diff", base, "--", *changed), encoding="utf-8")
    environment = {"PATH": cargo_tool("cargo-mutants", VERSION)}
    seen = output("cargo", "mutants", "--list-files", environment=environment).split()
    if unseen := sorted(set(changed) - set(seen)):
        print(f"not seen by cargo-mutants: {', '.join(unseen)}")
    tested = [word for package in packages(changed) for word in ("--test-package", package)]
    run("cargo", "mutants", "--in-diff", diff, "--output", PLACE, *tested, environment=environment)


def packages(changed: list[str]) -> list[str]:
    """The crates whose tests have to notice."""
    workspace = metadata()
    own = owners(changed, workspace)
    (campaign,) = (package for package in workspace["packages"] if package["name"] == CAMPAIGN)
    driven = {dependency["name"] for dependency in campaign["dependencies"]}
    return sorted(own | ({CAMPAIGN} if own & driven else set()))
