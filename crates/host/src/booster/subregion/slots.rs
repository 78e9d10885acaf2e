//! Subregions of sealed L2P entries in host DRAM.
//!
//! A cached subregion has a slot. Policies store their data about slots in arrays of their own. Only the device can
//! tell whether an entry is still valid, and it checks every one. This file has what the host knows by itself: blocks
//! that it has written since are dirty, and it sends no entry for them.

use ufs::DeviceInfo;
use units::Lpa;

use crate::booster::seat::SEALED_BYTES;

/// State of a subregion.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum State {
    /// Not cached.
    Absent,
    /// READ BUFFER is under way.
    Loading,
    /// Its entries may be used.
    Valid,
    /// Cached, but the device has reported changed entries.
    Invalid,
}

#[derive(Clone, Copy, Hash)]
struct Group {
    state: State,
    /// Slot of a cached subregion.
    slot: u32,
}

#[derive(Clone, Hash)]
struct Slot {
    group: u32,
    entries: Box<[u64]>,
    /// One bit for each block that the host has changed since its entry arrived.
    dirty: Box<[u64]>,
    any_dirty: bool,
}

/// All subregions.
#[derive(Clone, Hash)]
pub(crate) struct Subregions {
    group_entries: u32,
    max_blocks: u32,
    /// True if writes during a READ BUFFER are noted.
    notes_writes_during_fetch: bool,
    limit: usize,
    groups: Vec<Group>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    in_use: usize,
}

impl Subregions {
    /// Nothing is cached. With `notes_writes_during_fetch`, blocks that the host writes during a READ BUFFER are dirty
    /// afterwards; Linux 6.1 does not note them.
    pub fn new(info: &DeviceInfo, notes_writes_during_fetch: bool) -> Subregions {
        let groups = info.capacity_units.div_ceil(info.hpb_group_entries);
        Subregions {
            group_entries: info.hpb_group_entries,
            max_blocks: info.hpb_max_blocks,
            notes_writes_during_fetch,
            limit: 0,
            groups: vec![Group { state: State::Absent, slot: 0 }; groups as usize],
            slots: Vec::new(),
            free: Vec::new(),
            in_use: 0,
        }
    }

    /// Number of subregions of the device.
    pub fn count(&self) -> u32 {
        self.groups.len() as u32
    }

    /// Bytes that a cached subregion takes.
    pub fn bytes_each(&self) -> u64 {
        u64::from(self.group_entries) * SEALED_BYTES
    }

    /// Bytes of all cached subregions.
    pub fn bytes(&self) -> u64 {
        self.in_use as u64 * self.bytes_each()
    }

    /// Most bytes that cached subregions may take.
    pub fn limit_bytes(&self) -> u64 {
        self.limit as u64 * self.bytes_each()
    }

    /// Bytes that are taken from the phone. Reserved memory (`None`: all that is allowed) is taken, used or not.
    pub fn bytes_taken(&self, reserved: Option<u64>) -> u64 {
        let limit = self.limit_bytes();
        self.bytes().max(reserved.map_or(limit, |reserved| reserved.min(limit)))
    }

    /// Sets the limit to what fits in `bytes`, and at least one subregion. The caller drops what is too much.
    pub fn set_limit(&mut self, bytes: u64) {
        let fitting = bytes / self.bytes_each();
        self.limit = fitting.clamp(1, self.groups.len() as u64) as usize;
    }

    /// True if more subregions are cached than allowed.
    pub fn is_over(&self) -> bool {
        self.in_use > self.limit
    }

    /// True if no further subregion may be cached.
    pub fn is_full(&self) -> bool {
        self.in_use >= self.limit
    }

    /// True if a subregion has a slot or there is a free one for it.
    pub fn has_room_for(&self, group: u32) -> bool {
        self.slot(group).is_some() || !self.is_full()
    }

    /// True if a fetch would bring entries that the host does not have.
    pub fn lacks(&self, group: u32) -> bool {
        match self.state(group) {
            State::Absent | State::Invalid => true,
            State::Valid => self.is_dirty(group),
            State::Loading => false,
        }
    }

    /// The subregions of a range.
    #[inline]
    pub fn of(&self, lpa: Lpa, len: u32) -> std::ops::RangeInclusive<u32> {
        lpa.0 / self.group_entries..=(lpa.0 + (len - 1)) / self.group_entries
    }

    /// State of a subregion.
    #[inline]
    pub fn state(&self, group: u32) -> State {
        self.groups[group as usize].state
    }

    /// Slot of a subregion that is cached or loading.
    #[inline]
    pub fn slot(&self, group: u32) -> Option<u32> {
        let group = self.groups[group as usize];
        (group.state != State::Absent).then_some(group.slot)
    }

