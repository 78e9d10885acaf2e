//! The mapping cache of TPFTL: entries in clusters, one for each translation page (Zhou et al., EuroSys 2015).
//!
//! From the paper:
//!
//! - **Two levels.** Cached entries of a translation page hang from one node, in order of use. Nodes are ordered by
//!   their hotness, the average over their entries.
//! - **Compression.** An entry is known by its place in the page, ten bits, so that it takes 6 bytes and not 8.
//! - **Replacement.** The coldest node gives an entry: its least recently used clean one, or, if all are dirty, the
//!   least recently used one. Then the page is written, with all of its dirty entries.
//! - **Request-level prefetch.** A miss also loads the entries for the rest of the request.
//! - **Selective prefetch.** A counter goes up with each new node and down with each node that leaves. Fewer nodes mean
//!   that entries concentrate on few pages: accesses are sequential. At the threshold below zero the prefetch is
//!   switched on, at the threshold above zero it is switched off; the counter begins at zero again. While it is on, a
//!   miss loads as many entries behind it as consecutive ones are cached before it.
//! - **Limits.** A prefetch stays in the translation page that is read, and replaces entries of one node.
//!
//! The paper itself was not at hand; these rules are from descriptions of it. What they leave open is decided here: the
//! hotness of an entry is the time of its last use, counted in uses, and a prefetched one begins as one that was used.
//! If both kinds of prefetch apply, the longer one counts. A node itself takes `node_bytes`.

use std::ops::Range;

use ufs::LpaRun;
use units::{Lpa, MapUnit, Ppa};

use super::coldest::{self, Coldest};
use super::dirty::Dirty;
use super::entries::EntryCache;
use super::settings::{DemandParams, Own, SingleParams};
use ftl::seat::MapUnits;

/// Loads that may be under way, one for reads and one for writes, and the insertion that follows. Each may need a node.
const NEW_NODES: u64 = 3;

params::params! {
    /// `tpftl`: the cached mapping table, in SRAM beside the pool.
    pub TpftlParams {
        with single: SingleParams;
        /// Bytes of an entry in the mapping cache; on flash it has `entry_bytes`.
        cached_bytes: count(4 to 16) = 6,
            "EuroSys 2015: ten bits of the offset in the page and four bytes of the place";
        /// Bytes of a node, which holds the entries of a translation page.
        node_bytes: count(0 to 64) = 8, "assumed: number of the page, two ends of a list";
        /// A miss also loads the entries for the rest of the request.
        request_prefetch: switch = true, "EuroSys 2015";
        /// A miss also loads entries behind it while accesses are sequential.
        selective_prefetch: switch = true, "EuroSys 2015";
        /// Nodes fewer or more that switch the selective prefetch on or off.
        prefetch_threshold: count(1 to 1024) = 3,
            "assumed: the paper has a threshold; that it is 3 could not be checked";
        /// Clean entries of the coldest page leave before dirty ones.
        clean_first: switch = true, "EuroSys 2015";
    }
}

impl Own for TpftlParams {
    const NAMES: [&'static str; 2] = ["tpftl", "tpftl"];

    fn common(&self) -> &DemandParams {
        &self.single.common
    }

    fn most_entry_bytes(&self) -> u32 {
        self.cached_bytes + self.node_bytes
    }

    fn spare_bytes(&self) -> u32 {
        NEW_NODES as u32 * self.node_bytes
    }

    fn ahead_one_in(&self) -> Option<u32> {
        Some(self.single.ahead_one_in)
    }
}

/// One cached entry. Numbers of slots are one too high, so that 0 is none.
#[derive(Clone, Copy, Hash, Default, Debug)]
struct Entry {
    lpa: u32,
    ppa: u32,
    /// Number of the newest change in the entry, or of the newest trim; kept while writes of the address are under way.
    seq: u64,
    /// When it was last used.
    used: u64,
    older: u32,
    newer: u32,
    /// Number of writes under way.
    pins: u16,
}

/// The cached entries of a translation page.
#[derive(Clone, Copy, Hash, Default, Debug)]
struct Node {
    unit: u32,
    oldest: u32,
    newest: u32,
    len: u32,
    /// Sum of the times of last use.
    used: u64,
    place: u32,
}

impl coldest::Node for Node {
    #[inline]
    fn sum(&self) -> u64 {
        self.used
    }

    #[inline]
    fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    fn tie(&self) -> u32 {
        self.unit
    }

