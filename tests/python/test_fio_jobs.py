"""Jobs as fio reads them: a tenth of those of `python -m tools fio_jobs`, under the real fio."""

import os
import shutil

import pytest

from tools.fio_jobs import EACH, by_fio, by_ufsim, jobs, outcome

# Of each family.
TRIED = 2


def test_every_difference_from_fio_has_a_reason() -> None:
    if shutil.which("fio") is None:
        missing = "fio is not there: apt-get install fio, or make test-device"
        pytest.fail(missing) if os.environ.get("UFSIM_CLIENTS") else pytest.skip(missing)
    tried = [text for place, (_, text) in enumerate(jobs()) if place % EACH < TRIED]
    found = {text: outcome(text, by_fio(text), by_ufsim(text)) for text in tried}
    assert [text for text, what in found.items() if not what] == []
    assert sum(what.startswith("equal") for what in found.values()) > len(tried) / 2
