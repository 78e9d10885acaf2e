"""Memory of a guest that runs short: a phone's, with pressure and its killer, and the kernel's own.

`make test-linux` takes longer: the apps of HPBvalve's paper, in the kernel and in the model.
"""

import pytest

from test_linux import LONG, complaints, job, kernel  # noqa: F401
from test_linux_hp_ufs import VERIFIED
from test_linux_hpbvalve import pages, played, run
from tools.hosts import memory
from ufsim import linux

#: A phone of 16 MiB. Its third app takes more than is left, at once; then the first comes again.
PHONE = (
    "memory 16384 512 1024",
    "system 64 1",
    "app 10001 5120",
    "app 10002 5120",
    "app 10003 6400",
    f"launch 10001 {pages(*range(1, 23))}",
    f"launch 10002 {pages(*range(23, 45))}",
    f"launch 10003 {pages(0)}",
    "wait 1000",
    f"launch 10001 {pages(1)}",
)


def told(ran: linux.GuestRun, *kinds: str) -> list[list[str]]:
    """Lines of the player of some kinds, as words."""
    words = [line.split() for line in ran.stdout.splitlines()]
    return [one for one in words if one[0] in kinds]


def test_pressure_has_entries_given_back_then_the_oldest_killed_and_repeats(tmp_path):
    one, other = (run(tmp_path, played(*PHONE)) for _ in range(2))
    assert (one.stdout, one.console, one.hpbvalve_stats) == (other.stdout, other.console, other.hpbvalve_stats)
    assert one.result.digest == other.result.digest
    acts = told(one, "skip", "kill")
    # 44 subregions are given back before anybody goes, and then the app that was in front longest ago does.
    assert acts[0][:8] == ["skip", "10001", "level", "900", "kib", acts[0][5], "freed", "176"]
    assert acts[1][:4] == ["kill", "10001", "level", "900"]
    assert all(act[3] != "0" for act in acts)
    assert one.hpbvalve_stats["hpbvalve_reclaimed_bytes"] >= 44 * 4096
    # Who was killed comes back cold, and its launch waits for memory.
    launches = told(one, "launch")
    assert [words[2] for words in launches] == ["cold"] * 4
    assert int(launches[3][-1]) > 10 * int(launches[0][-1])
    some, full = (int(words[3]) for words in told(one, "pressure"))
    # At least what PSI asks for before it calls the killer: 70 ms of a second.
    assert 70_000 <= full <= some < 5_000_000
    # The kernel has waited, and not killed.
    assert told(one, "events")[0][4] == "0"


@pytest.mark.parametrize("scheme", ["ufs", "hpb-linux", "foam"])
def test_without_hpbvalve_nothing_is_given_back(tmp_path, scheme):
    ran = linux.run(job(tmp_path, played(*PHONE)), scheme, profile="tiny")
    assert ran.status == 0, ran.stderr
    assert not complaints(ran.console)
    acts = told(ran, "skip", "kill")
    assert {act[0] for act in acts} == {"kill"}
    assert acts[0][:4] == ["kill", "10001", "level", "900"]


def test_the_kernel_knows_androids_levels(tmp_path):
    look = (
        "(sleep 1; for p in /proc/[0-9]*; do uid=$(awk '/^Uid/{print $2}' $p/status); "
        '[ "$uid" -ge 10000 ] && echo level $uid $(cat $p/oom_score_adj); done) &\n'
    )
    apps = [f"app 1000{n} 64" for n in range(1, 7)]
    begins = ["start 10005", "start 10006", *(f"launch 1000{n} {pages(n)}" for n in range(1, 5))]
    ran = linux.run(
        job(tmp_path, look + played("memory 65536 0 0", *apps, *begins, "wait 2000")), "ufs", profile="tiny"
    )
    found = {int(uid): int(level) for _, uid, level in told(ran, "level")}
    # In front, the one before, two earlier ones; of those that nobody has opened the older one is missed least.
    assert found == {10004: 0, 10003: 700, 10002: 900, 10001: 910, 10006: 920, 10005: 930}


