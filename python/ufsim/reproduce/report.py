"""The report: one HTML file that needs nothing else, no network and no script."""

from __future__ import annotations

import tomllib
from html import escape
from typing import TYPE_CHECKING

from ufsim import _core
from ufsim.devices import profile_toml
from ufsim.reproduce.claims import AS_SET_UP, LEAST_SEEDS, VERDICTS, counted

if TYPE_CHECKING:
    from ufsim.reproduce.book import Book
    from ufsim.reproduce.claims import Outcome, Part, Reading
    from ufsim.reproduce.figure import Drawn

PAPERS = {
    "hp-ufs": "HP-UFS: host memory keeps the L2P changes, valid page bitmap and counts (MSST 2024)",
    "hpb": "HPB: host memory as read cache of L2P entries (HotStorage 2017)",
    "map-plus": "MAP+: an I/O scheduler that knows the mapping cache (TCAD 2018)",
    "msftl": "MSFTL: mapping segments smaller than a logical page (2020)",
    "hpbvalve": "HPBvalve: HPB run for the foreground app",
    "phone": "A phone that sleeps: the papers' questions asked anew",
}
# The device profile of each paper's claims.
PROFILES = {
    "hp-ufs": "hp-ufs",
    "hpb": "hpb",
    "map-plus": "emmc-map-plus",
    "msftl": "msftl",
    "hpbvalve": "hpbvalve",
    "phone": "pixel4",
}

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1d2530; max-width: 1080px; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; } h2 { margin-top: 2.6rem; border-bottom: 2px solid #d6dce5; }
h3 { margin: 2rem 0 .3rem; } nav a { margin-right: 1rem; } a { color: #0072b2; }
table { border-collapse: collapse; width: 100%; margin: .8rem 0; font-size: .9rem; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #e3e8ef; vertical-align: top; }
td code { white-space: nowrap; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.firm { color: #1b7837; font-weight: 600; } .fragile { color: #b35806; font-weight: 600; }
.miss { color: #b2182b; font-weight: 600; } .not-yet { color: #7a7a7a; } .outside { color: #b2182b; }
.reading { margin-top: .4rem; font-style: italic; }
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
        parts.append(f'<h2 id="{paper}">{escape(PAPERS[paper])}</h2>')
        claimed = [outcome for outcome in book.outcomes if outcome.claim.paper == paper]
        parts += [claims_table(claimed)] if claimed else []
        parts += [figure_html(drawn, book.outcomes_of(drawn.figure)) for drawn in figures]
        parts.append(profile_html(PROFILES[paper]))
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
    counted = [outcome for outcome in book.outcomes if outcome.claim.paper in papers]
    score = ", ".join(
        f'<span class="{css(word)}">{sum(outcome.verdict == word for outcome in counted)} {word}</span>'
        for word in VERDICTS
    )
    quick = " Made with --quick: fewer points than the papers have." if book.setting.quick else ""
    links = "".join(f'<a href="#{paper}">{escape(paper)}</a>' for paper in papers)
    return f"""
<h1>The papers' figures, measured again</h1>
<p class="paper">ufsim {escape(_core.__version__)}, {book.setting.seeds} seeds from {book.setting.seed} on.{quick}</p>
<p class="score">{score}, of {len(counted)} claims.</p>
<p>A value is the median of all seeds. A claim is <em>firm</em> if it is inside its band under every reading of the
paper, with every part and the whole interval in brackets; <em>fragile</em> if it is under some readings, or with its
median only; a <em>miss</em> if it is under none, or if there is nothing to compare. With fewer than {LEAST_SEEDS} seeds
where chance is involved, and where a reading that decides is not measured, it is <em>not yet</em> judged. One device
profile serves all claims of a paper. Values of the papers are marked in the drawings in
<span class="miss">red</span>.</p>
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


def claims_table(outcomes: list[Outcome]) -> str:
    """All claims of a paper, each with its readings and their parts."""
    rows = "".join(claim_rows(outcome) for outcome in outcomes)
    score = counted(outcome.verdict for outcome in outcomes)
    return (
        "<table><thead><tr><th>claim</th><th>the paper says</th><th>paper</th><th>band</th><th>measured</th>"
        f"<th>{escape(score)}</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def claim_rows(outcome: Outcome) -> str:
    """A claim, with its readings."""
    claim = outcome.claim
    readings = "".join(reading_html(reading) for reading in outcome.readings)
    return (
        f"<tr><td><code>{escape(claim.id)}</code><br><small>{escape(claim.where)}</small></td>"
        f"<td>{escape(claim.claim)}</td><td class='number'>{escape(claim.paper_value())}</td>"
        f"<td class='number'>{escape(claim.band_text())}</td><td>{readings}</td>"
        f"<td>{verdict_html(outcome)}</td></tr>"
    )


def reading_html(reading: Reading) -> str:
    """A reading, with a line for each part that was measured, or why it is not."""
    title = "" if reading.name == AS_SET_UP else f'<div class="reading">{escape(reading.name)}</div>'
    if not reading.parts:
        why = f": {escape(reading.missing)}" if reading.missing else ""
        return f'{title}<div class="not-yet">not measured{why}</div>'
    return title + "".join(part_html(part) for part in reading.parts)


def part_html(part: Part) -> str:
    """A part of a claim: its median and interval, what else was measured, and why it is outside."""
    own = f" (band {part.band[0]:g} .. {part.band[1]:g})" if part.first.band and part.band else ""
    mark = "" if part.in_band else ' class="outside"'
    what = f"{escape(part.name)}: " if part.name else ""
    told = f"<br><small>{escape(part.first.told)}</small>" if part.first.told else ""
    why = part.first.reason if not part.interval_in_band else ""
    reason = f"<br><small>{escape(why)}</small>" if why else ""
    return f"<div>{what}<span{mark}>{escape(part.text)}</span>{own}{told}{reason}</div>"


def verdict_html(outcome: Outcome) -> str:
    """A verdict in its colour."""
    return f'<span class="{css(outcome.verdict)}">{outcome.verdict}</span>'


def css(verdict: str) -> str:
    """The class of a verdict."""
    return verdict.replace(" ", "-")


def figure_html(drawn: Drawn, outcomes: list[Outcome]) -> str:
    """A figure with its caption, its data and the state of its claims."""
    figure = drawn.figure
    title = f"<h3 id='{figure.id.replace('/', '-')}'>{escape(figure.id)}: {escape(figure.title)}</h3>"
    if drawn.missing:
        return f"{title}<p class='missing'>Not measured: {escape(drawn.missing)}</p>"
    marks = ", ".join(f"<code>{escape(outcome.claim.id)}</code> {verdict_html(outcome)}" for outcome in outcomes)
    svg = drawn.svg[drawn.svg.index("<svg") :]
    return f"""{title}
<figure>{svg}
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


def profile_html(name: str) -> str:
    """The device profile, and what in it is assumed."""
    text = profile_toml(name)
    assumed = tomllib.loads(text).get("assumed", {})
    rows = "".join(
        f"<tr><td><code>{escape(key)}</code></td><td>{escape(str(why))}</td></tr>" for key, why in assumed.items()
    )
    return f"""
<h3>The device: profile {escape(name)}</h3>
<p>Every number of the profile has its source; these are assumed, because the paper does not give them:</p>
<table><tbody>{rows}</tbody></table>
<details><summary>the whole profile</summary><pre>{escape(text)}</pre></details>
"""
