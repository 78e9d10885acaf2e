//! A mapping scheme as a value: what registries, configurations and devices hold.

use std::any::Any;
use std::fmt::{Debug, Formatter};
use std::marker::PhantomData;
use std::sync::Arc;

use params::{Field, ParamError, Params, Table as Toml, Value};
use ufs::Protocol;
use units::{Counter, CounterSet, SimTime, UNIT_BYTES};

use crate::config::{Config, EngineConfig};
use crate::engine::Firmware;
use crate::engine::power::Flash;
use crate::engine::state::Engine;
use crate::sabotage::{Concerns, Sabotage};
use crate::seat::{HostRole, Mapping, Table};
use crate::table::map_units::{MapUnits, Numbered};

/// A mapping scheme. Two are equal if their names are.
#[derive(Clone, Copy)]
pub struct MappingKind {
    name: &'static str,
    installed: &'static dyn Installable,
}

impl MappingKind {
    /// The kind of a scheme.
    pub const fn of<M: Mapping>() -> MappingKind {
        MappingKind { name: M::NAME, installed: &Type::<M>(PhantomData) }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Refuses parameters of the scheme that do not fit the device.
    ///
    /// # Errors
    /// Names table, key, value and range.
    pub fn check(self, cfg: &DeviceConfig) -> Result<(), ParamError> {
        self.installed.check(&cfg.engine(), cfg.mappings.of(self), &format!("scheme.{}", self.name))
    }

    /// How the mapping table is divided into pieces of metadata.
    pub(crate) fn map_units(self, cfg: &DeviceConfig) -> MapUnits {
        self.installed.map_units(&cfg.engine(), cfg.mappings.of(self))
    }

    /// The protocol that it speaks with the host.
    pub fn speaks(self) -> Protocol {
        self.installed.nature().host.protocol()
    }

    /// True if the table is on flash.
    pub fn has_table_on_flash(self) -> bool {
        self.installed.nature().table != Table::Dram
    }

    /// True if every address is looked up in a mapping cache ([`Translate::ON_DEMAND`](crate::seat::Translate)).
    pub fn is_on_demand(self) -> bool {
        self.installed.nature().on_demand
    }

    /// True if it can copy pages at random places, for experiments.
    pub fn copies_at_random(self) -> bool {
        self.installed.nature().copies_at_random
    }

    /// Sets of parameters, beside the defaults, under which the scheme is tested: `key=value` each.
    pub fn variants(self) -> &'static [&'static [&'static str]] {
        self.installed.nature().variants
    }

    /// The counters that only this scheme has.
    pub fn counters(self) -> &'static [Counter] {
        self.installed.counters()
    }

    /// Its parameters.
    pub fn fields(self) -> Vec<Field> {
        self.installed.fields()
    }

    pub(crate) fn fresh(self, cfg: EngineConfig, own: &Own) -> Box<dyn Firmware> {
        self.installed.fresh(cfg, own)
    }

    pub(crate) fn power_on(self, flash: Flash, own: &Own, now: SimTime) -> Box<dyn Firmware> {
        self.installed.power_on(flash, own, now)
    }
}

impl PartialEq for MappingKind {
    fn eq(&self, other: &MappingKind) -> bool {
        self.name == other.name
    }
}

impl Eq for MappingKind {}

impl Debug for MappingKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Sabotage {
    /// True if the promise means something for this scheme, so that tests must notice it when the scheme breaks it.
    pub fn concerns(self, kind: MappingKind) -> bool {
        let Nature { host, table, numbered, shares_units, long_units, translation_pages, bitmaps, runs, .. } =
            kind.installed.nature();
        let on_flash = table != Table::Dram;
        match self.scope() {
            Concerns::Every => true,
            Concerns::TableOnFlash => on_flash,
            Concerns::Numbered => on_flash && numbered,
            Concerns::Counted => table == Table::CountedSegments,
            Concerns::ChangedInFlushes => on_flash && host != HostRole::KeepsMapping,
            Concerns::Parts => shares_units,
            Concerns::TranslationPages => translation_pages,
            Concerns::LongPages => long_units,
            Concerns::HostSegments => host == HostRole::KeepsMapping,
            Concerns::Bitmaps => bitmaps,
            Concerns::Runs => runs,
        }
    }
}

