"""HPBvalve and FOAM's partitions in the kernel, and the player of apps that drives them.

`make test-linux` takes longer: more launches, and the comparison with the models.
"""

import pytest

from test_linux import LONG, complaints, job, kernel  # noqa: F401
from tools.hosts import apps
from ufsim import linux
from ufsim.cli.app import execute
from ufsim.cli.exits import Exit

V = "/sys/block/sda/device/hpbvalve"
#: Subregions of 2 MiB, each a region: what is told of one is told of the other.
SETTINGS = {"scheme.segment-log.hpb_group_entries": 512, "scheme.segment-log.hpb_region_groups": 1}
#: Pages of a subregion.
GROUP = 512
FILLED = "dd if=/dev/zero of=/dev/sda bs=1M count=96 oflag=direct 2> /dev/null\nchmod 666 /dev/sda\n"
LOOK = f'for f in front profile_launch profile_run lists; do echo "$f:" $(cat {V}/$f); done\n'
ROUNDS = 20 if LONG else 3


def pages(*groups: int) -> str:
    """The first page of each subregion."""
    return " ".join(str(group * GROUP) for group in groups)


def played(*lines: str) -> str:
    """Shell lines that play a scenario."""
    return "cat > /tmp/apps <<'END'\nmap /dev/sda\n" + "\n".join(lines) + "\nEND\nplayer /tmp/apps || exit 9\n"


def run(tmp_path, text: str, scheme: str = "hpbvalve", **settings) -> linux.GuestRun:
    ran = linux.run(job(tmp_path, FILLED + text), scheme, profile="tiny", settings={**SETTINGS, **settings})
    assert ran.status == 0, ran.stdout + ran.stderr + ran.console
    assert not complaints(ran.console)
    return ran


def looks(ran: linux.GuestRun) -> list[dict[str, str]]:
    """What the policy has shown, once for each look."""
    found: list[dict[str, str]] = []
    for line in ran.stdout.splitlines():
        name, colon, value = line.partition(":")
        if colon and name == "front":
            found.append({})
        if colon:
            found[-1][name] = value.strip()
    return found


def lists(look: dict[str, str]) -> dict[str, set[int]]:
    """Regions by list."""
    found: dict[str, set[int]] = {}
    name = ""
    for word in look["lists"].split():
        if word.isdigit():
            found[name].add(int(word))
        else:
            found[name := word] = set()
    return found


APPS = ("app 10001 64", "app 10002 64", "app 10003 64")


def test_a_launch_signal_prefetches_exactly_the_profile(tmp_path):
    text = played(*APPS[:2], f"launch 10001 {pages(1, 2, 9)}", f"use 10001 {pages(20, 9)}", f"launch 10002 {pages(30)}")
    again = f"echo 10001 1000 > {V}/reclaim\n{LOOK}echo 10001 > {V}/launch_start\nsleep 0.1\n{LOOK}"
    ran = run(tmp_path, text + again)
    before, after = looks(ran)
    assert lists(before) == {"BG": set(), "IFG": set(), "AFG": {30}}
    assert (after["front"], after["profile_launch"], after["profile_run"]) == ("10001", "1+2 9+1", "20+1 9+1")
    # What was in front goes to the list of apps that were.
    assert lists(after) == {"BG": set(), "IFG": {30}, "AFG": {1, 2, 9, 20}}
    stats = ran.hpbvalve_stats
    # The launch list has 9, too, so the running list need not bring it.
    assert (stats["hpbvalve_launch_fetches"], stats["hpbvalve_running_fetches"]) == (3, 1)
    assert stats["hpbvalve_miss_fetches"] == 5
    assert stats["hpbvalve_profile_bytes"] == 4 * (2 + 2 + 1)
    assert stats["dram_bytes"] == 5 * 4096
    assert ran.hpb_stats["map_req_cnt"] == 5 + 3 + 1 + stats["counted_fetches"]


def test_a_second_launch_hits_where_the_first_has_missed(tmp_path):
    twice = [f"launch 10001 {pages(*range(1, 30, 3))}", f"launch 10002 {pages(40)}", "exit 10001", "wait 10"]
    ran = run(tmp_path, played(*APPS[:2], *twice, f"launch 10001 {pages(*range(1, 30, 3))}"))
    launches = [line.split() for line in ran.stdout.splitlines() if line.startswith("launch 10001")]
    assert [words[2] for words in launches] == ["cold", "cold"]
    stats = ran.hpbvalve_stats
    assert (stats["launch_hits"], stats["launch_misses"]) == (10, 11)
    assert int(launches[1][-1]) < int(launches[0][-1])


