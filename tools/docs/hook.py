"""What mkdocs asks of the project: pages that are made, comments that stand for something made, links out of docs/.

A comment on a page, `schemes` or `claims hp-ufs`, is replaced by what `PLAIN` and `NAMED` make of it. mkdocs.yml
names this file.
"""

import posixpath
import re
from collections.abc import Callable
from html import escape

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools.docs import calibration, cli, declared, demo, hosts, measured, notebook, results, tested, today
from tools.project import ROOT
from ufsim_papers import pages as papers

# Documents outside of docs/ that are pages, too.
ROOT_PAGES = {
    "architecture.md": "ARCHITECTURE.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "index.md": "README.md",
    **papers.DOCUMENTS,
}
PAGES_OF = {document: page for page, document in ROOT_PAGES.items()}

MARK = re.compile(r"^<!-- ([a-z]+)(?: ([\w./+-]+))? -->$", re.MULTILINE)
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
# Pages whose tables have five columns and more: these get the place of the page's own contents.
WIDE = ("papers/", "run.md", "reference/formats.md")
# A name in a table that has an escaped bar, which Markdown would show with its backslash.
BARRED = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


MADE_PAGES: dict[str, Callable[[], str]] = {
    "reference/cli.md": cli.page,
    "reference/frames.md": declared.frames,
    "reference/results.md": results.page,
}
# What a comment stands for; those of the second table say which.
PLAIN: dict[str, Callable[[], str]] = {
    "sabotages": declared.sabotages,
    "schemes": declared.schemes,
    "formats": declared.formats,
    "profiles": declared.profiles,
    "fiooptions": declared.fio_options,
    "live": measured.live,
    "logcost": measured.log,
    "guestspeed": measured.guest,
    "guestcuts": measured.cuts,
    "sweepspeed": measured.sweep,
    "speed": measured.speed,
    "explainedf7": measured.explained,
    "soak": tested.soak,
    "whole": tested.whole,
    "fiojobs": tested.fio_jobs,
    "explored": tested.explored,
    "demo": demo.table_and_picture,
}
NAMED: dict[str, Callable[[str], str]] = {
    "scores": calibration.scores,
    "fitted": calibration.parameters,
    "residuals": calibration.residuals,
    "twohosts": hosts.part,
    "inkernel": hosts.claims,
    "today": today.part,
    **papers.NAMED,
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what is not a file in docs/."""
    for uri, document in ROOT_PAGES.items():
        files.append(File.generated(config, uri, content=(ROOT / document).read_text(encoding="utf-8")))
    for uri, make in MADE_PAGES.items():
        files.append(File.generated(config, uri, content=make()))
    for uri, content in demo.pictures().items():
        files.append(File.generated(config, uri, content=content))
    for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        for uri, made in notebook.pages(path).items():
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
