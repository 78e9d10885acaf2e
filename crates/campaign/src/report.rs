//! What a case has gone through.

use ftl::Moment;
use lab::OnLink;

/// What a device may be doing when the power is cut. Several may apply at once; `idle` applies alone.
pub const MOMENTS: [&str; 13] = [
    "program",
    "erase",
    "map flush",
    "segment writeback",
    "gc",
    "wear levelling",
    "metadata gc",
    "journal",
    "record",
    "snapshot",
    "overtaken copy",
    "recovery",
    "idle",
];

/// The moments that any use of a device meets: all but the last three.
pub(crate) const COMMON: usize = MOMENTS.len() - 3;
/// GC programs a copy of which a newer version is durable. Nothing but the version in its spare area tells recovery
/// that the page programmed last is not the right one.
pub(crate) const OVERTAKEN: usize = COMMON;

/// Circumstances of a power cut outside of the device. Any number may apply at once.
pub const CIRCUMSTANCES: [&str; 12] = [
    "command on the link",
    "response on the link",
    "message cut in two",
    "submission going on",
    "requests overlapping",
    "reordering scheduler",
    "survey by the host",
    "not read since the last cut",
    "app in the foreground",
    "memory given back",
    "aged device",
    "large device",
];

/// What a device is doing.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Doing {
    /// As far as the device knows.
    pub device: Moment,
    /// See [`OVERTAKEN`].
    pub overtaken: bool,
}

/// A set of circumstances.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Around {
    pub link: OnLink,
    /// The next request had been waiting for room in the queue.
    pub submitting: bool,
    /// Two requests of the same address are under way, and one of them changes it.
    pub overlapping: bool,
    /// A scheduler that reorders has requests under way.
    pub reordering: bool,
    /// The driver is finding out what the device holds.
    pub surveying: bool,
    /// Since the cut before, not everything has been read.
    pub unread: bool,
    /// The driver knows of an app in the foreground.
    pub foreground: bool,
    /// The driver has given memory back since it was attached.
    pub given_back: bool,
    /// As much as the device holds, or more, had been written to it.
    pub aged: bool,
    /// The device has at least 8 GiB.
    pub large: bool,
}

/// Result of a case without failure, or the sum of some.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Name of the scheme.
    pub scheme: &'static str,
    /// Number of cuts by what the device was doing, in the order of [`MOMENTS`].
    pub moments: [u32; MOMENTS.len()],
    /// Number of cuts by circumstance, in the order of [`CIRCUMSTANCES`].
    pub circumstances: [u32; CIRCUMSTANCES.len()],
    /// Number of power cuts, including those during a recovery.
    pub cuts: u32,
    /// Longest recovery in nanoseconds.
    pub longest_recovery_ns: u64,
}

/// For each of [`MOMENTS`], whether it applies.
pub(crate) fn applies(doing: Doing) -> [bool; MOMENTS.len()] {
    let m = doing.device;
    let busy = [
        m.program,
        m.erase,
        m.map_flush,
        m.writeback,
        m.gc,
        m.wear,
        m.meta_gc,
        m.journal,
        m.record,
        m.snapshot,
        doing.overtaken,
        m.recovery,
    ];
    let mut all = [false; MOMENTS.len()];
    all[..busy.len()].copy_from_slice(&busy);
    all[busy.len()] = !busy.contains(&true);
    all
}

impl Report {
    /// Adds the result of another case.
    pub fn add(&mut self, other: &Report) {
        sum(&mut self.moments, other.moments);
        sum(&mut self.circumstances, other.circumstances);
        self.cuts += other.cuts;
        self.longest_recovery_ns = self.longest_recovery_ns.max(other.longest_recovery_ns);
    }

    /// The names of moments and circumstances that no cut has met.
    pub fn missed(&self) -> Vec<&'static str> {
        let moments = MOMENTS.into_iter().zip(self.moments);
        let all = moments.chain(CIRCUMSTANCES.into_iter().zip(self.circumstances));
        all.filter(|(_, count)| *count == 0).map(|(name, _)| name).collect()
    }

    /// Counts a power cut.
    pub(crate) fn note(&mut self, doing: Doing, around: &Around) {
        sum(&mut self.moments, applies(doing).map(u32::from));
        let a = around;
        let circumstances = [
            a.link.commands > 0,
            a.link.responses > 0,
            a.link.partial > 0,
            a.submitting,
            a.overlapping,
            a.reordering,
            a.surveying,
            a.unread,
            a.foreground,
            a.given_back,
            a.aged,
            a.large,
        ];
        sum(&mut self.circumstances, circumstances.map(u32::from));
        self.cuts += 1;
    }
}

fn sum<const N: usize>(counts: &mut [u32; N], more: [u32; N]) {
    counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
}
