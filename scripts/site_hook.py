"""What mkdocs asks of the project: pages that are made, comments that stand for something made, links out of docs/.

A comment on a page, `claims hp-ufs` or `drawing device`, is replaced by what `PLAIN` and `NAMED` make of it. mkdocs.yml
names this file.
"""

import posixpath
import re
from collections.abc import Callable
from html import escape
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import site_calibration
import site_cli
import site_demo
import site_drawings
import site_explained
import site_explored
import site_fio
import site_live
import site_log
import site_mutants
import site_notebook
import site_results
import site_soak
import site_speed
import site_sweep
from site_markdown import code, table
from ufsim_papers import pages as papers

ROOT = Path(__file__).parents[1]

# Documents outside of docs/ that are pages, too.
ROOT_PAGES = {
    "architecture.md": "ARCHITECTURE.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    **papers.DOCUMENTS,
}
# In the root, README is what the first page is here.
PAGES_OF = {document: page for page, document in ROOT_PAGES.items()} | {"README.md": "index.md"}

MARK = re.compile(r"^<!-- ([a-z]+)(?: ([\w./+-]+))? -->$", re.MULTILINE)
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
# Pages whose tables have five columns and more: these get the place of the page's own contents.
WIDE = ("papers/", "run.md", "reference/formats.md")
# A name in a table that has an escaped bar, which Markdown would show with its backslash.
BARRED = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def schemes() -> str:
    """Every preset and its parts."""
    import ufsim

    rows = (
        [code(one["name"]), *(code(one[part]) for part in ("scheduler", "booster", "mapping")), one["summary"]]
        for one in ufsim.schemes()
    )
    return table(("scheme", "scheduler", "booster", "mapping", "what it is"), rows)


def sabotages() -> str:
    """Every sabotage with what the device does then."""
    from ufsim import _core

    rows = ([code(name), summary] for name, summary in _core.crash_sabotages())
    return table(("sabotage", "what the device does"), rows)


def formats() -> str:
    """Every format of traces."""
    import ufsim

    rows = (
        [code(one["name"]), one["about"], one.get("needs", ""), "yes" if one["writable"] else ""]
        for one in ufsim.trace_formats()
    )
    return table(("format", "what", "what has to be in it", "written"), rows)


def profiles() -> str:
    """Every built-in profile with its summary."""
    import ufsim
    from ufsim.devices import describe_profile

    devices = ((name, describe_profile(name)) for name in ufsim.profiles())
    rows = (
        [code(name), device["summary"], f"{device['facts']['usable_bytes'] / (1 << 30):g}"] for name, device in devices
    )
    return table(("profile", "device", "GiB>"), rows)


def frames() -> str:
    """Every data frame with its columns."""
    from ufsim.columns import FILES, FRAMES

    text = (
        "# Frames\n\nThe data frames of results, comparisons and studies, made from their declarations; "
        "`ufsim.columns(NAME)` gives the same as a frame. `log` and `series` are the files of `ufsim run --log` and "
        "`ufsim run --series`.\n"
    )
    for name, columns in {**FRAMES, **FILES}.items():
        rows = ([code(one.name), one.dtype, one.unit, one.meaning] for one in columns)
        text += f"\n## {name}\n\n{table(('column', 'type', 'unit', 'meaning'), rows)}"
    return text


MADE_PAGES: dict[str, Callable[[], str]] = {
    "reference/cli.md": site_cli.page,
    "reference/frames.md": frames,
    "reference/results.md": site_results.page,
}
# What a comment stands for; those of the second table say which.
PLAIN: dict[str, Callable[[], str]] = {
    "sabotages": sabotages,
    "schemes": schemes,
    "formats": formats,
    "profiles": profiles,
    "live": site_live.figures,
    "logcost": site_log.costs,
    "sweepspeed": site_sweep.speed,
    "speed": site_speed.page_tables,
    "soak": site_soak.tables,
    "whole": site_soak.whole,
    "explainedf7": site_explained.bands,
    "demo": site_demo.table_and_picture,
    "explored": site_explored.made,
    "mutants": site_mutants.tables,
    "fiooptions": site_fio.options,
    "fiodifferences": site_fio.differences,
}
NAMED: dict[str, Callable[[str], str]] = {
    "drawing": site_drawings.drawing,
    "scores": site_calibration.scores,
    "fitted": site_calibration.parameters,
    "residuals": site_calibration.residuals,
    **papers.NAMED,
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what is not a file in docs/."""
    for uri, document in ROOT_PAGES.items():
        files.append(File.generated(config, uri, content=(ROOT / document).read_text(encoding="utf-8")))
    for uri, make in MADE_PAGES.items():
        files.append(File.generated(config, uri, content=make()))
    for uri, content in site_demo.pictures().items():
        files.append(File.generated(config, uri, content=content))
    for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        for uri, made in site_notebook.pages(path).items():
            files.append(File.generated(config, uri, content=made))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Puts in what comments stand for, and turns links out of docs/ into links to pages, or into plain text."""
    uri = page.file.src_uri
    if uri.startswith(WIDE):
        page.meta.setdefault("hide", ["toc"])
    parts = FENCE.split(MARK.sub(made, markdown))
    return "".join(part if part.startswith("```") else relinked(part, uri) for part in parts)


def made(mark: re.Match[str]) -> str:
    """What a comment stands for."""
    kind, name = mark[1], mark[2]
    if name is None and kind in PLAIN:
        return PLAIN[kind]()
    if name is not None and kind in NAMED:
        return NAMED[kind](name)
    raise PluginError(f"{mark[0]} stands for nothing; there are {', '.join([*PLAIN, *NAMED])}")


def relinked(text: str, uri: str) -> str:
    """Links as they work on GitHub, for the site."""
    place = posixpath.dirname(ROOT_PAGES.get(uri) or posixpath.join("docs", uri))

    def moved(link: re.Match[str]) -> str:
        path, anchor = link[3].partition("#")[::2]
        if not path or "://" in path or path.startswith("mailto:"):
            return link[0]
        target = posixpath.normpath(posixpath.join(place, path))
        page = PAGES_OF.get(target) or (target.removeprefix("docs/") if target.startswith("docs/") else None)
        if page is None:
            return link[2]
        shown = posixpath.relpath(page, posixpath.dirname(uri) or ".")
        return f"{link[1]}[{link[2]}]({shown}{'#' + anchor if anchor else ''})"

    return LINK.sub(moved, BARRED.sub(barred, text))


def barred(name: re.Match[str]) -> str:
    """A name with a bar as HTML."""
    return f"<code>{escape(name[1]).replace(chr(92) + '|', '&#124;')}</code>"
