//! Where is a unit?

use ufs::LpaRun;
use units::{Lpa, Ppa, SegmentId};

use super::answers::{Admission, HostSays, LoadedFor, Resolved};
use crate::engine::core::Core;
use crate::knowledge::Loaded;

/// Translation of addresses. The write buffer is the engine's: it has been looked at before.
pub trait Translate {
    /// True if every address that is read or written has to be looked up in a mapping cache. Then lookups of reads come
    /// one after another, as do those of writes ([`Translate::admit`]), and a map unit that was read is not kept in the
    /// pool.
    const ON_DEMAND: bool = false;

    /// Where a unit is.
    fn resolve(&mut self, core: &mut Core, lpa: Lpa, host: HostSays) -> Resolved;

    /// Where a unit is whose map unit is `loaded`.
    fn resolve_loaded(&mut self, core: &mut Core, loaded: &Loaded, lpa: Lpa, purpose: LoadedFor) -> Option<Ppa>;

    /// With [`Translate::ON_DEMAND`]: a write of this unit is about to be accepted. What had to be loaded for it goes
    /// through [`Translate::resolve_loaded`], then this is asked again.
    fn admit(&mut self, core: &mut Core, lpa: Lpa) -> Admission {
        let _ = (core, lpa);
        Admission::Ready
    }

    /// True if translating `lpa` needs no flash read. Must not change counters or LRU order, which `&self` sees to.
    fn cached(&self, core: &Core, lpa: Lpa) -> bool;

    /// Appends what the mapping cache holds, in any order, for a host that asks (MAP+ Sec. V-D). Each of these units is
    /// [`Translate::cached`]; what needs no flash read for another reason is not listed. No more than
    /// [`ufs::MAX_CACHED_RUNS`] are sent.
    fn cached_runs(&self, core: &Core, runs: &mut Vec<LpaRun>);

    /// The host announces a batch that accesses these runs of one translation page (MAP+ Sec. V-B), inside the device
    /// and at least one. Gives the map unit to read for it at once, if the scheme wants one. It need not be kept for
    /// any request: each is resolved as if nothing had been announced.
    fn batch(&mut self, core: &mut Core, runs: &[LpaRun], write: bool) -> Option<SegmentId> {
        let _ = (core, runs, write);
        None
    }

    /// A change of this address is coming. A hint for the caches of the processor that runs the simulator: it must not
    /// change anything.
    fn prefetch(&self, lpa: Lpa) {
        let _ = lpa;
    }
}
