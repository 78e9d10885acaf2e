"""Notebooks as pages: run, and turned into Markdown with their pictures. A cell that fails is fatal."""

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from traitlets.config import Config

from tools.project import ROOT

# The longest that a cell may take, in seconds.
TIMEOUT = 600


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with the output of its cells; it is run in the project's root."""
    text = path.read_text(encoding="utf-8")
    notebook: nbformat.NotebookNode = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    # No port on the network.
    config = Config({"KernelManager": {"transport": "ipc"}})
    NotebookClient(notebook, timeout=TIMEOUT, resources={"metadata": {"path": str(ROOT)}}, config=config).execute()
    return notebook


def pages(path: Path) -> dict[str, str | bytes]:
    """The page of a notebook and its pictures, by their places in the site."""
    exporter: Any = MarkdownExporter()  # type: ignore[no-untyped-call]
    text, resources = exporter.from_notebook_node(executed(path), resources={"unique_key": path.stem})
    made: dict[str, str | bytes] = {f"notebooks/{path.stem}.md": text}
    for name, content in resources.get("outputs", {}).items():
        made[f"notebooks/{name}"] = content
    return made
