"""Builds what ``ufsim linux`` boots: a kernel from Debian's source package, and its first file system.

The result lies in a folder named by the digest of everything that goes into it, so a second call does nothing. Nothing
of the kernel is kept here: its files are edited by the rules below, each of which has to find its place.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Two modules of the package ufsim, by themselves: the package needs its extension, which need not be compiled yet.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "ufsim" / "linux"))

import cpio
from place import cache, newest
from stand_ins import stand_ins

HERE = Path(__file__).resolve().parent / "guest"
#: Debian packages: what builds the kernel, and what the guest has.
TOOLS = ["flex", "bison", "bc", "gcc", "make", "libc6-dev", "xz-utils", "dpkg-dev"]
GUEST = ["busybox-static", "fio", "f2fs-tools", "e2fsprogs", "sqlite3"]
#: Programs of the guest that are not busybox's.
PROGRAMS = ("mkfs.f2fs", "fsck.f2fs", "mke2fs", "e2fsck", "sqlite3", "fio")
#: Lines of the configuration that a kernel does not know: HPB left Linux in 6.6.
UNKNOWN = {"6.1": (), "6.12": ("CONFIG_SCSI_UFS_HPB=y",)}
#: What is done to the kernel's files: file, what has to be there, what takes its place.
EDITS = (
    # Processors with large register files need more room than the kernel has for them.
    ("arch/x86/um/user-offsets.c", r"(DEFINE_LONGS\(HOST_FP_SIZE, )2696\)", r"\g<1>12288)"),
    # Entropy of the host comes from a seed.
    (
        "arch/um/os-Linux/util.c",
        r"(?m)^(ssize_t os_getrandom\()",
        r"long ufsim_random(void *, size_t, unsigned int);\n\1",
    ),
    ("arch/um/os-Linux/util.c", r"return getrandom\(buf, len, flags\)", "return ufsim_random(buf, len, flags)"),
    # The simulated time and the next event of the guest but the controller's, for that.
    (
        "arch/um/kernel/time.c",
        r"(?m)^static struct time_travel_event \*time_travel_first_event",
        """\
unsigned long long ufsim_now(void);
unsigned long long ufsim_next_event(struct time_travel_event *but);
void ufsim_before_time(void);

unsigned long long ufsim_now(void)
{
	return time_travel_time;
}

unsigned long long ufsim_next_event(struct time_travel_event *but)
{
	struct time_travel_event *e;

	list_for_each_entry(e, &time_travel_events, list)
		if (e != but)
			return e->time;
	return S64_MAX;
}

\\g<0>""",
    ),
    # The controller gets its turn before time goes on.
    (
        "arch/um/kernel/time.c",
        r"(?m)^\tdo \{\n(?=\t\te = time_travel_first_event\(\);\n\n\t\tBUG_ON\(!e\))",
        "\\g<0>\t\tufsim_before_time();\n",
    ),
    # The cost of a system call.
    ("arch/um/kernel/skas/syscall.c", r"(?m)^void handle_syscall\(", "void ufsim_syscall(void);\n\\g<0>"),
    ("arch/um/kernel/skas/syscall.c", r"(?m)^out:\n", "\tufsim_syscall();\n\\g<0>"),
    # The cost of a page that is copied.
    (
        "arch/um/kernel/skas/uaccess.c",
        r"(?m)^unsigned long raw_copy_from_user\(",
        "void ufsim_copy(unsigned long n);\n\\g<0>",
    ),
    ("arch/um/kernel/skas/uaccess.c", r"(?m)^\treturn buffer_op\(.*copy_chunk_from_user", "\tufsim_copy(n);\n\\g<0>"),
    ("arch/um/kernel/skas/uaccess.c", r"(?m)^\treturn buffer_op\(.*copy_chunk_to_user", "\tufsim_copy(n);\n\\g<0>"),
    # Programs read the time in a page that the kernel has filled for them.
    (
        "arch/x86/um/vdso/um_vdso.c",
        r"#include <asm/unistd.h>\n",
        '\\g<0>#include "../../../um/drivers/ufsim_clock.h"\n',
    ),
    (
        "arch/x86/um/vdso/um_vdso.c",
        r"(?m)^\tasm\(\"syscall\"\n\t\t: \"=a\" \(ret\)\n\t\t: \"0\" \(__NR_clock_gettime\)",
        "\tif (ufsim_read_clock(clock, (void *)&ts->tv_sec, (void *)&ts->tv_nsec))\n\t\treturn 0;\n\\g<0>",
    ),
    (
        "arch/x86/um/vdso/vma.c",
        r"(?m)^int arch_setup_additional_pages\(",
        "int ufsim_map_clock(struct mm_struct *mm, unsigned long at);\n\\g<0>",
    ),
    (
        "arch/x86/um/vdso/vma.c",
        r"(?m)^\t\treturn -EINTR;\n",
        """\
