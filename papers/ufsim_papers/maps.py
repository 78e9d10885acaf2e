"""Which points of a claim's map have to be measured (rule 11 of `papers/claims.toml`).

The full product of the ranges, if that is small. Else each condition alone with all others at their default, and the
two joint ends that push the quantity furthest down and up. There every condition that is not placed also stands alone
where all placed ones are at their place: what is left of the map once the paper's set-up is known.
"""

from collections.abc import Iterable, Mapping
from itertools import product
from math import prod

from ufsim_papers.claims import Claim, Option, Place

# Most points of a full product.
FULL = 27


def needed(claim: Claim, values: Mapping[Place, float] | None = None) -> list[Place]:
    """The points of a map. `values`, those of the claim's quantity where it is measured, tell the joint ends."""
    if prod(len(axis.options) for axis in claim.axes) <= FULL:
        return list(product(*(axis.options for axis in claim.axes)))
    every = range(len(claim.axes))
    default = tuple(axis.options[0] for axis in claim.axes)
    points = star(claim, default, every)
    for place in placed(claim):
        points += star(claim, place, [at for at in every if claim.axes[at].place is None])
    return list(dict.fromkeys([*points, *joint_ends(claim, default, values or {})]))


def star(claim: Claim, centre: Place, along: Iterable[int]) -> list[Place]:
    """A point, and those at which one of some conditions has another option."""
    moved = [with_option(centre, at, option) for at in along for option in claim.axes[at].options]
    return list(dict.fromkeys([centre, *moved]))


def with_option(place: Place, at: int, option: Option) -> Place:
    """A point with another option of one condition."""
    return (*place[:at], option, *place[at + 1 :])


def placed(claim: Claim) -> list[Place]:
    """The points where every placed condition is at its place, and all others at their default; none if a place is not
    known."""
    return list(product(*((axis.options[0],) if axis.place is None else axis.place for axis in claim.axes)))


def joint_ends(claim: Claim, default: Place, values: Mapping[Place, float]) -> list[Place]:
    """Where each condition has the option that, alone, gives the lowest value, and where the highest."""

    if any(place not in values for place in star(claim, default, range(len(claim.axes)))):
        return []

    def end(sign: int) -> Place:
        def value(at: int, option: Option) -> float:
            return sign * values[with_option(default, at, option)]

        return tuple(
            min(axis.options, key=lambda option, at=at: value(at, option))  # type: ignore[misc]
            for at, axis in enumerate(claim.axes)
        )

    return [end(1), end(-1)]


def left(claim: Claim, places: list[Place]) -> list[Place]:
    """The points that are left when all placed conditions are set to their place."""
    return [
        place
        for place in places
        if all(axis.place is None or option in axis.place for axis, option in zip(claim.axes, place, strict=True))
    ]
