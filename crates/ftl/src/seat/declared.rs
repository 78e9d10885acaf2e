//! What a mapping scheme declares: its parameters, what they decide about the device, and its counters.

use params::ParamError;
use units::CounterSet;

use crate::config::{EngineConfig, HpbConfig};
use crate::core::Core;

/// What a mapping scheme declares in its own file.
pub trait Declared: Sized {
    /// Its name, for options, profiles and results.
    const NAME: &'static str;

    /// Its parameters; declared with [`params::params!`].
    type Params: params::Params + Copy + Default;

    /// What only this scheme counts; declared with [`units::counters!`].
    type Counters: CounterSet;

    /// Refuses parameters that do not fit the device. `table` is the name of the parameters' table, for the error.
    ///
    /// # Errors
    /// Names table, key, value and range.
    fn check(cfg: &EngineConfig, own: &Self::Params, table: &str) -> Result<(), ParamError> {
        let _ = (cfg, own, table);
        Ok(())
    }

    /// True if the scheme has a cache of its own in place of the pool's segments: single entries, or what it has
    /// learned of map units.
    fn caches_entries(own: &Self::Params) -> bool {
        let _ = own;
        false
    }

    /// What the device publishes to a host that keeps entries (HPB).
    fn published(own: &Self::Params) -> HpbConfig {
        let _ = own;
        HpbConfig::default()
    }

    /// The present values of the scheme's own counters.
    fn counters(&self, core: &Core) -> Self::Counters;
}