    #[inline]
    fn place(&mut self) -> &mut u32 {
        &mut self.place
    }
}

/// The cache.
#[cfg_attr(feature = "explore", derive(Clone, Hash))]
#[derive(Debug)]
pub struct Nodes {
    own: TpftlParams,
    bytes: u64,
    taken: u64,
    units: MapUnits,
    entries: Vec<Entry>,
    free_entries: Vec<u32>,
    /// Slot of an address plus one. An index of the simulator; firmware would search the page's list.
    slot_of: Vec<u32>,
    nodes: Vec<Node>,
    free_nodes: Vec<u32>,
    /// Node of a translation page plus one. An index of the simulator, too.
    node_of: Vec<u32>,
    order: Coldest,
    dirty: Dirty,
    /// Uses so far.
    uses: u64,
    /// Nodes that came less those that left, since the counter was last set to zero.
    change: i32,
    /// True if the selective prefetch is on.
    sequential: bool,
    /// The rest of the request that is being looked up.
    request: Range<u32>,
}

impl Nodes {
    #[inline]
    fn slot(&self, lpa: Lpa) -> Option<usize> {
        Some(self.slot_of[lpa.index()].checked_sub(1)? as usize)
    }

    /// The entry of an address that is cached.
    #[inline]
    fn entry(&mut self, lpa: Lpa) -> &mut Entry {
        let slot = self.slot_of[lpa.index()] - 1;
        &mut self.entries[slot as usize]
    }

    /// The node of a translation page, which is made if there is none.
    fn node_for(&mut self, unit: MapUnit) -> u32 {
        if let Some(node) = self.node_of[unit.index()].checked_sub(1) {
            return node;
        }
        let new = Node { unit: unit.0, ..Node::default() };
        let node = match self.free_nodes.pop() {
            Some(node) => {
                self.nodes[node as usize] = new;
                node
            }
            None => {
                self.nodes.push(new);
                self.nodes.len() as u32 - 1
            }
        };
        self.node_of[unit.index()] = node + 1;
        self.taken += u64::from(self.own.node_bytes);
        self.count_nodes(1);
        node
    }

    /// Counts a node that has come or left, and switches the selective prefetch.
    fn count_nodes(&mut self, change: i32) {
        self.change += change;
        if self.change.unsigned_abs() >= self.own.prefetch_threshold {
            self.sequential = self.change < 0;
            self.change = 0;
        }
    }

    /// Makes an entry the most recently used one of its node.
    #[inline]
    fn link(&mut self, slot: usize, node: u32) {
        let node = &mut self.nodes[node as usize];
        let before = std::mem::replace(&mut node.newest, slot as u32 + 1);
        (self.entries[slot].older, self.entries[slot].newer) = (before, 0);
        match before {
            0 => node.oldest = slot as u32 + 1,
            _ => self.entries[before as usize - 1].newer = slot as u32 + 1,
        }
    }

    #[inline]
    fn unlink(&mut self, slot: usize, node: u32) {
        let Entry { older, newer, .. } = self.entries[slot];
        let node = &mut self.nodes[node as usize];
        match older {
            0 => node.oldest = newer,
            _ => self.entries[older as usize - 1].newer = newer,
        }
        match newer {
            0 => node.newest = older,
            _ => self.entries[newer as usize - 1].older = older,
        }
    }

    /// The entries of a node, the least recently used one first.
    fn oldest_first(&self, node: u32) -> impl Iterator<Item = &Entry> {
        let at = |slot: u32| self.entries.get((slot as usize).wrapping_sub(1));
        std::iter::successors(at(self.nodes[node as usize].oldest), move |entry| at(entry.newer))
    }

    /// Slot of the oldest entry of the coldest node.
    #[inline]
    fn next_to_leave(&self) -> Option<usize> {
        let coldest = self.nodes[self.order.first()? as usize];
        Some(coldest.oldest as usize - 1)
    }

    /// The entry of a node that leaves next, if no write needs all of them.
    fn victim_of(&self, node: u32) -> Option<Lpa> {
        let Node { unit, len, .. } = self.nodes[node as usize];
        let mut free = self.oldest_first(node).filter(|entry| entry.pins == 0).map(|entry| Lpa(entry.lpa));
        let oldest = free.next()?;
        let any_clean = self.own.clean_first && self.dirty.count(MapUnit(unit)) < len;
        if !any_clean || !self.dirty.contains(oldest) {
            return Some(oldest);
        }
        Some(free.find(|&lpa| !self.dirty.contains(lpa)).unwrap_or(oldest))
    }

