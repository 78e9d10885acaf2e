"""What a scheme looks like: the same in every picture, and different from every other scheme for everybody."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class SchemeStyle:
    """Colour, hatch of bars, marker of points and dashes of lines, as matplotlib takes them."""

    colour: str
    hatch: str
    marker: str
    dashes: str | tuple[int, tuple[float, ...]]


SOLID, DASHED, DOTTED, DASH_DOT = "-", (0, (5.0, 1.5)), (0, (1.2, 1.2)), (0, (5.0, 1.5, 1.2, 1.5))

# Colours of Okabe and Ito, and of Paul Tol, which colour-blind readers can tell apart in small numbers. A family has a
# hatch and dashes in common, so that there are few colours to tell apart within each. No colour and no marker repeats.
SCHEME_STYLES = {
    "ufs": SchemeStyle("#666666", "", "o", SOLID),
    "hpb": SchemeStyle("#e69f00", "", "s", SOLID),
    "ufs-tuned": SchemeStyle("#bbbbbb", "\\\\", "$u$", DASHED),
    "hpb-tuned": SchemeStyle("#8c510a", "\\\\", "$h$", DASHED),
    "ufs-compressed": SchemeStyle("#999933", "\\\\", "$c$", DASHED),
    "leaftl": SchemeStyle("#6a3d9a", "\\\\", "$l$", DASHED),
    "hp-ufs": SchemeStyle("#0072b2", "", "P", SOLID),
    "ideal": SchemeStyle("#009e73", "", "*", SOLID),
    "hpb-linux": SchemeStyle("#ddcc77", "//", "D", DASHED),
    "foam": SchemeStyle("#d55e00", "//", "v", DASHED),
    "hpbvalve": SchemeStyle("#cc79a7", "//", "^", DASHED),
    "hpbvalve-hp-ufs": SchemeStyle("#56b4e9", "//", "X", DASHED),
    "dftl": SchemeStyle("#882255", "....", "<", DOTTED),
    "cdftl": SchemeStyle("#ff9da7", "....", ">", DOTTED),
    "tpftl": SchemeStyle("#6699cc", "....", "x", DOTTED),
    "sftl": SchemeStyle("#007788", "....", "+", DOTTED),
    "base-dftl": SchemeStyle("#332288", "xx", "h", DASH_DOT),
    "mini-page": SchemeStyle("#b5bd61", "xx", "d", DASH_DOT),
    "msftl": SchemeStyle("#000000", "xx", "p", DASH_DOT),
}

# For schemes of users, and whatever else is compared: six colours, then the same with other hatches.
OTHER_COLOURS = ("#aa4499", "#44aa99", "#8c564b", "#88ccee", "#117733", "#f0e442")
OTHER_HATCHES = ("", "\\\\", "++", "oo", "**", "||", "--")
OTHER_MARKERS = ("H", "8", "1", "2", "3", "4")
OTHER_DASHES = (SOLID, DASHED, DOTTED, DASH_DOT)


def scheme_styles(schemes: Iterable[str]) -> dict[str, SchemeStyle]:
    """The look of each scheme; those without a look of their own take others in alphabetical order."""
    names = list(dict.fromkeys(schemes))
    others = sorted(set(names) - SCHEME_STYLES.keys())
    extra = {name: _other(index) for index, name in enumerate(others)}
    return {name: SCHEME_STYLES.get(name) or extra[name] for name in names}


def scheme_colours(schemes: Iterable[str]) -> dict[str, str]:
    """The colour of each scheme: see `scheme_styles`, which also tells apart more than there are colours."""
    return {name: style.colour for name, style in scheme_styles(schemes).items()}


def _other(index: int) -> SchemeStyle:
    round_, place = divmod(index, len(OTHER_COLOURS))
    denser, hatch = divmod(round_, len(OTHER_HATCHES))
    return SchemeStyle(
        OTHER_COLOURS[place],
        OTHER_HATCHES[hatch] * (denser + 1),
        OTHER_MARKERS[place],
        OTHER_DASHES[round_ % len(OTHER_DASHES)],
    )
