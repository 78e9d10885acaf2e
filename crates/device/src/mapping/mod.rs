//! Mapping schemes: how the L2P table is cached, logged, flushed and searched for validity.
//!
//! To add a scheme, write a file here with a type that implements [`Mapping`](crate::seat::Mapping), and add a line to
//! the registration at the end. The enum, the names, the dispatch and the conformance tests follow from it.

mod portions;
mod rounds;
#[cfg(test)]
pub(crate) mod small;
mod unflushed;

use params::ParamError;
use ufs::Protocol;
use units::{Counter, CounterSet};

use crate::config::Config;
use crate::map_units::MapUnits;
use crate::seat::{Declared, Scheme};

macro_rules! mappings {
    ($($(#[$doc:meta])* $name:literal => $variant:ident: $scheme:ty $(, in $module:ident)?;)*) => {
        $($(mod $module;)?)*

        /// The registered mapping schemes.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum MappingKind { $($(#[$doc])* $variant,)* }

        impl MappingKind {
            /// All of them, in order of registration.
            pub const ALL: &'static [MappingKind] = &[$(MappingKind::$variant,)*];
            /// Their names.
            pub const NAMES: &'static [&'static str] = &[$($name,)*];

            /// The scheme of a name.
            pub fn from_name(name: &str) -> Option<MappingKind> {
                match name { $($name => Some(MappingKind::$variant),)* _ => None }
            }

            /// How the mapping table is divided into pieces of metadata.
            pub(crate) fn map_units(self, cfg: &Config<MappingParams>) -> MapUnits {
                let engine = cfg.engine();
                match self {
                    $(MappingKind::$variant => <$scheme as Scheme>::map_units(&engine, &cfg.mappings.$variant),)*
                }
            }

            /// Refuses parameters of the scheme that do not fit the device.
            ///
            /// # Errors
            /// Names table, key, value and range.
            pub fn check(self, cfg: &Config<MappingParams>) -> Result<(), ParamError> {
                let table = format!("scheme.{}", self.name());
                let engine = cfg.engine();
                match self {
                    $(MappingKind::$variant => {
                        <$scheme as Declared>::check(&engine, &cfg.mappings.$variant, &table)
                    })*
                }
            }

            /// The protocol that it speaks with the host. With HP-UFS the scheme does not work without such a host.
            pub fn speaks(self) -> Protocol {
                match self { $(MappingKind::$variant => <$scheme as Scheme>::HOST.protocol(),)* }
            }

            /// The counters that only this scheme has.
            pub fn counters(self) -> &'static [Counter] {
                match self { $(MappingKind::$variant => <<$scheme as Declared>::Counters as CounterSet>::COUNTERS,)* }
            }

            /// The name of a scheme.
            pub fn name(self) -> &'static str {
                match self { $(MappingKind::$variant => $name,)* }
            }
        }

        params::owners! {
            /// The parameters of all mapping schemes, by variant of [`MappingKind`].
            pub MappingParams { $($name $variant: <$scheme as Declared>::Params,)* }
        }

        /// The type of each scheme, by the variant of its kind.
        pub(crate) mod schemes {
            use super::*;
            $(pub type $variant = $scheme;)*
        }
    };
}

/// The registration: hands one line per scheme (documentation, name, variant, type, and the module to declare unless a
/// line above has declared it) to the macro `$callback`. Tests elsewhere generate themselves from it.
#[macro_export]
macro_rules! registered_mappings {
    ($callback:ident) => {
        $callback! {
            /// UFS without help from the host, and HPB: log buffer, flushed by read-modify-write of segments.
            "segment-log" => SegmentLog: segment_log::SegmentLog, in segment_log;
            /// The host keeps changed mappings, valid page bitmap and counts.
            "hp-ufs" => HpUfs: hp_ufs::HpUfs, in hp_ufs;
            /// The whole table in DRAM inside the device.
            "ideal" => Ideal: ideal::Ideal, in ideal;
            /// Entries cached in SRAM, loaded from translation pages when they are needed.
            "dftl" => Dftl: demand::Dftl, in demand;
            /// The same with whole translation pages cached below the entries.
            "cdftl" => Cdftl: demand::Cdftl;
            /// The same entries in one node for each translation page, with prefetches.
            "tpftl" => Tpftl: demand::Tpftl;
            /// Whole translation pages compressed by their runs, and a buffer of single entries.
            "sftl" => Sftl: demand::Sftl;
            /// A mapping cache flushed every block of user data into translation pages as large as a NAND page.
            "base-dftl" => BaseDftl: msftl::BaseDftl, in msftl;
            /// The same with translation pages of 4 KiB, several to a program.
            "mini-page" => MiniPage: msftl::MiniPage;
            /// The same with mapping segments of 2 or 1 KiB.
            "msftl" => Msftl: msftl::Msftl;
        }
    };
}
registered_mappings!(mappings);