\\g<0>
	if (ufsim_map_clock(mm, um_vdso_addr - PAGE_SIZE)) {
		mmap_write_unlock(mm);
		return -ENOMEM;
	}
""",
    ),
    (
        "arch/um/os-Linux/skas/process.c",
        r"(?m)^void userspace\(",
        "void ufsim_enter_program(void);\nvoid ufsim_leave_program(void);\n\\g<0>",
    ),
    (
        "arch/um/os-Linux/skas/process.c",
        r"(?m)^\t\tif \(ptrace\(op, pid, 0, 0\)\)",
        "\t\tufsim_enter_program();\n\\g<0>",
    ),
    (
        "arch/um/os-Linux/skas/process.c",
        r"(?m)^\t\tUPT_SYSCALL_NR\(regs\) = -1; /\* Assume",
        "\t\tufsim_leave_program();\n\\g<0>",
    ),
    # Floating point registers that a program has already need not be set: the host is slow to do that.
    (
        "arch/um/os-Linux/skas/process.c",
        r"(?m)^void wait_stub_done\(int pid\)\n\{\n.*\n",
        """\
void ufsim_registers_are(int pid, const unsigned long *fp);
int ufsim_registers_differ(int pid, const unsigned long *fp);

\\g<0>
	ufsim_registers_are(-1, NULL);