def test_memory_comes_back_from_the_background_first_and_never_from_the_front(tmp_path):
    background = " ".join(f"{group * GROUP} {group * GROUP + 1}" for group in (40, 41))
    text = played(
        *APPS[:2], f"launch 10001 {pages(1, 2)}", f"launch 10002 {pages(10, 11)}", f"use 10002 {background}"
    )  # fmt: skip
    # Reads of nobody's: two are enough for a count of two.
    read = "".join(
        f"dd if=/dev/sda of=/dev/null bs=4k skip={group * GROUP + n} count=1 iflag=direct 2> /dev/null\n"
        for group in (50, 51)
        for n in (0, 1)
    )
    asks = "".join(f"echo {uid} {kib} > {V}/reclaim\n{LOOK}" for uid, kib in ((10009, 100), (10001, 4), (10001, 400)))
    ran = run(tmp_path, text + read + "sleep 0.1\n" + LOOK + asks)
    first, unknown, little, much = (lists(look) for look in looks(ran))
    assert first == {"BG": {50, 51}, "IFG": {1, 2}, "AFG": {10, 11, 40, 41}}
    assert unknown == first
    assert little == {**first, "BG": {51}}
    assert much == {"BG": set(), "IFG": set(), "AFG": {10, 11, 40, 41}}
    stats = ran.hpbvalve_stats
    assert (stats["hpbvalve_reclaimed_bytes"], stats["hpbvalve_reclaims_short"]) == (4 * 4096, 1)
    assert stats["dram_bytes"] == 4 * 4096
    # The device is told of each.
    assert ran.hpb_stats["umap_req_cnt"] == stats["regions_evicted"] == 4


def test_what_is_in_front_stays_when_memory_is_full(tmp_path):
    text = played(*APPS[:2], f"launch 10001 {pages(*range(1, 9))}", f"launch 10002 {pages(*range(20, 40))}")
    ran = run(tmp_path, f"echo 32 > {V}/limit_kib\n{text}sleep 0.1\n{LOOK}")
    (found,) = map(lists, looks(ran))
    assert found == {"BG": set(), "IFG": set(), "AFG": set(range(20, 28))}
    assert ran.hpbvalve_stats["fetches_given_up"] == 12
    assert ran.hpbvalve_stats["dram_bytes"] == 32 * 1024


