"""How the command line ends: its exit statuses, documented here and nowhere else."""

from enum import IntEnum


class Exit(IntEnum):
    """An exit status of `ufsim`."""

    OK = 0
    INPUT = 1
    USAGE = 2
    FAILED_REQUESTS = 3
    NOT_WRITTEN = 4
    BROKEN_PROMISE = 5
    FAILED_POINTS = 6
    GUEST_DIED = 7
    INTERNAL = 70
    INTERRUPTED = 130
    READER_GONE = 141

    @property
    def kind(self) -> str:
        """Its name in JSON."""
        return self.name.lower().replace("_", "-")

    @property
    def meaning(self) -> str:
        """What has happened, and what can be done."""
        return MEANINGS[self]


MEANINGS = {
    Exit.OK: "Everything was done.",
    Exit.INPUT: "An input is wrong or missing: a workload, profile, value, aged state or store. The message names it.",
    Exit.USAGE: "The command line means nothing: an unknown option, or options that exclude each other.",
    Exit.FAILED_REQUESTS: "The run is complete and its results are written, but the device failed requests.",
    Exit.NOT_WRITTEN: "A file or standard output could not be written. Tables are printed all the same.",
    Exit.BROKEN_PROMISE: "`ufsim crash` or `ufsim linux --cuts` has found a device or server that breaks a promise.",
    Exit.FAILED_POINTS: "Points of a sweep or trials of a search have failed; the results of the others are kept.",
    Exit.GUEST_DIED: "The guest of `ufsim linux` could not start, or has died; the end of its console is shown.",
    Exit.INTERNAL: (
        "A defect of ufsim, such as a read that gave wrong data, during the run or in the read-back of `--verify`. The "
        "message says how to repeat it; please report it."
    ),
    Exit.INTERRUPTED: "Interrupted (Ctrl-C, SIGINT, SIGTERM).",
    Exit.READER_GONE: "Whoever read standard output has closed it, as `| head` does.",
}


def exits_markdown() -> str:
    """The page of the documentation."""
    rows = "".join(f"| {int(exit)} | `{exit.kind}` | {exit.meaning} |\n" for exit in Exit)
    return PAGE + rows


PAGE = """\
# Exit statuses

Made from `python/ufsim/cli/exits.py` by `UFSIM_BLESS=1 .venv/bin/pytest tests/python/test_exits.py`.

A failure is one line on standard error, `ufsim: error: ...`. With `--json` (and `--fio-json`), standard output is one
JSON document in any case: the result, or

    {"ufsim": "VERSION", "error": {"kind": "input", "status": 1, "message": "nand.planes is 0; allowed: ..."}}

Only where a result was printed and something else failed afterwards, such as a file that could not be written, the
document is the result, and standard error and the status tell the rest.

Whatever ends a command, and be it a kill or a full disk, a file that it writes is the old one or the new one, never
half. It replaces only a file of its own kind, as the first bytes tell: a table takes the place of a table, but not of a
picture, an aged state or the store of a live device, and a profile, log or ftrace text only that of one that ufsim has
written. No output takes the place of an input of the same command. Directories, devices and symbolic links are never
replaced or followed. A file `.unfinished-N-NAME` was left by a command that was killed; the next one that writes NAME
removes it.

| status | kind | meaning |
|---|---|---|
"""