""",
    ),
    (
        "arch/um/os-Linux/skas/process.c",
        r"(?m)^\t\tif \((put_fp_registers\(pid, regs->fp\))\)",
        r"\t\tif (ufsim_registers_differ(pid, regs->fp) && \1)",
    ),
    (
        "arch/um/os-Linux/skas/process.c",
        r"(?m)^\t\tufsim_leave_program\(\);\n",
        "\t\tufsim_registers_are(pid, regs->fp);\n\\g<0>",
    ),
    # Pressure is measured on the simulated time. The scheduler's clock has steps of a tick, 10 ms.
    (
        "kernel/sched/psi.c",
        r"(?m)^static int psi_bug __read_mostly;\n",
        "unsigned long long ufsim_now(void);\n#define sched_clock() ufsim_now()\n"
        "#define cpu_clock(cpu) ((void)(cpu), ufsim_now())\n\n\\g<0>",
    ),
    (
        "arch/um/drivers/Makefile",
        r"(?m)^obj-\$\(CONFIG_SSL\)",
        "ufsim-objs := ufsim_kern.o ufsim_user.o ufsim_terminal.o\nobj-y += ufsim.o\n\\g<0>",
    ),
)
#: The hooks of HPBvalve, in HPB's driver and around it.
HPBVALVE = (
    ("drivers/ufs/core/Makefile", r"hp_ufs_valid\.o", r"\g<0> hpbvalve.o hpbvalve_profile.o hpbvalve_sysfs.o"),
    # A bio knows the user whose task has made it.
    ("include/linux/blk_types.h", r"(?m)^\tatomic_t\t\t__bi_remaining;\n", "\\g<0>\tu32\t\t\tbi_uid;\n"),
    (
        "block/bio.c",
        r"(?m)^\tbio->bi_ioprio = 0;\n",
        "\\g<0>\tbio->bi_uid = from_kuid(&init_user_ns, current_uid());\n",
    ),
    ("block/bio.c", r"#include <linux/blk-crypto.h>\n", "\\g<0>#include <linux/cred.h>\n"),
    # A unit has a policy.
    (
        "drivers/ufs/core/ufshpb.h",
        r"(?m)^struct ufshpb_lu \{\n",
        "struct hpbvalve;\n\n\\g<0>\tstruct hpbvalve *valve;\n",
    ),
    ("drivers/ufs/core/ufshpb.c", r'#include "ufshpb.h"\n', '\\g<0>#include "hpbvalve.h"\n'),
    ("drivers/ufs/core/ufshpb.c", r"(?m)^\tufshpb_stat_init\(hpb\);\n", "\\g<0>\thpbvalve_init(hpb);\n"),
    ("drivers/ufs/core/ufshpb.c", r"(?m)^\tufshpb_destroy_region_tbl\(hpb\);\n", "\thpbvalve_exit(hpb);\n\\g<0>"),
    ("drivers/ufs/core/ufshcd.c", r'#include "ufshpb.h"\n', '\\g<0>#include "hpbvalve.h"\n'),
    ("drivers/ufs/core/ufshcd.c", r"(?m)^\tufshpb_prep\(hba, lrbp\);\n", "\thpbvalve_prep(hba, lrbp);\n"),
    (
        "drivers/ufs/core/ufshcd.c",
        r"(?m)^\t&ufs_sysfs_hpb_param_group,\n",
        "\\g<0>\t&hpbvalve_stat_group,\n\t&hpbvalve_group,\n",
    ),
    # A region comes and goes.
    (
        "drivers/ufs/core/ufshpb.c",
        r"(?m)^\tatomic_inc\(&lru_info->active_cnt\);\n",
        "\\g<0>\thpbvalve_entered(rgn);\n",
    ),
    (
        "drivers/ufs/core/ufshpb.c",
        r"(?m)^\tlist_del_init\(&rgn->list_lru_rgn\);\n\trgn->rgn_state = HPB_RGN_INACTIVE;\n",
        "\tif (hpbvalve_left(rgn))\n\t\treturn;\n\\g<0>",
    ),
    # A fetch begins and ends.
    (
        "drivers/ufs/core/ufshpb.c",
        r"(?m)^(\t\tif \(ufshpb_get_state\(hpb\) == HPB_SUSPEND)\)"
        r"(\n\t\t\tbreak;\n\n\t\tlist_del_init\(&srgn->list_act_srgn\);\n.*\n\n.*\n)",
        "\\1 || hpbvalve_waits(hpb))\\2\t\tif (!hpbvalve_admits(hpb, srgn)) {\n"
        "\t\t\tspin_lock_irqsave(&hpb->rsp_list_lock, flags);\n\t\t\tcontinue;\n\t\t}\n",
    ),
    (
        "drivers/ufs/core/ufshpb.c",
        r"(?m)^\tufshpb_put_map_req\(map_req->hpb, map_req\);\n",
        "\\g<0>\thpbvalve_fetched(hpb, srgn);\n",
    ),
    # What nobody reads is dropped when the policy says so.
    ("drivers/ufs/core/ufshpb.c", r"(?m)^\t\tif \(timedout\) \{", "\t\tif (timedout && !hpbvalve_keeps(hpb)) {"),
    (
        "drivers/ufs/core/ufshpb.c",
        r"if \(rgn->rgn_state != HPB_RGN_ACTIVE \|\| rgn->reads\)",
        "if (rgn->rgn_state != HPB_RGN_ACTIVE || rgn->reads || hpbvalve_on(hpb))",
    ),
    # Its entries are of the account of a memory cgroup.
    (
        "drivers/ufs/core/ufshpb.c",
        r"(?m)^\t\tclear_page\(page_address\(mctx->m_page\[i\]\)\);\n",
        "\\g<0>\t\thpbvalve_charge(hpb, mctx->m_page[i]);\n",
    ),
    (
        "drivers/ufs/core/ufshpb.c",
        r"(?m)^\t\t\tfor \(j = 0; j < i; j\+\+\)\n(\t\t\t\tmempool_free\(mctx->m_page\[j\], ufshpb_page_pool\);\n)",
        "\t\t\tfor (j = 0; j < i; j++) {\n\t\t\t\thpbvalve_uncharge(mctx->m_page[j]);\n\\1\t\t\t}\n",
    ),
    (
        "drivers/ufs/core/ufshpb.c",
        r"(?m)^\tfor \(i = 0; i < hpb->pages_per_srgn; i\+\+\)\n"
        r"(\t\tmempool_free\(mctx->m_page\[i\], ufshpb_page_pool\);\n)",
        "\tfor (i = 0; i < hpb->pages_per_srgn; i++) {\n\t\thpbvalve_uncharge(mctx->m_page[i]);\n\\1\t}\n",
    ),
    # The policy drops regions, and has the list of fetches looked at.
    ("drivers/ufs/core/ufshpb.c", r"(?m)^static (void ufshpb_kick_map_work\()", r"\1"),
    ("drivers/ufs/core/ufshpb.c", r"(?m)^static (void __ufshpb_evict_region\()", r"\1"),
    ("drivers/ufs/core/ufshpb.c", r"(?m)^static (int ufshpb_issue_umap_single_req\()", r"\1"),
)
#: What kernels need beyond.
MORE: dict[str, tuple[tuple[str, str, str], ...]] = {
    # Schedulers of MAP+, and the hooks of HP-UFS: beside those of HPB, some that HPB does without. 6.12 has neither.
    "6.1": (
        # A program gets the base of its thread with its other registers; to set it at every switch besides takes three
        # calls of the host.
        (
            "arch/x86/um/syscalls_64.c",
            r"(?m)^\tarch_prctl\(to, ARCH_SET_FS, \(void __user \*\) to->thread\.arch\.fs\);",
            "\tto->thread.regs.regs.gp[HOST_FS_BASE] = to->thread.arch.fs;",
        ),
        ("block/Makefile", r"(?m)^obj-\$\(CONFIG_MQ_IOSCHED_DEADLINE\)", "obj-y += map-plus-iosched.o\n\\g<0>"),
        (
            "drivers/ufs/core/Makefile",
            r"ufshcd\.o ufs-sysfs\.o",
            r"\g<0> hp_ufs.o hp_ufs_own.o hp_ufs_unit.o hp_ufs_map.o hp_ufs_valid.o",
        ),
        ("drivers/ufs/core/ufshcd.c", r'#include "ufshpb.h"\n', '\\g<0>#define HP_UFS_HOOKS\n#include "hp_ufs.h"\n'),
        # A unit comes and goes.
        (
            "drivers/ufs/core/ufshcd.c",
            r"(?m)^\tufshcd_hpb_configure\(hba, sdev\);\n",
            "\\g<0>\thp_ufs_init_lu(hba, sdev);\n",
        ),
        (
            "drivers/ufs/core/ufshcd.c",
            r"(?m)^\tufshcd_hpb_destroy\(hba, sdev\);\n",
            "\\g<0>\thp_ufs_destroy_lu(sdev);\n",
        ),
        # A read waits for its segment.
        (
            "drivers/ufs/core/ufshcd.c",
            r"(?m)^\tufshcd_send_command\(hba, tag\);\n\nout:",
            "\tif (!hp_ufs_parks(hba, lrbp))\n\t\tufshcd_send_command(hba, tag);\n\nout:",
        ),
        ("drivers/ufs/core/ufshcd.c", r"static inline\n(void ufshcd_send_command\()", r"\1"),
        # The last moment before the doorbell.
        (
            "drivers/ufs/core/ufshcd.c",
            r"(?m)^\t__set_bit\(task_tag, &hba->outstanding_reqs\);\n\tufshcd_writel",
            "\thp_ufs_stamp(hba, lrbp);\n\\g<0>",
        ),
        # Responses that are not GOOD carry a piggyback, too.
        (
            "drivers/ufs/core/ufshcd.c",
            r"(?m)^\t\t\tif \(scsi_status == SAM_STAT_GOOD\)\n",
            "\t\t\thp_ufs_response(hba, lrbp);\n\\g<0>",
        ),
        (
            "drivers/ufs/core/ufshcd.c",
            r"(?m)^\t&ufs_sysfs_lun_attributes_group,\n",
            "\\g<0>\t&hp_ufs_stat_group,\n\t&hp_ufs_param_group,\n",
        ),
        # Tags for the driver's own commands.
        (
            "drivers/scsi/scsi_lib.c",
            r"(?m)^int scsi_mq_setup_tags\(",
            "unsigned int hp_ufs_reserved_tags(void);\n\n\\g<0>",
        ),
        (
            "drivers/scsi/scsi_lib.c",
            r"(?m)^\ttag_set->queue_depth = shost->can_queue;\n",
            "\\g<0>\ttag_set->reserved_tags = hp_ufs_reserved_tags();\n",
        ),
        # HPB's memory goes after its units and not before them, and only if the device has had HPB.
        (
            "drivers/ufs/core/ufshcd.c",
            r"(?m)^(\tufshpb_remove\(hba\);\n)((?:\t.*\n){4}\tscsi_remove_host\(hba->host\);\n)",
            r"\2\1",
        ),
        ("drivers/ufs/core/ufshpb.c", r"(?m)^\tdestroy_workqueue\(ufshpb_wq\);\n\}", "\tif (ufshpb_wq)\n\t\\g<0>"),
        # Linux frees the pages of pre-requests only where there are none.
        ("drivers/ufs/core/ufshpb.c", r"if \(!(pre_req->wb\.m_page\)\n\t+__free_page\(hpb)", r"if (\1"),
        *HPBVALVE,
    ),
    # It looks for relative names in descriptor -1.
    "6.12": (("fs/hostfs/hostfs_user.c", r"statx\(fd, path", "statx(fd < 0 ? AT_FDCWD : fd, path"),),
}


def main() -> None:
    """Builds, or says that everything is there."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--kernel", default="6.1", choices=tuple(UNKNOWN), help="which of Debian's kernels")
    arguments.add_argument("--checks", action="store_true", help="with what is in guest/checks: a slower kernel")
    given = arguments.parse_args()
    package = f"linux-source-{given.kernel}"
    install(missing(package))
    version = output("apt-cache", "show", package).split("Version: ")[1].split("\n")[0]
    config = (HERE / "config").read_text() + ((HERE / "checks").read_text() if given.checks else "")
    inputs = digest(version, config)
    place = cache() / inputs
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_suffix(".lock").open("w") as lock:
        # Who comes second waits, and finds it there.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "manifest.json").exists():
            build(package, version, config, place)
        newest().unlink(missing_ok=True)
        newest().symlink_to(inputs)
    print(f"{place}: Linux {version} and its tools")


