//! Tests of the promises of all kinds: random operations, power cuts at random requests, and the content afterwards.

use std::collections::BTreeMap;

use units::Nanos;
use workload::{Rng, named_stream};

use super::*;
use crate::block::{Halted, Image};
use crate::fs::f2fs::MAIN;
use crate::ram::RamDisk;

const KINDS: [Kind; 3] = [Kind::Ext4, Kind::F2fs, Kind::F2fsOutOfPlace];
const GEOMETRY: Geometry = Geometry { units: 64 + 4 * 512, cache_pages: 40 };
const NAMES: [&str; 4] = ["a", "b", "c", "main.db-journal"];

/// A file as the test expects it.
#[derive(Clone, Default, Debug)]
struct Expected {
    bytes: Vec<u8>,
    /// True if nothing has happened to it since its last sync.
    synced: bool,
}

struct Case {
    volume: Volume,
    disk: RamDisk,
    files: BTreeMap<&'static str, Expected>,
    rng: Rng,
}

fn mount(image: &Image, kind: Kind) -> (Volume, RamDisk) {
    let disk = RamDisk::with(image);
    (Volume::mount(Box::new(disk.clone()), kind, GEOMETRY).unwrap(), disk)
}

impl Case {
    fn new(kind: Kind, seed: u64) -> Case {
        let disk = RamDisk::default();
        let volume = Volume::format(Box::new(disk.clone()), kind, GEOMETRY).unwrap();
        Case { volume, disk, files: BTreeMap::new(), rng: named_stream(seed, "fs", 0) }
    }

    fn open(&mut self, name: &'static str) -> Result<Ino, FsError> {
        self.files.entry(name).or_default();
        match self.volume.find(name) {
            Some(ino) => Ok(ino),
            None => self.volume.create(name),
        }
    }

    fn change(&mut self, name: &'static str) -> Result<(), FsError> {
        let ino = self.open(name)?;
        let size = self.volume.size(ino);
        let most = [5000, 30_000, 6_000_000][self.rng.below(3) as usize];
        let offset = self.rng.below(size.min(most) + 1);
        let bytes = vec![self.rng.bits() as u8; 1 + self.rng.below(20_000) as usize];
        let file = self.files.get_mut(name).unwrap();
        file.synced = false;
        let end = offset as usize + bytes.len();
        if file.bytes.len() < end {
            file.bytes.resize(end, 0);
        }
        file.bytes[offset as usize..end].copy_from_slice(&bytes);
        self.volume.write(ino, offset, &bytes)
    }

    fn truncate(&mut self, name: &'static str) -> Result<(), FsError> {
        let ino = self.open(name)?;
        let size = [0, self.volume.size(ino) / 2, self.volume.size(ino) + 9000][self.rng.below(3) as usize];
        let file = self.files.get_mut(name).unwrap();
        file.synced = false;
        file.bytes.resize(size as usize, 0);
        self.volume.truncate(ino, size)
    }

    /// One random operation.
    fn step(&mut self) -> Result<(), FsError> {
        let name = NAMES[self.rng.below(NAMES.len() as u64) as usize];
        match self.rng.below(20) {
            0..9 => self.change(name),
            9..11 => self.truncate(name),
            11..16 => {
                let ino = self.open(name)?;
                self.volume.data_sync(ino)?;
                self.files.get_mut(name).unwrap().synced = true;
                Ok(())
            }
            16 => {
                self.files.remove(name);
                match self.volume.remove(name) {
                    Err(FsError::NotFound) => Ok(()),
                    other => other,
                }
            }
            17 => self.volume.sync_directory(),
            18 => {
                self.volume.drop_caches();
                Ok(())
            }
            _ => {
                self.disk.pass(Nanos(self.rng.below(40_000_000_000)));
                self.volume.background()
            }
        }
    }

    fn contents(volume: &mut Volume, name: &str) -> Option<Vec<u8>> {
        let ino = volume.find(name)?;
        let mut bytes = vec![1; volume.size(ino) as usize + 1];
        let got = volume.read(ino, 0, &mut bytes).unwrap();
        assert_eq!(got + 1, bytes.len());
        bytes.pop();
        Some(bytes)
    }
}

