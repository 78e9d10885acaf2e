"""The report in a real browser: every drawing has a size, nothing is loaded from anywhere, nothing fails."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ufsim_papers.book import reproduce
from ufsim_papers.figure import Setting

pytestmark = pytest.mark.slow

PROBE = """<script>
window.failures = [];
addEventListener("error", event => failures.push(String(event.message)));
addEventListener("load", () => {
  const drawings = [...document.querySelectorAll("figure svg")].map(svg => {
    const box = svg.getBoundingClientRect();
    const wide = shape => shape.getBoundingClientRect().width > 0;
    const shapes = [...svg.querySelectorAll("path, use, rect")].filter(wide);
    return {width: box.width, height: box.height, shapes: shapes.length};
  });
  const loaded = performance.getEntriesByType("resource").map(entry => entry.name);
  const wide = document.documentElement.scrollWidth > innerWidth;
  const told = document.createElement("pre");
  told.id = "probe";
  told.textContent = JSON.stringify({drawings, loaded, failures, wide});
  document.body.append(told);
});
</script>"""


def browser() -> str:
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if found is None:
        assert "CI" not in os.environ, "on CI a browser has to be there: .ci/run installs Debian's chromium"
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium): the report is not opened")
    return found


def probe(page: Path, profile: Path) -> dict:
    """What the page found out about itself, in a browser that cannot reach any network."""
    command = [
        browser(),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--window-size=1280,900",
        "--virtual-time-budget=5000",
        "--dump-dom",
        page.as_uri(),
    ]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="probe">(.*?)</pre>', shown.stdout, re.DOTALL)
    assert found, f"the page did not load: {shown.stderr[-2000:]}"
    return json.loads(found.group(1).replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))


def test_the_report_renders_without_errors_and_without_network(tmp_path: Path) -> None:
    book = reproduce("hpb", Setting(quick=True), jobs=2)
    text = book.write(tmp_path).read_text()
    assert "<script" not in text and "http://" not in re.sub(r"xmlns(:\w+)?=\"[^\"]*\"", "", text)
    page = tmp_path / "probed.html"
    page.write_text(text.replace("</head>", f"{PROBE}</head>"))
    found = probe(page, tmp_path / "profile")
    assert found["failures"] == [] and found["loaded"] == []
    assert not found["wide"], "the page is wider than its window"
    assert len(found["drawings"]) == 4
    for drawing in found["drawings"]:
        assert drawing["width"] > 400 and drawing["height"] > 150 and drawing["shapes"] > 50, drawing