def output(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def missing(package: str) -> list[str]:
    """Packages that are not installed; the kernel's source is only fetched."""
    found = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n"], capture_output=True, text=True
    )
    if found.returncode != 0:
        raise SystemExit("make linux needs Debian or a system with its packages: dpkg-query is not there")
    there = {line.split()[0] for line in found.stdout.splitlines() if line.endswith(" installed")}
    known = subprocess.run(["apt-cache", "show", package], capture_output=True).returncode == 0
    return [name for name in TOOLS + GUEST if name not in there] + ([] if known else [package])


def install(packages: list[str]) -> None:
    """Installs packages if root asks for it; others are told."""
    if not packages:
        return
    if os.geteuid() != 0:
        wanted = " ".join(name for name in packages if not name.startswith("linux-source"))
        raise SystemExit(f"make linux: these packages are missing: run apt-get update && apt-get install {wanted}")
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    real = [name for name in packages if not name.startswith("linux-source")]
    if real:
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *real], check=True)


def digest(version: str, config: str) -> str:
    """A name for everything that decides the result."""
    parts = [version, config, output("gcc", "--version")]
    parts += [path.read_text() for path in (*sorted(HERE.parent.glob("*.py")), *sorted(HERE.iterdir()))]
    parts += [output("dpkg-query", "-W", "-f", "${Package} ${Version}\n", *GUEST)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def build(package: str, version: str, config: str, place: Path) -> None:
    """Makes everything in a folder beside the place, and moves it there when it is whole."""
    began = time.monotonic()
    work = place.with_name(place.name + ".work")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "config").write_text(config)
    kernel = compile_kernel(package, work)
    shutil.copy(kernel, work / "linux")
    initrd, tools = first_files()
    (work / "initrd").write_bytes(initrd)
    digests = {**{name: sha(work / name) for name in ("linux", "initrd")}, **tools}
    told = {"kernel": f"{package} {version}", "build_seconds": round(time.monotonic() - began), "digests": digests}
    (work / "manifest.json").write_text(json.dumps(told, indent=1) + "\n")
    for leftover in work.iterdir():
        if leftover.name not in ("linux", "initrd", "manifest.json"):
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    shutil.rmtree(place, ignore_errors=True)
    work.rename(place)


