//! Requests of ext4, step by step.

use super::*;
use crate::fs::{Geometry, Kind, Volume};
use crate::ram::{Counts, RamDisk, asked, counts};

const GEOMETRY: Geometry = Geometry { units: layout::MIN_UNITS, cache_pages: 100 };

fn volume() -> (Volume, RamDisk) {
    let disk = RamDisk::default();
    (Volume::format(Box::new(disk.clone()), Kind::Ext4, GEOMETRY).unwrap(), disk)
}

#[test]
fn a_sync_commits_only_what_the_data_need() {
    let (mut volume, disk) = volume();
    let ino = volume.create("a").unwrap();
    volume.write(ino, 0, &[1; 8192]).unwrap();
    // Data; descriptor and copies of group descriptors, inode bitmap, block bitmap, directory, inode table; commit
    // block.
    assert_eq!(asked(&disk, || volume.data_sync(ino).unwrap()), counts(3, 2 + 6 + 1, 1, 1));
    volume.write(ino, 0, &[2; 4096]).unwrap();
    assert_eq!(asked(&disk, || volume.data_sync(ino).unwrap()), counts(1, 1, 1, 0), "a time stamp is not needed");
    assert_eq!(asked(&disk, || volume.data_sync(ino).unwrap()), counts(0, 0, 1, 0), "ext4 flushes in any case");
    volume.write(ino, 8192, &[3; 10]).unwrap();
    // Group descriptors, block bitmap, inode table.
    assert_eq!(asked(&disk, || volume.data_sync(ino).unwrap()), counts(3, 1 + 4 + 1, 1, 1), "an appended block");
    volume.write(ino, 8202, &[3; 10]).unwrap();
    assert_eq!(asked(&disk, || volume.data_sync(ino).unwrap()), counts(3, 1 + 2 + 1, 1, 1), "a new length");
    volume.remove("a").unwrap();
    // All blocks as above except data.
    assert_eq!(asked(&disk, || volume.sync_directory().unwrap()), counts(2, 6 + 1, 1, 1));
    assert_eq!(asked(&disk, || volume.sync_directory().unwrap()), counts(0, 0, 0, 0), "nothing is running");
}

/// What `data=ordered` adds to a commit, so `data=writeback` would ask for the same.
#[test]
fn a_commit_has_no_data_to_write_or_to_wait_for() {
    let (mut volume, disk) = volume();
    let (a, b) = (volume.create("a").unwrap(), volume.create("b").unwrap());
    volume.write(a, 0, &[1; 8 * 4096]).unwrap();
    volume.write(b, 0, &[2; 4096]).unwrap();
    // One page of data; descriptor and copies of group descriptors, inode bitmap, block bitmap, directory, inode table;
    // commit block. The pages of the other file, in the same transaction, are neither written nor allocated.
    assert_eq!(asked(&disk, || volume.data_sync(b).unwrap()), counts(3, 1 + 6 + 1, 1, 1));
    assert_eq!(volume.core.tree.inode(a).blocks.iter().flatten().count(), 0);
    let mounted = Volume::mount(Box::new(RamDisk::with(&disk.latest())), Kind::Ext4, GEOMETRY).unwrap();
    let (a, b) = (mounted.find("a").unwrap(), mounted.find("b").unwrap());
    assert_eq!((mounted.size(a), mounted.size(b)), (0, 4096));
}

#[test]
fn the_kernel_commits_after_5_s_and_checkpoints_after_30_s() {
    let (mut volume, disk) = volume();
    volume.create("a").unwrap();
    disk.pass(Nanos(4_900_000_000));
    assert_eq!(asked(&disk, || volume.background().unwrap()), Counts::default());
    disk.pass(Nanos(100_000_000));
    // Group descriptors, inode bitmap, directory, inode table.
    assert_eq!(asked(&disk, || volume.background().unwrap()), counts(2, 5 + 1, 1, 1));
    disk.pass(CHECKPOINT_INTERVAL);
    // In place: the first two blocks are neighbours, and so are the last two.
    assert_eq!(asked(&disk, || volume.background().unwrap()), counts(3, 4 + 1, 1, 1));
}

#[test]
fn a_full_journal_is_checkpointed() {
    let (mut volume, disk) = volume();
    let ino = volume.create("a").unwrap();
    volume.data_sync(ino).unwrap();
    let append = |volume: &mut Volume, n: u64| {
        volume.write(ino, n * 4096, &[n as u8; 4096]).unwrap();
        volume.data_sync(ino).unwrap();
    };
    // Five blocks each, and a ring of 63 with six in use: every twelfth operation writes the metadata in place.
    let barriers: Vec<u64> = (0..48).map(|n| asked(&disk, || append(&mut volume, n)).barriers).collect();
    assert_eq!(barriers.iter().filter(|&&n| n == 2).count(), 48 / 12);
    assert_eq!(barriers.iter().sum::<u64>(), 48 + 48 / 12);
}

#[test]
fn freed_blocks_are_used_again_after_the_commit() {
    let (mut volume, _) = volume();
    let most = GEOMETRY.units as u64 * 4096;
    for round in 0..3 {
        let ino = volume.create("a").unwrap();
        let mut size = 0;
        let error = loop {
            let written = volume.write(ino, size, &[round; 4096]).and_then(|()| volume.data_sync(ino));
            match written {
                Ok(()) => size += 4096,
                Err(error) => break error,
            }
            assert!(size < most);
        };
        assert_eq!(error, FsError::NoSpace("no free block"));
        assert!(size > most / 2, "{size}");
        volume.remove("a").unwrap();
    }
}

#[test]
fn a_scattered_file_needs_leaves_and_survives_a_mount() {
    let (mut volume, disk) = volume();
    let (a, b) = (volume.create("a").unwrap(), volume.create("b").unwrap());
    // Every second page, and then the pages between them, too far away to be joined with the first.
    for index in (0..40).step_by(2).chain((1..40).step_by(2)) {
        for ino in [a, b] {
            volume.write(ino, index * 4096, &[index as u8; 4096]).unwrap();
            volume.data_sync(ino).unwrap();
        }
    }
    assert!(layout::extents(volume.core.tree.inode(a)).len() > 4);
    let tree = volume.core.tree.clone();
    let mounted = Volume::mount(Box::new(RamDisk::with(&disk.latest())), Kind::Ext4, GEOMETRY).unwrap();
    assert_eq!(mounted.core.tree, tree);
}