def test_entries_count_as_the_phones_memory(tmp_path):
    group = "/sys/fs/cgroup/phone"
    reads = f"launch 10001 {pages(*range(1, 41))}"
    look = f"(sleep 2; cat {group}/0/memory.current) &\n"
    kib = []
    for account in ("", " 1"):
        ran = run(
            tmp_path, look + played("memory 65536 0 0", f"system 64{account}", "app 10001 64", reads, "wait 3000")
        )
        kib += [int(line) // 1024 for line in ran.stdout.splitlines() if line.isdigit()]
        assert ran.hpbvalve_stats["dram_bytes"] == 40 * 4096
    # What a group has taken in advance, 64 pages, may already hold them.
    assert 0 <= kib[1] - kib[0] - 160 <= 256


WRONG = {
    "memory 0 0 0": "must be memory KIB LOW HIGH, once",
    "memory 4096 100 50": "must be memory KIB LOW HIGH, once",
    "memory 4096 50 5000": "must be memory KIB LOW HIGH, once",
    "memory 4k": "'4k' is no number",
    "system 64": "memory comes first",
    "app 10001 x": "'x' is no number",
    "app 10001 0": "must be app UID KIB [MS], of 64 at most",
    "warm 10001": "'10001' is no app",
    "until x": "'x' is no number",
    "fill ~x": "'~x' is no time in us",
    "fill 1+17": "'1+17' is no page, and not up to 16 of them",
}


def test_a_wrong_line_is_told(tmp_path):
    lines = "".join(f"(echo map /dev/sda; echo '{line}') > /tmp/s; player /tmp/s 2>&1 || true\n" for line in WRONG)
    ran = linux.run(job(tmp_path, lines), "ufs", profile="tiny")
    assert ran.stdout.splitlines() == [f"player: line 2: {told}" for told in WRONG.values()]


@pytest.mark.parametrize("scheme", ["hp-ufs", "hpbvalve"])
def test_a_kernel_without_memory_shrinks_what_it_can_and_goes_on(tmp_path, scheme):
    # Somebody takes all that there is, twice, and the kernel ends him. Data is verified beside it. What was only read
    # need not be written back, and is dropped.
    hog = "( echo 1000 > /proc/self/oom_score_adj; exec dd if=/dev/zero of=/dev/null bs=1G count=1 ) 2> /dev/null"
    text = (
        "echo 1 > /proc/sys/vm/overcommit_memory\n"
        "dd if=/dev/sda of=/dev/null bs=1M skip=64 iflag=direct 2> /dev/null\n"
        f"( for n in 1 2; do sleep 0.05; {hog}; done ) &\n"
        f"{VERIFIED} --size=24m --io_size=24m > /tmp/fio || {{ cat /tmp/fio; exit 1; }}\nwait\n"
    )
    ran = linux.run(job(tmp_path, text, memory_mib=256), scheme, profile="tiny")
    assert ran.status == 0, ran.stdout + ran.console
    assert not complaints(ran.console)
    assert ran.console.count("Out of memory: Killed process") >= 2
    assert ran.result.counters["device"]["host_entries_wrong"] == 0
    if scheme == "hp-ufs":
        assert ran.hp_ufs_stats["segments_dropped"] > 0


@pytest.mark.skipif(not LONG, reason="five minutes, and 6 GB")
def test_kernel_and_model_kill_the_same_and_launch_as_fast():
    recording = memory.Recording(1)
    for case in (case for case in memory.CASES if case.name in ("foam", "hpbvalve")):
        guest, model = (
            memory.told(memory.played(recording, case, memory.SHORT_MIB), recording),
            memory.modelled(case, 1, memory.SHORT_MIB),
        )
        assert guest["kernel_kills"] == 0
        for name, most in (("cold", 3), ("kills_of_apps", 3), ("launch", 0.05), ("front", 0.05)):
            assert abs(guest[name] - model[name]) <= most, f"{case.name}: {name}"
        # The mean of a dozen warm launches is moved by any that waits for memory, and who waits differs.
        for name, scatter in (("cold_ms", 0.06), ("warm_median_ms", 0.03), ("reclaimed_mib", 0.06)):
            assert guest[name] == pytest.approx(model[name], rel=scatter), f"{case.name}: {name}"
        assert guest["kills_of_services"] == pytest.approx(model["kills_of_services"], rel=0.4)
