"""The packages of a release."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

Profile = Annotated[str, typer.Option(help="cargo profile of the wheel; dev compiles faster")]


@app.command()
def build(profile: Profile = "release") -> None:
    """Wheel and sdist in out/dist, the wheel optimised by a profile.

    auditwheel names the platform, twine checks the texts.
    """
    from tools.release import wheel

    wheel.build(profile)


@app.command()
def forge() -> None:
    """Notes, tag and sums beside the packages, as a forge asks for them. CHANGELOG.md has to name the version."""
    from tools.release.forge import write

    write()


@app.command("try")
def try_it(
    wheel: Annotated[Path | None, typer.Argument(exists=True, resolve_path=True)] = None,
    profile: Profile = "release",
    features: Annotated[str, typer.Option(help="of crates/py/Cargo.toml")] = "",
) -> None:
    """The wheel in an empty environment: no compiler, no network, nothing of the project.

    Without a file it is made of what `make install` has compiled.
    """
    from tools.release.wheel import try_wheel

    try_wheel(wheel, profile, features)


@app.command()
def sdist() -> None:
    """The sdist builds the same package from nothing but itself (long)."""
    from tools.release.wheel import check_sdist

    check_sdist()
