"""The drawings of the documentation. A page names one in a comment, `drawing NAME`, and `site_hook.py` puts it there.

`scripts/site_drawings.py` writes the one of README, docs/img/overview.svg, which a test compares.
"""

import re
from collections.abc import Callable
from pathlib import Path

from site_svg import MARGIN, WIDTH, Arrows, Canvas, Cell, Layer, layers, wrapped


def overview() -> Canvas:
    """What is simulated, from the apps to the flash."""
    return layers(
        Layer(
            "link",
            "Workload",
            (Cell("Trace"), Cell("fio job"), Cell("SQLite"), Cell("Phone")),
            "What the block layer is asked for, and when.",
        ),
        Arrows("requests", "completions, latency"),
        Layer(
            "host",
            "Host: UFS driver",
            (
                Cell("Scheduler", "which request goes next", focus=True),
                Cell("Booster", "what host DRAM holds of the mapping", focus=True),
                Cell("Tags", "32 commands in flight"),
            ),
        ),
        Arrows("UFS commands with mappings", "responses with changes and hints"),
        Layer(
            "device",
            "Device: firmware without DRAM",
            (
                Cell("Mapping scheme", "where each 4 KiB lies", focus=True),
                Cell("SRAM", "write buffer, log, cached L2P segments"),
                Cell("GC", "copies valid pages, erases"),
            ),
        ),
        Arrows("reads, programs, erases", "pages with spare areas"),
        Layer("flash", "Flash", (Cell("Data", "TLC superblocks"), Cell("Metadata", "mapping table, in SLC mode"))),
    )


def segment_log() -> Canvas:
    """The mapping `segment-log`: a log in front of segments on flash."""
    return layers(
        Layer("host", "Host", (Cell("Nothing about the mapping"),)),
        Arrows("read, write", "data"),
        Layer(
            "device",
            "SRAM",
            (
                Cell("L2P log", "new mappings, newest first", focus=True),
                Cell("Segment cache", "segments of 4 KiB: 1024 entries each"),
                Cell("Valid page counts", "per superblock"),
            ),
        ),
        Arrows("map flush: read, change, write segments", "a miss: read the segment, then the page"),
        Layer(
            "flash",
            "Flash",
            (
                Cell("L2P segments", "the whole table", focus=True),
                Cell("User data", "GC reads the victim's segments to find what is valid"),
            ),
        ),
    )


def hpb() -> Canvas:
    """HPB: the host sends entries along with reads."""
    return layers(
        Layer(
            "host",
            "Host DRAM",
            (
                Cell("Cached L2P entries", "sealed: the host cannot forge them", focus=True),
                Cell("Policy", "what to fetch, what to drop", focus=True),
            ),
        ),
        Arrows("HPB READ: address and its sealed entry", "READ BUFFER: entries of a group"),
        Layer(
            "device",
            "SRAM",
            (
                Cell("Seal check", "a stale or forged entry is refused, and looked up instead"),
                Cell("L2P log", "as in segment-log"),
                Cell("Segment cache", "for what the host has not"),
            ),
        ),
        Arrows("checked entry: read the page at once", "else: read segment, then page"),
        Layer("flash", "Flash", (Cell("L2P segments", "written as in segment-log"), Cell("User data"))),
    )


def hp_ufs() -> Canvas:
    """HP-UFS: the host keeps the mapping up to date, and what GC needs to know."""
    return layers(
        Layer(
            "host",
            "Host DRAM",
            (
                Cell("L2P segments", "changed in place", focus=True),
                Cell("Valid page bitmap and counts", "of every superblock", focus=True),
                Cell("Reorder buffer", "changes in order of their numbers"),
            ),
        ),
        Arrows(
            "PPA with a read, old PPA with a write, GC victim and bitmap, dirty segments",
            "new mappings on responses, hints what to write back",
        ),
        Layer(
            "device",
            "SRAM",
            (
                Cell("L2P log", "only until the host has applied it", focus=True),
                Cell("Write buffer"),
                Cell("GC", "copies what the host's bitmap names"),
            ),
        ),
        Arrows("data; segments that come back", "pages; spare area proves the address"),
        Layer("flash", "Flash", (Cell("L2P segments", "written when the host gives them back"), Cell("User data"))),
    )


def ideal() -> Canvas:
    """The bound: DRAM inside the device."""
    return layers(
        Layer("host", "Host", (Cell("Nothing about the mapping"),)),
        Arrows("read, write", "data"),
        Layer(
            "device",
            "DRAM inside the device",
            (
                Cell("Whole L2P table", "4 bytes for each 4 KiB", focus=True),
                Cell("Valid page bitmap", "GC knows every valid page", focus=True),
            ),
            "No other scheme has this.",
        ),
        Arrows("data only", "data only"),
        Layer("flash", "Flash", (Cell("User data", "still programmed, collected, erased"), Cell("No mapping I/O"))),
    )


