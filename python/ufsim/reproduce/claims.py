"""What the papers claim, and what became of it."""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Verdict = Literal["hit", "miss", "not yet"]


@dataclass(frozen=True)
class Claim:
    """A claim of a paper. `band` is `None` for an ordering or a shape, which holds or does not."""

    id: str
    paper: str
    where: str
    claim: str
    value: float | bool
    unit: str
    band: tuple[float, float] | None
    setup: str

    def paper_value(self) -> str:
        """The paper's value with its unit."""
        return "holds" if isinstance(self.value, bool) else with_unit(float(self.value), self.unit)

    def band_text(self) -> str:
        """The band with its unit."""
        return "" if self.band is None else f"{self.band[0]:g} .. {self.band[1]:g}"


@dataclass(frozen=True)
class Measured:
    """A measured value of a claim, or of a part of it (a thread count, a kind of access).

    `band` replaces the claim's band for a part that has its own; `reason` says why a miss is one, as far as that is
    known.
    """

    claim: str
    value: float | bool
    part: str = ""
    band: tuple[float, float] | None = None
    reason: str = ""


@dataclass
class Outcome:
    """A claim with everything that was measured for it."""

    claim: Claim
    parts: list[Measured] = field(default_factory=list)

    def band(self, part: Measured) -> tuple[float, float] | None:
        """The band that counts for a part."""
        return part.band or self.claim.band

    def holds(self, part: Measured) -> bool:
        """Is the part inside its band?"""
        band = self.band(part)
        if isinstance(part.value, bool) or band is None:
            return bool(part.value)
        return band[0] <= part.value <= band[1]

    @property
    def verdict(self) -> Verdict:
        """Hit only if every part is."""
        if not self.parts:
            return "not yet"
        return "hit" if all(self.holds(part) for part in self.parts) else "miss"

    def text(self, part: Measured) -> str:
        """A part's value with its unit."""
        if isinstance(part.value, bool):
            return "holds" if part.value else "does not hold"
        return with_unit(part.value, self.claim.unit)

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        parts = [
            {"part": part.part, "value": part.value, "band": self.band(part), "hit": self.holds(part)}
            | ({"reason": part.reason} if part.reason and not self.holds(part) else {})
            for part in self.parts
        ]
        claim = self.claim
        return {
            "id": claim.id,
            "paper": claim.paper,
            "where": claim.where,
            "claim": claim.claim,
            "unit": claim.unit,
            "paper_value": claim.value,
            "band": claim.band,
            "verdict": self.verdict,
            "measured": parts,
        }


@cache
def load_claims() -> tuple[Claim, ...]:
    """All claims of the five papers, in the order of the data."""
    text = files("ufsim").joinpath("data", "claims.toml").read_text()
    return tuple(
        Claim(
            id=entry["id"],
            paper=entry["paper"],
            where=entry["where"],
            claim=entry["claim"],
            value=entry["value"],
            unit=entry["unit"],
            band=tuple(entry["band"]) if "band" in entry else None,
            setup=entry.get("setup", ""),
        )
        for entry in tomllib.loads(text)["claim"]
    )


@dataclass(frozen=True)
class Unlisted:
    """A measured value of a claim that the data does not list: it has a unit, and no band."""

    part: Measured
    unit: str

    @property
    def text(self) -> str:
        """The value with its unit."""
        if isinstance(self.part.value, bool):
            return "holds" if self.part.value else "does not hold"
        return with_unit(self.part.value, self.unit)

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {"id": self.part.claim, "part": self.part.part, "value": self.part.value, "unit": self.unit}


def outcomes(measured: list[Measured]) -> list[Outcome]:
    """Every claim with what was measured for it."""
    by_id = {claim.id: Outcome(claim) for claim in load_claims()}
    for part in measured:
        if part.claim not in by_id:
            raise KeyError(f"'{part.claim}' is no claim")
        by_id[part.claim].parts.append(part)
    return list(by_id.values())


UNITS = {
    "gain_pct": "%",
    "cut_pct": "%",
    "pct": "%",
    "ms": " ms",
    "us": " us",
    "mib": " MiB",
    "bytes": " bytes",
    "cost_units": " units",
}


def with_unit(value: float, unit: str) -> str:
    """A value as a report shows it."""
    return f"{value:.3g}" if unit == "ratio" else f"{value:,.1f}{UNITS.get(unit, '')}"