    /// Number of cached entries right before an address, in its translation page.
    fn cached_before(&self, lpa: Lpa) -> u32 {
        let first = self.units.range(self.units.of(lpa)).start;
        (first..lpa.0).rev().take_while(|&before| self.is_cached(Lpa(before))).count() as u32
    }
}

impl EntryCache for Nodes {
    type Own = TpftlParams;

    fn new(own: &TpftlParams, bytes: u64, units: MapUnits) -> Nodes {
        let bytes = Nodes::sram(own, bytes, units);
        Nodes {
            own: *own,
            bytes,
            taken: 0,
            units,
            entries: table::with_room((bytes / u64::from(own.cached_bytes)) as usize),
            free_entries: Vec::new(),
            slot_of: table::zeroed(units.capacity_units() as usize),
            nodes: Vec::new(),
            free_nodes: Vec::new(),
            node_of: vec![0; units.count() as usize],
            order: Coldest::default(),
            dirty: Dirty::new(units),
            uses: 0,
            change: 0,
            sequential: false,
            request: 0..0,
        }
    }

    fn sram(own: &TpftlParams, bytes: u64, units: MapUnits) -> u64 {
        let entries = u64::from(units.capacity_units()) * u64::from(own.cached_bytes);
        bytes.min(entries + (u64::from(units.count()) + NEW_NODES) * u64::from(own.node_bytes))
    }

    fn capacity(&self) -> u64 {
        (self.bytes - u64::from(self.own.spare_bytes())) / u64::from(self.own.most_entry_bytes())
    }

    #[inline]
    fn room(&self) -> u64 {
        let free = self.bytes - self.taken;
        free.saturating_sub(self.own.spare_bytes().into()) / u64::from(self.own.cached_bytes)
    }

    #[inline]
    fn is_cached(&self, lpa: Lpa) -> bool {
        self.slot_of[lpa.index()] != 0
    }

    #[inline]
    fn get(&self, lpa: Lpa) -> Option<Option<Ppa>> {
        Some(Ppa::unpack(self.entries[self.slot(lpa)?].ppa))
    }

    #[inline]
    fn prefetch(&self, lpa: Lpa) {
        table::prefetch(&self.slot_of[lpa.index()]);
    }

    #[inline]
    fn prefetch_entry(&self, lpa: Lpa) {
        if let Some(slot) = self.slot(lpa) {
            table::prefetch(&self.entries[slot]);
        }
    }

    fn touch(&mut self, lpa: Lpa) -> bool {
        let Some(slot) = self.slot(lpa) else { return false };
        let node = self.node_of[self.units.of(lpa).index()] - 1;
        self.unlink(slot, node);
        self.link(slot, node);
        self.uses += 1;
        let before = std::mem::replace(&mut self.entries[slot].used, self.uses);
        self.nodes[node as usize].used += self.uses - before;
        self.order.moved(&mut self.nodes, node);
        true
    }

    fn insert(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        assert!(!self.is_cached(lpa), "{lpa} enters the mapping cache again");
        let node = self.node_for(self.units.of(lpa));
        self.taken += u64::from(self.own.cached_bytes);
        assert!(self.taken <= self.bytes, "{lpa} enters a mapping cache of {} bytes", self.bytes);
        self.uses += 1;
        let entry = Entry { lpa: lpa.0, ppa: Ppa::pack(ppa), used: self.uses, ..Entry::default() };
        let slot = match self.free_entries.pop() {
            Some(slot) => {
                self.entries[slot as usize] = entry;
                slot as usize
            }
            None => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
        };
        self.slot_of[lpa.index()] = slot as u32 + 1;
        self.link(slot, node);
        let held = &mut self.nodes[node as usize];
        held.used += self.uses;
        held.len += 1;
        match held.len {
            1 => self.order.push(&mut self.nodes, node),
            _ => self.order.moved(&mut self.nodes, node),
        }
        if let Some(next) = self.next_to_leave() {
            let leaves = Lpa(self.entries[next].lpa);
            self.prefetch(leaves);
            self.dirty.prefetch(leaves);
        }
    }

