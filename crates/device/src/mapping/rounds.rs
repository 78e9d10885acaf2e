//! Map flushes that take the pieces of the mapping table a round at a time: read what has changes, change it, program
//! it.
//!
//! What has to be written, how many pieces fit a round, and what they become is the scheme's ([`InRounds`]); the order
//! is here.

use units::{Lpa, Ppa, Seq, Superblock};

use crate::directory::Piece;
use crate::engine::core::Core;
use crate::knowledge::{Programmed, ProgrammedSet, Round};
use crate::sram::Owner;
use crate::validity::ValidCounts;

/// Where a flush stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Phase {
    /// Waiting for programs in flight.
    #[default]
    Start,
    /// Reading the next pieces.
    Read,
    /// They are in SRAM: change and program them.
    Apply,
    /// They are on flash.
    Written,
}

/// What became of the next round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Load {
    /// Flash is being read.
    Reading,
    /// All of it is in SRAM.
    There,
    /// There is none: the flush has ended, or makes way.
    Over,
}

/// What a scheme does for a flush in rounds.
pub(super) trait InRounds {
    /// Where the flush stands.
    fn phase(&mut self) -> &mut Phase;

    /// No program is in flight, so every change with a number that has been given is known: which are to be written?
    fn begin(&mut self, core: &mut Core);

    /// Brings the next pieces into SRAM, or ends the flush.
    fn load(&mut self, core: &mut Core) -> Load;

    /// Changes and programs the pieces in SRAM. False if the flush has been given up instead.
    fn program(&mut self, core: &mut Core) -> bool;

    /// The programs are over.
    fn written(&mut self, core: &mut Core);
}

/// Goes on with a flush. True when it has ended; see [`Flush::flush`](crate::seat::Flush::flush).
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
                Load::Over => {
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

/// A change goes into its map unit, which is in SRAM, so that the `old` entry is seen now: it tells whether a copy by
/// GC has been overtaken (`None`), and which superblock has lost a page, if any.
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

/// Pieces of a round are on flash, complete up to `seq`: their changes are what the pages hold from now on. Pieces that
/// a power cut has taken are not among `programmed`.
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
        // The changes of a map unit follow each other.
        if last.is_none_or(|last| last.piece() != piece) {
            last = programmed.next(&mut at, piece);
        }
        if let Some(programmed) = last {
            core.set_entry(programmed, lpa, ppa);
        }
    }
}

/// The buffers of a round go back, and what was in them stays cached where there is room.
pub(super) fn release(core: &mut Core, round: &Round, held: &mut u16) {
    core.give_buffers(Owner::Map, std::mem::take(held));
    for loaded in round.loaded() {
        core.keep_segment(loaded);
    }
}
