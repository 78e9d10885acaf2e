"""The report: one HTML file that needs nothing else, no network and no script."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import ufsim
from ufsim_papers import map_drawing
from ufsim_papers.folders import PAPERS
from ufsim_papers.judged import counted
from ufsim_papers.telling import claims_table, class_html, reasons

if TYPE_CHECKING:
    from ufsim_papers.book import Book
    from ufsim_papers.figure import Drawn
    from ufsim_papers.judged import Outcome

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1d2530; max-width: 1080px; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { margin-top: 2.6rem; border-bottom: 2px solid #d6dce5; }
h3 { margin: 2rem 0 .3rem; } nav a { margin-right: 1rem; } a { color: #0072b2; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: .8rem 0; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #e3e8ef; vertical-align: top; }
td code { white-space: nowrap; }
.reproduced, .reproduced-if { color: #1b7837; font-weight: 600; }
.not-determinable { color: #b35806; font-weight: 600; }
.contradicted, .paper-value { color: #b2182b; font-weight: 600; } .open { color: #7a7a7a; } .outside { color: #b2182b; }
figure { margin: .5rem 0; } figure svg { max-width: 100%; height: auto; } figcaption { max-width: 60rem; }
.paper { color: #5b6675; } .missing { background: #fff4e5; padding: .6rem .9rem; border-left: 4px solid #e69f00; }
details { margin: .6rem 0; } pre { background: #f5f7fa; padding: .8rem; overflow-x: auto; font-size: .8rem; }
.score { font-size: 1.15rem; }
"""


def report_html(book: Book) -> str:
    """The report of a book."""
    papers = list(dict.fromkeys(drawn.figure.paper for drawn in book.figures))
    parts = [head(book, papers)]
    for paper in papers:
        figures = [drawn for drawn in book.figures if drawn.figure.paper == paper]
        own = PAPERS[paper]
        parts.append(f'<h2 id="{paper}">{escape(own.title)}: {escape(own.about)}</h2>')
        claimed = [outcome for outcome in book.outcomes if outcome.claim.paper == paper]
        parts += [claims_table(claimed), map_drawing.svg(claimed), reasons(claimed)] if claimed else []
        parts += [figure_html(drawn, book.outcomes_of(drawn.figure)) for drawn in figures]
        parts.append(profile_html(own.profile))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>ufsim: reproduction of {escape(", ".join(papers))}</title>
<style>{STYLE}</style>
</head>
<body>
{"".join(parts)}
</body>
</html>
"""


def head(book: Book, papers: list[str]) -> str:
    """Title, score and contents."""
    own = [outcome for outcome in book.outcomes if outcome.claim.paper in papers]
    quick = " Made with --quick: fewer points than the papers have." if book.setting.quick else ""
    first, last = book.setting.seed, book.setting.seed + book.setting.seeds - 1
    seeds = f"seed {first}" if first == last else f"seeds {first} to {last}, for some claims more"
    links = "".join(f'<a href="#{paper}">{escape(paper)}</a>' for paper in papers)
    return f"""
<h1>The papers' figures, measured again</h1>
<p class="paper">ufsim {escape(ufsim.__version__)}, {seeds}.{quick}</p>
<p class="score">{escape(counted(own))}.</p>
<p>A value is the median of all seeds. A claim is measured on a map: over the ranges of what the paper leaves open. It
is <em>reproduced</em> if it is in its band at every point, with every part and the whole interval in brackets, and its
foil, a named wrong model, is not; <em>reproduced-if</em> a condition holds that an artefact, a source or the paper's
own numbers show to have held; <em>contradicted</em> if it is outside everywhere and a command shows why;
<em>not-determinable</em> if it hangs on what nobody has published; <em>open</em> otherwise, which is our debt.
<em>Conformance</em> is listed and not counted. A class is weak if the foil is inside as well. One device profile serves
all claims of a paper. Values of the papers are marked in the drawings in <span class="paper-value">red</span>.</p>
{"".join(numbers_html(drawn) for drawn in book.figures)}
<nav>{links}</nav>
"""


def numbers_html(drawn: Drawn) -> str:
    """The numbers that a figure has for readers, if it has any."""
    if drawn.table is None:
        return ""
    shown = drawn.table.to_html(border=0, float_format=lambda value: f"{value:.1f}")
    link = f"#{drawn.figure.id.replace('/', '-')}"
    return f"<h3><a href='{link}'>{escape(drawn.figure.title)}</a> (per cent)</h3>{shown}"


def figure_html(drawn: Drawn, outcomes: list[Outcome]) -> str:
    """A figure with its caption, its data and the state of its claims."""
    figure = drawn.figure
    title = f"<h3 id='{figure.id.replace('/', '-')}'>{escape(figure.id)}: {escape(figure.title)}</h3>"
    if drawn.missing:
        return f"{title}<p class='missing'>Not measured: {escape(drawn.missing)}</p>"
    marks = ", ".join(f"<code>{escape(outcome.claim.id)}</code> {class_html(outcome)}" for outcome in outcomes)
    return f"""{title}
<figure>{drawn.svg}
<figcaption><p>{escape(figure.caption)}</p>
<p class="paper">The paper: {escape(figure.paper_shows)} {marks}</p></figcaption>
</figure>
<details><summary>data</summary>{data_table(drawn)}</details>
"""


def data_table(drawn: Drawn) -> str:
    """The labels and the numbers that most readers ask for first; the Parquet file has the rest."""
    assert drawn.frame is not None
    wanted = (
        *("throughput_mib_per_s", "iops", "all_mean_ns", "all_p99_ns", "all_p999_ns"),
        *("waf_total", "map_mib", "total_ms"),
        *("sequence", "prioritised", "mean_waiting", "mean_latency"),
        *("launch_ms", "map_reads", "fetches", "kills_of_apps", "energy_j"),
    )
    labels = [name for name in drawn.frame.columns if name in drawn.labels]
    shown = drawn.frame[[*labels, *(name for name in wanted if name in drawn.frame.columns)]]
    return shown.to_html(index=False, border=0, float_format=lambda value: f"{value:,.1f}", na_rep="")


def assumed(profile: str) -> dict[str, str]:
    """What a paper does not give and its profile takes instead: why each key has its value."""
    return {value["key"]: value["source"] for value in ufsim.describe_profile(profile)["values"] if value["assumed"]}


def profile_html(name: str) -> str:
    """The device profile, and what in it is assumed."""
    rows = "".join(
        f"<tr><td><code>{escape(key)}</code></td><td>{escape(why)}</td></tr>" for key, why in assumed(name).items()
    )
    return f"""
<h3>The device: profile {escape(name)}</h3>
<p>Every number of the profile has its source; these are assumed, because the paper does not give them:</p>
<table><tbody>{rows}</tbody></table>
<details><summary>the whole profile</summary><pre>{escape(ufsim.profile_toml(name))}</pre></details>
"""