    /// The subregion in a slot.
    pub fn group(&self, slot: u32) -> u32 {
        self.slots[slot as usize].group
    }

    /// True if the host has written blocks of a cached subregion.
    pub fn is_dirty(&self, group: u32) -> bool {
        self.slot(group).is_some_and(|slot| self.slots[slot as usize].any_dirty)
    }

    /// True if HPB supports reads of this length (bMAX_DATA_SIZE_FOR_HPB_SINGLE_CMD).
    #[inline]
    pub fn supports(&self, len: u32) -> bool {
        len <= self.max_blocks
    }

    /// The entry to send with a read: that of its first block. All blocks must be in valid subregions, and none may be
    /// dirty.
    #[inline]
    pub fn entry_for(&self, lpa: Lpa, len: u32) -> Option<u64> {
        let mut usable = true;
        self.each_piece(lpa, len, |group, at, units| {
            let Group { state, slot } = self.groups[group as usize];
            usable = usable && state == State::Valid && !self.slots[slot as usize].is_dirty(at, units);
        });
        let first = self.groups[(lpa.0 / self.group_entries) as usize];
        let entry = || self.slots[first.slot as usize].entries[(lpa.0 % self.group_entries) as usize];
        usable.then(entry).filter(|&entry| entry != 0)
    }

    /// The host writes or discards a range.
    #[inline]
    pub fn changed(&mut self, lpa: Lpa, len: u32) {
        let (end, entries) = (lpa.0 + len, self.group_entries);
        let mut next = lpa.0;
        while next < end {
            let at = next % entries;
            let units = (entries - at).min(end - next);
            let Group { state, slot } = self.groups[(next / entries) as usize];
            let noted = match state {
                State::Absent => false,
                State::Loading => self.notes_writes_during_fetch,
                State::Valid | State::Invalid => true,
            };
            if noted {
                self.slots[slot as usize].mark_dirty(at, units);
            }
            next += units;
        }
    }

    fn each_piece(&self, lpa: Lpa, len: u32, mut piece: impl FnMut(u32, u32, u32)) {
        let (end, entries) = (lpa.0 + len, self.group_entries);
        let mut next = lpa.0;
        while next < end {
            let at = next % entries;
            let units = (entries - at).min(end - next);
            piece(next / entries, at, units);
            next += units;
        }
    }

    /// READ BUFFER is being sent. Gives the slot. A cached subregion keeps its slot; another one needs room.
    pub fn start_load(&mut self, group: u32) -> u32 {
        let slot = match self.slot(group) {
            Some(slot) => slot,
            None => self.take_slot(group),
        };
        self.groups[group as usize] = Group { state: State::Loading, slot };
        self.slots[slot as usize].clean();
        slot
    }

    fn take_slot(&mut self, group: u32) -> u32 {
        assert!(self.in_use < self.limit, "a subregion was taken in without room");
        self.in_use += 1;
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize].group = group;
            return slot;
        }
        let entries = vec![0; self.group_entries as usize].into();
        let dirty = vec![0; self.group_entries.div_ceil(64) as usize].into();
        self.slots.push(Slot { group, entries, dirty, any_dirty: false });
        (self.slots.len() - 1) as u32
    }

    /// READ BUFFER has ended; `None` if it has failed. Gives the slot, or `None` if the subregion was dropped.
    ///
    /// # Panics
    /// If no READ BUFFER was sent for it, or it has too many entries.
    pub fn loaded(&mut self, group: u32, sealed: Option<Vec<u64>>) -> Option<u32> {
        let Group { state, slot } = self.groups[group as usize];
        assert_eq!(state, State::Loading, "group {group} came without being asked for");
        let Some(sealed) = sealed else {
            self.release(group);
            return None;
        };
        let entries = &mut self.slots[slot as usize].entries;
        assert!(sealed.len() <= entries.len(), "group {group} came with {} entries", sealed.len());
        entries[..sealed.len()].copy_from_slice(&sealed);
        entries[sealed.len()..].fill(0);
        self.groups[group as usize].state = State::Valid;
        Some(slot)
    }

    /// The device has reported changed entries. A subregion that is loading arrives with the change. True if the
    /// subregion was valid.
    pub fn invalidate(&mut self, group: u32) -> bool {
        let state = &mut self.groups[group as usize].state;
        let was_valid = *state == State::Valid;
        if was_valid {
            *state = State::Invalid;
        }
        was_valid
    }

    /// The device has sent the new entry of a block.
    pub fn take_entry(&mut self, lpa: Lpa, sealed: u64) {
        let at = lpa.0 % self.group_entries;
        if let Group { state: State::Valid, slot } = self.groups[(lpa.0 / self.group_entries) as usize] {
            let slot = &mut self.slots[slot as usize];
            slot.entries[at as usize] = sealed;
            slot.dirty[at as usize / 64] &= !(1 << (at % 64));
        }
    }

    /// Drops a subregion that is cached or loading.
    pub fn release(&mut self, group: u32) {
        let slot = self.slot(group).expect("only what is cached is dropped");
        self.groups[group as usize] = Group { state: State::Absent, slot: 0 };
        self.slots[slot as usize].entries.fill(0);
        self.free.push(slot);
        self.in_use -= 1;
    }

    /// For tests: the cached entry of a block.
    pub fn sealed(&self, lpa: Lpa) -> Option<u64> {
        let slot = self.slot(lpa.0 / self.group_entries)?;
        Some(self.slots[slot as usize].entries[(lpa.0 % self.group_entries) as usize])
    }

    /// For tests: overwrites the cached entry of a block. False if it is not cached.
    pub fn tamper_sealed(&mut self, lpa: Lpa, entry: u64) -> bool {
        let Some(slot) = self.slot(lpa.0 / self.group_entries) else { return false };
        self.slots[slot as usize].entries[(lpa.0 % self.group_entries) as usize] = entry;
        true
    }
}

