"""Every Pixel 4 trace is replayed to its end under every scheme. The traces lie in `../shared`, beside the project."""

from __future__ import annotations

from pathlib import Path

import pytest

import ufsim

APPS = ["twitter", "chrome", "facebook", "camera-picture", "genshinimpact"]


@pytest.mark.parametrize("app", APPS)
@pytest.mark.parametrize("replay", ["timed", "closed"])
def test_a_phone_trace_runs_to_its_end_under_every_scheme(app: str, replay: str, traces: Path) -> None:
    results = ufsim.compare(traces / "pixel4-hpufs" / app, replay=replay).results
    assert [result.scheme for result in results] == ["ufs", "hpb", "hp-ufs", "ideal"]
    assert len({result.submitted for result in results}) == 1
    for result in results:
        assert result.submitted == result.completed > 0
