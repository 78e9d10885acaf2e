//! Aged devices: written to by a workload, then switched off. What is left is flash and what was acknowledged; the next
//! run switches it on again, which costs the device its recovery and the driver whatever it has to find out.
//!
//! A run on a state from a file and a run that ages its device first go the same way and give the same bytes: both
//! switch on a device that was switched off. Under which conditions it was aged is told in `ageing`.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use archive::{ArchiveError, Reader, Writer};
use files::{FileError, Files, Kind, Real};
use ftl::Unpowered;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ageing::telling;
use crate::error::LabError;
use crate::options::Spec;
use crate::options::spec::Machine;
use crate::oracle::Oracle;
use crate::profile::{Profile, Section, schemes, sections};
use crate::report::digest::Digest;
use crate::run::System;
use crate::stack::assemble::{misfit, sealing_key};
use crate::stack::system::Parts;
use crate::version::VERSION;

/// First line of the files, with the version of their format.
const TITLE: &str = "ufsim aged state 1";

/// What all versions of [`TITLE`] begin with.
const TITLES: &[u8] = b"ufsim aged state ";

/// A device that is switched off, and what its next host may expect of it.
#[derive(Debug)]
pub struct Aged {
    pub(crate) device: Unpowered,
    pub(crate) oracle: Oracle,
    /// How it came to be.
    pub(crate) header: Header,
}

/// What a file of an aged state says about itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Version of ufsim that made it, with the fingerprint of its sources.
    pub version: String,
    /// The system that aged it.
    pub scheme: String,
    /// Its scheduler.
    pub scheduler: String,
    /// Its booster.
    pub booster: String,
    /// Its mapping scheme: only the same one can read its flash.
    pub mapping: String,
    /// The profile's name.
    pub profile: String,
    /// The profile's values.
    pub values: Value,
    /// The fio job that aged the device, or the command under which it was used.
    pub age: String,
    /// Seed of everything random.
    pub seed: u64,
}

impl Aged {
    /// A device that was switched off elsewhere, and what its next host may expect of it.
    pub fn new(device: Unpowered, oracle: Oracle, header: Header) -> Aged {
        Aged { device, oracle, header }
    }

    /// The device alone.
    pub fn into_device(self) -> Unpowered {
        self.device
    }

    /// What its files are; they replace nothing else.
    pub const KIND: Kind = Kind::new("aged state of ufsim", |head| head.starts_with(TITLES));

    /// Writes a file. It appears under its name only when it is complete, and replaces only a file of its kind.
    ///
    /// # Errors
    /// [`LabError::Output`] with the path.
    pub fn save(&self, path: &Path) -> Result<(), LabError> {
        self.save_to(&Real, path)
    }

    /// The same on a disk of one's choice.
    ///
    /// # Errors
    /// [`LabError::Output`] with the path.
    pub fn save_to(&self, disk: &dyn Files, path: &Path) -> Result<(), LabError> {
        files::replace(disk, path, Aged::KIND, |out| {
            self.write(out).map_err(|error| match error {
                ArchiveError::Io(error) => FileError::new(path, error).into(),
                other => LabError::Output(format!("{}: {other}", path.display())),
            })
        })
    }

    /// The same to anything that takes bytes.
    ///
    /// # Errors
    /// What it gives.
    pub fn write(&self, file: impl Write) -> Result<(), ArchiveError> {
        let header = serde_json::to_string(&self.header).expect("a header is plain values");
        let mut to = Writer::new(BufWriter::new(file), TITLE, &header)?;
        self.oracle.save(&mut to)?;
        self.device.save(&mut to)?;
        to.finish()?.flush()?;
        Ok(())
    }

    /// Reads a file for a device of `profile`.
    ///
    /// # Errors
    /// [`LabError::State`] if it is not there, damaged, of another version, or of a device with another shape or
    /// mapping scheme.
    pub fn load(path: &Path, profile: &Profile, parts: Parts, seed: u64) -> Result<Aged, LabError> {
        let failed = |error: String| LabError::State(format!("{}: {error}", path.display()));
        let file = File::open(path).map_err(|error| failed(error.to_string()))?;
        Aged::read(BufReader::new(file), profile, parts, seed).map_err(failed)
    }