def compile_kernel(package: str, work: Path) -> Path:
    """Fetches and compiles the kernel."""
    print(f"fetching {package}", flush=True)
    subprocess.run(["apt-get", "download", "-qq", package], cwd=work, check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["dpkg-deb", "-x", str(next(work.glob("*.deb"))), str(work / "package")], check=True)
    subprocess.run(["tar", "xf", str(work / f"package/usr/src/{package}.tar.xz")], cwd=work, check=True)
    tree, objects = work / package, work / "objects"
    release = package.removeprefix("linux-source-")
    edit(tree, EDITS + MORE[release])
    add(tree, release)
    make = ["make", "-C", str(tree), "ARCH=um", f"O={objects}", f"-j{os.cpu_count()}"]
    log = work.with_suffix(".log")
    fixed = {"KBUILD_BUILD_TIMESTAMP": "1970-01-01", "KBUILD_BUILD_USER": "ufsim", "KBUILD_BUILD_HOST": "ufsim"}
    print("compiling the kernel: some five minutes on two processors", flush=True)
    with log.open("w") as out:
        for target, more in (("allnoconfig", {"KCONFIG_ALLCONFIG": str(work / "config")}), ("linux", {})):
            done = subprocess.run([*make, target], env={**os.environ, **fixed, **more}, stdout=out, stderr=out)
            if done.returncode != 0:
                raise SystemExit(f"make {target} failed; its end:\n{log.read_text()[-2000:]}\nall of it: {log}")
    check_config(objects / ".config", work / "config", UNKNOWN[release])
    return objects / "linux"


