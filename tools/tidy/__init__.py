"""What a formatter or linter does not see, checked over all files that git knows."""

import typer

from tools.project import ROOT, failed
from tools.tidy.checks import ACCEPTED, Tree, findings

app = typer.Typer(add_completion=False)


@app.command(help=__doc__)
def tidy() -> None:
    left = findings(Tree.of(ROOT), ACCEPTED)
    for finding in left:
        print(finding)
    if left:
        failed(f"{len(left)} findings")