    /// The same from bytes.
    ///
    /// # Errors
    /// See [`Aged::load`]; without the path.
    pub fn read(file: impl Read, profile: &Profile, parts: Parts, seed: u64) -> Result<Aged, String> {
        let (header, mut from) = Reader::new(file, TITLE).map_err(|error| error.to_string())?;
        let header: Header = serde_json::from_str(&header).map_err(|error| format!("header: {error}"))?;
        header.check(profile, parts)?;
        let load = |from: &mut Reader<_>| {
            let oracle = Oracle::load(profile.capacity_units(), from)?;
            let device = Unpowered::load(profile.device_of(parts, sealing_key(seed)), parts.mapping, from)?;
            Ok::<_, ArchiveError>((oracle, device))
        };
        let (oracle, device) = load(&mut from).map_err(|error| error.to_string())?;
        from.finish().map_err(|error| error.to_string())?;
        Ok(Aged { device, oracle, header })
    }

    /// Switches the device on, attaches a driver, and lets both find out what they need to know.
    ///
    /// # Errors
    /// If the driver's settings do not fit the device.
    pub fn switch_on(self, profile: &Profile, parts: Parts, seed: u64) -> Result<System, LabError> {
        let config = profile.device_of(parts, sealing_key(seed));
        let faulty = config.faults.any();
        let driver = profile.host_config(parts);
        let device = self.device.reconfigured(config);
        let (link, power) = (profile.link_config(), profile.power_config(seed));
        let system = System::switched_on(device, self.oracle, driver, link, power);
        let system = system.map_err(|error| misfit(profile, &error))?;
        let mut system = system.with_host_time(profile.block_config(seed));
        if faulty {
            system.allow_faults();
        }
        Ok(system)
    }
}

impl Header {
    /// The header of a state of that machine, which `age` tells the making of.
    pub fn new(spec: &Spec, machine: &Machine, age: &str) -> Header {
        let Machine { parts, profile } = machine;
        Header {
            version: VERSION.into(),
            scheme: spec.scheme.clone(),
            scheduler: parts.scheduler.name().into(),
            booster: parts.booster.name().into(),
            mapping: parts.mapping.name().into(),
            profile: profile.origin.clone(),
            values: plain(profile),
            age: age.into(),
            seed: spec.seed,
        }
    }

    /// A name for the state: whatever decides its bytes decides this, and nothing else does.
    pub fn key(&self) -> String {
        let mut digest = Digest::default();
        for part in [&self.version, &self.scheduler, &self.booster, &self.mapping, &self.age] {
            digest.bytes(part.as_bytes());
        }
        digest.word(self.seed);
        for (name, value) in telling(&self.values, &self.mapping) {
            digest.bytes(format!("{name} = {value}").as_bytes());
        }
        format!("{}-{}", self.mapping, digest.hex())
    }

    fn check(&self, profile: &Profile, parts: Parts) -> Result<(), String> {
        if self.version != VERSION {
            return Err(format!("made by version {}: this is {VERSION}; make it again with ufsim age", self.version));
        }
        if self.mapping != parts.mapping.name() {
            let wanted = parts.mapping.name();
            return Err(format!("mapping = \"{}\": the run needs \"{wanted}\"", self.mapping));
        }
        let ours = plain(profile);
        for (section, key) in fixed(parts) {
            let at = |values: &Value| {
                section.split('.').fold(values.clone(), |table, name| table[name].clone())[key].clone()
            };
            let (got, wanted) = (at(&self.values), at(&ours));
            if got != wanted {
                return Err(format!("{section}.{key} = {got}: the run's profile {} has {wanted}", profile.origin));
            }
        }
        Ok(())
    }
}

/// Keys of a profile that have to be the same when a state is made and when it is used: they are declared as deciding
/// where things are on flash. Others may differ, so that one state serves a sweep over SRAM sizes or flash times.
fn fixed(parts: Parts) -> Vec<(String, &'static str)> {
    let own = schemes().into_iter().filter(|scheme| scheme.name == parts.mapping.name());
    let own = own.map(|scheme| Section { name: format!("scheme.{}", scheme.name), ..scheme });
    let keys = |section: Section| {
        let fixed = section.fields.into_iter().filter(|field| field.fixed);
        fixed.map(|field| (section.name.clone(), field.key)).collect::<Vec<_>>()
    };
    sections().into_iter().chain(own).flat_map(keys).collect()
}

/// The values of a profile, as the header holds them.
pub(crate) fn plain(profile: &Profile) -> Value {
    serde_json::to_value(profile.values.tables()).expect("a profile is plain values")
}

/// Reads only what a file says about itself.
///
/// # Errors
/// If it is no aged state, or its first lines are damaged.
pub fn header(path: &Path) -> Result<Header, LabError> {
    let failed = |error: String| LabError::Config(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let (header, _) = Reader::new(file, TITLE).map_err(|error| failed(error.to_string()))?;
    serde_json::from_str(&header).map_err(|error| failed(format!("header: {error}")))
}
