"""What pages of the documentation say of papers: claims with their classes, figures, assumptions, mechanisms.

`docs` of the project puts it in where a page has a comment such as `claims hp-ufs`: `NAMED` says what there can be.
"""

from collections.abc import Callable

from ufsim_papers import map_drawing, mechanisms, scorecard
from ufsim_papers.folders import FOLDERS, PAPERS
from ufsim_papers.markdown import code, table
from ufsim_papers.mqsim import page as mqsim
from ufsim_papers.registry import FIGURES
from ufsim_papers.report import assumed
from ufsim_papers.telling import claims_table, reasons

# Pages of the documentation, and the files in the project that they are.
DOCUMENTS = {
    "papers/index.md": "papers/README.md",
    "papers/found.md": "papers/found.md",
    **{f"papers/{name}.md": f"papers/{name}/README.md" for name in PAPERS if (FOLDERS / name / "README.md").exists()},
    "explanation/mqsim.md": "papers/mqsim/README.md",
}


def claims(paper: str) -> str:
    """Every claim of a paper: what it says, the band, what was measured; below, why some values lie outside."""
    card = scorecard.committed().of(paper)
    own = [outcome for outcome in card.outcomes if outcome.claim.paper == paper]
    made = sorted({(entry["version"], entry["seeds"]) for entry in card.claims.values()})
    words = [f"ufsim {version} with {seeds} seeds" for version, seeds in made]
    picture = map_drawing.svg(own)
    return f"Measured by {'; '.join(words)}.\n\n{claims_table(own)}\n{picture}\n{reasons(own)}"


def unpublished(paper: str) -> str:
    """Facts that claims of a paper hang on and nobody has published, with the claims."""
    claims_of: dict[str, list[str]] = {}
    for outcome in scorecard.committed().outcomes:
        if outcome.claim.paper == paper:
            for fact in outcome.claim.missing:
                claims_of.setdefault(fact, []).append(f"{code(outcome.claim.id)} ({outcome.class_text})")
    lines = [f"- {fact}: {', '.join(names)}" for fact, names in claims_of.items()]
    return f"**{PAPERS[paper].title}**\n\n" + "\n".join(lines or ["- nothing that a claim hangs on"]) + "\n\n"


def figures(paper: str) -> str:
    """The figures of a paper that can be measured again, and the mechanism behind each."""
    return "".join(
        f"### {figure.id}\n\n**{figure.title}.** {figure.caption}\n\n*The paper:* {figure.paper_shows}\n\n"
        for figure in FIGURES
        if figure.paper == paper
    )


def numbers(figure: str) -> str:
    """The numbers that a figure has for readers."""
    return scorecard.numbers(scorecard.committed(), figure)


def assumptions(paper: str) -> str:
    """What the paper does not give, and what its profile takes instead."""
    return table(("key", "why this value"), ([code(key), why] for key, why in assumed(PAPERS[paper].profile).items()))


NAMED: dict[str, Callable[[str], str]] = {
    "claims": claims,
    "unpublished": unpublished,
    "figures": figures,
    "numbers": numbers,
    "assumed": assumptions,
    "mechanisms": mechanisms.mechanisms,
    "mqsim": mqsim.part,
}
