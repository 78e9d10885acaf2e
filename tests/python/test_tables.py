import io

import pytest
from rich.console import Console

from ufsim.results import layout
from ufsim.results.comparison_tables import print_comparison, rows
from ufsim.results.formats import plural
from ufsim.results.result import Comparison, Result


def printed(comparison: Comparison, width: int = 80) -> str:
    text = io.StringIO()
    print_comparison(Console(file=text, width=width), comparison)
    return text.getvalue()


def row(text: str, name: str) -> list[str]:
    """The cells of a row, which stand at least two spaces apart."""
    line = next(line.strip() for line in text.splitlines() if line.strip().startswith(name))
    return [cell.strip() for cell in line.removeprefix(name).split("  ") if cell.strip()]


def test_the_table_shows_every_figure_of_every_scheme(comparison: Comparison) -> None:
    text = printed(comparison)
    assert row(text, "throughput MiB/s") == ["40.0", "32.0", "60.0"]
    assert row(text, "gain over ufs") == ["0.0 %", "-20.0 %", "+50.0 %"]
    assert row(text, "read p99.9") == ["1.60 ms", "2.00 ms", "1.07 ms"]
    assert row(text, "write mean") == ["62.5 µs", "78.1 µs", "41.7 µs"]
    assert row(text, "write amplification") == ["1.75", "1.75", "1.75"]
    assert row(text, "NAND time for mapping") == ["20.0 %", "11.1 %", "11.1 %"]
    assert row(text, "requests ") == ["1,000", "1,000", "1,000"]


def test_one_thing_has_no_plural() -> None:
    assert [plural(number, "case") for number in (0, 1, 2, 1_000)] == ["0 cases", "1 case", "2 cases", "1,000 cases"]


def test_the_table_fits_a_terminal(comparison: Comparison) -> None:
    text = printed(comparison, width=200)
    assert max(map(len, text[: text.index("profile:")].splitlines())) <= 80
    assert max(map(len, printed(comparison).splitlines())) <= 80


def test_kinds_without_requests_have_no_rows(comparison: Comparison) -> None:
    for result in comparison.results:
        result.data["latency_ns"]["read"] = None
    text = printed(comparison)
    assert "read mean" not in text
    assert "write mean" in text


def test_flushes_and_trims_have_rows_where_there_are_any(comparison: Comparison) -> None:
    text = printed(comparison)
    assert row(text, "flush mean") == ["1.12 ms"] * 3 and row(text, "flush p99") == ["4.50 ms"] * 3
    assert row(text, "trim mean") == ["–", "–", "12.5 µs"]
    assert text.index("write p99.9") < text.index("flush mean") < text.index("trim mean")
    for result in comparison.results:
        result.data["latency_ns"] |= {"flush": None, "trim": None}
    assert "flush" not in printed(comparison) and "trim" not in printed(comparison)


def test_a_kind_that_one_scheme_lacks_has_a_dash(comparison: Comparison) -> None:
    comparison.results[0].data["latency_ns"]["read"] = None
    assert row(printed(comparison), "read mean") == ["–", "125 µs", "66.7 µs"]


def test_warnings_are_printed_once_with_their_schemes(comparison: Comparison) -> None:
    assert printed(comparison).count("3 events were ignored") == 1
    assert "warning: ufs, hp-ufs: 3 events were ignored" in printed(comparison)


def test_a_timed_replay_leads_with_latencies_and_their_gains(comparison: Comparison) -> None:
    for result in comparison.results:
        result.data["replay"] = "timed"
    lines = [line.strip() for line in printed(comparison).splitlines()]
    labels = [line.split("  ")[0] for line in lines if line]
    first = labels.index("read mean")
    assert labels[first : first + 6] == [
        "read mean",
        "gain over ufs",
        "read p50",
        "read p99",
        "gain over ufs",
        "read p99.9",
    ]
    assert first < labels.index("throughput MiB/s")
    # 100 us against 125 and 66.7: gains are of times, and none is of the throughput, which the trace decides.
    gains = next(line for line in lines if line.startswith("gain over ufs"))
    assert gains.split("  ")[-2:] == ["-25.0 %", " +33.3 %"] or gains.split()[3:] == [
        "0.0",
        "%",
        "-25.0",
        "%",
        "+33.3",
        "%",
    ]
    assert labels.count("gain over ufs") == 4
    assert "trace at its recorded times" in printed(comparison, 200)


