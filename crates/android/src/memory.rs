//! The phone's memory and its owners.
//!
//! Effective memory = system + apps + page cache + HPB + free, at every moment. The page cache holds what apps have
//! read from files; it is clean, so it can be dropped. Memory swapped to zram counts with its compressed size.

use units::AppId;

/// Limits of reclaim, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Watermarks {
    /// Below this much free memory an allocation waits.
    pub min: u64,
    /// Below this much free memory the page cache is reclaimed.
    pub low: u64,
    /// Reclaim ends at this much free memory.
    pub high: u64,
    /// Page cache that is never reclaimed: without it apps would read their files again and again.
    pub file: u64,
}

/// Memory of one app.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Share {
    /// Memory that it has allocated, in bytes.
    pub anon: u64,
    /// Its files in the page cache, in bytes.
    pub file: u64,
    /// Order of last use; later is larger. Files are dropped in this order.
    pub used: u64,
}

/// The phone's memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    effective: u64,
    system: u64,
    /// Memory of the system that HPB has taken.
    squeezed: u64,
    hpb: u64,
    free: u64,
    /// By [`AppId`]; place 0 is unused.
    shares: Vec<Share>,
    marks: Watermarks,
}

impl Memory {
    /// Nothing is allocated: all memory but the system's is free.
    ///
    /// # Panics
    /// If the system takes more than there is.
    pub fn new(effective: u64, system: u64, apps: usize, marks: Watermarks) -> Memory {
        let free = effective.checked_sub(system).expect("the system fits into memory");
        Memory { effective, system, squeezed: 0, hpb: 0, free, shares: vec![Share::default(); apps + 1], marks }
    }

    /// Memory of an app.
    pub fn share(&self, app: AppId) -> Share {
        self.shares[app.index()]
    }

    /// Free memory, in bytes.
    pub fn free(&self) -> u64 {
        self.free
    }

    /// Memory of HPB, in bytes.
    pub fn hpb(&self) -> u64 {
        self.hpb
    }

    /// Memory that apps have allocated, in bytes.
    pub fn anon(&self) -> u64 {
        self.shares.iter().map(|share| share.anon).sum()
    }

    /// Size of the page cache, in bytes.
    pub fn file(&self) -> u64 {
        self.shares.iter().map(|share| share.file).sum()
    }

    /// Memory of the system, in bytes.
    pub fn system(&self) -> u64 {
        self.system
    }

    /// All memory, in bytes.
    pub fn effective(&self) -> u64 {
        self.effective
    }

    /// True while the parts add up to the effective memory.
    pub fn conserves(&self) -> bool {
        self.system + self.anon() + self.file() + self.hpb + self.free == self.effective
    }

    /// Notes that an app is in use, so that its files are dropped last.
    pub fn touch(&mut self, app: AppId) {
        let latest = self.shares.iter().map(|share| share.used).max().unwrap_or(0);
        self.shares[app.index()].used = latest + 1;
    }

    /// Puts `bytes` that an app has read into the page cache, as far as free memory allows.
    pub fn cache(&mut self, app: AppId, bytes: u64) {
        let bytes = bytes.min(self.free.saturating_sub(self.marks.min));
        self.free -= bytes;
        self.shares[app.index()].file += bytes;
    }

    /// Gives an app as much of `bytes` as is free above the reserve. Returns how much that was.
    pub fn allocate(&mut self, app: AppId, bytes: u64) -> u64 {
        let bytes = bytes.min(self.free.saturating_sub(self.marks.min));
        self.free -= bytes;
        self.shares[app.index()].anon += bytes;
        bytes
    }

    /// Drops page cache if free memory is low, at most `most` bytes. The files of the app used longest ago go first.
    pub fn reclaim(&mut self, most: u64) {
        if self.free >= self.marks.low {
            return;
        }
        let spare = self.file().saturating_sub(self.marks.file);
        self.drop_files((self.marks.high - self.free).min(spare).min(most));
    }

    /// True if memory is short and reclaim has nothing left to drop.
    pub fn exhausted(&self) -> bool {
        self.free < self.marks.low && self.file() <= self.marks.file
    }

    /// Bytes that are missing where reclaim ends; 0 if memory is not short.
    pub fn lacking(&self) -> u64 {
        self.marks.high.saturating_sub(self.free)
    }

    /// The most that HPB can have without memory of apps or of the system: what it has got of other memory, what is
    /// free, and page cache.
    pub fn room_for_hpb(&self) -> u64 {
        self.hpb - self.squeezed + self.free + self.file()
    }

    /// Sets HPB's memory to `bytes`, or to all that apps have not got. HPB's pages are the kernel's: beyond free memory
    /// it takes page cache, then the system's memory, which goes to zram. That happens between two looks at
    /// [`Memory::room_for_hpb`] alone.
    pub fn set_hpb(&mut self, bytes: u64) {
        let bytes = bytes.min(self.effective - self.anon());
        self.free += self.hpb;
        self.hpb = 0;
        let back = self.squeezed.min(self.free);
        self.free -= back;
        self.system += back;
        self.squeezed -= back;
        if self.free < bytes {
            self.drop_files((bytes - self.free).min(self.file()));
        }
        if self.free < bytes {
            self.squeeze(bytes - self.free);
        }
        self.free -= bytes;
        self.hpb = bytes;
    }

