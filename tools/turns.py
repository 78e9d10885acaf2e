"""Several ways of doing the same, compared in turns."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def in_turns(ways: Sequence[Callable[[], T]], turns: int) -> Iterator[tuple[T, ...]]:
    """What the ways give, turn by turn.

    What slows the machine down for a while slows all ways of a turn. Every second turn runs them the other way round.
    """
    places = range(len(ways))
    for turn in range(turns):
        given = {place: ways[place]() for place in (places if turn % 2 == 0 else reversed(places))}
        yield tuple(given[place] for place in places)