impl Slot {
    fn clean(&mut self) {
        self.dirty.fill(0);
        self.any_dirty = false;
    }

    fn mark_dirty(&mut self, at: u32, units: u32) {
        self.any_dirty = true;
        for block in at as usize..(at + units) as usize {
            self.dirty[block / 64] |= 1 << (block % 64);
        }
    }

    #[inline]
    fn is_dirty(&self, at: u32, units: u32) -> bool {
        let bit = |block: usize| self.dirty[block / 64] & 1 << (block % 64) != 0;
        self.any_dirty && (at as usize..(at + units) as usize).any(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subregions(tracks_loading: bool) -> Subregions {
        let info = DeviceInfo { capacity_units: 10_000, superblocks: 8, hpb_group_entries: 512, ..DeviceInfo::USUAL };
        let mut subregions = Subregions::new(&info, tracks_loading);
        subregions.set_limit(3 * 4096);
        subregions
    }

    fn load(subregions: &mut Subregions, group: u32) {
        subregions.start_load(group);
        let sealed = (0..512).map(|i| u64::from(group * 512 + i) + 1).collect();
        assert!(subregions.loaded(group, Some(sealed)).is_some());
    }

    #[test]
    fn an_entry_goes_along_only_if_all_blocks_are_valid_and_clean() {
        let mut s = subregions(true);
        assert_eq!(s.entry_for(Lpa(510), 1), None);
        load(&mut s, 0);
        assert_eq!(s.entry_for(Lpa(510), 2), Some(511));
        assert_eq!(s.entry_for(Lpa(510), 3), None, "the next one is not cached");
        load(&mut s, 1);
        assert_eq!(s.entry_for(Lpa(510), 3), Some(511));
        s.changed(Lpa(512), 1);
        assert_eq!(s.entry_for(Lpa(510), 2), Some(511));
        assert_eq!(s.entry_for(Lpa(510), 3), None, "a block of it is dirty");
        s.take_entry(Lpa(512), 77);
        assert_eq!((s.entry_for(Lpa(510), 3), s.entry_for(Lpa(512), 1)), (Some(511), Some(77)));
        assert!(s.invalidate(0));
        assert_eq!(s.entry_for(Lpa(0), 1), None);
        assert_eq!(s.bytes(), 2 * 4096, "it is cached all the same");
    }

    #[test]
    fn writes_during_a_load_are_noted_except_by_linux() {
        for (tracks, entry) in [(true, None), (false, Some(4))] {
            let mut s = subregions(tracks);
            s.start_load(0);
            s.changed(Lpa(3), 1);
            s.loaded(0, Some(vec![1, 2, 3, 4]));
            assert_eq!(s.entry_for(Lpa(3), 1), entry);
            assert_eq!(s.entry_for(Lpa(4), 1), None, "nothing came for it");
        }
    }

    #[test]
    fn slots_are_used_again_and_empty() {
        let mut s = subregions(true);
        (0..3).for_each(|group| load(&mut s, group));
        assert!(s.is_full() && !s.is_over());
        s.set_limit(1);
        assert!(s.is_over(), "one fits whatever the limit");
        s.release(1);
        s.release(2);
        assert!(!s.is_over());
        s.set_limit(8192);
        s.start_load(7);
        assert_eq!(s.loaded(7, Some(Vec::new())), Some(2));
        assert_eq!(s.entry_for(Lpa(7 * 512), 1), None);
        s.start_load(7);
        assert_eq!(s.loaded(7, None), None, "a failed load");
        assert_eq!((s.state(7), s.bytes()), (State::Absent, 4096));
    }
}
