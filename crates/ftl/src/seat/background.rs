//! Writing pieces of the table while commands run.

use units::Ppa;

use crate::core::Core;
use crate::knowledge::Programmed;
use crate::table::directory::Piece;

/// Writing pieces of the table while commands run.
pub trait Background {
    /// Does the work that is due, e.g. programs a full row of segments. With `idle`, it programs short rows too.
    fn background(&mut self, core: &mut Core, idle: bool);

    /// True if [`Background::background`] with `idle` would have something to do.
    fn waits_for_idle(&self) -> bool;

    /// SRAM buffers that the scheme may keep while the device is idle.
    fn held_map_buffers(&self) -> usize;

    /// The program of a piece is done. True if this is the piece's place now, false if a newer copy was programmed
    /// first.
    fn piece_programmed(&mut self, core: &mut Core, programmed: &Programmed) -> bool;

    /// The program of a piece at `from` has failed. True if the engine shall program it again. If a newer copy is on
    /// flash or under way, this one is dropped: a repeated program gets a later stamp, and recovery takes the copy with
    /// the latest.
    fn repeats(&mut self, core: &mut Core, piece: Piece, from: Ppa) -> bool {
        let _ = (core, piece, from);
        true
    }

    /// The program of a piece of metadata at `from` has failed. The engine programs it again at `to`.
    fn piece_moved(&mut self, piece: Piece, from: Ppa, to: Ppa);
}

/// Marks a scheme that writes its table in map flushes only.
pub trait NoBackground {}

impl<M: NoBackground> Background for M {
    #[inline(always)]
    fn background(&mut self, _core: &mut Core, _idle: bool) {}

    #[inline(always)]
    fn waits_for_idle(&self) -> bool {
        false
    }

    fn held_map_buffers(&self) -> usize {
        0
    }

    fn piece_programmed(&mut self, _core: &mut Core, _programmed: &Programmed) -> bool {
        true
    }

    fn piece_moved(&mut self, _piece: Piece, _from: Ppa, _to: Ppa) {}
}