    fn squeeze(&mut self, bytes: u64) {
        self.system = self.system.checked_sub(bytes).expect("HPB leaves something to the system");
        self.squeezed += bytes;
        self.free += bytes;
    }

    /// Frees all memory of an app that has ended. Returns how much that was.
    pub fn end(&mut self, app: AppId) -> u64 {
        let share = &mut self.shares[app.index()];
        let bytes = share.anon + share.file;
        (share.anon, share.file) = (0, 0);
        self.free += bytes;
        bytes
    }

    fn drop_files(&mut self, bytes: u64) {
        let mut wanted = bytes;
        while wanted > 0 {
            let oldest = self.shares.iter_mut().filter(|share| share.file > 0).min_by_key(|share| share.used);
            let Some(share) = oldest else { break };
            let given = share.file.min(wanted);
            share.file -= given;
            wanted -= given;
        }
        self.free += bytes - wanted;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MARKS: Watermarks = Watermarks { min: 10, low: 40, high: 60, file: 50 };

    fn memory() -> Memory {
        Memory::new(1000, 300, 3, MARKS)
    }

    #[test]
    fn an_allocation_leaves_the_reserve() {
        let mut memory = memory();
        assert_eq!(memory.allocate(AppId(1), 500), 500);
        assert_eq!(memory.allocate(AppId(1), 500), 190);
        assert_eq!((memory.free(), memory.anon()), (10, 690));
    }

    /// 1000 = 300 of the system, 590 of an app, 100 of files, 10 free: HPB can have 110 at once, and 100 more when the
    /// app has ended. What it took of the system does not count.
    #[test]
    fn hpb_has_room_in_what_is_free_and_in_files() {
        let mut memory = memory();
        memory.cache(AppId(1), 100);
        memory.allocate(AppId(1), 590);
        assert_eq!((memory.free(), memory.room_for_hpb()), (10, 110));
        memory.set_hpb(70);
        assert_eq!((memory.hpb(), memory.room_for_hpb()), (70, 110));
        memory.set_hpb(150);
        assert_eq!((memory.system(), memory.room_for_hpb()), (260, 110));
        memory.set_hpb(5000);
        assert_eq!((memory.hpb(), memory.system(), memory.anon()), (410, 0, 590), "apps keep theirs");
        assert!(memory.conserves());
        memory.set_hpb(110);
        assert_eq!((memory.system(), memory.free(), memory.room_for_hpb()), (300, 0, 110));
    }

    #[test]
    fn files_go_in_order_of_use_and_down_to_their_floor() {
        let mut memory = memory();
        for app in [2, 1, 3].map(AppId) {
            memory.touch(app);
            memory.cache(app, 40);
        }
        memory.allocate(AppId(1), 550);
        assert_eq!((memory.free(), memory.file()), (30, 120));
        memory.reclaim(5);
        assert_eq!((memory.free(), memory.share(AppId(2)).file), (35, 35));
        memory.reclaim(1000);
        assert_eq!((memory.free(), memory.share(AppId(2)).file, memory.share(AppId(1)).file), (60, 10, 40));
        memory.allocate(AppId(1), 50);
        memory.reclaim(1000);
        assert_eq!((memory.free(), memory.file()), (50, 50));
        memory.allocate(AppId(1), 40);
        memory.reclaim(1000);
        assert_eq!((memory.free(), memory.file()), (10, 50));
        assert!(memory.exhausted());
    }

    #[test]
    fn hpb_takes_from_files_and_then_from_the_system() {
        let mut memory = memory();
        memory.cache(AppId(1), 100);
        memory.allocate(AppId(1), 590);
        memory.set_hpb(50);
        assert_eq!((memory.free(), memory.file(), memory.system()), (0, 60, 300));
        memory.set_hpb(150);
        assert_eq!((memory.free(), memory.file(), memory.system()), (0, 0, 260));
        assert!(memory.conserves());
        memory.set_hpb(0);
        assert_eq!((memory.free(), memory.system()), (110, 300), "the system has its own again");
    }

    proptest! {
        #[test]
        fn every_byte_has_one_owner(steps in prop::collection::vec((0u8..6, 1u16..4, 0u64..400), 0..200)) {
            let mut memory = memory();
            for (what, app, bytes) in steps {
                let app = AppId(app);
                match what {
                    0 => { memory.allocate(app, bytes); }
                    1 => memory.cache(app, bytes),
                    2 => memory.reclaim(bytes),
                    3 => memory.set_hpb(bytes.min(250)),
                    4 => { memory.end(app); }
                    _ => memory.touch(app),
                }
                prop_assert!(memory.conserves(), "{memory:?}");
            }
        }
    }
}