#[test]
fn files_read_as_they_were_written_before_and_after_a_mount() {
    for (kind, seed) in KINDS.into_iter().flat_map(|kind| (0..12).map(move |seed| (kind, seed))) {
        let mut case = Case::new(kind, seed);
        for step in 0..300 {
            case.step().unwrap();
            if step % 50 == 49 {
                if step % 100 == 99 {
                    case.volume.sync_all().unwrap();
                    (case.volume, case.disk) = mount(&case.disk.latest(), kind);
                }
                for name in NAMES {
                    let expected = case.files.get(name).map(|file| file.bytes.clone());
                    assert!(
                        Case::contents(&mut case.volume, name) == expected,
                        "{kind:?} seed {seed} step {step} {name}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_was_synced_survives_power_cuts() {
    let mut checked = 0;
    for (kind, seed) in KINDS.into_iter().flat_map(|kind| (0..120).map(move |seed| (kind, seed))) {
        let mut case = Case::new(kind, seed);
        let mut cuts = named_stream(seed, "cuts", 0);
        for round in 0..4 {
            case.disk.cut_after(cuts.below(300));
            let error = loop {
                if let Err(error) = case.step() {
                    break error;
                }
            };
            assert_eq!(error, FsError::Halted(Halted), "{kind:?} seed {seed} round {round}");
            let mut image = case.disk.after_cut(&mut cuts);
            // The power may be cut again during recovery.
            let disk = RamDisk::with(&image);
            disk.cut_after(cuts.below(40));
            if Volume::mount(Box::new(disk.clone()), kind, GEOMETRY).is_err() {
                image = disk.after_cut(&mut cuts);
            }
            (case.volume, case.disk) = mount(&image, kind);
            let files = std::mem::take(&mut case.files);
            for name in NAMES {
                let found = Case::contents(&mut case.volume, name);
                if let Some(file) = files.get(name).filter(|file| file.synced) {
                    assert!(found.as_ref() == Some(&file.bytes), "{kind:?} seed {seed} round {round} {name}");
                    checked += 1;
                }
                if let Some(bytes) = found {
                    case.files.insert(name, Expected { bytes, synced: true });
                }
            }
        }
    }
    assert!(checked > 500, "{checked} files were checked");
}

/// On disk, freed blocks still belong to the file until a commit or a checkpoint.
#[test]
fn freed_blocks_wait_for_a_barrier() {
    for (kind, remove) in KINDS.into_iter().flat_map(|kind| [false, true].map(|remove| (kind, remove))) {
        let disk = RamDisk::default();
        let mut volume = Volume::format(Box::new(disk.clone()), kind, GEOMETRY).unwrap();
        let fill = |volume: &mut Volume, name: &str| {
            let ino = volume.create(name).unwrap();
            let pages = if kind == Kind::Ext4 { 500 } else { 1200 };
            (0..pages).for_each(|page| volume.write(ino, page * 4096, &[1; 4096]).unwrap());
            ino
        };
        let ino = fill(&mut volume, "a");
        volume.data_sync(ino).unwrap();
        if remove {
            volume.remove("a").unwrap();
        } else {
            volume.truncate(ino, 0).unwrap();
        }
        let before = disk.counts().barriers;
        fill(&mut volume, "b");
        assert!(disk.counts().barriers > before, "{kind:?} {remove}: b is where a was");
    }
}

/// The power is cut when a mount has written everything except the block that makes its checkpoint valid.
#[test]
fn a_mount_spares_what_it_recovers_from() {
    let packs = 1..MAIN.0;
    for (kind, seed) in KINDS[1..].iter().flat_map(|&kind| (0..60).map(move |seed| (kind, seed))) {
        let mut case = Case::new(kind, seed);
        // The file is so large that no segment is free, and every hole is used.
        let ino = case.volume.create("large").unwrap();
        (0..1650).for_each(|page| case.volume.write(ino, page * 4096, &[7; 4096]).unwrap());
        case.volume.sync_all().unwrap();
        case.disk.cut_after(case.rng.below(200));
        while case.step().is_ok() {}
        let before = case.disk.after_cut(&mut case.rng);
        let (mut once, disk) = mount(&before, kind);
        let mut image = disk.latest();
        packs.clone().for_each(|unit| image.write(Lpa(unit), before.read(Lpa(unit))));
        let (mut again, _) = mount(&image, kind);
        for name in NAMES.into_iter().chain(["large"]) {
            let contents = Case::contents(&mut once, name);
            assert!(contents == Case::contents(&mut again, name), "{kind:?} seed {seed} {name}");
        }
    }
}

/// Data beyond the end of a file may have been written to disk without the new length.
#[test]
fn a_lost_length_does_not_uncover_lost_data() {
    let mut uncovered = 0;
    for (kind, seed) in KINDS.into_iter().flat_map(|kind| (0..20).map(move |seed| (kind, seed))) {
        let mut case = Case::new(kind, seed);
        let ino = case.open("a").unwrap();
        case.volume.write(ino, 0, &[1; 5000]).unwrap();
        case.volume.data_sync(ino).unwrap();
        case.volume.write(ino, 5000, &[2; 3000]).unwrap();
        case.disk.cut_after(case.rng.below(2));
        case.volume.data_sync(ino).unwrap_err();
        let image = case.disk.after_cut(&mut case.rng);
        uncovered += image.blocks().filter(|(_, block)| block[904] == 2 && block[0] == 1).count();
        let (mut volume, _) = mount(&image, kind);
        let ino = volume.find("a").unwrap();
        if volume.size(ino) > 5000 {
            continue;
        }
        volume.truncate(ino, 20_000).unwrap();
        volume.data_sync(ino).unwrap();
        volume.drop_caches();
        let bytes = Case::contents(&mut volume, "a").unwrap();
        assert!(bytes[..5000].iter().all(|&b| b == 1) && bytes[5000..].iter().all(|&b| b == 0), "{kind:?} seed {seed}");
    }
    assert!(uncovered > 5, "the data were on disk in {uncovered} cases");
}
