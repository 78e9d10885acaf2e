"""What a forge shows beside the packages of a release: its notes, its tag, the sums of its files."""

import hashlib
import json
import re
import tomllib

from tools.project import ROOT, failed, output
from tools.release.wheel import DIST


def write() -> None:
    """Writes NOTES.md, SHA256SUMS and release.json beside the packages."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    packages = sorted(path for path in DIST.iterdir() if path.suffix in (".whl", ".gz"))
    if not packages:
        failed(f"{DIST.relative_to(ROOT)} has no package: make wheel")
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in packages}
    commit = output("git", "rev-parse", "HEAD").strip()
    told = {"tag": f"v{version}", "name": f"ufsim {version}", "commit": commit, "files": sums}
    (DIST / "NOTES.md").write_text(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version))
    (DIST / "SHA256SUMS").write_text("".join(f"{sum_}  {name}\n" for name, sum_ in sums.items()))
    (DIST / "release.json").write_text(json.dumps(told, indent=2) + "\n")
    print(f"{told['tag']}: {', '.join(('NOTES.md', 'SHA256SUMS', 'release.json', *sums))} in {DIST.relative_to(ROOT)}")


def notes(changelog: str, version: str) -> str:
    """The section of a version, without its heading. What is not released yet has to have a version first."""
    sections = dict(re.findall(r"^## (\S+)[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL))
    if sections.get("Unreleased", "").strip():
        failed(f"CHANGELOG.md has changes under 'Unreleased': give them a version, not that of {version}")
    if version not in sections:
        failed(f"CHANGELOG.md has no section '## {version}'")
    return str(sections[version].strip()) + "\n"
