//! A cached translation page, as what has been set in it since it came.
//!
//! The other entries are what they are on flash ([`Core::unchanged_entry`]), so that a page comes and leaves without
//! 4 KiB being copied. Most pages stay for few changes, which lie beside each other.

use lists::Bits;
use units::{Lpa, MapUnit, Ppa, UNIT_BYTES};

use ftl::seat::{Core, MapUnits, MapView};

/// Entries of a translation page have at least 4 bytes.
const MOST_ENTRIES: usize = UNIT_BYTES as usize / 4;

/// A page in which more entries have been set has a place for each of its entries.
const FEW: usize = 8;

/// A cached translation page.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Default, Debug)]
pub struct Page {
    unit: u32,
    /// Number of entries.
    len: u32,
    /// Number of runs, if pages are compressed.
    pub runs: u32,
    /// Number of entries that are marked as changed. Each of them has been set.
    changed: u32,
    /// Entries that have been set, by position, as long as they are few.
    few: [Set; FEW],
    held: usize,
    /// All of them, if they have become many. Kept for the next page in this place.
    many: Option<Box<Many>>,
    are_many: bool,
}

/// An entry that has been set.
#[derive(Clone, Copy, Hash, Default, Debug)]
struct Set {
    at: u16,
    marked: bool,
    packed: u32,
}

/// Entries that have been set, with a place for each that a page may have.
#[cfg_attr(feature = "explore", derive(Clone))]
#[derive(Debug)]
struct Many {
    set: Positions,
    marked: Positions,
    /// Those that have not been set mean nothing.
    packed: [u32; MOST_ENTRIES],
}

/// A set of positions in a page.
type Positions = Bits<[u64; MOST_ENTRIES / 64]>;

impl Page {
    /// Makes this the page that is loaded as `view`, in which nothing has been set.
    pub fn begin(&mut self, units: MapUnits, unit: MapUnit, view: &MapView) {
        debug_assert!(self.changed == 0, "page {} is replaced with its changes", self.unit);
        (self.unit, self.len) = (unit.0, units.range(unit).len() as u32);
        (self.held, self.are_many) = (0, false);
        if !view.is_newest() {
            view.entries().into_iter().enumerate().for_each(|(at, packed)| self.put(at as u32, packed));
        }
    }

    /// Its number.
    pub fn unit(&self) -> MapUnit {
        MapUnit(self.unit)
    }

    /// Number of entries.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// The entry of an address of the page, packed.
    #[inline]
    pub fn entry(&self, core: &Core, units: MapUnits, lpa: Lpa) -> u32 {
        let at = units.slot(lpa);
        let set = match self.many() {
            Some(many) => many.set.contains(at).then(|| many.packed[at as usize]),
            None => self.find(at).ok().map(|i| self.few[i].packed),
        };
        set.unwrap_or_else(|| Ppa::pack(core.unchanged_entry(lpa)))
    }

    /// Sets an entry.
    pub fn put(&mut self, at: u32, packed: u32) {
        if !self.are_many {
            match self.find(at) {
                Ok(i) => return self.few[i].packed = packed,
                Err(i) if self.held < FEW => {
                    self.few.copy_within(i..self.held, i + 1);
                    self.few[i] = Set { at: at as u16, marked: false, packed };
                    self.held += 1;
                    return;
                }
                Err(_) => self.become_many(),
            }
        }
        let many = self.many.as_mut().expect("made when they became many");
        many.set.insert(at);
        many.packed[at as usize] = packed;
    }

    fn become_many(&mut self) {
        let new = || Box::new(Many { set: Bits::default(), marked: Bits::default(), packed: [0; MOST_ENTRIES] });
        let many = self.many.get_or_insert_with(new);
        (many.set, many.marked) = (Bits::default(), Bits::default());
        for &Set { at, marked, packed } in &self.few[..self.held] {
            many.set.insert(at.into());
            if marked {
                many.marked.insert(at.into());
            }
            many.packed[usize::from(at)] = packed;
        }
        self.are_many = true;
    }

