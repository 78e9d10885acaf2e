//! What a cache of single entries does for the schemes of this family.

use std::fmt::Debug;
use std::ops::Range;

use ufs::LpaRun;
use units::{Lpa, MapUnit, Ppa};

use super::dirty::Dirty;
use super::settings::Own;
use ftl::seat::MapUnits;

/// A cache of single entries. It does no flash I/O; its caller makes room before inserting.
pub trait EntryCache: Debug {
    /// Parameters of the scheme that it belongs to.
    type Own: Own;

    /// An empty cache of so many bytes for entries of a table.
    fn new(own: &Self::Own, bytes: u64, units: MapUnits) -> Self;

    /// Bytes of SRAM that such a cache takes: no more than the whole table needs.
    fn sram(own: &Self::Own, bytes: u64, units: MapUnits) -> u64;

    /// Number of entries that fit the cache in all, wherever they belong.
    fn capacity(&self) -> u64;

    /// Number of entries that can be inserted now. After that, an entry fits for each of two loads that are under way.
    fn room(&self) -> u64;

    /// True if the entry of this address is cached.
    fn is_cached(&self, lpa: Lpa) -> bool;

    /// The entry of an address, if it is cached.
    fn get(&self, lpa: Lpa) -> Option<Option<Ppa>>;

    /// Prefetches what tells whether the entry of an address is cached.
    fn prefetch(&self, lpa: Lpa);

    /// Prefetches the entry of an address, if it is cached.
    fn prefetch_entry(&self, lpa: Lpa);

    /// Notes a use of the entry of an address, for replacement. True if the entry is cached.
    fn touch(&mut self, lpa: Lpa) -> bool;

    /// Inserts an entry. The cache must have room.
    fn insert(&mut self, lpa: Lpa, ppa: Option<Ppa>);

    /// Drops a clean entry.
    fn remove(&mut self, lpa: Lpa);

    /// The entry that leaves next. No write under way needs it.
    fn victim(&self) -> Option<Lpa>;

    /// The translation page to write first: the coldest with dirty entries, as far as the first `look` in the order of
    /// eviction tell, else any with dirty entries.
    fn coldest_dirty(&self, look: usize) -> Option<MapUnit>;

    /// Changes a cached entry. Gives its value before, and whether it was dirty.
    fn set(&mut self, lpa: Lpa, ppa: Option<Ppa>) -> (Option<Ppa>, bool);

    /// Marks an entry as clean: its change is now on flash or in another cache.
    fn clean(&mut self, lpa: Lpa);

    /// Which entries are dirty.
    fn dirty(&self) -> &Dirty;

    /// True if the entry of an address is cached and dirty.
    #[inline]
    fn is_dirty(&self, lpa: Lpa) -> bool {
        self.dirty().contains(lpa)
    }

    /// Of a cached entry: the number of the newest change in it, or of the newest trim, and the number of writes under
    /// way.
    fn writes(&mut self, lpa: Lpa) -> (&mut u64, &mut u16);

    /// A write of this address begins. Its entry must not leave before [`EntryCache::unpin`].
    #[inline]
    fn pin(&mut self, lpa: Lpa) {
        *self.writes(lpa).1 += 1;
    }

    /// The write with number `seq` has ended. True if the entry holds nothing newer.
    #[inline]
    fn unpin(&mut self, lpa: Lpa, seq: u64) -> bool {
        let (newest, pins) = self.writes(lpa);
        *pins -= 1;
        seq > std::mem::replace(newest, seq.max(*newest))
    }

    /// A trim with this number. Writes under way with lower numbers no longer count.
    fn trimmed(&mut self, lpa: Lpa, seq: u64) {
        let newest = self.writes(lpa).0;
        *newest = seq.max(*newest);
    }

    /// The addresses of a translation page whose entries are cached, in order.
    fn cached_in(&self, unit: MapUnit) -> impl Iterator<Item = Lpa>;

    /// The addresses of a translation page whose entries are cached and dirty, in order.
    fn dirty_in(&self, unit: MapUnit) -> impl Iterator<Item = Lpa> {
        self.dirty().within(unit)
    }

    /// The translation pages of the dirty entries whose place is one that `named` holds for, in no order, and some of
    /// them several times.
    fn dirty_pages(&self, named: impl Fn(Ppa) -> bool) -> impl Iterator<Item = MapUnit>;

    /// The next lookups are those of this part of a request, in order.
    fn request(&mut self, rest: LpaRun) {
        let _ = rest;
    }

    /// The addresses whose entries are worth taking in with that of `lpa`, which is read from its translation page. All
    /// of them belong to that page; some may be cached.
    fn ahead(&self, lpa: Lpa) -> Range<u32> {
        let _ = lpa;
        0..0
    }
}
