"""What a release tells a forge."""

import pytest

from tools.release.forge import notes

LOG = "# Changelog\n\n## Unreleased\n\n## 1.1.0 - 2026-01-02\n\n### Added\n\n- b\n\n## 1.0.0\n\n- a\n"


def test_notes_are_the_section_of_the_version() -> None:
    assert notes(LOG, "1.1.0") == "### Added\n\n- b\n"
    assert notes(LOG, "1.0.0") == "- a\n"


@pytest.mark.parametrize(
    ("log", "version", "why"),
    [
        (LOG, "1.2.0", "no section '## 1.2.0'"),
        (LOG.replace("released\n", "released\n\n- c\n"), "1.1.0", "'Unreleased'"),
    ],
)
def test_a_version_that_the_changelog_does_not_tell_is_none(log: str, version: str, why: str) -> None:
    with pytest.raises(SystemExit, match=why):
        notes(log, version)
