import io

import pytest
from matplotlib.colors import to_hex

from ufsim.plots import SCHEME_COLOURS, scheme_colours
from ufsim.results import Comparison


def panels(comparison: Comparison) -> dict[str, object]:
    return {axes.get_title(): axes for axes in comparison.plot().axes}


def test_the_picture_is_a_png_of_readable_size(comparison: Comparison, tmp_path) -> None:
    comparison.plot(tmp_path / "picture.png")
    data = (tmp_path / "picture.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    assert 1200 <= width <= 2400
    assert 700 <= height <= 1600


def test_the_title_names_workload_and_profile(comparison: Comparison) -> None:
    assert comparison.plot().get_suptitle() == "example on device profile phone"


def test_throughput_bars_have_values_gains_and_colours(comparison: Comparison) -> None:
    axes = panels(comparison)["Throughput, gain over ufs"]
    assert [bar.get_height() for bar in axes.patches] == [40.0, 32.0, 60.0]
    assert [text.get_text() for text in axes.texts] == ["40.0", "32.0\n-20.0 %", "60.0\n+50.0 %"]
    assert to_hex(axes.patches[0].get_facecolor()) == SCHEME_COLOURS["ufs"]
    assert to_hex(axes.patches[2].get_facecolor()) == SCHEME_COLOURS["hp-ufs"]
    assert "MiB/s" in axes.get_ylabel()


def test_latency_panels_show_three_percentiles_per_scheme(comparison: Comparison) -> None:
    found = panels(comparison)
    # At most three kinds are drawn, so that the panels stay wide enough.
    assert [title for title in found if title.endswith("latency")] == ["Read latency", "Write latency", "Flush latency"]
    heights = [bar.get_height() for bar in found["Read latency"].patches]
    assert heights[:3] == [80.0, 400.0, 1600.0]
    assert len(heights) == 9
    low, high = found["Read latency"].get_ylim()
    assert low < min(heights)
    assert high > max(bar.get_height() for bar in found["Flush latency"].patches)


def test_nand_time_is_stacked_to_the_total(comparison: Comparison) -> None:
    axes = panels(comparison)["NAND time by cause"]
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches]
    assert max(ends) == pytest.approx(10.0)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "host read",
        "host write",
        "map read",
        "map write",
        "valid-page search",
        "erase",
    ]


def test_colours_do_not_depend_on_company_or_order() -> None:
    assert scheme_colours(["hpb", "ufs"]) == {"hpb": SCHEME_COLOURS["hpb"], "ufs": SCHEME_COLOURS["ufs"]}
    assert scheme_colours(["b", "a"]) == scheme_colours(["a", "b"])
    assert len(set(scheme_colours(["ufs", "hpb", "hp-ufs", "ideal", "a", "b", "c"]).values())) == 7


def test_a_single_result_without_requests_can_be_drawn(comparison: Comparison) -> None:
    only = comparison.results[0]
    only.data.update(latency_ns=dict.fromkeys(only.latency_ns), nand_time_ns={}, throughput_mib_per_s=0.0)
    Comparison("empty", [only]).plot().savefig(io.BytesIO())
