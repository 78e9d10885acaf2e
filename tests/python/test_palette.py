"""What schemes look like: nothing repeats, and colour-blind readers can tell apart what has the same hatch."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

import ufsim
from ufsim.plots.comparison import CAUSES
from ufsim.plots.palette import SCHEME_STYLES, scheme_colours, scheme_styles

# Machado, Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency" (2009),
# severity 1.0: linear RGB as dichromats see it.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
# CIE 1976: two is just noticeable side by side; bars with a space between them need several times that.
LEAST_DISTANCE = 12.0


def lab(colour: str, vision: np.ndarray) -> np.ndarray:
    """CIELAB under D65, of a colour as somebody with this vision sees it."""
    srgb = np.array(to_rgb(colour))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(vision @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    ratio = to_xyz @ seen / np.array([0.9505, 1.0, 1.089])
    f = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_every_scheme_has_a_look_of_its_own() -> None:
    names = [scheme["name"] for scheme in ufsim.schemes()]
    assert len(names) >= 13
    styles = scheme_styles(names)
    assert len({style.colour for style in styles.values()}) == len(names)
    assert len({style.marker for style in styles.values()}) == len(names)
    assert set(names) == set(SCHEME_STYLES)


@pytest.mark.parametrize("vision", VISION)
def test_colours_with_the_same_hatch_can_be_told_apart(vision: str) -> None:
    for (one, first), (two, second) in combinations(SCHEME_STYLES.items(), 2):
        if first.hatch == second.hatch:
            distance = np.linalg.norm(lab(first.colour, VISION[vision]) - lab(second.colour, VISION[vision]))
            assert distance >= LEAST_DISTANCE, f"{one} and {two}: {distance:.1f}"


def test_forty_schemes_of_users_differ_from_each_other_and_from_ours() -> None:
    styles = scheme_styles([*SCHEME_STYLES, *(f"mine-{number}" for number in range(40))])
    assert len({(style.colour, style.hatch) for style in styles.values()}) == len(SCHEME_STYLES) + 40


def test_looks_do_not_depend_on_company_or_order() -> None:
    assert scheme_colours(["hpb", "ufs"]) == {name: SCHEME_STYLES[name].colour for name in ("hpb", "ufs")}
    assert scheme_styles(["b", "a"]) == scheme_styles(["a", "b"])


def test_causes_have_no_colour_of_a_scheme() -> None:
    assert not {colour for _, colour in CAUSES.values()} & set(scheme_colours(SCHEME_STYLES).values())
