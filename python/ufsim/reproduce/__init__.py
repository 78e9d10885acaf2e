"""The reproduction book: every figure of the papers as one command, with the paper's value beside the measured one.

Glossary:

- **claim**: a number or an ordering that a paper states, with the band inside which a measured value counts as
  reproduced (`claims`; the data is `ufsim/data/claims.toml`).
- **figure**: runs, a drawing, a caption that tells the mechanism, and the claims that it measures (`figure`).
- **book**: the figures asked for, measured, drawn, and put into one HTML file (`book`, `report`).
- **verdict**: hit, miss, or not yet measured. A claim with several parts is hit only if all parts are.

A figure is a module-level object in `hp_ufs` or `hpb`, and one line in `registry`.
"""

from ufsim.reproduce.book import Book, reproduce
from ufsim.reproduce.claims import Claim, Measured, Verdict, load_claims

__all__ = ["Book", "Claim", "Measured", "Verdict", "load_claims", "reproduce"]
