"""The tables of a suite: one for each measure, a row for each workload, and the geometric mean below."""

from collections.abc import Iterator
from dataclasses import replace

from rich.console import Console

from ufsim.results import conditions, layout
from ufsim.results.chance import estimate, gain_text, told
from ufsim.results.comparison_tables import Form, print_conditions, print_time, rows
from ufsim.results.formats import duration, number
from ufsim.results.layout import Row
from ufsim.results.result import RECORDED, Comparison
from ufsim.results.suite import LATENCIES, Measure, Suite

MEAN = "geometric mean"


def print_suite(console: Console, suite: Suite) -> None:
    """Prints the tables, what was run, and what to know of it."""
    if len(suite.schemes) == 1:
        together = Comparison(f"{suite.schemes[0]} on {len(suite)} workloads", suite.results)
        figures = list(rows(together, several=False))
        for table in layout.tables(together.workload, suite.names, figures, console.width):
            console.print(table)
    else:
        for measure, places in suite.measures():
            title = f"{measure.label}: {suite.schemes[0]}, and gains over it"
            names, found = with_recorded(suite, measure, places, list(measure_rows(suite, measure, places)))
            for table in layout.tables(title, names, found, console.width):
                console.print(table)
    by_name = {name: one.results for name, one in zip(suite.names, suite.comparisons, strict=True)}
    notes = conditions.merged({name: conditions.notes(results) for name, results in by_name.items()})
    warnings = conditions.merged({name: conditions.warnings(results) for name, results in by_name.items()})
    print_conditions(console, conditions.described_suite(by_name), notes, warnings)
    print_time(console, suite.results)


def measure_rows(suite: Suite, measure: Measure, places: list[int]) -> Iterator[Row]:
    """The first scheme's value and the others' gains on each workload, then the means of the gains."""
    for place in places:
        gains = list(suite.gains_of(measure, place).values())
        base = told(estimate(suite.comparisons[place].results[0], measure.value), form_of(measure))
        yield Row(suite.names[place], [base, *map(gain_text, gains[1:])], ends=place == places[-1])
    means = [suite.mean_gain(measure, places, column) for column in range(len(suite.schemes))]
    yield Row(MEAN, ["–", *map(gain_text, means[1:])])


def with_recorded(suite: Suite, measure: Measure, places: list[int], rows: list[Row]) -> tuple[list[str], list[Row]]:
    """Names and rows with a column for what the traced devices did, if any of them is known."""
    recorded = [suite.comparisons[place].recorded for place in places]
    values = [estimate(one, measure.value) if one and measure in LATENCIES else None for one in recorded]
    if not any(values):
        return suite.schemes, rows
    cells = [told(value, form_of(measure)) for value in values] + ["–"] * (len(rows) - len(values))
    added = [replace(row, cells=[*row.cells, cell]) for row, cell in zip(rows, cells, strict=True)]
    return [*suite.schemes, RECORDED], added


def form_of(measure: Measure) -> Form:
    """How its values are written."""
    return duration if measure.shorter else number
