//! Map flushes that take the map units of the mapping table a round at a time: read those with changes, change them,
//! program them.
//!
//! The scheme decides which map units are written, how many fit a round, and what they become ([`InRounds`]). This file
//! has the order of the steps.

use units::{Lpa, Ppa, Seq, Superblock};

use ftl::parts::ValidCounts;
use ftl::seat::{Core, Owner, Piece, Programmed, ProgrammedSet, Round};

/// The step that a flush is at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(super) enum Phase {
    /// Waiting for programs in flight.
    #[default]
    Start,
    /// Reading the map units of the next round.
    Read,
    /// They are in SRAM and have to be changed and programmed.
    Apply,
    /// They have been programmed.
    Written,
}

/// Result of loading the next round.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Load {
    /// Flash reads are under way.
    Reading,
    /// All map units of the round are in SRAM.
    InSram,
    /// There is no next round: the flush has ended, or has been broken off for a command.
    Ended,
}

/// What a scheme does for a flush in rounds.
pub(super) trait InRounds {
    /// The step that the flush is at.
    fn phase(&mut self) -> &mut Phase;

    /// Chooses the changes to write. No program is in flight, so every change that has a sequence number is known.
    fn begin(&mut self, core: &mut Core);

    /// Brings the map units of the next round into SRAM, or ends the flush.
    fn load(&mut self, core: &mut Core) -> Load;

    /// Changes and programs the map units in SRAM. False if the flush has been given up instead.
    fn program(&mut self, core: &mut Core) -> bool;

    /// All programs of the round have ended.
    fn written(&mut self, core: &mut Core);
}

/// Continues a flush. True when it has ended; see [`Flush::flush`](ftl::seat::Flush::flush).
pub(super) fn run_until_blocked(map: &mut impl InRounds, core: &mut Core) -> bool {
    loop {
        match *map.phase() {
            Phase::Start => {
                if core.programs_in_flight() > 0 {
                    return false;
                }
                map.begin(core);
                *map.phase() = Phase::Read;
            }
            Phase::Read => match map.load(core) {
                Load::Ended => {
                    *map.phase() = Phase::Start;
                    return true;
                }
                load => {
                    *map.phase() = Phase::Apply;
                    if load == Load::Reading {
                        return false;
                    }
                }
            },
            Phase::Apply => {
                let goes_on = map.program(core);
                *map.phase() = if goes_on { Phase::Written } else { Phase::Start };
                return !goes_on;
            }
            Phase::Written => {
                map.written(core);
                *map.phase() = Phase::Read;
            }
        }
    }
}

/// Puts a change into its map unit, which is in SRAM, so the device sees the `old` entry now. The old entry tells
/// whether the host has overtaken a copy by GC (`None`), and which superblock has lost a page, if any.
pub(super) fn settle(
    core: &Core,
    valid: &mut ValidCounts,
    old: Option<Ppa>,
    ppa: Option<Ppa>,
    source: Option<Superblock>,
) -> Option<Option<Superblock>> {
    let old = old.map(|ppa| core.superblock_of(ppa));
    if source.is_some() && old != source {
        return None;
    }
    if let Some(ppa) = ppa {
        valid.add(core.superblock_of(ppa));
    }
    if let Some(sb) = old {
        valid.remove(sb);
    }
    Some(old)
}

/// Makes the changes of a round the content of its map units, which are on flash and complete up to `seq`. Map units
/// whose program a power cut has destroyed are not among `programmed`.
pub(super) fn on_flash(
    core: &mut Core,
    round: &Round,
    seq: Seq,
    programmed: &ProgrammedSet,
    changes: impl Iterator<Item = (Lpa, Option<Ppa>)>,
) {
    let mut at = 0;
    for programmed in round.units().filter_map(|unit| programmed.next(&mut at, Piece::of(unit))) {
        core.segment_written(programmed, seq);
    }
    let (units, mut at) = (core.units(), 0);
    let mut last: Option<&Programmed> = None;
    for (lpa, ppa) in changes {
        let piece = Piece::of(units.of(lpa));
        // Changes of the same map unit are adjacent.
        if last.is_none_or(|last| last.piece() != piece) {
            last = programmed.next(&mut at, piece);
        }
        if let Some(programmed) = last {
            core.set_entry(programmed, lpa, ppa);
        }
    }
}

/// Gives the buffers of a round back. The segment cache keeps their map units where it has room.
pub(super) fn release(core: &mut Core, round: &Round, held: &mut u16) {
    core.give_buffers(Owner::Map, std::mem::take(held));
    for loaded in round.loaded() {
        core.keep_segment(loaded);
    }
}
