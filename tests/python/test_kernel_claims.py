"""What is measured of the papers' claims in the kernel: the parts of it that need no guest."""

from tools.hosts.gains import UNDER_GC, cases, rate
from tools.hosts.replays import BLOCK, touched


def test_a_log_touches_whole_pages_in_pieces_of_at_most_512_kib() -> None:
    log = "fio version 2 iolog\n/dev/sda add\n/dev/sda write 0 4096\n/dev/sda wait 500 0\n/dev/sda read 6144 4096\n"
    log += f"/dev/sda sync 0 0\n/dev/sda trim 40960 4096\n/dev/sda write {100 * BLOCK} {130 * BLOCK}\n"
    pieces = list(touched(log))
    assert pieces == [(0, 3 * BLOCK), (100 * BLOCK, 128 * BLOCK), (228 * BLOCK, 2 * BLOCK)]


def test_gc_is_measured_once_it_has_begun() -> None:
    (own,) = (case for case in cases() if case.claim == "hp-ufs.f7.gc")
    assert own.age is not None
    assert "[iteration-6]\nstonewall\n" in own.job
    assert "iteration-7" not in own.job
    jobs = [{"jobname": f"iteration-{n}", "read": {"bw_bytes": 0}, "write": {"bw_bytes": n << 20}} for n in range(1, 7)]
    assert rate(jobs, UNDER_GC) == 5