    /// The entry at this position, which is not marked, is on flash as it is here.
    pub fn on_flash(&mut self, at: u32) {
        if self.are_many {
            let many = self.many.as_mut().expect("made when they became many");
            debug_assert!(!many.marked.contains(at), "entry {at} of page {} is still marked", self.unit);
            many.set.remove(at);
        } else if let Ok(i) = self.find(at) {
            debug_assert!(!self.few[i].marked, "entry {at} of page {} is still marked", self.unit);
            self.few.copy_within(i + 1..self.held, i);
            self.held -= 1;
        }
    }

    /// Number of entries that are marked as changed.
    #[inline]
    pub fn changed(&self) -> u32 {
        self.changed
    }

    /// Positions of these entries, in order.
    pub fn changes(&self) -> impl Iterator<Item = u32> {
        let few = if self.are_many { &[] } else { &self.few[..self.held] };
        let of_few = few.iter().filter(|set| set.marked).map(|set| set.at.into());
        let many = self.many().filter(|_| self.changed > 0);
        of_few.chain(many.into_iter().flat_map(|many| many.marked.within(0..self.len)))
    }

    /// Marks an entry that has been set. False if it is marked already.
    pub fn mark(&mut self, at: u32) -> bool {
        let new = if self.are_many {
            let many = self.many.as_mut().expect("made when they became many");
            let new = !many.marked.contains(at);
            many.marked.insert(at);
            new
        } else {
            let i = self.find(at).expect("only what has been set is marked");
            !std::mem::replace(&mut self.few[i].marked, true)
        };
        self.changed += u32::from(new);
        new
    }

    /// Takes the mark of an entry away. Gives the entry, packed, if it was marked.
    pub fn unmark(&mut self, at: u32) -> Option<u32> {
        let packed = if self.are_many {
            let many = self.many.as_mut().expect("made when they became many");
            let was = many.marked.contains(at);
            many.marked.remove(at);
            was.then(|| many.packed[at as usize])
        } else {
            let i = self.find(at).ok()?;
            let set = &mut self.few[i];
            std::mem::take(&mut set.marked).then_some(set.packed)
        };
        self.changed -= u32::from(packed.is_some());
        packed
    }

    #[inline]
    fn many(&self) -> Option<&Many> {
        self.many.as_deref().filter(|_| self.are_many)
    }

    /// Where the entry at a position is among few, or where it would be.
    #[inline]
    fn find(&self, at: u32) -> Result<usize, usize> {
        let few = &self.few[..self.held];
        let i = few.iter().take_while(|set| u32::from(set.at) < at).count();
        if few.get(i).is_some_and(|set| u32::from(set.at) == at) { Ok(i) } else { Err(i) }
    }
}

/// Entries that nobody has set are those on flash.
#[cfg(feature = "explore")]
impl std::hash::Hash for Page {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.unit.hash(state);
        match self.many() {
            None => self.few[..self.held].iter().for_each(|set| set.hash(state)),
            Some(many) => many.set.within(0..self.len).for_each(|at| {
                let (marked, packed) = (many.marked.contains(at), many.packed[at as usize]);
                Set { at: at as u16, marked, packed }.hash(state);
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places for all entries take 4 KiB, and most pages stay for few changes.
    #[test]
    fn a_page_has_a_place_for_each_entry_only_when_many_differ_from_flash() {
        let mut page = Page::default();
        for first in [500, 20, 1000] {
            let few = first..first + FEW as u32;
            for packed in [1, 2] {
                few.clone().for_each(|at| page.put(at, packed));
            }
            assert!(page.many.is_none(), "from {first}");
            few.for_each(|at| page.on_flash(at));
        }
        (0..=FEW as u32).for_each(|at| page.put(at, 1));
        assert!(page.many.is_some());
    }
}