def dftl() -> Canvas:
    """DFTL and CDFTL: single entries loaded on demand."""
    return layers(
        Layer("host", "Host", (Cell("Nothing about the mapping"),)),
        Arrows("read, write: each waits for its entry", "data"),
        Layer(
            "device",
            "SRAM",
            (
                Cell("CMT", "single entries, segmented LRU", focus=True),
                Cell("Translation pages", "cdftl only: half of the SRAM", focus=True),
                Cell("GTD", "where each translation page lies"),
            ),
        ),
        Arrows("a changed entry leaves: its page is read, changed, written", "a miss: read the translation page"),
        Layer("flash", "Flash", (Cell("Translation pages", "the whole table"), Cell("User data"))),
    )


def msftl() -> Canvas:
    """The MSFTL family: the same flush in pieces of different sizes."""
    canvas = layers(
        Layer(
            "device",
            "SRAM",
            (
                Cell("Mapping cache", "new mappings of 9 MiB of writes", focus=True),
                Cell("Directory", "the place of every piece"),
            ),
        ),
        Arrows("flush: every piece with changes is read, changed and written elsewhere", ""),
    )
    rows = (
        ("base-dftl", (1.0,), "one piece of 16 KiB"),
        ("mini-page", (0.25,) * 4, "four pieces of 4 KiB"),
        ("msftl", (1 / 16,) * 16, "sixteen pieces of 1 KiB"),
    )
    top, height = canvas.y, 3 * 40 + 52
    canvas.box(MARGIN, top, WIDTH - 2 * MARGIN, height, "flash")
    canvas.text(MARGIN + 8, top + 17, "One NAND page of the mapping table on flash", size=13, look="bold")
    for number, (name, shares, said) in enumerate(rows):
        y = top + 30 + 40 * number
        canvas.text(MARGIN + 10, y + 18, name, look="bold")
        x = 92.0
        for share in shares:
            canvas.box(x, y + 3, 176 * share, 24, "focus" if len(shares) > 1 else "cell")
            x += 176 * share
        canvas.text(276, y + 19, said, size=11, look="soft")
    canvas.text(MARGIN + 10, top + height - 10, "Smaller pieces: less rewritten that has not changed.", look="soft")
    canvas.y += height
    return canvas


def schedulers() -> Canvas:
    """Table I of MAP+, run through the schedulers: the order in which twelve requests are sent."""
    from ufsim_papers.map_plus.examples import HITS, example

    canvas = Canvas()
    canvas.text(MARGIN, 20, "Order in which twelve pending requests are sent", size=13, look="bold")
    canvas.y = 32
    for name in ("noop", "hp", "map"):
        canvas.text(MARGIN, canvas.y + 19, name, look="bold")
        for place, request in enumerate(example("Table I", name)["sequence"]):
            hit = request in HITS
            x = 60 + 29 * place
            canvas.box(x, canvas.y + 2, 27, 26, "hit" if hit else "link")
            look = "hit-ink" if hit else ""
            canvas.text(x + 13.5, canvas.y + 19, str(request), anchor="middle", look=look)
        canvas.y += 36
    canvas.box(60, canvas.y + 2, 14, 14, "hit")
    canvas.text(80, canvas.y + 14, "its mapping is in the device's cache", look="soft")
    canvas.y += 20
    canvas.text(60, canvas.y + 14, "map also puts together what shares a translation page", look="soft")
    canvas.y += 20
    return canvas


def host() -> Canvas:
    """The way of a request through the driver."""
    return layers(
        Layer("link", "Block layer", (Cell("Requests", "split at 512 KiB into parts"),)),
        Arrows("parts", "completions"),
        Layer(
            "host",
            "Driver",
            (
                Cell("Pending queue", "what the scheduler may choose from", focus=True),
                Cell("Booster", "adds what it knows, or waits for a segment"),
                Cell("Tags", "one for each command in flight; some kept for internal commands"),
            ),
        ),
        Arrows("command under its tag", "response"),
        Layer("link", "Link", text="Each direction has a rate; every byte of a command, entry and hint is charged."),
        Arrows("fetched in order", ""),
        Layer("device", "Device"),
    )


