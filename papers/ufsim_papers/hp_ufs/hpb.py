"""HPB as the HP-UFS paper compares with it, which is not in all what HPB's own paper describes."""

from ufsim_papers.figure import Value

SETTINGS: dict[str, Value] = {
    # Secs. II-A, IV-B: the driver caches L2P segments of 1024 entries and 4 KiB; 20 MB reach as far as HP-UFS's 20 MB.
    "scheme.segment-log.hpb_group_entries": 1024,
    "scheme.segment-log.hpb_entry": "plain",
    # Sec. II-B: whenever a mapping changes, HPB invalidates the cached segment. No entry is delivered by itself.
    "scheme.segment-log.hpb_tracked_groups": 0,
    # Sec. II-A: on a miss the driver initiates a segment read, and does not wait for idle time.
    "scheme.hpb.max_defer_us": 0,
    "scheme.hpb.eager": False,
}


def settings(scheme: str) -> dict[str, Value]:
    """What a run of this scheme replaces."""
    return dict(SETTINGS) if scheme in ("hpb", "hpb-tuned") else {}
