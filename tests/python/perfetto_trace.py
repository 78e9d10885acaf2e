"""Reads a timeline with the messages of Perfetto's own package, as the UI does."""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages


@dataclass
class Slice:
    """Something on a track; `end` is missing if it goes on when the timeline ends."""

    track: str
    name: str
    begin: int
    end: int | None
    flows: list[int]
    told: dict[str, Any]


@dataclass
class Timeline:
    """What a file holds, by names of tracks; rows of requests have one name."""

    process: str = ""
    parents: dict[str, str] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    slices: list[Slice] = field(default_factory=list)
    instants: list[tuple[str, str, int]] = field(default_factory=list)
    values: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    packets: int = 0

    def on(self, track: str) -> list[Slice]:
        """The slices of a track, in the order of time."""
        return sorted((one for one in self.slices if one.track == track), key=lambda one: one.begin)

    def of_dies(self) -> list[Slice]:
        return [one for one in self.slices if one.track.startswith("die ")]


def read(path: Path) -> Timeline:
    """Reads a file; fails where the UI would count an error."""
    trace = messages.Trace()
    trace.ParseFromString(path.read_bytes())
    timeline = Timeline(packets=len(trace.packet))
    names: dict[int, str] = {}
    tracks: dict[int, str] = {}
    open_slices: dict[int, list[Slice]] = defaultdict(list)
    assert trace.packet[0].sequence_flags & messages.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        for entry in packet.interned_data.event_names:
            names[entry.iid] = entry.name
        if packet.HasField("track_descriptor"):
            described = packet.track_descriptor
            assert described.uuid not in tracks, f"{described.name} is described twice"
            tracks[described.uuid] = described.name or "run"
            if described.HasField("process"):
                timeline.process = described.process.process_name
            else:
                timeline.parents[described.name] = tracks[described.parent_uuid]
            if described.HasField("counter"):
                timeline.units[described.name] = described.counter.unit_name
        if not packet.HasField("track_event"):
            continue
        event = packet.track_event
        track, at = tracks[event.track_uuid], packet.timestamp
        name = names[event.name_iid] if event.name_iid else event.name
        if event.type == event.TYPE_SLICE_BEGIN:
            told = {one.name: one.string_value or one.uint_value for one in event.debug_annotations}
            one = Slice(track, name, at, None, list(event.flow_ids), told)
            timeline.slices.append(one)
            open_slices[event.track_uuid].append(one)
        elif event.type == event.TYPE_SLICE_END:
            ended = open_slices[event.track_uuid].pop()
            assert ended.begin <= at, ended
            ended.end = at
        elif event.type == event.TYPE_INSTANT:
            timeline.instants.append((track, name, at))
        else:
            assert event.type == event.TYPE_COUNTER and track in timeline.units
            timeline.values[track].append((at, event.counter_value))
    assert all(len(left) <= 1 for left in open_slices.values()), "slices of a track overlap"
    return timeline
