"""The reproduction book: every figure of the papers as one command, with the paper's value beside the measured one.

Glossary:

- **claim**: a number or an ordering that a paper states, with the band inside which a measured value counts as
  reproduced (`claims`; the data is `ufsim/data/claims.toml`).
- **figure**: runs, a drawing, a caption that tells the mechanism, and the claims that it measures (`figure`).
- **book**: the figures asked for, measured, drawn, and put into one HTML file (`book`, `report`).
- **reading**: a way of measuring a claim that a fair reader of the paper would accept. It may have several parts.
- **verdict**: firm, fragile, miss, or not yet; given in `claims` and nowhere else, from the medians of all seeds under
  every reading and their intervals (`intervals`).
- **store**: results of runs on disk, so that an interrupted reproduction goes on (`store`, `measuring`).

A figure is a module-level object in a module of its paper, and one line in `registry`.
"""

from ufsim.kept import RunStore
from ufsim.reproduce.book import Book, reproduce
from ufsim.reproduce.claims import Claim, Measured, Verdict, load_claims

__all__ = ["Book", "Claim", "Measured", "RunStore", "Verdict", "load_claims", "reproduce"]