def edit(tree: Path, edits: tuple[tuple[str, str, str], ...]) -> None:
    """Edits the kernel's files."""
    for name, place, instead in edits:
        path = tree / name
        text, count = re.subn(place, instead, path.read_text(), count=1)
        if count != 1:
            raise SystemExit(f"{name}: nothing there is like {place!r}; this kernel needs other edits")
        path.write_text(text)


def add(tree: Path, release: str) -> None:
    """Adds our files."""
    for path in HERE.glob("ufsim*"):
        shutil.copy(path, tree / "arch/um/drivers" / path.name)
    if release == "6.1":
        for path in HERE.glob("*-iosched.c"):
            shutil.copy(path, tree / "block" / path.name)
        for path in (*HERE.glob("hp_ufs*"), *HERE.glob("hpbvalve*")):
            shutil.copy(path, tree / "drivers/ufs/core" / path.name)


def check_config(made: Path, asked: Path, unknown: tuple[str, ...]) -> None:
    """Ends if the kernel has not taken a line of the configuration that it knows."""
    got = made.read_text().splitlines()
    wanted = [line for line in asked.read_text().splitlines() if line.startswith("CONFIG_")]
    lost = [line for line in wanted if line not in got and line not in unknown]
    if lost:
        raise SystemExit(f"the kernel's configuration has not taken {', '.join(lost)}")


