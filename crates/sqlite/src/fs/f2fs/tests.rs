//! Requests of F2FS, step by step.

use super::*;
use crate::fs::{Geometry, Kind, Volume};
use crate::ram::{Counts, RamDisk, asked, counts};

const GEOMETRY: Geometry = Geometry { units: MAIN.0 + MIN_SEGMENTS * SEGMENT, cache_pages: 100 };

fn volume(kind: Kind) -> (Volume, RamDisk) {
    let disk = RamDisk::default();
    (Volume::format(Box::new(disk.clone()), kind, GEOMETRY).unwrap(), disk)
}

#[test]
fn a_sync_writes_nodes_only_where_blocks_have_moved() {
    let (mut volume, disk) = volume(Kind::F2fs);
    let ino = volume.create("a").unwrap();
    volume.write(ino, 0, &[1; 8192]).unwrap();
    assert_eq!(asked(&disk, || volume.data_sync(ino).unwrap()), counts(2, 2 + 1, 1, 0), "data, inode, flush");
    volume.write(ino, 0, &[2; 4096]).unwrap();
    assert_eq!(asked(&disk, || volume.data_sync(ino).unwrap()), counts(1, 1, 1, 0), "in place, flush");
    assert_eq!(asked(&disk, || volume.data_sync(ino).unwrap()), Counts::default(), "nothing was written");
    volume.write(ino, 8192, &[3; 10]).unwrap();
    assert_eq!(asked(&disk, || volume.data_sync(ino).unwrap()), counts(2, 1 + 1, 1, 0), "an appended block");
    // Directory block; its inode (the file's has not changed since its sync); header and table; footer.
    assert_eq!(asked(&disk, || volume.sync_directory().unwrap()), counts(4, 1 + 1 + 2 + 1, 1, 1));
}

#[test]
fn out_of_place_the_last_node_does_not_overtake_the_data() {
    let (mut volume, disk) = volume(Kind::F2fsOutOfPlace);
    let ino = volume.create("a").unwrap();
    for _ in 0..2 {
        volume.write(ino, 0, &[1; 4096]).unwrap();
        assert_eq!(asked(&disk, || volume.data_sync(ino).unwrap()), counts(2, 1 + 1, 1, 1), "data, inode with barrier");
    }
}

#[test]
fn a_checkpoint_follows_after_60_s_or_when_much_is_waiting() {
    let (mut volume, disk) = volume(Kind::F2fsOutOfPlace);
    let ino = volume.create("a").unwrap();
    assert_eq!(asked(&disk, || volume.background().unwrap()), Counts::default());
    disk.pass(CHECKPOINT_INTERVAL);
    assert_eq!(asked(&disk, || volume.background().unwrap()).barriers, 1);
    // Each sync frees a block and a node; 102 of the 2048 units may wait.
    let barriers = |n: u64| {
        asked(&disk, || {
            for _ in 0..n {
                volume.write(ino, 0, &[1; 4096]).unwrap();
                volume.data_sync(ino).unwrap();
            }
            volume.background().unwrap();
        })
        .barriers
    };
    assert_eq!([50, 10].map(barriers), [50, 10 + 1]);
}

#[test]
fn freed_blocks_are_used_again_after_the_checkpoint() {
    let (mut volume, _) = volume(Kind::F2fs);
    for round in 0..3 {
        let ino = volume.create("a").unwrap();
        let mut size = 0;
        let error = loop {
            let written = volume.write(ino, size, &[round; 65_536]).and_then(|()| volume.data_sync(ino));
            match written {
                Ok(()) => size += 65_536,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, FsError::NoSpace(_)));
        assert!(size > 1024 * 4096, "{size}");
        volume.remove("a").unwrap();
    }
}
