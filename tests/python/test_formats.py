import pytest

from ufsim.results.formats import duration, number, percent_change, workload_name


@pytest.mark.parametrize(("value", "text"), [(0, "0.00"), (1.234, "1.23"), (12.34, "12.3"), (1234.5, "1,234")])
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.0, "0.0 %"), (-0.04, "0.0 %"), (-0.06, "-0.1 %"), (12.34, "+12.3 %")])
def test_gains_are_signed(value: float, text: str) -> None:
    assert percent_change(value) == text


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(None, "–"), (0, "0 ns"), (999, "999 ns"), (1000, "1.00 µs"), (2_345_678, "2.35 ms"), (61.5e9, "61.5 s")],
)
def test_durations_have_fitting_units(nanoseconds: float | None, text: str) -> None:
    assert duration(nanoseconds) == text


@pytest.mark.parametrize(("path", "name"), [("a/b/", "b"), ("jobs/x.fio", "x.fio"), ("/t/trace.0.gz", "trace.0.gz")])
def test_a_workload_is_named_by_the_end_of_its_path(path: str, name: str) -> None:
    assert workload_name(path) == name
