"""How many samples the claims of a figure need: sequences that the figure draws itself, or seeds.

Their number doubles until every interval says something, or a bound is reached. An interval has to exist. Where the
claim asks for enough samples that it lies in the band, it also has to lie inside or outside of it as a whole: an
interval across the border decides nothing. Outside counts as an answer, since samples that are added only until they
please would be chosen by their result; and looks are few, since the more there are, the more likely one pleases by
chance. What the class is when the bound comes first, `judged` says as ever.
"""

from collections.abc import Collection, Iterable

from ufsim_papers import maps
from ufsim_papers.claims import Band, Measured, claim_of
from ufsim_papers.intervals import Interval, defined
from ufsim_papers.judged import Outcome

# Most seeds that a claim gets, as a bound of the time it takes.
MOST_SEEDS = 20


def settled(parts: Iterable[Measured], *, by_band: Collection[str] = ()) -> bool:
    """Do further samples change nothing? The claims named in `by_band` ask for an interval on one side of the band.

    What holds or does not has no probability and asks for nothing.
    """
    return all(
        answered(part, claim_of(part.claim).part(part.part).band if part.claim in by_band else None)
        for part in parts
        if not isinstance(part.value, bool) and part.role == "point"
    )


def answered(part: Measured, band: Band | None) -> bool:
    """Is there an interval, and does it lie on one side of the band?"""
    if not defined(part.value) or part.interval is None:
        return False
    return band is None or on_one_side(part.interval, band)


def on_one_side(interval: Interval, band: Band) -> bool:
    """Does it lie inside or outside as a whole?"""
    low, high = band
    inside = low <= interval.low and interval.high <= high
    return inside or interval.high < low or high < interval.low


def undecided(outcome: Outcome) -> bool:
    """May more seeds decide a claim? Where the paper's set-up is placed nothing is out, and not all is in."""
    states = outcome.states(maps.left(outcome.claim, outcome.places))
    return "between" in states and "out" not in states


def doubled(count: int, most: int) -> range:
    """The places of the samples that come next after so many; none beyond the bound."""
    return range(count, min(2 * count, most))