def device() -> Canvas:
    """The firmware, from a command to the dies."""
    canvas = layers(
        Layer(
            "device",
            "Front end: one thread, a fixed time per command",
            (
                Cell("Write buffer", "acknowledged when it is here"),
                Cell("Mapping scheme", "answers where; decides flushes", focus=True),
                Cell("Exclusive jobs", "map flush, GC step: commands wait"),
            ),
        ),
        Arrows("rows: one page on every plane of a die", "pages with LPA and number in the spare area"),
    )
    top = canvas.y
    canvas.box(MARGIN, top, WIDTH - 2 * MARGIN, 118, "flash")
    canvas.text(MARGIN + 8, top + 17, "Eight channels, one die each: they work side by side", size=13, look="bold")
    for die in range(8):
        x = MARGIN + 8 + 49.5 * die
        canvas.box(x, top + 28, 44, 44, "cell")
        canvas.text(x + 22, top + 54, f"die {die}", size=11, anchor="middle", look="soft")
    canvas.box(MARGIN + 8, top + 80, 390.5, 28, "focus")
    canvas.text(WIDTH / 2, top + 98, "a superblock: one block on every plane of every die", anchor="middle")
    canvas.y += 118
    return canvas


def determinism() -> Canvas:
    """What decides every byte of a result."""
    return layers(
        Layer("link", "What is given", (Cell("Profile"), Cell("Workload"), Cell("Seed"), Cell("Version"))),
        Arrows("nothing else enters", ""),
        Layer(
            "device",
            "One event queue",
            (
                Cell("Order: time, then order of insertion", focus=True),
                Cell("No clock, no thread, no hash map in a model"),
            ),
        ),
        Arrows("every completion and every counter", ""),
        Layer("host", "Digest", text="Equal digests: the same completions at the same times."),
    )


def power_cuts() -> Canvas:
    """What is there after a power cut."""
    canvas = Canvas()
    y = 46
    canvas.text(MARGIN, 20, "Time", look="soft")
    canvas.line([(MARGIN + 34, 16), (WIDTH - MARGIN, 16)])
    events = ((24, "write A", "flash"), (106, "flush", "host"), (188, "write B", "flash"), (316, "recovery", "device"))
    for x, text, kind in events:
        canvas.box(x, y, 72, 30, kind)
        canvas.text(x + 36, y + 20, text, anchor="middle", look="bold")
    canvas.line([(288, 30), (288, 92)], head=False, dashed=True)
    canvas.text(284, 38, "power cut", anchor="end", look="mark bold")
    rows = (
        ("A", "There, always: it was acknowledged before a flush that completed."),
        ("B", "There or not, unit by unit; if not, what was there before it is."),
        ("", "Nothing is torn, and nothing else is ever read."),
    )
    canvas.y = 100
    for name, text in rows:
        canvas.text(MARGIN, canvas.y + 16, name, look="bold")
        for number, line in enumerate(wrapped(text, WIDTH - 40)):
            canvas.text(24, canvas.y + 16 + 15 * number, line, look="soft")
        canvas.y += 15 * len(wrapped(text, WIDTH - 40)) + 8
    return canvas


DRAWINGS: dict[str, Callable[[], Canvas]] = {
    "overview": overview,
    "segment-log": segment_log,
    "hpb": hpb,
    "hp-ufs": hp_ufs,
    "ideal": ideal,
    "dftl": dftl,
    "msftl": msftl,
    "schedulers": schedulers,
    "host": host,
    "device": device,
    "determinism": determinism,
    "power-cuts": power_cuts,
}


def drawing(name: str) -> str:
    """A drawing for a page."""
    make = DRAWINGS[name]
    return f'<figure class="drawing" markdown="0">\n{make().svg((make.__doc__ or name).rstrip("."))}\n</figure>'


README_PICTURE = Path(__file__).parents[1] / "docs/img/overview.svg"
STYLES = Path(__file__).parents[1] / "docs/css/extra.css"


def readme_picture() -> str:
    """The overview as a file of its own, in light colours on a background of its own."""
    root = re.search(r":root \{.*?\n\}", STYLES.read_text(encoding="utf-8"), re.DOTALL)
    assert root, "the colours of drawings stand in :root"
    style = (
        f"{root[0]}\ntext {{ font-family: system-ui, sans-serif; fill: var(--draw-ink); }}\n"
        ".soft { fill: var(--draw-soft); }"
    )
    svg = overview().svg("What is simulated: workload, host driver, device firmware, flash")
    background = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return svg.replace("</title>\n", f"</title>\n<style>\n{style}\n</style>\n{background}\n", 1) + "\n"


if __name__ == "__main__":
    README_PICTURE.parent.mkdir(parents=True, exist_ok=True)
    README_PICTURE.write_text(readme_picture(), encoding="utf-8")
