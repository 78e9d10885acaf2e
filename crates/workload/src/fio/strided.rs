//! Zones of a file that a clone takes in turn (`zonemode=strided`).

/// The zones of a job, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Zoning {
    /// Read or written in a zone before the next one comes.
    pub size: u64,
    /// Length of a zone: the part in which requests lie. One that ends is begun again until `size` is reached.
    pub range: u64,
    /// Left out behind a zone.
    pub skip: u64,
}

/// The zone in which a clone is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zone {
    zoning: Zoning,
    begin: u64,
    /// Bytes requested in it.
    done: u64,
}

impl Zone {
    /// The first of a region.
    pub(super) fn first(zoning: Zoning) -> Zone {
        Zone { zoning, begin: 0, done: 0 }
    }

    /// Where the zone of the next request begins in a region of so many bytes, and whether the order inside begins
    /// anew, as fio has it: also whenever a multiple of the zone's length is done.
    pub(super) fn enter(&mut self, bytes: u64) -> (u64, bool) {
        let Zoning { size, range, skip } = self.zoning;
        if self.done >= size {
            self.done = 0;
            let next = self.begin + range + skip;
            self.begin = if next < bytes { next } else { 0 };
        }
        (self.begin, self.done.is_multiple_of(range))
    }

    /// So many bytes were requested in it.
    pub(super) fn count(&mut self, bytes: u64) {
        self.done += bytes;
    }

    /// Length of a zone.
    pub(super) fn bytes(&self) -> u64 {
        self.zoning.range
    }

    /// Goes back to the first one.
    pub(super) fn restart(&mut self) {
        *self = Zone::first(self.zoning);
    }
}
