//! Translation of addresses.

use std::ops::Range;

use ufs::LpaRun;
use units::{Lpa, MapUnit, Ppa};

use super::answers::{Admission, HostSays, LoadedFor, Resolved};
use crate::core::Core;
use crate::knowledge::Loaded;

/// Translation of addresses. The engine looks in its write buffer first and asks only about units that are not there.
pub trait Translate {
    /// True if every address that is read or written has to be looked up in a mapping cache. Then lookups of reads come
    /// one after another, as do those of writes ([`Translate::admit`]), and the pool does not keep a map unit that was
    /// read.
    const ON_DEMAND: bool = false;

    /// The place of a unit. `host` is what the command says about it.
    fn resolve(&mut self, core: &mut Core, lpa: Lpa, host: HostSays) -> Resolved;

    /// The place of a unit whose map unit is `loaded`.
    fn resolve_loaded(&mut self, core: &mut Core, loaded: &Loaded, lpa: Lpa, purpose: LoadedFor) -> Option<Ppa>;

    /// Appends the places of the units of a range whose map unit is `loaded`, for a host that keeps them as a group.
    /// Hosts ask for a thousand at a time: a scheme may answer them together.
    fn tell(&mut self, core: &mut Core, loaded: &Loaded, range: Range<u32>, places: &mut Vec<Option<Ppa>>) {
        places.extend(range.map(|lpa| self.resolve_loaded(core, loaded, Lpa(lpa), LoadedFor::Group)));
    }

    /// Whether a write of this unit may be accepted; asked with [`Translate::ON_DEMAND`]. If a map unit has to be
    /// loaded first, the engine passes it to [`Translate::resolve_loaded`] and asks again.
    fn admit(&mut self, core: &mut Core, lpa: Lpa) -> Admission {
        let _ = (core, lpa);
        Admission::Ready
    }

    /// The next lookups are those of this part of a request, in order; told with [`Translate::ON_DEMAND`].
    fn request(&mut self, rest: LpaRun) {
        let _ = rest;
    }

    /// Pages by which a place that [`Translate::resolve`] gives may miss the page of its address, at most: a prediction
    /// (LeaFTL, ASPLOS 2023). The two pages must have been programmed together ([`Core::programmed_together`]). The
    /// engine then finds the right one in the spare areas of the page that it has read. 0: places are exact.
    fn reach(&self) -> u32 {
        0
    }

    /// A prediction has named another page than that of its address, which is read now.
    fn mispredicted(&mut self) {}

    /// True if translating `lpa` needs no flash read. Must not change counters or LRU order, which `&self` sees to.
    fn cached(&self, core: &Core, lpa: Lpa) -> bool;

    /// True if the scheme can tell all entries of a map unit without reading it.
    fn tells(&self, unit: MapUnit) -> bool {
        let _ = unit;
        false
    }

    /// Appends what the mapping cache holds, in any order, for a host that asks (MAP+ Sec. V-D). Each of these units is
    /// [`Translate::cached`]. Units that need no flash read for another reason are not listed. The engine sends at most
    /// [`ufs::MAX_CACHED_RUNS`].
    fn cached_runs(&self, core: &Core, runs: &mut Vec<LpaRun>);

    /// The host announces a batch of requests that access these runs of one translation page (MAP+ Sec. V-B). There is
    /// at least one run, and all lie inside the device. Gives the map unit to read for the batch at once, if the scheme
    /// wants one. The scheme need not keep it: each request is resolved as if nothing had been announced.
    fn batch(&mut self, core: &mut Core, runs: &[LpaRun], write: bool) -> Option<MapUnit> {
        let _ = (core, runs, write);
        None
    }

    /// A lookup or a change of this address is coming. This is a hint for the caches of the processor that runs the
    /// simulator; it must not change any state.
    fn prefetch(&self, lpa: Lpa) {
        let _ = lpa;
    }
}
