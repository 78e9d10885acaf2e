//! The UFS link: the time that a message takes from host to device or back.
//!
//! The link is full duplex: the two directions do not disturb each other; in each direction, messages go one after the
//! other. Only UPIUs are counted. The rates are those left for UPIUs, after line coding, UniPro headers and
//! acknowledgements. READY TO TRANSFER UPIUs (32 bytes for up to 32 KiB of a write, towards the host) are not modelled.

use std::ops::Range;

use units::{Nanos, SimTime, bytes_per_us};

use crate::codec::hpb::HPB_NOTICE_BYTES;
use crate::codec::hpufs::{COMMAND_EXTENSION_BYTES, has_extension};
use crate::codec::upiu::{MAX_DATA_SEGMENT, SENSE_BYTES, UPIU_BYTES};
use crate::command::Command;
use crate::response::{HpbNotice, Response, Status};

params::params! {
    /// The link between host and device.
    pub LinkParams {
        /// Rate of UPIUs from host to device; 0 = no time on the wire.
        down_mib_per_s: count(0 to 65536);
        /// Rate of UPIUs from device to host; 0 = no time on the wire.
        up_mib_per_s: count(0 to 65536);
        /// From the last byte of a message on the wire to its handling at the other end.
        upiu_ns: count(0 to 1000000);
    }
}

impl LinkParams {
    /// The speed that they stand for.
    pub fn config(&self) -> LinkConfig {
        LinkConfig {
            down_bytes_per_us: bytes_per_us(self.down_mib_per_s),
            up_bytes_per_us: bytes_per_us(self.up_mib_per_s),
            upiu_latency: Nanos(self.upiu_ns.into()),
        }
    }
}

/// Speed of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkConfig {
    /// Bytes per microsecond (= MB/s) from host to device; 0 = messages take no time on the wire.
    pub down_bytes_per_us: u32,
    /// Bytes per microsecond (= MB/s) from device to host; 0 = messages take no time on the wire.
    pub up_bytes_per_us: u32,
    /// Time from the moment when the last byte of a message has left one end to its handling at the other. It does not
    /// delay the next message.
    pub upiu_latency: Nanos,
}

impl LinkConfig {
    /// Time on the wire of so many bytes from the host.
    pub fn down_time(&self, bytes: u64) -> Nanos {
        on_wire(bytes, self.down_bytes_per_us)
    }

    /// The same from the device.
    pub fn up_time(&self, bytes: u64) -> Nanos {
        on_wire(bytes, self.up_bytes_per_us)
    }
}

/// Rounded up to nanoseconds; a rate of 0 takes no time.
#[inline]
fn on_wire(bytes: u64, bytes_per_us: u32) -> Nanos {
    match bytes_per_us {
        0 => Nanos::ZERO,
        rate => Nanos((bytes * 1000).div_ceil(u64::from(rate))),
    }
}

/// One direction, a serial resource.
#[derive(Clone, Copy, Debug)]
struct Lane {
    bytes_per_us: u32,
    free_at: SimTime,
    /// Bytes of the last message, and its time on the wire: most are alike, and a division is slow.
    last: (u64, Nanos),
}

impl Lane {
    fn new(bytes_per_us: u32) -> Lane {
        Lane { bytes_per_us, free_at: SimTime::START, last: (0, Nanos::ZERO) }
    }

    /// The time at which the last of `bytes` has left, if they are submitted at `now`.
    #[inline]
    fn send(&mut self, now: SimTime, bytes: u64) -> SimTime {
        if bytes != self.last.0 {
            self.measure(bytes);
        }
        self.free_at = self.free_at.max(now) + self.last.1;
        self.free_at
    }

    /// Out of the way of messages that are as long as the last.
    #[inline(never)]
    fn measure(&mut self, bytes: u64) {
        self.last = (bytes, on_wire(bytes, self.bytes_per_us));
    }

    /// From the first to the last of `bytes`, if the message arrives at `arrival`.
    fn leaves(&self, arrival: SimTime, latency: Nanos, bytes: u64) -> Range<SimTime> {
        let end = arrival.0 - latency.0;
        SimTime(end - on_wire(bytes, self.bytes_per_us).0)..SimTime(end)
    }
}

/// A full-duplex link.
#[derive(Clone, Debug)]
pub struct Link {
    down: Lane,
    up: Lane,
    latency: Nanos,
}

impl Link {
    /// An idle link.
    pub fn new(config: LinkConfig) -> Link {
        let (down, up) = (Lane::new(config.down_bytes_per_us), Lane::new(config.up_bytes_per_us));
        Link { down, up, latency: config.upiu_latency }
    }