def sha(path: Path) -> str:
    """A file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def first_files() -> tuple[bytes, dict[str, str]]:
    """The archive of the first file system, and the digests of its programs."""
    names = "bin dev etc host job lib lib64 mnt out proc root sbin sys tmp usr usr/bin usr/lib usr/sbin"
    folders = names.split()
    busybox, player = Path(shutil.which("busybox") or ""), compiled("player")
    applets = output(str(busybox), "--list").split()
    entries = [
        *(cpio.directory(name) for name in folders),
        cpio.file("bin/busybox", busybox.read_bytes(), executable=True),
        *(cpio.link(f"bin/{name}", "busybox") for name in applets if name != "busybox"),
        cpio.file("init", (HERE / "init").read_bytes(), executable=True),
        cpio.file("usr/sbin/player", player, executable=True),
        cpio.file("usr/sbin/set-disk", (HERE / "set-disk").read_bytes(), executable=True),
    ]
    digests = {"busybox": sha(busybox), "player": hashlib.sha256(player).hexdigest()}
    entries += packed(set(folders), digests)
    return cpio.archive(entries), digests


def compiled(name: str) -> bytes:
    """A program of ours for the guest, of all files whose names begin so."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "program"
        flags = ["-O2", "-static", "-D_GNU_SOURCE", "-Wall", "-Werror", "-Wl,--build-id=none"]
        sources = [str(path) for path in sorted(HERE.glob(f"{name}*.c"))]
        subprocess.run(["gcc", *flags, "-o", str(made), *sources], check=True)
        return made.read_bytes()


def packed(there: set[str], digests: dict[str, str]) -> list[cpio.Entry]:
    """The programs with their libraries, in folders that are there or made here."""
    entries, wanted = [], dict[str, bytes]()
    for name in PROGRAMS:
        found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        if not found:
            raise SystemExit(f"{name} is not there, though its package is installed")
        digests[name] = sha(Path(found))
        entries.append(cpio.file(f"usr/sbin/{name}", Path(found).read_bytes(), executable=True))
        wanted.update(libraries(Path(found)))
    for target, content in sorted(wanted.items()):
        parents = [str(one) for one in reversed(list(Path(target).parents)[:-1])]
        entries += [cpio.directory(one) for one in parents if one not in there]
        there.update(parents)
        entries.append(cpio.file(target, content, executable=True))
    return entries


def libraries(program: Path) -> dict[str, bytes]:
    """What a program is linked with in the guest: places and contents."""
    with tempfile.TemporaryDirectory() as folder:
        stand_ins(program, Path(folder))
        told = subprocess.run(
            ["ldd", str(program)],
            env={**os.environ, "LD_LIBRARY_PATH": folder},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        found = [Path(path) for path in re.findall(r"(/\S+) \(0x", told)]
        places = {path: "usr/lib" if path.is_relative_to(folder) else str(path.parent)[1:] for path in found}
        return {f"{place}/{path.name}": path.read_bytes() for path, place in places.items()}


if __name__ == "__main__":
    sys.exit(main())
