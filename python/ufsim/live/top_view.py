"""How `ufsim top` looks: rates of exports as lines of text, seven at most for each, so that three fit into 80x24.

    hp-ufs                    8 under way     IOPS   MiB/s     mean      p50      p99
      read                                  12,345    48.2   102 µs  99.1 µs   312 µs
      write                                  1,234    4.82   102 µs  99.1 µs   312 µs
      trim 12.0/s p99 312 µs, flush 3.00/s p99 1.20 ms
      map    hits 98.3% (97.1%*), WAF 1.23 (1.18*), host DRAM 4.0 of 64.0 MiB
      dies   ########=+++........ 60% busy: host 38% map 7.1% GC 15%
      GC     120 reads, 20.0 programs, 0.50 erases/s  2 cuts, recovery 12.3 ms

Beside the state stands how fast simulated time passes, where that is not as fast as time on the wall (`x0.30`), and
`late` where clients see other times than the simulated ones.
"""

from collections.abc import Mapping

from rich.console import Group
from rich.text import Text

from ufsim.live.top_rates import Now, Rates
from ufsim.results.formats import duration, number

WIDTH = 80
# Kinds with a line each; the others share one.
MAIN_KINDS = ("read", "write")
# Widths of the columns; the first takes what is left.
COLUMNS = {"IOPS": 9, "MiB/s": 8, "mean": 9, "p50": 9, "p99": 9}
FIRST = WIDTH - sum(COLUMNS.values())
LABEL = 9
BAR = 20
IDLE = "idle"
COLOURS = {"host": "green", "map": "cyan", "GC": "yellow", "recovery": "red"}
# Each group also has a sign of its own, for terminals without colours.
SIGNS = {"host": "#", "map": "=", "GC": "+", "recovery": "!"}
# On the real clock at its own speed, readings of simulated and wall time differ by about a millisecond.
ODD_PACE = 0.02


def frame(exports: Mapping[str, Rates], title: str, height: int | None = None) -> Group:
    """A picture of all exports, in at most so many lines. Those that do not fit are counted in the last line."""
    lines = [Text(title, style="dim")]
    for index, (name, rates) in enumerate(exports.items()):
        block = export_lines(name, rates)
        others = len(exports) - index - 1
        if height is not None and len(lines) + len(block) + (others > 0) > height and index:
            left = others + 1
            lines.append(Text(f"{left} more export{'s' * (left > 1)}: --export NAME, or a higher window", style="dim"))
            break
        lines += block
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(*lines[:height])


def export_lines(name: str, rates: Rates) -> list[Text]:
    """What is said of one export."""
    lines = [head(name, rates)]
    lines += [kind_line(kind, rates) for kind in MAIN_KINDS if kind in rates.kinds]
    lines += other_kinds(rates)
    return [*lines, map_line(rates), dies_line(rates), gc_line(rates)]


def head(name: str, rates: Rates) -> Text:
    """Name and state, and what stands in the columns below."""
    state = f"{rates.under_way} under way" if rates.ready else "recovering"
    if abs(rates.pace - 1) > ODD_PACE:
        state += f", x{number(rates.pace)}"
    if rates.late:
        state += ", late"
    line = Text(style="bold reverse")
    line.append(f"{name} ".ljust(FIRST - len(state)) + state, style="" if rates.ready and not rates.late else "red")
    for title, width in COLUMNS.items():
        line.append(title.rjust(width))
    return line


def kind_line(kind: str, rates: Rates) -> Text:
    """Requests of one kind."""
    of = rates.kinds[kind]
    line = Text(f"  {kind}".ljust(LABEL), style="" if of.iops or of.failed else "dim")
    failed = f"{of.failed} failed" if of.failed else ""
    line.append(failed.rjust(FIRST - LABEL), style="red")
    cells = (per_second(of.iops), per_second(of.mib_per_s), *map(duration, (of.mean_ns, of.p50_ns, of.p99_ns)))
    for text, width in zip(cells, COLUMNS.values(), strict=True):
        line.append(text.rjust(width))
    return line