    /// Sends `bytes` from the host at `now`, after everything sent that way before. Gives the time of arrival. Times on
    /// the wire are rounded up to nanoseconds. Messages go in the order of the calls, whatever their `now`.
    #[inline]
    pub fn send_down(&mut self, now: SimTime, bytes: u64) -> SimTime {
        self.down.send(now, bytes) + self.latency
    }

    /// The same link with nothing on it.
    pub fn idle(&self) -> Link {
        let (down, up) = (Lane::new(self.down.bytes_per_us), Lane::new(self.up.bytes_per_us));
        Link { down, up, latency: self.latency }
    }

    /// The least times that a message takes from the host, and from the device.
    pub fn least_times(&self) -> [Nanos; 2] {
        [self.down, self.up].map(|lane| on_wire(UPIU_BYTES as u64, lane.bytes_per_us) + self.latency)
    }

    /// When a message of `bytes` from the host leaves it, byte by byte, if it is handled at `arrival`.
    pub fn leaves_down(&self, arrival: SimTime, bytes: u64) -> Range<SimTime> {
        self.down.leaves(arrival, self.latency, bytes)
    }

    /// The same for a message from the device.
    pub fn leaves_up(&self, arrival: SimTime, bytes: u64) -> Range<SimTime> {
        self.up.leaves(arrival, self.latency, bytes)
    }

    /// Sends `bytes` from the device; see [`Link::send_down`].
    #[inline]
    pub fn send_up(&mut self, now: SimTime, bytes: u64) -> SimTime {
        self.up.send(now, bytes) + self.latency
    }
}

/// Bytes of data, with the headers of the DATA UPIUs around it.
#[inline]
fn data_upius(bytes: u64) -> u64 {
    bytes + bytes.div_ceil(u64::from(MAX_DATA_SEGMENT)) * UPIU_BYTES as u64
}

/// Bytes of all UPIUs of a command: COMMAND with extension if it has one (HPB's entry is inside the CDB), and DATA OUT
/// with 4096 bytes for each block of a write.
#[inline]
pub fn wire_bytes(command: &Command) -> u64 {
    let extension = if has_extension(command) { COMMAND_EXTENSION_BYTES as u64 } else { 0 };
    UPIU_BYTES as u64 + extension + data_upius(command.data_bytes())
}

