//! Zones of a file that a clone takes in turn (`zonemode=strided`).

use super::pattern::{Pattern, Sizes, fitting};
use crate::Rng;

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

/// The order in which a clone goes through the zones of a region.
#[derive(Clone, Debug)]
pub(super) struct Strided {
    zoning: Zoning,
    /// Where the present zone begins.
    begin: u64,
    /// Bytes requested in it.
    done: u64,
    /// The order in a zone.
    places: Pattern,
}

impl Strided {
    /// Zones with an order inside of them, which counts from the start of a zone.
    pub(super) fn new(zoning: Zoning, places: Pattern) -> Strided {
        Strided { zoning, begin: 0, done: 0, places }
    }

    /// Offset and length of the next request in a region of so many bytes; see [`Pattern::next`]. As in fio, only the
    /// start of a request has to lie in its zone, and the region ends for a request that would start behind it.
    pub(super) fn next(
        &mut self,
        direction: usize,
        length: u64,
        bytes: u64,
        sizes: &Sizes,
        rng: &mut Rng,
    ) -> Option<(u64, u64)> {
        let Zoning { size, range, skip } = self.zoning;
        if self.done >= size {
            self.done = 0;
            let next = self.begin + range + skip;
            self.begin = if next < bytes { next } else { 0 };
        }
        if self.done.is_multiple_of(range) {
            self.places.restart(rng);
        }
        let offset = self.begin + self.places.next_within(range, direction, length, sizes, rng)?;
        let length = if offset < bytes { fitting(length, offset, bytes, sizes)? } else { return None };
        self.done += length;
        Some((offset, length))
    }

    /// Starts from the beginning of the region.
    pub(super) fn restart(&mut self, rng: &mut Rng) {
        (self.begin, self.done) = (0, 0);
        self.places.restart(rng);
    }
}