@pytest.mark.parametrize("width", [36, 40, 50])
@pytest.mark.parametrize("replay", ["timed", "closed"])
def test_a_gain_stands_beside_what_it_is_a_gain_of(comparison: Comparison, replay: str, width: int) -> None:
    for result in comparison.results:
        result.data["replay"] = replay
    figures = list(rows(comparison, several=True))
    known = {figure.label: figure for figure in figures}
    for some in layout.blocks(["ufs", "mine", "hp-ufs"], figures, width):
        for place, figure in enumerate(some):
            assert not figure.of or some[place - 1] is known[figure.of]
    gains = {"timed": ["read mean", "read p99", "write mean", "write p99"], "closed": ["throughput MiB/s"]}[replay]
    assert [figure.of for figure in figures if figure.of] == gains


def test_transactions_come_first(comparison: Comparison) -> None:
    for place, result in enumerate(comparison.results):
        latency = {"count": 10, "mean": 1e6 / (1 + place), "p50": 9e5, "p99": 2e6, "p999": 3e6}
        operations = [{"name": "insert", "duration_ns": 10_000_000, "latency_ns": latency, "requests": {}}]
        result.data.update(replay="sqlite", operations=operations)
    text = printed(comparison)
    assert row(text, "insert mean") == ["1.00 ms", "500 µs", "333 µs"]
    assert row(text, "gain over ufs") == ["0.0 %", "+50.0 %", "+66.7 %"]
    assert row(text, "insert p99.9") == ["3.00 ms"] * 3
    assert row(text, "inserts/s") == ["1,000"] * 3
    assert text.index("insert mean") < text.index("read mean")


def test_requests_that_failed_have_a_row_and_a_warning(comparison: Comparison) -> None:
    assert "failed" not in printed(comparison)
    comparison.results[2].data["failed"] = 3
    assert row(printed(comparison), "failed") == ["0", "0", "3"]
    assert "warning: hp-ufs: 3 of 1,000 requests ended with an error" in printed(comparison, 200)


def test_what_was_run_and_what_was_not_exercised_stand_below(comparison: Comparison) -> None:
    for result in comparison.results:
        result.data.update(age=None, nand_ops={}, set={"nand.planes": "4"})
    text = printed(comparison, 300)
    for told in ("profile: phone.toml with nand.planes=4", "ageing: none, the device was fresh", "seed: 7", "closed"):
        assert told in text
    assert "note: the device was fresh" in text
    assert "note: GC never ran" in text


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_thirteen_schemes_fit_the_terminal_and_nothing_is_cut(comparison: Comparison, width: int) -> None:
    names = [f"{letter}-scheme-{'x' * (place % 5)}" for place, letter in enumerate("abcdefghijklm")]
    base = comparison.results[0].data
    many = Comparison("traces/example", [Result({**base, "scheme": name, "warnings": []}) for name in names])
    text = printed(many, width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text.split("profile")[0]
    assert all(name in text for name in names)
    assert text.count("1.60 ms") == 13


def test_power_states_have_rows_where_a_profile_has_them(comparison: Comparison) -> None:
    assert "link down" not in printed(comparison)
    down = {"hibern8": 200, "clk_gated": 300, "sleep": 0}
    states = {"busy": 400, "idle": 50, "entering": 20, "waking": 30, **down}
    comparison.results[1].data["power"] = {
        "elapsed_ns": 1000,
        "states": {name: {"time_ns": time, "stays": 1, "working_ns": 0} for name, time in states.items()},
        "request_wakes": 1234,
        "driver_wakes": 5,
        "waited_commands": 7,
        "waited_ns": 12_150_000,
        "energy": {"total_uj": 2_500_000.0},
    }
    text = printed(comparison)
    assert row(text, "link down") == ["–", "50.0 %", "–"]
    assert row(text, "wakes for requests") == ["–", "1,234", "–"]
    assert row(text, "wakes by the driver") == ["–", "5", "–"]
    assert row(text, "waited for wakes") == ["–", "12.2 ms", "–"]
    assert row(text, "energy mJ") == ["–", "2,500", "–"]


def test_host_time_has_rows_where_a_profile_has_it(comparison: Comparison) -> None:
    assert "processor time" not in printed(comparison)
    comparison.results[1].data["host_time"] = {
        "work": {"read": {"submit_ns": 400_000, "complete_ns": 100_000}, "other": {"submit_ns": 0, "complete_ns": 7}},
        "queued_ns": 12_150_000,
        "requests": 300,
        "batches": 200,
        "inside_peak": 128,
        "waited_requests": 1234,
        "late_requests": 56,
    }
    text = printed(comparison)
    assert row(text, "processor time") == ["–", "500 µs", "–"]
    assert row(text, "waited for processors") == ["–", "12.2 ms", "–"]
    assert row(text, "requests at once") == ["–", "1.50", "–"]
    assert row(text, "most requests inside") == ["–", "128", "–"]
    assert row(text, "waited before the queue") == ["–", "1,234", "–"]
    assert row(text, "came late") == ["–", "56", "–"]