def other_kinds(rates: Rates) -> list[Text]:
    """One line for the kinds that come rarely, once there has been any."""
    told, busy = [], False
    for kind, of in rates.kinds.items():
        if kind in MAIN_KINDS or not of.ever:
            continue
        busy |= of.iops > 0 or of.failed > 0
        failed = f" {of.failed} failed" if of.failed else ""
        told.append(f"{kind} {per_second(of.iops)}/s p99 {duration(of.p99_ns)}{failed}")
    return [Text("  " + ", ".join(told), style="" if busy else "dim")] if told else []


def map_line(rates: Rates) -> Text:
    """Where mappings are found and what writing costs."""
    parts = [f"hits {percent(rates.hit_ratio)}"] if rates.hit_ratio.since_power_on is not None else []
    if rates.waf.since_power_on is not None:
        parts.append(f"WAF {plain(rates.waf)}")
    if rates.cache_limit_bytes is None:
        parts.append("no mapping in host DRAM")
    else:
        parts.append(f"host DRAM {mib(rates.cache_bytes)} of {mib(rates.cache_limit_bytes)} MiB")
    return labelled("map", ", ".join(parts))


def dies_line(rates: Rates) -> Text:
    """What takes the time of the dies, as a bar and in numbers."""
    shares = rates.busy_shares
    line = labelled("dies", "")
    for group, cells in bar_cells(shares, BAR).items():
        line.append(SIGNS.get(group, ".") * cells, style=COLOURS.get(group, "dim"))
    line.append(f" {part(min(sum(shares.values()), 1))} busy")
    told = [(f"{group} {part(share)}", COLOURS[group]) for group, share in shares.items() if share]
    for index, (text, colour) in enumerate(told):
        line.append(" " if index else ": ").append(text, style=colour)
    return line


def part(share: float) -> str:
    """A share in two digits."""
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}"


def bar_cells(shares: Mapping[str, float], width: int) -> dict[str, int]:
    """Cells of a bar for parts of a whole, and for what is left. What is more than the whole is left out."""
    cells, end, total = {}, 0, 0.0
    for group, share in shares.items():
        total += share
        cells[group] = min(round(total * width), width) - end
        end += cells[group]
    return {**cells, IDLE: width - end}


def gc_line(rates: Rates) -> Text:
    """Garbage collection, and power cuts if there were any."""
    per_s = rates.gc_per_s()
    told = ", ".join(f"{per_second(rate)} {kind}s" for kind, rate in per_s.items())
    line = labelled("GC", f"{told}/s" if told else "none")
    if rates.cuts:
        took = f"recovery {duration(rates.last_recovery_ns)}" if rates.ready else "recovering"
        line.append(f"  {rates.cuts} cut{'s' * (rates.cuts > 1)}, {took}", style="" if rates.ready else "red")
    return line


def labelled(label: str, text: str) -> Text:
    """A line that begins with what it is about."""
    return Text(f"  {label}".ljust(LABEL) + text)


def per_second(value: float) -> str:
    """A rate in a few characters; 0 stands for exactly nothing."""
    return number(value) if value else "0"


def percent(value: Now) -> str:
    """A share in the interval, and since power-on."""
    return both(None if value.interval is None else f"{value.interval:.1%}", f"{value.since_power_on:.1%}")


def plain(value: Now) -> str:
    """A number in the interval, and since power-on."""
    return both(None if value.interval is None else f"{value.interval:.2f}", f"{value.since_power_on:.2f}")


def both(interval: str | None, since: str) -> str:
    """Two texts for the interval and since power-on."""
    return f"{interval or '–'} ({since}*)"


def mib(size: int) -> str:
    """Bytes in MiB."""
    return f"{size / (1 << 20):.1f}"
