"""The reproduction book: every figure of five papers as one command, with the paper's value beside the measured one.

`ufsim reproduce` is this package's command (`command`). Of ufsim it uses what is public, and nothing else.

Glossary:

- **claim**: a number or an ordering that a paper states, with the band inside which a measured value counts as
  reproduced (`claims`; the data is `claims.toml`).
- **figure**: runs, a drawing, a caption that tells the mechanism, and the claims that it measures (`figure`).
- **book**: the figures asked for, measured, drawn, and put into one HTML file (`book`, `report`).
- **map**: the points at which a claim is measured; its axes are what the paper leaves open, with ranges (`maps`).
- **foil**: a named wrong model that has to fall outside of the band.
- **class**: what became of a claim; given in `judged` and nowhere else, from the medians of all seeds at every point of
  the map and their intervals (`intervals`).
- **scorecard**: what was measured last of each claim, with enough seeds (`scorecard`; `scorecard.json` in the folder).

A figure is a module-level object in a module of its paper, and one line in `registry`.
"""