@pytest.mark.parametrize(("scheme", "list_"), [("hpbvalve", "BG"), ("foam", "BR")])
def test_what_the_system_reads_is_no_apps_while_nobody_is_in_front(tmp_path, scheme, list_):
    read = "dd if=/dev/sda of=/dev/null bs=4k count=1 iflag=direct 2> /dev/null"
    ran = run(tmp_path, f"{read} skip=15000\n{read} skip=15001\nsleep 0.01\n{read} skip=15002\n{LOOK}", scheme)
    (look,) = looks(ran)
    assert look["front"] == "0"
    assert lists(look)[list_] == {15000 // GROUP}
    assert ran.hpbvalve_stats["front_hits"] == ran.hpbvalve_stats["front_misses"] == 0


def test_foam_keeps_its_partitions_and_drops_in_their_order(tmp_path):
    twice = " ".join(f"{group * GROUP} {group * GROUP + 1}" for group in (1, 2, 3))
    text = played(APPS[0], f"launch 10001 {twice}", "wait 10", f"write 10001 {pages(2)}")
    direct = "dd bs=4k count=1"
    system = "".join(
        f"{direct} if=/dev/sda of=/dev/null skip={group * GROUP + n} iflag=direct 2> /dev/null\n"
        for group in (40, 41)
        for n in (0, 1)
    )
    dirty = f"sleep 0.01\n{direct} if=/dev/zero of=/dev/sda seek={41 * GROUP} oflag=direct 2> /dev/null\n"
    squeeze = "".join(f"echo {kib} > {V}/limit_kib\n{LOOK}" for kib in (16, 12, 8, 4))
    # Regions are not dropped by time here: they are looked at within 0.1 s.
    ran = run(
        tmp_path,
        text + system + dirty + LOOK + squeeze,
        "foam",
        **{"scheme.foam.read_timeout_ms": 1000, "scheme.foam.read_timeout_expiries": 100},
    )
    found = [lists(look) for look in looks(ran)]
    whole = {"BR": {40}, "BW": {41}, "FR": {1, 3}, "FW": {2}}
    assert found[0] == whole
    assert found[1] == {**whole, "BR": set()}
    assert found[2] == {**whole, "BR": set(), "BW": set()}
    assert found[3] == {"BR": set(), "BW": set(), "FR": {3}, "FW": {2}}
    assert found[4] == {"BR": set(), "BW": set(), "FR": set(), "FW": {2}}
    # It prefetches nothing, gives nothing back, and knows no profiles.
    assert not [name for name, value in ran.hpbvalve_stats.items() if name.startswith("hpbvalve_") and value]


WRONG = {
    "policy": ("", "linux", "2"),
    "limit_kib": ("0", "3", "-1", "4294967296", "x"),
    "profile_apps": ("0", "1001", "x"),
    "profile_kib": ("0", "1048577"),
    "launch_start": ("", "0", "-1", "4294967296", "10001 1", "app"),
    "launch_end": ("0", "app"),
    "ended": ("0", "app"),
    "account": ("", "0", "2", "x"),
    "reclaim": ("", "10001", "10001 0", "0 5", "10001 5 5", "10001 x", "1" * 40 + " 1"),
}


def test_wrong_input_is_refused_and_nothing_breaks(tmp_path):
    tries = "".join(
        f"echo '{value}' 2>&1 > {V}/{name} | grep -q 'Invalid argument' || echo 'taken: {name} = {value}'\n"
        for name, values in WRONG.items()
        for value in values
    )
    ran = run(tmp_path, tries + played(APPS[0], f"launch 10001 {pages(1)}") + LOOK)
    assert "taken" not in ran.stdout
    assert looks(ran)[0]["front"] == "10001"
    assert ran.hpbvalve_stats["hpbvalve_miss_fetches"] == 1


def test_repeats_are_equal(tmp_path):
    rounds = [
        f"{what} {uid} {pages(*((uid * 7 + turn * n) % 48 for n in range(8)))}"
        for turn in range(ROUNDS)
        for uid in (10001, 10002, 10003)
        for what in ("launch", "use")
    ]
    one, other = (run(tmp_path, played(*APPS, *rounds)) for _ in range(2))
    assert (one.stdout, one.hpbvalve_stats, one.console) == (other.stdout, other.hpbvalve_stats, other.console)
    assert one.result.digest == other.result.digest
    assert one.hpbvalve_stats["front_hits"] > one.hpbvalve_stats["front_misses"]


def test_policies_come_and_go_while_apps_run(tmp_path):
    change = "".join(f"echo {name} > {V}/policy\nsleep 0.02\n" for name in ("foam", "hpb", "hpbvalve") * ROUNDS)
    order = (10001, 10002, 10003) * (ROUNDS + 2)
    rounds = [line for uid in order for line in (f"launch {uid} {pages(*range(uid % 10, 40, 3))}", "wait 20")]
    background = "fio --clocksource=clock_gettime --name=v --filename=/dev/sda --direct=1 --rw=randrw --bs=4k"
    background += " --size=64m --io_size=4m --verify=crc32c --ioengine=libaio --iodepth=8 > /tmp/fio 2>&1"
    text = f"( {background}; echo $? > /tmp/status ) &\n( {change} ) &\n{played(*APPS, *rounds)}wait\n"
    ran = run(tmp_path, text + "exit $(cat /tmp/status)\n")
    assert ran.hpbvalve_stats["front_hits"] > 0
    assert ran.result.counters["device"]["host_entries_wrong"] == 0


@pytest.mark.skipif(not LONG, reason="two minutes")
def test_kernel_and_model_do_the_same_for_the_same_apps():
    found = {name: apps.compared(name, *case) for name, *case in apps.CASES if name in ("hpbvalve", "foam, no timer")}
    for name, both in found.items():
        for counter in ("launch", "front", "other", "fetches", "launch_ms"):
            assert both["kernel"][counter] == pytest.approx(both["model"][counter], rel=0.06), f"{name}: {counter}"
    ours, theirs = (found["hpbvalve"][host] for host in ("kernel", "model"))
    assert ours["hpbvalve_profile_bytes"] == theirs["hpbvalve_profile_bytes"]
    assert ours["hpbvalve_reclaimed_bytes"] == pytest.approx(theirs["hpbvalve_reclaimed_bytes"], rel=0.02)


@pytest.mark.parametrize(
    ("scheme", "setting", "told"),
    [
        ("hpbvalve", "scheme.hpbvalve.prefetch=false", "scheme.hpbvalve.prefetch = false: must be true"),
        ("foam", "scheme.*.hpb_control=device", 'hpb_control = "device": must be "host"'),
    ],
)
def test_what_the_kernel_has_not_is_refused(capsys, scheme, setting, told):
    arguments = ["linux", "--profile", "tiny", "--scheme", scheme, "--set", setting, "--", "true"]
    assert execute(arguments) == Exit.INPUT
    assert told in capsys.readouterr().err
