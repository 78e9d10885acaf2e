//! The sections of a profile and the tables of schemes, gathered from the crates that declare them.

use ftl::{FirmwareParams, GcParams, LogParams, MappingParams, SlcParams, SramParams, WearParams, WritePathParams};
use host::block::HostTimeParams;
use host::{BoosterParams, HostParams, SchedulerParams};
use nand::{FaultParams, Geometry, NandParams, SuperblockParams, WhatIfParams};
use params::{Field, Owner, Owners, ParamError, Params, Table, Value};
use ufs::{LinkParams, PowerParams};
use units::{LogicalUnits, MIB, UNIT_BYTES};
use workload::MergeParams;

use crate::report::energy::EnergyModel;

params::params! {
    /// The device as a whole.
    pub (clone) Device {
        /// Name in reports.
        name: text;
        /// What the profile models, in one line.
        summary: text;
        /// Addressable capacity. A share is the usable part of the flash for data, rounded down to 4 MiB.
        capacity_mib: amount(16 to 4194304 of "nand.data_superblocks"), fixed;
        /// Capacities of logical units 1, 2 and so on, out of that of the device; unit 0 has the rest. 0: there is one
        /// unit. Each is a contiguous range of the device's addresses, unit 0 the first, so schemes need not know them:
        /// no L2P segment (4 MiB) and no HPB region lies in two of them. A kernel sees disks; a fio job that names
        /// /dev/sdb addresses unit 1; all else lies on unit 0. With HP-UFS, foam and HPBvalve, ufsim linux takes one.
        further_lus_mib: counts(0 to 4194304 upto 7) = 0, "one unit has it all", fixed;
    }
}

/// A section, or the table of a scheme.
#[derive(Clone, PartialEq, Debug)]
pub struct Section {
    /// Name of its table.
    pub name: String,
    /// What it is about.
    pub about: &'static str,
    /// Its keys.
    pub fields: Vec<Field>,
}

macro_rules! sections {
    ($($section:ident: $Section:ty,)+) => {
        /// A device profile. Every value is inside its range.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct Values {
            $( #[doc = concat!("`[", stringify!($section), "]`")] pub $section: $Section, )+
            /// Parameters of mapping schemes.
            pub mappings: MappingParams,
            /// Parameters of boosters.
            pub boosters: BoosterParams,
            /// Parameters of schedulers.
            pub schedulers: SchedulerParams,
        }

        /// The sections in the order of the documentation.
        pub fn sections() -> Vec<Section> {
            vec![$( Section {
                name: stringify!($section).into(),
                about: <$Section as Params>::ABOUT.trim_ascii(),
                fields: <$Section as Params>::fields(),
            }, )+]
        }

        impl Values {
            /// Shape of the flash.
            pub(super) fn geometry(&self) -> Geometry {
                self.nand.geometry.geometry(&self.superblock)
            }

            /// Addressable capacity: that of the device, less what WriteBooster takes.
            pub fn capacity_mib(&self) -> u32 {
                let units = u64::from(self.slc.taken_superblocks()) * u64::from(self.geometry().superblock_units());
                let taken_mib = (units * UNIT_BYTES).div_ceil(MIB).next_multiple_of(4);
                self.device.capacity_mib.saturating_sub(u32::try_from(taken_mib).unwrap_or(u32::MAX))
            }

            /// Sizes of the logical units beside the first, in units of 4 KiB.
            pub(super) fn further_lus(&self) -> Vec<u32> {
                let sizes = self.device.further_lus_mib.all().iter();
                sizes.map(|mib| mib * (MIB / UNIT_BYTES) as u32).filter(|&units| units > 0).collect()
            }

            /// The logical units.
            pub fn logical_units(&self) -> LogicalUnits {
                LogicalUnits::of(self.capacity_mib() * (MIB / UNIT_BYTES) as u32, &self.further_lus())
            }

            /// Reads the tables of a profile.
            pub(super) fn read(root: &Table) -> Result<Values, ParamError> {
                let scheme = |name: &str| table(root.get("scheme").and_then(|schemes| schemes.get(name)));
                Ok(Values {
                    $( $section: params::read(stringify!($section), &table(root.get(stringify!($section))))?, )+
                    mappings: schemes::read("scheme.", &scheme)?,
                    boosters: Owners::read("scheme.", &scheme)?,
                    schedulers: Owners::read("scheme.", &scheme)?,
                })
            }

            /// All values, as the file of a profile could hold them.
            pub fn tables(&self) -> Table {
                let of = |values: Vec<(&'static str, Value)>| -> Table {
                    values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
                };
                let mut root = Table::new();
                $( root.insert(stringify!($section).into(), of(self.$section.values()).into()); )+
                let mut schemes = Table::new();
                let owners = self.mappings.values().into_iter().chain(self.boosters.values());
                for (name, values) in owners.chain(self.schedulers.values()) {
                    let all = schemes.entry(name).or_insert_with(|| Table::new().into());
                    all.as_table_mut().expect("made above").extend(values);
                }
                root.insert("scheme".into(), schemes.into());
                root
            }
        }
    };
}

sections! {
    device: Device,
    nand: NandParams,
    superblock: SuperblockParams,
    firmware: FirmwareParams,
    write_path: WritePathParams,
    sram: SramParams,
    log: LogParams,
    gc: GcParams,
    slc: SlcParams,
    wear: WearParams,
    faults: FaultParams,
    what_if: WhatIfParams,
    link: LinkParams,
    power: PowerParams,
    energy: EnergyModel,
    host: HostParams,
    host_time: HostTimeParams,
    merge: MergeParams,
}

fn table(value: Option<&Value>) -> Table {
    value.and_then(Value::as_table).cloned().unwrap_or_default()
}

/// The tables of schemes, `[scheme.NAME]`, each name once, with all of its keys.
pub fn schemes() -> Vec<Section> {
    let owners = [schemes::owners(), BoosterParams::owners(), SchedulerParams::owners()];
    let mut all: Vec<Section> = Vec::new();
    for Owner { name, fields } in owners.into_iter().flatten() {
        match all.iter_mut().find(|section| section.name == name) {
            Some(section) => section.fields.extend(fields),
            None => all.push(Section { name: name.into(), about: "", fields }),
        }
    }
    all
}
