"""Libraries that stand in for those of networks and of persistent memory, which no guest has.

Debian's fio is linked with 80 MB of them, and each start of it in a guest would load them all. Those here have the
same names, and end the program when one is called.
"""

import re
import subprocess
from pathlib import Path

#: Libraries of fio's engines rbd, gfapi, nbd, rdma and pmemblk, and of everything that these need.
NEVER_CALLED = (
    *("libgfapi.so.0", "libnbd.so.0", "libibverbs.so.1", "librdmacm.so.1"),
    *("librados.so.2", "librbd.so.1", "libpmemblk.so.1", "libpmem.so.1"),
)
#: A function that is not there.
FUNCTION = """\
void {name}(void)
{{
	static const char text[] = "{name}: a guest has no {library}\\n";

	_exit(write(2, text, sizeof(text) - 1) < 0 ? 126 : 127);
}}
"""


def stand_ins(program: Path, folder: Path) -> None:
    """Compiles those that a program is linked with."""
    wanted = [line.split()[-1] for line in output("nm", "-D", "--undefined-only", str(program))]
    linked = dict(re.findall(r"(\S+) => (\S+)", "\n".join(output("ldd", str(program)))))
    for library in NEVER_CALLED:
        if library in linked:
            there = {
                line.split()[-1].replace("@@", "@") for line in output("nm", "-D", "--defined-only", linked[library])
            }
            compile_one(library, [symbol for symbol in wanted if symbol in there], folder)


def compile_one(library: str, symbols: list[str], folder: Path) -> None:
    """Compiles a library with symbols, which are NAME or NAME@VERSION."""
    source, versions = ["#include <unistd.h>\n"], dict[str, list[str]]()
    for symbol in symbols:
        name, _, version = symbol.partition("@")
        source.append(FUNCTION.format(name=name, library=library))
        versions.setdefault(version, []).append(name)
    script = folder / f"{library}.map"
    script.write_text("".join(f"{one} {{ global: {'; '.join(own)}; }};\n" for one, own in versions.items() if one))
    command = ["gcc", "-shared", "-fPIC", "-O2", "-Wl,--build-id=none", f"-Wl,-soname,{library}", "-x", "c", "-"]
    command += ["-o", str(folder / library), *([f"-Wl,--version-script={script}"] if script.stat().st_size else [])]
    subprocess.run(command, input="\n".join(source), text=True, check=True)


def output(*command: str) -> list[str]:
    """Lines that a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
