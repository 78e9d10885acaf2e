"""What is measured of the papers' claims in the kernel: the parts of it that need no guest."""

from tools.docs import hosts
from tools.docs.measured import DATA
from tools.hosts.gains import UNDER_GC, cases, rate
from tools.records import kept


def test_gc_is_measured_once_it_has_begun() -> None:
    (own,) = (case for case in cases() if case.claim == "hp-ufs.f7.gc")
    assert own.age is not None
    assert "[iteration-6]\nstonewall\n" in own.job
    assert "iteration-7" not in own.job
    jobs = [{"jobname": f"iteration-{n}", "read": {"bw_bytes": 0}, "write": {"bw_bytes": n << 20}} for n in range(1, 7)]
    assert rate(jobs, UNDER_GC) == 5


def test_the_pages_show_every_claim_that_was_measured() -> None:
    text = "".join(hosts.claims(paper) for paper in ("hp-ufs", "hpb"))
    rows = kept(DATA / "kernel-claims.json")["claims"]
    assert rows
    assert all(f"`{row['claim']}` | {row['about']}" in text for row in rows)
