"""`ufsim top`: rates from hand-made stats, how they are drawn, and the command on a live device."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from live_stats import class_end, kind, stats
from test_serve import BLOCK, READ, UFSIM, Client, ctl, serving
from ufsim.cli.exits import Exit
from ufsim.live import punctual
from ufsim.live.server import Server
from ufsim.live.top_rates import GROUP_OF, Look, Rates, first_of_class, percentile, rates, rates_of
from ufsim.live.top_view import BAR, WIDTH, bar_cells, frame

LONG_NAME = "hpbvalve-hp-ufs"
CONTROLS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def test_rates_are_per_second_on_the_wall() -> None:
    before = stats(10.0, requests={"read": kind(100), "write": kind(5)})
    after = stats(11.0, requests={"read": kind(356, mean_us=200.0), "write": kind(5, failed=2)}, outstanding=3)
    now = rates_of(before, after, 2.0)
    assert now.pace == 0.5
    assert (now.kinds["read"].iops, now.kinds["read"].mib_per_s) == (128.0, 0.5)
    # 356 * 200 us less 100 * 100 us, over the 256 of the interval.
    assert now.kinds["read"].mean_ns == pytest.approx((356 * 200e3 - 100 * 100e3) / 256)
    assert (now.kinds["write"].iops, now.kinds["write"].failed, now.kinds["write"].mean_ns) == (0.0, 2, None)
    assert now.kinds["trim"].p50_ns is None and not now.kinds["trim"].ever and now.kinds["write"].ever
    assert now.under_way == 3


def test_every_export_is_compared_with_itself() -> None:
    before = Look(100.0, {"a": stats(), "b": stats(requests={"read": kind(50)})})
    after = Look(104.0, {name: stats(4.0, requests={"read": kind(90)}) for name in "ab"})
    found = rates(before, after)
    assert [found[name].kinds["read"].iops for name in "ab"] == [22.5, 10.0]


def test_ratios_are_of_the_interval_and_since_power_on() -> None:
    before = stats(host={"booster_hits": 10, "booster_misses": 90}, device={"host_units_written": 100})
    after = stats(
        host={"booster_hits": 40, "booster_misses": 100},
        device={
            "host_units_written": 150,
            "data_units_programmed": 50,
            "padding_units": 5,
            "map_units_programmed": 10,
            "gc_units_programmed": 20,
        },
        hit_ratio=0.25,
        waf=1.5,
    )
    now = rates_of(before, after, 1.0)
    assert (now.hit_ratio.interval, now.hit_ratio.since_power_on) == (0.75, 0.25)
    assert (now.waf.interval, now.waf.since_power_on) == (1.7, 1.5)
    idle = rates_of(after, after, 1.0)
    assert (idle.hit_ratio.interval, idle.waf.interval) == (None, None)


def counted(hits: int, written: int, reads: int, **more: Any) -> dict[str, Any]:
    return stats(
        host={"booster_hits": hits, "booster_misses": hits},
        device={"host_units_written": written, "data_units_programmed": written},
        flash={"host_read.read": reads},
        **more,
    )


def test_after_a_power_cut_counters_begin_again() -> None:
    before = counted(100, 100, 100)
    # Counts that have come further since the cut than before it do not look as if they had been reset.
    after = rates_of(before, counted(300, 300, 300, cuts=1), 1.0)
    assert after.flash_per_s == {"host_read.read": 300.0}
    assert (after.waf.interval, after.hit_ratio.interval) == (1.0, 0.5)
    assert rates_of(before, counted(30, 30, 30, cuts=1), 1.0).flash_per_s == {"host_read.read": 30.0}


def test_the_driver_begins_again_after_the_recovery() -> None:
    before = counted(100, 100, 100)
    recovering = counted(100, 0, 7, cuts=1, ready=False)
    during = rates_of(before, recovering, 1.0)
    assert (during.ready, during.hit_ratio.interval, during.flash_per_s) == (False, None, {"host_read.read": 7.0})
    ready = counted(150, 0, 10, cuts=1)
    after = rates_of(recovering, ready, 1.0)
    assert (after.hit_ratio.interval, after.flash_per_s) == (0.5, {"host_read.read": 3.0})


def test_a_counter_that_is_less_has_begun_again() -> None:
    assert rates_of(counted(9, 9, 100), counted(9, 9, 40), 2.0).flash_per_s == {"host_read.read": 20.0}


def test_flash_operations_are_told_by_what_they_are_for() -> None:
    flash = {"host_read.read": 40, "map_write.program": 10, "gc_read.read": 20, "valid_page_search.read": 10}
    busy_ns = {"host_read": 10**9, "host_write": 10**9, "erase": 4 * 10**8}
    after = stats(2.0, flash=flash | {"gc_write.program": 16, "erase.erase": 4}, flash_busy_ns=busy_ns)
    now = rates_of(stats(), after, 4.0)
    assert now.gc_per_s() == {"read": 7.5, "program": 4.0, "erase": 1.0}
    # Of the two simulated seconds of four dies.
    assert now.busy_shares == pytest.approx({"host": 0.25, "map": 0.0, "GC": 0.05, "recovery": 0.0})
    idle = rates_of(after, after, 2.0)
    assert (sum(idle.busy_shares.values()), idle.gc_per_s()) == (0.0, {})


def test_percentiles_are_those_of_the_interval() -> None:
    before, after = kind(1000, mean_us=50.0), kind(1100, mean_us=50.0)
    after["latency_classes"] = before["latency_classes"] | {
        str(class_end(1_000_000)): 98,
        str(class_end(8_000_000)): 2,
    }
    of = rates_of(stats(requests={"read": before}), stats(requests={"read": after}), 1.0).kinds["read"]
    assert of.p50_ns == pytest.approx(1_000_000, rel=1 / 32)
    assert of.p99_ns == pytest.approx(8_000_000, rel=1 / 32)
    assert percentile({63: 10}, 0.5) == 63
    assert percentile({}, 0.5) is None


@pytest.mark.parametrize("ns", [0, 1, 63, 64, 65, 4095, 4096, 123_456_789])
def test_classes_of_latencies_are_those_of_the_device(ns: int) -> None:
    assert first_of_class(class_end(ns)) <= ns <= class_end(ns)
    assert class_end(ns) - first_of_class(class_end(ns)) <= ns / 32


def test_a_bar_has_all_its_cells() -> None:
    for shares in ({"host": 1 / 3, "map": 1 / 3, "GC": 1 / 3}, {"host": 1.2, "GC": 0.1}, {"host": 0.02, "GC": 0.5}):
        cells = bar_cells(shares, BAR)
        assert sum(cells.values()) == BAR and all(count >= 0 for count in cells.values())
        if sum(shares.values()) <= 1:
            assert all(abs(cells[group] - share * BAR) <= 1 for group, share in shares.items())
    assert bar_cells({"host": 0.0}, BAR) == {"host": 0, "idle": BAR}


def busy(**more: Any) -> Rates:
    """An export with as much to say as there can be."""
    requests = {name: kind(12_345, failed=3, mean_us=1234.0) for name in ("read", "write", "trim", "flush")}
    flash = {f"{cause}.read": 12_345 for cause in GROUP_OF if cause != "erase"}
    after = counted(
        999, 999, 999, requests=requests, outstanding=128, cuts=12, last_recovery_ns=123_456_789,
        hit_ratio=0.999, waf=12.34,
    )  # fmt: skip
    after["host"]["dram_bytes_used"] = 1000 << 20
    after["flash"] = flash | {"gc_write.program": 1234, "erase.erase": 123}
    after |= {"sim_ns": 10**9, "flash_busy_ns": dict.fromkeys(GROUP_OF, 400_000_000)}
    return rates_of(stats(), after | more, 1.0)


def drawn(exports: dict[str, Rates], height: int | None = 24, columns: int = WIDTH) -> list[str]:
    console = Console(width=columns, height=height, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(frame(exports, "title", height))
    console.file.close()
    return console.export_text().rstrip("\n").split("\n")


def test_three_busy_exports_fit_into_80_by_24() -> None:
    lines = drawn({LONG_NAME: busy(), "hp-ufs": busy(ready=False), "ufs": busy(sim_ns=2 * 10**9)})
    assert len(lines) <= 24
    assert all(len(line) <= WIDTH for line in lines)
    text = "\n".join(lines)
    assert "…" not in text, f"something is cut off:\n{text}"
    for told in (LONG_NAME, "recovering", "128 under way, x2.00", "12 cuts, recovery 123 ms", "of 64.0 MiB", "99.9%"):
        assert told in text, f"{told}:\n{text}"


def test_exports_that_do_not_fit_are_counted() -> None:
    lines = drawn({name: busy() for name in "abcde"})
    assert len(lines) <= 24 and "2 more exports: --export NAME" in lines[-1]
    assert len(drawn({"a": busy()}, height=4)) == 4
    assert len(drawn({name: busy() for name in "abcde"}, None)) == 1 + 5 * 7
    assert all(len(line) <= 40 for line in drawn({"a": busy()}, columns=40))


def test_an_idle_device_is_drawn() -> None:
    text = "\n".join(drawn({"ufs": rates_of(stats(), stats(1.0, host={"dram_bytes_limit": 0}), 1.0)}))
    for told in ("0 under way", " 0.0% busy", "no mapping in host DRAM", "none"):
        assert told in text
    assert "cut" not in text and "WAF" not in text


def test_causes_of_a_live_device_are_known(tmp_path: Path) -> None:
    with Server("hp-ufs", tmp_path / "s", speed=None, profile="tiny") as server:
        client = Client(tmp_path / "s")
        before = server.stats()
        for block in range(200):
            client.write(block, bytes(BLOCK))
            assert client.ask(READ, block * BLOCK, BLOCK) == 0 and client.take(BLOCK)
        client.socket.close()
        server.cut()
        after = server.stats()
        now = rates(Look(0.0, before), Look(1.0, after))["hp-ufs"]
    assert (now.kinds["read"].iops, now.kinds["write"].iops, now.cuts) == (200.0, 200.0, 1)
    # The firmware's counters have begun again with the cut.
    causes = after["hp-ufs"]["flash_busy_ns"]
    assert causes["recovery"] > 0 and causes.keys() <= GROUP_OF.keys()
    assert causes.keys() == {name.split(".")[0] for name in after["hp-ufs"]["flash"]}
    read = after["hp-ufs"]["requests"]["read"]
    assert sum(read["latency_classes"].values()) == read["done"]
    counts = {int(end): count for end, count in read["latency_classes"].items()}
    assert percentile(counts, 0.5) == pytest.approx(read["latency"]["p50_ns"], rel=1 / 32)


def test_one_frame_is_printed_anywhere(tmp_path: Path) -> None:
    with serving(tmp_path, "--scheme", "ufs,hp-ufs", "--clock", "free"):
        command = [*UFSIM, "top", str(tmp_path / "c"), "--once", "--interval", "0.2"]
        text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        assert re.search(r"^hp-ufs +0 under way", text, re.MULTILINE) and "\nufs " in text
        assert "\x1b" not in text and all(len(line) <= WIDTH for line in text.splitlines())
        text = subprocess.run([*command, "--export", "ufs"], capture_output=True, text=True, check=True).stdout
        assert "hp-ufs" not in text


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        ([], Exit.USAGE, "no terminal; --once prints one frame"),
        (["--once", "--interval", "0"], Exit.INPUT, "interval is 0.0; allowed: 0.1 to 3600 seconds"),
        (["--once"], Exit.INPUT, "no server"),
    ],
)
def test_wrong_use_is_told(tmp_path: Path, options: list[str], status: Exit, told: str) -> None:
    command = [*UFSIM, "top", str(tmp_path / "c"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (status, "")
    assert told in done.stderr and done.stderr.count("\n") == 1


class Watched:
    """`ufsim top` on a terminal of 80x24."""

    def __init__(self, control: Path) -> None:
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            command = [*UFSIM, "top", str(control), "--interval", "0.2"]
            os.execve(sys.executable, command, os.environ | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"})
        self.written = ""

    def read_until(self, wanted: str) -> None:
        deadline = time.monotonic() + 60
        while wanted not in CONTROLS.sub("", self.written):
            assert time.monotonic() < deadline, self.written
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.written += os.read(self.terminal, 65536).decode(errors="replace")

    def ended(self) -> tuple[int, str]:
        """The exit status, and the last line."""
        while True:
            try:
                self.written += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:
                break
        os.close(self.terminal)
        status = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        return status, CONTROLS.sub("", self.written).strip().splitlines()[-1]


@pytest.mark.parametrize("by", ["q", "an interrupt", "the server"])
def test_it_is_left_open_until_somebody_ends_it(tmp_path: Path, by: str) -> None:
    with serving(tmp_path, "--clock", "free"):
        top = Watched(tmp_path / "c")
        top.read_until("under way")
        before = termios.tcgetattr(top.terminal)[3]
        assert not before & termios.ICANON
        match by:
            case "q":
                os.write(top.terminal, b"xq")
            case "an interrupt":
                os.kill(top.process, signal.SIGINT)
            case _:
                ctl(tmp_path, "quit")
        status, last = top.ended()
    if by == "the server":
        told = "c: the server has closed the connection: it has ended, or had too many control connections"
        assert status == Exit.INPUT and last.strip().startswith("ufsim: error: ") and last.strip().endswith(told)
    else:
        assert status == Exit.OK, last
    # The screen from before is back.
    assert top.written.rindex("\x1b[?1049l") > top.written.rindex("under way")


def test_a_device_that_does_not_keep_its_times_says_so() -> None:
    late = {"p50_ns": 5_000, "p90_ns": 8_000, "p99_ns": 30_000, "p999_ns": 90_000}
    busy = stats(1.0, lateness=late, requests={"read": kind(9, mean_us=100.0), "write": kind(9, mean_us=900.0)})
    told = punctual.warning(busy)
    assert told is not None and "half of the replies 5.00 µs, one in a hundred 30.0 µs" in told and "100 µs" in told
    calm = stats(1.0, lateness=late | {"p99_ns": 10_000}, requests={"read": kind(9, mean_us=100.0)})
    assert punctual.warning(calm) is None, "a tenth of the median is little"
    slowed = stats(1.0, speed=0.1, lateness=late, requests={"read": kind(9, mean_us=100.0)})
    assert punctual.warning(slowed) is None, "clients wait for ten times the median"
    assert punctual.warning(stats(1.0, requests={"read": kind(9)})) is None, "on the free clock nothing is late"
    assert punctual.warning(stats(1.0, lateness=late)) is None, "nothing was answered"
    assert rates_of(stats(), busy, 1.0).late and not rates_of(stats(), calm, 1.0).late
    assert "under way, late" in str(frame({"a": rates_of(stats(), busy, 1.0)}, "top").renderables[1])
