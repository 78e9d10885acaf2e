//! Buffers of the SRAM pool, and map units cached in them.

use units::{Lpa, MapUnit};

use crate::core::Core;
use crate::knowledge::{Loaded, Programmed};
use crate::sram::pool::Owner;

impl Core {
    /// Buffers that `owner` could get now.
    #[inline]
    pub fn buffers_available(&self, owner: Owner) -> u16 {
        self.sram.available(owner)
    }

    /// Takes `n` buffers. False if there are too few; then none is taken.
    #[inline]
    pub fn take_buffers(&mut self, owner: Owner, n: u16) -> bool {
        self.sram.take(owner, n)
    }

    /// Gives buffers back.
    #[inline]
    pub fn give_buffers(&mut self, owner: Owner, n: u16) {
        self.sram.give(owner, n);
    }

    /// True if the map unit is in SRAM. It counts as used.
    #[inline]
    pub fn segment_hit(&mut self, unit: MapUnit) -> bool {
        self.sram.segment_hit(unit).is_some()
    }

    /// True if the map unit is in SRAM. Does not count as a use.
    #[inline]
    pub fn holds_segment(&self, unit: MapUnit) -> bool {
        self.sram.holds_segment(unit)
    }

    /// Inserts a map unit that is in SRAM now, as the directory names it, into the segment cache, if it has room. If
    /// the unit has been changed since it was `loaded`, the changed copy is on flash.
    pub fn keep_segment(&mut self, loaded: &Loaded) {
        self.sram.keep_segment(&self.truth().as_on_flash(loaded.unit()));
    }

    /// Inserts a map unit that has just been programmed, and is in SRAM still, into the segment cache, if it has room.
    pub fn keep_programmed(&mut self, programmed: &Programmed) {
        self.sram.keep_segment(&self.just_programmed(programmed));
    }

    /// A map unit that has just been programmed, and is in SRAM still.
    pub fn just_programmed(&self, programmed: &Programmed) -> Loaded {
        self.truth().as_on_flash(MapUnit(programmed.piece().0))
    }

    /// The copy of a cached map unit that a map flush makes to change it. The unit becomes the most recently used.
    pub fn cached_copy(&mut self, unit: MapUnit) -> Option<Loaded> {
        self.sram.copy_segment(unit)
    }

    /// Removes a map unit from the segment cache, if it is there. The caller takes over its buffer.
    pub fn take_segment(&mut self, unit: MapUnit) -> Option<Loaded> {
        self.sram.take_segment(unit)
    }

    /// True if a write of this unit is in SRAM and not on flash yet.
    #[inline]
    pub fn is_buffered(&self, lpa: Lpa) -> bool {
        self.buffer.get(lpa).is_some()
    }
}
