import io

from rich.console import Console

from ufsim.results import Comparison
from ufsim.tables import print_comparison


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


def test_the_table_fits_a_terminal(comparison: Comparison) -> None:
    assert max(map(len, printed(comparison, width=200).splitlines())) <= 80


def test_kinds_without_requests_have_no_rows(comparison: Comparison) -> None:
    for result in comparison.results:
        result.data["latency_ns"]["read"] = None
    text = printed(comparison)
    assert "read mean" not in text
    assert "write mean" in text


def test_a_kind_that_one_scheme_lacks_has_a_dash(comparison: Comparison) -> None:
    comparison.results[0].data["latency_ns"]["read"] = None
    assert row(printed(comparison), "read mean") == ["–", "125 µs", "66.7 µs"]


def test_warnings_are_printed_once_with_their_schemes(comparison: Comparison) -> None:
    assert printed(comparison).count("3 events were ignored") == 1
    assert "warning: ufs, hp-ufs: 3 events were ignored" in printed(comparison)