/// What kind of scheme it is, with its default parameters.
struct Nature {
    host: HostRole,
    table: Table,
    on_demand: bool,
    numbered: bool,
    shares_units: bool,
    long_units: bool,
    translation_pages: bool,
    bitmaps: bool,
    runs: bool,
    copies_at_random: bool,
    variants: &'static [&'static [&'static str]],
}

/// Parameters of one scheme.
pub(crate) type Own = Arc<dyn AnyParams>;

/// Parameters of some scheme.
pub(crate) trait AnyParams: Any + Debug + Send + Sync {
    fn table(&self) -> Toml;
}

impl<P: Params> AnyParams for P {
    fn table(&self) -> Toml {
        self.values().into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

/// The functions of a scheme, for whoever does not know its type. Parameters are those that `read` has given.
trait Installable: Sync + std::panic::RefUnwindSafe {
    fn fields(&self) -> Vec<Field>;
    fn read(&self, checked: &Toml) -> Own;
    fn counters(&self) -> &'static [Counter];
    fn nature(&self) -> Nature;
    fn check(&self, cfg: &EngineConfig, own: &Own, table: &str) -> Result<(), ParamError>;
    fn map_units(&self, cfg: &EngineConfig, own: &Own) -> MapUnits;
    fn fresh(&self, cfg: EngineConfig, own: &Own) -> Box<dyn Firmware>;
    fn power_on(&self, flash: Flash, own: &Own, now: SimTime) -> Box<dyn Firmware>;
}

struct Type<M>(PhantomData<fn() -> M>);

impl<M: Mapping> Type<M> {
    fn own(own: &Own) -> &M::Params {
        let any: &dyn Any = own.as_ref();
        any.downcast_ref().expect("the scheme has read them itself")
    }
}

impl<M: Mapping> Installable for Type<M> {
    fn fields(&self) -> Vec<Field> {
        M::Params::fields()
    }

    fn read(&self, checked: &Toml) -> Own {
        Arc::new(M::Params::from_checked(checked))
    }

    fn counters(&self) -> &'static [Counter] {
        M::Counters::COUNTERS
    }

    fn nature(&self) -> Nature {
        let shape = M::map_shape(&M::Params::default());
        Nature {
            host: M::HOST,
            table: M::TABLE,
            on_demand: M::ON_DEMAND,
            numbered: shape.numbered == Numbered::Directory,
            shares_units: M::SHARES_UNITS,
            long_units: shape.bytes > UNIT_BYTES as u32,
            translation_pages: M::TRANSLATION_PAGES,
            bitmaps: M::BITMAPS,
            runs: M::RUNS,
            copies_at_random: M::COPIES_AT_RANDOM,
            variants: M::VARIANTS,
        }
    }

    fn check(&self, cfg: &EngineConfig, own: &Own, table: &str) -> Result<(), ParamError> {
        M::check(cfg, Self::own(own), table)
    }

    fn map_units(&self, cfg: &EngineConfig, own: &Own) -> MapUnits {
        M::map_units(cfg, Self::own(own))
    }

    fn fresh(&self, cfg: EngineConfig, own: &Own) -> Box<dyn Firmware> {
        Box::new(Engine::<M>::new(cfg, Self::own(own)))
    }

    fn power_on(&self, flash: Flash, own: &Own, now: SimTime) -> Box<dyn Firmware> {
        Box::new(Engine::<M>::power_on(flash, Self::own(own), now))
    }
}

/// Everything that makes one device, with the parameters of all mapping schemes that there are.
pub type DeviceConfig = Config<MappingParams>;

/// The parameters of several mapping schemes.
#[derive(Clone, Debug)]
pub struct MappingParams(Vec<(MappingKind, Own)>);

impl MappingParams {
    /// Reads the parameters of each scheme from the table that `table` gives for its name. Keys that a scheme does not
    /// have are left alone: a table may belong to a booster, too.
    ///
    /// # Errors
    /// Values out of range. `prefix` stands before the scheme's name.
    pub fn read(
        kinds: &[MappingKind],
        prefix: &str,
        table: &dyn Fn(&str) -> Toml,
    ) -> Result<MappingParams, ParamError> {
        let read = |&kind: &MappingKind| {
            let checked = params::check(&format!("{prefix}{}", kind.name), &table(kind.name), &kind.fields())?;
            Ok((kind, kind.installed.read(&checked)))
        };
        kinds.iter().map(read).collect::<Result<_, _>>().map(MappingParams)
    }

    /// Every value of each scheme.
    pub fn values(&self) -> Vec<(&'static str, Toml)> {
        self.0.iter().map(|(kind, own)| (kind.name, own.table())).collect()
    }

    /// Sets a parameter of the scheme `owner`, or of every scheme that has it if `owner` is `*`.
    ///
    /// # Errors
    /// If no such scheme has it, or the value is out of range.
    pub fn set(&mut self, owner: &str, key: &str, value: impl Into<Value>) -> Result<(), ParamError> {
        let value = value.into();
        let mut found = false;
        for (kind, own) in &mut self.0 {
            let mut table = own.table();
            if (owner == "*" || owner == kind.name) && table.contains_key(key) {
                table.insert(key.into(), value.clone());
                *own = kind.installed.read(&params::check(kind.name, &table, &kind.fields())?);
                found = true;
            }
        }
        if found {
            return Ok(());
        }
        let problem = ": unknown key".into();
        Err(ParamError { table: owner.into(), key: key.into(), value: Some(value.to_string()), problem })
    }

    /// Those of a scheme.
    ///
    /// # Panics
    /// If they were read without it.
    pub fn get<M: Mapping>(&self) -> &M::Params {
        Type::<M>::own(self.of(MappingKind::of::<M>()))
    }

    /// Replaces those of a scheme.
    ///
    /// # Panics
    /// If they were read without it.
    pub fn put<M: Mapping>(&mut self, own: M::Params) {
        let kind = MappingKind::of::<M>();
        let place = self.0.iter_mut().find(|(known, _)| *known == kind);
        place.unwrap_or_else(|| panic!("no parameters of {kind:?}")).1 = Arc::new(own);
    }

    pub(crate) fn of(&self, kind: MappingKind) -> &Own {
        let found = self.0.iter().find(|(known, _)| *known == kind);
        &found.unwrap_or_else(|| panic!("no parameters of {kind:?}")).1
    }
}

impl PartialEq for MappingParams {
    fn eq(&self, other: &MappingParams) -> bool {
        self.values() == other.values()
    }
}

impl Eq for MappingParams {}
