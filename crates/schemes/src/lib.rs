//! Mapping schemes: how the L2P table is cached, logged, flushed and searched for validity.
//!
//! To add a scheme, write a type that implements [`Mapping`](ftl::seat::Mapping), and add it to the registration below.
//! It need not be here: any crate can [`add`] its own. Names, parameters, documentation and tests follow from it.

mod demand;
mod hp_ufs;
mod ideal;
mod msftl;
mod portions;
mod rounds;
mod segment_log;
#[cfg(test)]
pub(crate) mod small;
mod unflushed;

use std::sync::{Mutex, OnceLock};

use ftl::{MappingKind, MappingParams};
use params::{Owner, ParamError, Table};

pub use self::demand::{Cdftl, DemandParams, Dftl, Sftl, Tpftl};
pub use self::hp_ufs::HpUfs;
pub use self::ideal::Ideal;
pub use self::msftl::{BaseDftl, MiniPage, Msftl};
pub use self::segment_log::SegmentLog;

/// The schemes of this crate: hands their types to the macro `$callback`, so that tests elsewhere can generate
/// themselves from it.
#[macro_export]
macro_rules! registered {
    ($callback:ident) => {
        $callback! { SegmentLog HpUfs Ideal Dftl Cdftl Tpftl Sftl BaseDftl MiniPage Msftl }
    };
}

macro_rules! built_in {
    ($($Scheme:ident)*) => { &[$(MappingKind::of::<$Scheme>()),*] };
}

/// The schemes of this crate.
const BUILT_IN: &[MappingKind] = registered!(built_in);

static ADDED: Mutex<Vec<MappingKind>> = Mutex::new(Vec::new());
static ALL: OnceLock<(Vec<MappingKind>, Vec<&'static str>)> = OnceLock::new();

/// Adds a scheme of another crate.
///
/// # Panics
/// If there is one with its name, or somebody has asked for [`all`] before.
pub fn add(kind: MappingKind) {
    let mut added = ADDED.lock().expect("nobody panics with it");
    let is_taken = BUILT_IN.iter().chain(&*added).any(|known| *known == kind);
    let is_late = ALL.get().is_some();
    if !is_taken && !is_late {
        return added.push(kind);
    }
    drop(added);
    assert!(!is_taken, "there is a scheme {kind:?} already");
    panic!("{kind:?} comes too late: schemes have been looked up");
}

fn looked_up() -> &'static (Vec<MappingKind>, Vec<&'static str>) {
    ALL.get_or_init(|| {
        let added = ADDED.lock().expect("nobody panics with it");
        BUILT_IN.iter().chain(&*added).map(|kind| (*kind, kind.name())).unzip()
    })
}

/// All schemes, in order of registration.
pub fn all() -> &'static [MappingKind] {
    &looked_up().0
}

/// Their names.
pub fn names() -> &'static [&'static str] {
    &looked_up().1
}

/// The scheme of a name.
pub fn named(name: &str) -> Option<MappingKind> {
    all().iter().copied().find(|kind| kind.name() == name)
}

/// The parameters of each scheme.
pub fn owners() -> Vec<Owner> {
    all().iter().map(|kind| Owner { name: kind.name(), fields: kind.fields() }).collect()
}

/// Reads the parameters of all schemes; see [`MappingParams::read`].
///
/// # Errors
/// Values out of range.
pub fn read(prefix: &str, table: &dyn Fn(&str) -> Table) -> Result<MappingParams, ParamError> {
    MappingParams::read(all(), prefix, table)
}

/// The default parameters of all schemes.
pub fn defaults() -> MappingParams {
    read("", &|_| Table::new()).expect("a default is allowed")
}