/// Bytes of all UPIUs of a response: DATA IN with 4096 bytes for each block of a read, RESPONSE with sense data unless
/// GOOD, and with the HPB notice if there is one. The piggyback adds nothing: it uses bytes that every RESPONSE has.
#[inline]
pub fn wire_bytes_response(response: &Response) -> u64 {
    let sense = if response.status == Status::Good { 0 } else { SENSE_BYTES as u64 };
    let notice = if response.hpb == HpbNotice::None { 0 } else { HPB_NOTICE_BYTES as u64 };
    UPIU_BYTES as u64 + sense + notice + data_upius(response.data.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Op, Tag};
    use crate::data::{DataIn, DataOut, Quarters};
    use crate::response::PiggyBack;
    use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

    fn command(op: Op, data: DataOut) -> Command {
        Command { tag: Tag(0), op, host_seq: Seq(0), freed: None, data }
    }

    fn response(data: DataIn) -> Response {
        Response { tag: Tag(0), status: Status::Good, data, hpb: HpbNotice::None, piggyback: PiggyBack::default() }
    }

    const GEAR_4: LinkConfig = LinkConfig { down_bytes_per_us: 2000, up_bytes_per_us: 1000, upiu_latency: Nanos(500) };

    #[test]
    fn a_message_takes_its_bytes_and_the_latency() {
        let mut link = Link::new(GEAR_4);
        // 4160 bytes at 2 bytes/ns, then 500 ns.
        assert_eq!(link.send_down(SimTime(100), 4160), SimTime(100 + 2080 + 500));
        // 33 bytes at 3 bytes per 1000 ns round up: 11000 ns exactly; 34 bytes: 11333.3.
        let mut slow = Link::new(LinkConfig { down_bytes_per_us: 3, ..GEAR_4 });
        assert_eq!(slow.send_down(SimTime::START, 33), SimTime(11_000 + 500));
        assert_eq!(slow.send_down(SimTime(20_000), 34), SimTime(20_000 + 11_334 + 500));
    }

    #[test]
    fn a_message_is_on_the_wire_before_the_latency() {
        let mut link = Link::new(GEAR_4);
        link.send_down(SimTime(100), 4160);
        let second = link.send_down(SimTime(100), 40);
        assert_eq!(link.leaves_down(second, 40), SimTime(100 + 2080)..SimTime(100 + 2100));
        let up = link.send_up(SimTime(100), 40);
        assert_eq!(link.leaves_up(up, 40), SimTime(100)..SimTime(140));
        assert_eq!(link.least_times(), [Nanos(16 + 500), Nanos(32 + 500)]);
        let mut idle = link.idle();
        assert_eq!(idle.send_down(SimTime(100), 40), SimTime(100 + 20 + 500));
    }

    #[test]
    fn a_direction_is_serial_and_the_latency_overlaps() {
        let mut link = Link::new(GEAR_4);
        assert_eq!(link.send_up(SimTime(0), 1000), SimTime(1000 + 500));
        // It waits for the wire until 1000, not for the arrival at 1500.
        assert_eq!(link.send_up(SimTime(10), 1000), SimTime(2000 + 500));
        // The other direction is free.
        assert_eq!(link.send_down(SimTime(10), 1000), SimTime(10 + 500 + 500));
        // After a pause the wire is free.
        assert_eq!(link.send_up(SimTime(9000), 32), SimTime(9032 + 500));
    }

    #[test]
    fn rate_zero_leaves_only_the_latency() {
        let mut link = Link::new(LinkConfig { down_bytes_per_us: 0, ..GEAR_4 });
        assert_eq!(link.send_down(SimTime(7), u64::from(u32::MAX)), SimTime(507));
        assert_eq!(link.send_down(SimTime(7), 1), SimTime(507));
    }

    #[test]
    fn commands_count_their_upius() {
        let lpa = Lpa(0);
        let read = command(Op::Read { lpa, len: 128 }, DataOut::None);
        assert_eq!(wire_bytes(&read), 32);
        let hpb = command(Op::HpbRead { lpa, len: 1, entry: 9 }, DataOut::None);
        assert_eq!(wire_bytes(&hpb), 32);
        let mapped = command(Op::MappedRead { lpa, len: 1, ppa: Some(Ppa(1)) }, DataOut::None);
        assert_eq!(wire_bytes(&mapped), 32 + 8);
        let write = |len| command(Op::Write { lpa, len, fua: false }, DataOut::Stamp(1));
        assert_eq!(wire_bytes(&write(1)), 32 + 32 + 4096);
        // 8 blocks fill one DATA OUT UPIU, the ninth needs another.
        assert_eq!(wire_bytes(&write(8)), 32 + 32 + 8 * 4096);
        assert_eq!(wire_bytes(&write(9)), 32 + 2 * 32 + 9 * 4096);
        let with_seq = Command { host_seq: Seq(1), ..write(1) };
        assert_eq!(wire_bytes(&with_seq), 32 + 8 + 32 + 4096);
        let with_freed = Command { freed: Some(Superblock(0)), ..read };
        assert_eq!(wire_bytes(&with_freed), 32 + 8);
        assert_eq!(wire_bytes(&command(Op::Unmap { lpa, len: 5 }, DataOut::None)), 32 + 32 + 24);
        let segment = Op::SegmentWrite { segment: SegmentId(0) };
        assert_eq!(
            wire_bytes(&command(segment, DataOut::Segment(crate::SegmentState::of(&[0; 1024])))),
            32 + 32 + 4096
        );
        let parts = DataOut::SegmentParts(Quarters::new(0b1010).unwrap(), Box::new([0; 1024]));
        assert_eq!(wire_bytes(&command(segment, parts)), 32 + 32 + 2048);
        assert_eq!(wire_bytes(&command(segment, DataOut::None)), 32);
    }

    #[test]
    fn responses_count_their_upius() {
        assert_eq!(wire_bytes_response(&response(DataIn::None)), 32);
        assert_eq!(wire_bytes_response(&response(DataIn::One(None))), 32 + 32 + 4096);
        assert_eq!(wire_bytes_response(&response(DataIn::Many(vec![None; 128]))), 32 + 16 * 32 + 128 * 4096);
        assert_eq!(wire_bytes_response(&response(DataIn::Sealed(vec![0; 4096]))), 32 + 32 + 32768);
        assert_eq!(wire_bytes_response(&response(DataIn::Plain(vec![0; 4096]))), 32 + 32 + 16384);
        let dirty = Response { hpb: HpbNotice::DirtyGroup(0), ..response(DataIn::None) };
        assert_eq!(wire_bytes_response(&dirty), 32 + 20);
        let failed = Response { status: Status::OutOfRange, ..dirty };
        assert_eq!(wire_bytes_response(&failed), 32 + 20 + 20);
    }
}
