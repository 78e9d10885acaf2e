//! Map flushes that take the pieces of the mapping table a round at a time: read what has changes, change it, program
//! it.
//!
//! What has to be written, how many pieces fit a round, and what they become is the scheme's ([`InRounds`]); the order
//! is here.

use units::{Lpa, Ppa, SegmentId, Seq, Superblock};

use crate::engine::core::Core;
use crate::meta::Piece;
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

/// A change goes into its map unit, which is in SRAM, so that the old entry is seen now: it tells whether a copy by GC
/// has been overtaken (`None`), and which superblock has lost a page, if any.
pub(super) fn settle(
    core: &Core,
    valid: &mut ValidCounts,
    lpa: Lpa,
    ppa: Option<Ppa>,
    source: Option<Superblock>,
) -> Option<Option<Superblock>> {
    let old = core.meta().pages.entry(lpa).map(|ppa| core.superblock_of(ppa));
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

/// The pieces of a round are on flash, complete up to `seq`, but for those that a power cut has `lost`: their changes
/// are what the pages hold from now on.
pub(super) fn on_flash(
    core: &mut Core,
    round: &[Piece],
    seq: Seq,
    lost: &[(Piece, Ppa)],
    changes: impl Iterator<Item = (Lpa, Option<Ppa>)>,
) {
    let survives = |piece: Piece| !lost.iter().any(|&(gone, _)| gone == piece);
    for piece in round.iter().filter(|&&piece| survives(piece)) {
        core.segment_written(SegmentId(piece.0), seq);
    }
    for (lpa, ppa) in changes {
        let unit = core.units().of(lpa);
        if survives(core.meta().segment_piece(unit)) {
            core.set_entry(lpa, ppa);
        }
    }
}

/// The buffers of a round go back, and what was in them stays cached where there is room.
pub(super) fn release(core: &mut Core, round: &[Piece], held: &mut u16) {
    core.give_buffers(Owner::Map, std::mem::take(held));
    for piece in round {
        core.keep_segment(SegmentId(piece.0));
    }
}
