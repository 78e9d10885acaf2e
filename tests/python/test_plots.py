"""Pictures: what is drawn, for how many schemes, and what files hold."""

import io
import json
import re
import zlib
from itertools import combinations
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import ufsim
from conftest import ROOT, result
from ufsim import ConfigError, Suite, plots
from ufsim.plots.palette import SCHEME_STYLES
from ufsim.results.result import Comparison

ALL = list(SCHEME_STYLES)


def comparison_of(schemes: list[str], seed: int = 7, **changes: object) -> Comparison:
    speeds = {scheme: 1.0 + 0.1 * place + 0.01 * seed for place, scheme in enumerate(schemes)}
    results = [result(name, speed, 10**9) | {"seed": seed} | changes for name, speed in speeds.items()]
    workload = str(changes.get("workload", "traces/example"))
    return Comparison.from_json(json.dumps({"workload": workload, "results": results}))


def panels(comparison: Comparison) -> dict[str, Axes]:
    return {axes.get_title(loc="left"): axes for axes in comparison.plot().axes}


def texts_of(figure: Figure) -> list[tuple[Text, Bbox]]:
    """The texts of the finished picture and where they stand. Axes have ticks beyond their ends, which nobody sees."""
    FigureCanvasAgg(figure).draw()
    beyond: set[Text] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks() + axis.get_minor_ticks():
                if not low <= tick.get_loc() <= high:
                    beyond |= {tick.label1, tick.label2}
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [(text, text.get_window_extent()) for text in texts if text not in beyond]


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Texts that lie on each other."""
    boxes = [(text.get_text(), box.padded(-1.5)) for text, box in texts_of(figure)]
    pairs = combinations(boxes, 2)
    return [(one, two) for (one, first), (two, second) in pairs if first.overlaps(second)]


def outside(figure: Figure) -> list[str]:
    """Texts that the edge of the picture cuts."""
    edge = figure.bbox.padded(1)
    return [
        text.get_text()
        for text, box in texts_of(figure)
        if not (edge.x0 <= box.x0 <= box.x1 <= edge.x1 and edge.y0 <= box.y0 <= box.y1 <= edge.y1)
    ]


# The picture of a comparison.


def test_throughput_bars_have_values_gains_and_looks(comparison: Comparison) -> None:
    axes = panels(comparison)["Throughput, gain over ufs"]
    assert [bar.get_width() for bar in axes.patches] == [40.0, 32.0, 60.0]
    assert [text.get_text() for text in axes.texts] == ["40.0 MiB/s", "32.0  -20.0 %", "60.0  +50.0 %"]
    assert to_hex(axes.patches[0].get_facecolor()) == SCHEME_STYLES["ufs"].colour
    assert to_hex(axes.patches[2].get_facecolor()) == SCHEME_STYLES["hp-ufs"].colour
    assert "MiB/s" in axes.get_xlabel()


def test_timed_replays_lead_with_latency_and_its_changes(comparison: Comparison) -> None:
    for one in comparison:
        one.data["replay"] = "timed"
    found = panels(comparison)
    assert not [title for title in found if "Throughput" in title]
    axes = found["Mean latency of all requests, gain over ufs"]
    assert [round(bar.get_width(), 3) for bar in axes.patches] == [75.0, 93.75, 50.0]
    assert [text.get_text() for text in axes.texts] == ["75.0 µs", "93.8  -25.0 %", "50.0  +33.3 %"]
    numbers = [text.get_text() for text in found["Read latency"].texts]
    assert numbers[:6] == [
        "100 µs",
        "400 µs",
        "125 µs  -25.0 %",
        "500 µs  -25.0 %",
        "66.7 µs  +33.3 %",
        "267 µs  +33.3 %",
    ]


def test_latency_panels_show_percentiles_and_numbers(comparison: Comparison) -> None:
    found = panels(comparison)
    kinds = [title for title in found if title.endswith(" latency")]
    assert kinds == ["Read latency", "Write latency", "Flush latency", "Trim latency"]
    axes = found["Read latency"]
    drawn = {line.get_label(): line.get_xdata()[0] for line in axes.lines}
    assert [drawn[name] for name in ("p50", "mean", "p99", "p99.9")] == [80.0, 100.0, 400.0, 1600.0]
    assert [text.get_text() for text in axes.texts][:2] == ["100 µs", "400 µs"]
    # A kind of request that only one scheme made has a dash for the others.
    assert [text.get_text() for text in found["Trim latency"].texts][:2] == ["–", "–"]


def test_transactions_of_a_database_have_a_panel(comparison: Comparison) -> None:
    for one in comparison:
        latency = one.latency_ns["write"] | {"mean": 2e6}
        one.data["operations"].append({"name": "insert", "latency_ns": latency})
    axes = panels(comparison)["Latency of transaction: insert"]
    assert axes.texts[0].get_text() == "2.00 ms"


def test_a_database_leads_with_its_transactions(comparison: Comparison) -> None:
    for mean, one in zip((4e6, 2e6, 1e6), comparison, strict=True):
        one.data["replay"] = "sqlite"
        one.data["operations"].append({"name": "insert", "latency_ns": one.latency_ns["write"] | {"mean": mean}})
    axes = panels(comparison)["Mean latency of inserts, gain over ufs"]
    assert [text.get_text() for text in axes.texts] == ["4,000 µs", "2,000  +50.0 %", "1,000  +75.0 %"]


def test_the_heading_says_what_was_run_and_what_was_not_exercised(comparison: Comparison) -> None:
    comparison.results[2].data.update(failed=3, age=None)
    comparison.results[0].data.update(nand_ops={})
    lines = comparison.plot().get_suptitle()
    for told in ("example\n", "phone.toml with nand.planes=2", "ageing: rw=randwrite size=1g", "host memory: 20 MiB"):
        assert told in lines
    assert "note: hp-ufs: the device was fresh" in lines and "note: ufs: GC never ran" in lines
    assert "warning: hp-ufs: 3 of 1,000 requests ended with an error" in lines


def test_nand_time_is_stacked_to_the_total(comparison: Comparison) -> None:
    axes = panels(comparison)["NAND time by cause"]
    assert max(bar.get_x() + bar.get_width() for bar in axes.patches) == pytest.approx(10.0)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["host read", "host write", "map read", "map write", "valid-page search", "erase"]


@pytest.mark.slow
@pytest.mark.parametrize("schemes", [ALL[:1], ALL[:2], ALL[:4], ALL])
@pytest.mark.parametrize("replay", ["timed", "closed"])
def test_pictures_are_legible_for_every_number_of_schemes(schemes: list[str], replay: str) -> None:
    figure = comparison_of(schemes, replay=replay).plot()
    assert overlaps(figure) == []
    assert outside(figure) == []
    assert min(text.get_fontsize() for text in figure.findobj(Text)) >= 8
    width, height = figure.get_size_inches() * figure.dpi
    # Each scheme has a row in some panels, so the picture of all grows with their number.
    assert width <= 1600 and height <= 1000 + 70 * max(len(schemes), 16)


@pytest.mark.parametrize("schemes", [ALL[:2], ALL])
def test_pictures_of_suites_are_legible(schemes: list[str]) -> None:
    figure = Suite([comparison_of(schemes, workload=f"traces/{name}") for name in ("chrome", "maps", "mail")]).plot()
    assert overlaps(figure) == []
    assert outside(figure) == []
    assert min(text.get_fontsize() for text in figure.findobj(Text)) >= 8
    bars = {(to_hex(bar.get_facecolor()), bar.get_hatch()) for bar in figure.axes[0].patches}
    assert len(bars) == len(schemes) - 1


def test_the_picture_of_a_phone_is_legible() -> None:
    study = ufsim.phone(ROOT / "samples" / "phone" / "small.toml", ["ufs", "hpbvalve"], profile="tiny", jobs=1)
    figure = study.plot()
    assert overlaps(figure) == []
    assert outside(figure) == []
    assert min(text.get_fontsize() for text in figure.findobj(Text)) >= 8
    assert "small.toml\nprofile: tiny" in figure.get_suptitle()


def test_a_picture_is_written_to_a_path(comparison: Comparison, tmp_path: Path) -> None:
    comparison.plot(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_a_single_result_without_requests_can_be_drawn(comparison: Comparison) -> None:
    only = comparison.results[0]
    only.data.update(latency_ns=dict.fromkeys(only.latency_ns), nand_time_ns={}, throughput_mib_per_s=0.0)
    Comparison("empty", [only]).plot().savefig(io.BytesIO())


# Diagrams for papers.


@pytest.fixture
def sweep() -> pd.DataFrame:
    """Four schemes, three seeds, four depths."""
    frames = []
    for seed in range(3):
        for depth in (1, 2, 4, 8):
            frame = comparison_of(ALL[:4], seed, depth=depth).table().reset_index()
            frames.append(frame.assign(throughput_mib_per_s=frame.throughput_mib_per_s * depth))
    return pd.concat(frames, ignore_index=True)


def one_column(axes: Axes) -> Figure:
    figure = axes.figure
    assert isinstance(figure, Figure)
    figure.set_figwidth(plots.COLUMN_INCHES)
    return figure


def test_every_diagram_is_legible_in_one_column(sweep: pd.DataFrame) -> None:
    thirteen = comparison_of(ALL)
    drawn = {
        "cdf of 4": plots.cdf(comparison_of(ALL[:4]), "read"),
        "cdf of 13": plots.cdf(thirteen, "read"),
        "tail": plots.cdf(thirteen, "read", tail=True),
        "bars of 13": plots.bars(thirteen.table(), "read_p99_ns"),
        "groups": plots.bars(sweep, "throughput_mib_per_s", groups="depth"),
        "lines": plots.lines(sweep, "depth", "throughput_mib_per_s"),
        "time series": plots.time_series(comparison_of(ALL[:4])),
    }
    for name, axes in drawn.items():
        figure = one_column(axes)
        assert overlaps(figure) == [], name
        assert outside(figure) == [], name
        assert min(text.get_fontsize() for text in figure.findobj(Text)) >= 5.8, name
        assert axes.get_window_extent().height / figure.dpi >= 1.1, name
        assert axes.get_xlabel() or name == "groups", name


def test_a_distribution_pools_the_runs_of_several_seeds() -> None:
    runs = [comparison_of(["ufs"], seed) for seed in (0, 50)]
    alone, both = plots.cdf(runs[0], "read"), plots.cdf(runs, "read")
    assert len(both.lines) == 1
    x, y = both.lines[0].get_data()
    points = {*alone.lines[0].get_xdata()[1:], *plots.cdf(runs[1], "read").lines[0].get_xdata()[1:]}
    assert list(x)[1:] == sorted(points)
    assert list(y) == pytest.approx([0.0, 0.25, 0.5, 0.7, 0.9, 0.95, 1.0])
    assert x[0] == pytest.approx(x[1] / 1.122, rel=1e-3), "a point before the first request"


def test_a_tail_is_what_took_longer() -> None:
    x, y = plots.cdf(comparison_of(["ufs"], 0), "read", tail=True).lines[0].get_data()
    assert list(x)[1:] == pytest.approx([80.0, 160.0]) and list(y) == pytest.approx([1.0, 0.5, 0.1])


def test_bands_reach_from_the_smallest_to_the_largest_seed(sweep: pd.DataFrame) -> None:
    own = sweep[(sweep.scheme == "ufs") & (sweep.depth == 8)].throughput_mib_per_s
    for band, low, high in (
        ("range", own.min(), own.max()),
        ("std", own.mean() - own.std(), own.mean() + own.std()),
    ):
        axes = plots.lines(sweep, "depth", "throughput_mib_per_s", band=band)
        assert len(axes.lines) == len(axes.collections) == 4
        assert axes.lines[0].get_ydata()[-1] == pytest.approx(own.mean())
        path = axes.collections[0].get_paths()[0].vertices
        at_8 = path[np.isclose(path[:, 0], 8), 1]
        assert (at_8.min(), at_8.max()) == (pytest.approx(low), pytest.approx(high))
    assert not plots.lines(sweep, "depth", "throughput_mib_per_s", band="none").collections
    assert axes.get_xlabel() == "depth (requests)" and axes.get_ylabel() == "throughput (MiB/s)"


def test_bars_have_means_whiskers_and_hatches(sweep: pd.DataFrame) -> None:
    axes = plots.bars(sweep[sweep.depth == 1], "read_p99_ns")
    means = sweep[sweep.depth == 1].groupby("scheme", sort=False).read_p99_ns.mean() / 1000
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(means.tolist())
    assert [text.get_text() for text in axes.get_yticklabels()] == ALL[:4]
    assert axes.get_xlabel() == "read p99 (µs)"
    assert len(axes.containers) == 4 + 4, "bars and whiskers"
    hatched = plots.bars(comparison_of(ALL).table(), "iops")
    assert [bar.get_hatch() or "" for bar in hatched.patches] == [SCHEME_STYLES[name].hatch for name in ALL]


def test_a_time_series_adds_kinds() -> None:
    x, y = plots.time_series(comparison_of(["ufs"], 0), "iops").lines[0].get_data()
    assert list(x) == [0.0, 0.5, 1.0] and list(y) == [900.0, 0.0, 900.0]
    assert plots.time_series(comparison_of(["ufs"], 0), "iops", "read").lines[0].get_ydata()[0] == 300.0
    mean = plots.time_series(comparison_of(["ufs"], 0), "mean_ns").lines[0].get_ydata()
    assert mean[0] == pytest.approx((300 * 100 + 600 * 62.5) / 900)
    several = plots.time_series([comparison_of(["ufs"], seed) for seed in (0, 1)], "iops").lines
    assert len(several) == 1 and list(several[0].get_ydata()) == [900.0, 0.0, 900.0], "a mean of runs"


def test_trims_are_no_throughput() -> None:
    (one,) = comparison_of(["ufs"], 0)
    kinds = one.data["over_time"]["kinds"]
    own = plots.time_series(one).lines[0].get_ydata()
    kinds["trim"] = kinds["write"]
    assert list(plots.time_series(one).lines[0].get_ydata()) == list(own)
    assert plots.time_series(one, kind="trim").lines[0].get_ydata()[0] > 0


def test_means_have_their_intervals_as_bands() -> None:
    frame = pd.DataFrame({"scheme": ["ufs", "ideal"], "iops": [10.0, 20.0], "iops_ci95": [1.0, None]})
    axes = plots.bars(frame, "iops")
    whiskers = next(one for one in axes.containers if hasattr(one, "has_yerr"))
    assert [list(line[:, 0]) for line in whiskers.lines[2][0].get_segments()] == [[9.0, 11.0]]


def test_any_axes_are_accepted(sweep: pd.DataFrame) -> None:
    own = Figure().subplots(2, 2).ravel()
    assert plots.cdf(comparison_of(ALL[:2]), ax=own[0]) is own[0]
    assert plots.lines(sweep, "depth", "iops", ax=own[1]) is own[1]
    assert plots.bars(sweep, "iops", ax=own[2]) is own[2]
    assert plots.time_series(comparison_of(ALL[:2]), ax=own[3]) is own[3]
    assert all(axes.has_data() for axes in own)
    _, axes = pyplot.subplots()
    assert plots.cdf(comparison_of(ALL[:2]), ax=axes).figure is pyplot.gcf()
    pyplot.close("all")


def test_the_style_is_known_to_matplotlib_and_changes_nothing_for_good() -> None:
    before = matplotlib.rcParams["font.size"]
    with pyplot.style.context("ufsim.paper"):
        assert matplotlib.rcParams["pdf.fonttype"] == 42
        assert matplotlib.rcParams["svg.fonttype"] == "none"
        style = matplotlib.rcParams["font.size"]
    with plots.paper():
        assert matplotlib.rcParams["font.size"] == style != before
    plots.cdf(comparison_of(ALL[:2]))
    assert matplotlib.rcParams["font.size"] == before


def test_files_have_text_and_the_width_of_a_column(tmp_path: Path) -> None:
    axes = plots.cdf(comparison_of(ALL[:2]), "read")
    plots.save(axes, tmp_path / "x.svg", width=3.3)
    text = (tmp_path / "x.svg").read_text()
    assert ">hpb</text>" in text and 'width="237.6pt"' in text
    plots.save(axes, tmp_path / "x.pdf", width=3.3)
    data = (tmp_path / "x.pdf").read_bytes()
    streams = [unpacked(part) for part in re.findall(rb"stream\r?\n(.*?)endstream", data, re.DOTALL)]
    whole = data + b"".join(streams)
    assert b"/FontFile2" in whole and b"/Type3" not in whole, "TrueType, no outlines"
    assert b"/MediaBox [ 0 0 237.6" in data
    again = [tmp_path / "1.pdf", tmp_path / "2.pdf"]
    for path in again:
        plots.save(plots.cdf(comparison_of(ALL[:2]), "read"), path, width=3.3)
    assert again[0].read_bytes() == again[1].read_bytes()
    plots.save(axes, tmp_path / "x.png", width=3.3, dpi=300)
    assert int.from_bytes((tmp_path / "x.png").read_bytes()[16:20]) == 990


def unpacked(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""


def test_wrong_names_suggest_the_right_ones(sweep: pd.DataFrame) -> None:
    with pytest.raises(ConfigError, match=r"y is 'read_p99'; .*did you mean 'read_p99_ns'"):
        plots.bars(sweep, "read_p99")
    with pytest.raises(ConfigError, match=r"kind is 'reads'; allowed: read, write, all; did you mean 'read'"):
        plots.cdf(comparison_of(["ufs"]), "reads")
    with pytest.raises(ConfigError, match="band is 'sd'; allowed: range, std, none"):
        plots.lines(sweep, "depth", "iops", band="sd")


def test_plots_are_imported_when_they_are_used() -> None:
    assert ufsim.plots is plots
    with pytest.raises(AttributeError, match="no attribute 'plot'"):
        _ = ufsim.plot