    fn remove(&mut self, lpa: Lpa) {
        let slot = std::mem::take(&mut self.slot_of[lpa.index()]) as usize - 1;
        let Entry { pins, used, .. } = self.entries[slot];
        assert!(!self.is_dirty(lpa) && pins == 0, "{lpa} leaves the mapping cache while it is needed");
        let unit = self.units.of(lpa);
        let node = self.node_of[unit.index()] - 1;
        self.unlink(slot, node);
        self.entries[slot] = Entry::default();
        self.free_entries.push(slot as u32);
        self.taken -= u64::from(self.own.cached_bytes);
        if self.nodes[node as usize].len == 1 {
            self.order.remove(&mut self.nodes, node);
            self.nodes[node as usize] = Node::default();
            self.node_of[unit.index()] = 0;
            self.free_nodes.push(node);
            self.taken -= u64::from(self.own.node_bytes);
            self.count_nodes(-1);
        } else {
            self.nodes[node as usize].len -= 1;
            self.nodes[node as usize].used -= used;
            self.order.moved(&mut self.nodes, node);
        }
        if let Some(next) = self.next_to_leave() {
            table::prefetch(&self.entries[next]);
        }
    }

    /// An entry of the coldest node, or, if writes need all of that, of the coldest one with another.
    fn victim(&self) -> Option<Lpa> {
        let coldest = self.order.first()?;
        self.victim_of(coldest).or_else(|| {
            let others = self.order.roughly().filter_map(|node| Some((node, self.victim_of(node)?)));
            let least = others.reduce(|a, b| if coldest::before(&self.nodes, b.0, a.0) { b } else { a });
            least.map(|(_, lpa)| lpa)
        })
    }

    fn coldest_dirty(&self, look: usize) -> Option<MapUnit> {
        let units = self.order.roughly().take(look).map(|node| MapUnit(self.nodes[node as usize].unit));
        let mut dirty = units.filter(|&unit| self.dirty.count(unit) > 0);
        dirty.next().or_else(|| self.dirty.pages().next())
    }

    #[inline]
    fn set(&mut self, lpa: Lpa, ppa: Option<Ppa>) -> (Option<Ppa>, bool) {
        let old = Ppa::unpack(std::mem::replace(&mut self.entry(lpa).ppa, Ppa::pack(ppa)));
        let was_dirty = self.dirty.contains(lpa);
        if !was_dirty {
            self.dirty.add(lpa);
        }
        (old, was_dirty)
    }

    fn clean(&mut self, lpa: Lpa) {
        if self.dirty.contains(lpa) {
            self.dirty.remove(lpa);
        }
    }

    #[inline]
    fn dirty(&self) -> &Dirty {
        &self.dirty
    }

    #[inline]
    fn writes(&mut self, lpa: Lpa) -> (&mut u64, &mut u16) {
        let entry = self.entry(lpa);
        (&mut entry.seq, &mut entry.pins)
    }

    fn cached_in(&self, unit: MapUnit) -> impl Iterator<Item = Lpa> {
        let range = if self.node_of[unit.index()] > 0 { self.units.range(unit) } else { 0..0 };
        range.map(Lpa).filter(|&lpa| self.is_cached(lpa))
    }

    fn dirty_pages(&self, named: impl Fn(Ppa) -> bool) -> impl Iterator<Item = MapUnit> {
        // In the order in which they lie in memory.
        let naming = self.entries.iter().filter(move |entry| Ppa::unpack(entry.ppa).is_some_and(&named));
        let dirty = naming.map(|entry| Lpa(entry.lpa)).filter(|&lpa| self.dirty.contains(lpa));
        dirty.map(|lpa| self.units.of(lpa))
    }

    fn request(&mut self, rest: LpaRun) {
        self.request = rest.lpa.0..rest.end().0;
    }

    fn ahead(&self, lpa: Lpa) -> Range<u32> {
        let next = lpa.0 + 1;
        let page = self.units.range(self.units.of(lpa));
        let of_request = self.own.request_prefetch && self.request.contains(&lpa.0);
        let requested = if of_request { self.request.end - next } else { 0 };
        let predicted = if self.own.selective_prefetch && self.sequential { self.cached_before(lpa) } else { 0 };
        // What has to leave for them belongs to one node.
        let coldest = self.order.first().map_or(0, |node| self.nodes[node as usize].len);
        let most = (self.room() + u64::from(coldest)).saturating_sub(1).min(u64::from(page.end - next)) as u32;
        next..next + requested.max(predicted).min(most)
    }
}

#[cfg(test)]
#[path = "nodes_tests.rs"]
mod tests;
