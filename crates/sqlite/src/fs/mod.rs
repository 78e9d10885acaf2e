//! A file system in host memory and on blocks.
//!
//! [`Volume`] is the common part of all kinds: names, inodes, page cache, read-ahead, write-back. A personality decides
//! where blocks are placed and what a sync writes in which order: [`ext4`] in ordered mode, or [`f2fs`]. Metadata are
//! encoded in blocks, so [`Volume::mount`] works only from what a power cut has left.

pub mod cache;
pub mod codec;
mod core;
mod directory;
pub mod ext4;
pub mod f2fs;
pub mod space;
pub mod tree;

use std::sync::Arc;

use units::{Lpa, Nanos};

use crate::block::{BLOCK_BYTES, Block, Disk};
use cache::PageCache;
pub use core::{Change, FsError, NAME_BYTES, WriteReason};
pub(crate) use core::{Core, Personality, read_units};
use tree::{Ino, Tree};

/// Pages that a sequential reader reads at once. Linux begins with a few pages and grows to `read_ahead_kb`, 128 KiB by
/// default (Documentation/ABI/stable/sysfs-block). SQLite reads single pages, most of them not sequentially, so the
/// window stays small here.
const READ_AHEAD_PAGES: u32 = 8;
/// Age at which dirty pages are written (`vm.dirty_expire_centisecs`: 30 s).
const DIRTY_EXPIRE: Nanos = Nanos(30_000_000_000);
/// Share of the cache at which dirty pages make a writer write them back itself (`vm.dirty_ratio`: 20%), as a divisor.
const DIRTY_SHARE: usize = 5;
/// Size and place of a volume, and the limit of its page cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Number of units, from unit 0 of the disk on.
    pub units: u32,
    /// Most clean pages in host memory.
    pub cache_pages: usize,
}

units::kinds! {
    /// A kind of file system.
    pub Kind {
        /// Ext4 in ordered mode.
        Ext4 = "ext4-ordered";
        /// F2FS with roll-forward recovery.
        F2fs = "f2fs";
        /// F2FS that writes all data out of place, with `fsync_mode=strict`.
        F2fsOutOfPlace = "f2fs-out-of-place";
        /// For tests: F2FS out of place without `fsync_mode=strict`, about which Linux warns.
        F2fsOvertaken = "f2fs-overtaken" if test;
        /// For tests: ext4 whose syncs do nothing, so nothing on it is durable.
        IgnoresSync = "ext4-ignores-sync" if test;
    }
}

/// A mounted file system.
pub struct Volume {
    core: Core,
    kind: Box<dyn Personality>,
    /// The page that was last read from disk.
    last_read: Option<(Ino, u32)>,
}

impl Volume {
    /// Makes an empty file system.
    ///
    /// # Errors
    /// If the disk is gone, or too small.
    pub fn format(mut disk: Box<dyn Disk>, kind: Kind, geometry: Geometry) -> Result<Volume, FsError> {
        match kind {
            Kind::Ext4 => ext4::format(&mut *disk, geometry.units)?,
            Kind::F2fs | Kind::F2fsOutOfPlace => f2fs::format(&mut *disk, geometry.units)?,
            #[cfg(test)]
            Kind::F2fsOvertaken => f2fs::format(&mut *disk, geometry.units)?,
            #[cfg(test)]
            Kind::IgnoresSync => ext4::format(&mut *disk, geometry.units)?,
        }
        Volume::mount(disk, kind, geometry)
    }

    /// Mounts the file system on a disk, with the recovery of its kind.
    ///
    /// # Errors
    /// If the disk is gone, or its content is inconsistent.
    pub fn mount(disk: Box<dyn Disk>, kind: Kind, geometry: Geometry) -> Result<Volume, FsError> {
        let mut core = Core { disk, cache: PageCache::new(geometry.cache_pages), tree: Tree::default() };
        let kind: Box<dyn Personality> = match kind {
            Kind::Ext4 => Box::new(ext4::Ext4::mount(&mut core)?),
            Kind::F2fs => Box::new(f2fs::F2fs::mount(&mut core, f2fs::Options { in_place: true, strict: false })?),
            Kind::F2fsOutOfPlace => {
                Box::new(f2fs::F2fs::mount(&mut core, f2fs::Options { in_place: false, strict: true })?)
            }
            #[cfg(test)]
            Kind::F2fsOvertaken => {
                Box::new(f2fs::F2fs::mount(&mut core, f2fs::Options { in_place: false, strict: false })?)
            }
            #[cfg(test)]
            Kind::IgnoresSync => Box::new(canary::IgnoresSync(ext4::Ext4::mount(&mut core)?)),
        };
        Ok(Volume { core, kind, last_read: None })
    }

    /// The disk below, for its clock.
    pub fn disk(&mut self) -> &mut dyn Disk {
        &mut *self.core.disk
    }

    /// Number of a file.
    pub fn find(&self, name: &str) -> Option<Ino> {
        self.core.tree.names.get(name).copied()
    }

    /// Makes an empty file.
    ///
    /// # Errors
    /// If no inode is left, or the name is too long.
    pub fn create(&mut self, name: &str) -> Result<Ino, FsError> {
        if name.len() > NAME_BYTES {
            return Err(FsError::NoSpace("the name is too long"));
        }
        let ino = self.kind.new_ino(&self.core)?;
        self.core.tree.add(ino, name);
        self.kind.changed(&self.core, ino, Change::Created);
        Ok(ino)
    }

    /// Removes a file. It must not be open.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn remove(&mut self, name: &str) -> Result<(), FsError> {
        let (ino, inode) = self.core.tree.remove(name).ok_or(FsError::NotFound)?;
        self.core.cache.forget(ino, 0);
        self.kind.removed(&self.core, ino, inode);
        Ok(())
    }

    /// Length of a file.
    pub fn size(&self, ino: Ino) -> u64 {
        self.core.tree.inode(ino).size
    }

    /// Reads from a file. Gives the number of bytes before its end.
    ///
    /// # Errors
    /// If the disk is gone.
    pub fn read(&mut self, ino: Ino, offset: u64, into: &mut [u8]) -> Result<usize, FsError> {
        let end = self.size(ino).min(offset + into.len() as u64);
        let mut at = offset;
        while at < end {
            let (index, from) = split(at);
            let count = (BLOCK_BYTES - from).min((end - at) as usize);
            let page = self.page(ino, index)?;
            let done = (at - offset) as usize;
            into[done..done + count].copy_from_slice(&page[from..from + count]);
            at += count as u64;
        }
        Ok((at - offset) as usize)
    }

    /// A page of a file, from the cache or from disk.
    fn page(&mut self, ino: Ino, index: u32) -> Result<Block, FsError> {
        if let Some(page) = self.core.cache.get((ino, index)) {
            return Ok(page);
        }
        let Some(first) = self.core.tree.inode(ino).block(index) else { return Ok(crate::block::zeroes()) };
        let sequential = self.last_read == Some((ino, index.wrapping_sub(1)));
        let count = if sequential { self.neighbours(ino, index, first) } else { 1 };
        self.last_read = Some((ino, index + count - 1));
        let mut pages = read_units(&mut *self.core.disk, first, count)?;
        let (last, end) = split(self.size(ino));
        if (index..index + count).contains(&last) {
            // A power cut may have left data beyond the end of the file, if its new length was lost.
            Arc::make_mut(&mut pages[(last - index) as usize])[end..].fill(0);
        }
        for (i, page) in (0..).zip(&pages) {
            self.core.cache.insert_clean((ino, index + i), page.clone());
        }
        Ok(pages[0].clone())
    }

    /// Number of pages from `index` on that can be read in one request.
    fn neighbours(&self, ino: Ino, index: u32, first: Lpa) -> u32 {
        let inode = self.core.tree.inode(ino);
        let joins =
            |&i: &u32| inode.block(index + i) == Some(first.offset(i)) && !self.core.cache.holds((ino, index + i));
        1 + (1..READ_AHEAD_PAGES).take_while(joins).count() as u32
    }

    /// Writes to a file, in memory.
    ///
    /// # Errors
    /// If the disk is gone, or full when dirty pages have to be written.
    pub fn write(&mut self, ino: Ino, offset: u64, bytes: &[u8]) -> Result<(), FsError> {
        let now = self.core.disk.now();
        self.clear_behind_end(ino, offset)?;
        let mut done = 0;
        while done < bytes.len() {
            let (index, from) = split(offset + done as u64);
            let count = (BLOCK_BYTES - from).min(bytes.len() - done);
            let whole = count == BLOCK_BYTES;
            if !whole && !self.core.cache.holds((ino, index)) && self.core.tree.inode(ino).block(index).is_some() {
                self.page(ino, index)?;
            }
            self.core.cache.change((ino, index), from, &bytes[done..done + count], now);
            done += count;
        }
        let inode = self.core.tree.inode_mut(ino);
        inode.size = inode.size.max(offset + bytes.len() as u64);
        self.kind.changed(&self.core, ino, Change::Touched);
        if self.core.cache.dirty_pages() > (self.core.cache.limit() / DIRTY_SHARE).max(1) {
            self.write_back(ino, WriteReason::WriteBack)?;
        }
        Ok(())
    }

    /// Prepares a file for bytes from `offset` on. Bytes between its end and `offset` must be zeroes, but on disk a
    /// power cut may have left other data in the last block, if a new length was lost.
    fn clear_behind_end(&mut self, ino: Ino, offset: u64) -> Result<(), FsError> {
        let (index, from) = split(self.size(ino));
        if from > 0 && split(offset).0 > index && self.core.tree.inode(ino).block(index).is_some() {
            self.page(ino, index)?;
            let now = self.core.disk.now();
            self.core.cache.change((ino, index), from, &[0; BLOCK_BYTES][from..], now);
        }
        Ok(())
    }

    /// Sets the length of a file.
    ///
    /// # Errors
    /// If the disk is gone.
    pub fn truncate(&mut self, ino: Ino, size: u64) -> Result<(), FsError> {
        let old = self.size(ino);
        if size == old {
            return Ok(());
        }
        self.clear_behind_end(ino, size)?;
        let (index, from) = split(size);
        if size < old && from > 0 {
            // A file that becomes longer later must show zeroes there.
            self.write(ino, size, &vec![0; BLOCK_BYTES - from])?;
        }
        self.core.cache.forget(ino, index + u32::from(from > 0));
        let inode = self.core.tree.inode_mut(ino);
        let on_disk = inode.disk_size;
        let freed = inode.resize(size);
        let shorter = inode.disk_size != on_disk;
        self.kind.cut(&self.core, ino, freed);
        self.kind.changed(&self.core, ino, if shorter { Change::Resized } else { Change::Touched });
        Ok(())
    }

    /// `fdatasync`: makes the file's contents and its length durable.
    ///
    /// # Errors
    /// If the disk is gone or full.
    pub fn data_sync(&mut self, ino: Ino) -> Result<(), FsError> {
        self.write_back(ino, WriteReason::DataSync)?;
        self.kind.data_sync(&mut self.core, ino)
    }

    /// `fsync` of the directory: makes names durable.
    ///
    /// # Errors
    /// If the disk is gone or full.
    pub fn sync_directory(&mut self) -> Result<(), FsError> {
        self.kind.sync_directory(&mut self.core)
    }

    /// Writes the dirty pages of a file, and waits for them. Neighbours share a request.
    fn write_back(&mut self, ino: Ino, reason: WriteReason) -> Result<(), FsError> {
        let dirty = self.core.cache.dirty_of(ino);
        self.kind.make_room(&mut self.core, dirty.len())?;
        let mut placed = Vec::with_capacity(dirty.len());
        for (index, page) in dirty {
            placed.push((self.kind.place(&mut self.core, ino, index, reason)?, page));
        }
        self.core.write(placed, false)?;
        self.core.cache.cleaned(ino);
        let inode = self.core.tree.inode_mut(ino);
        if inode.disk_size != inode.size {
            inode.disk_size = inode.size;
            self.kind.changed(&self.core, ino, Change::Resized);
        }
        Ok(())
    }

    /// Does the periodic work of the kernel's threads: old dirty pages, journal commits, checkpoints. It takes
    /// simulated time, so it must be called where no latency is measured.
    ///
    /// # Errors
    /// If the disk is gone or full.
    pub fn background(&mut self) -> Result<(), FsError> {
        let now = self.core.disk.now();
        if self.core.cache.dirty_since().is_some_and(|since| now.since(since) >= DIRTY_EXPIRE) {
            self.write_back_all()?;
        }
        self.kind.background(&mut self.core)
    }

    fn write_back_all(&mut self) -> Result<(), FsError> {
        // A file that was only lengthened has no dirty page.
        let lengths = self.core.tree.inodes.iter().filter(|(_, inode)| inode.disk_size != inode.size);
        let mut files = self.core.cache.dirty_files();
        files.extend(lengths.map(|(&ino, _)| ino));
        for ino in files {
            self.write_back(ino, WriteReason::WriteBack)?;
        }
        Ok(())
    }

    /// `sync`: makes everything durable.
    ///
    /// # Errors
    /// If the disk is gone or full.
    pub fn sync_all(&mut self) -> Result<(), FsError> {
        self.write_back_all()?;
        self.kind.sync_all(&mut self.core)
    }

    /// Drops clean pages, so the next reads go to disk.
    pub fn drop_caches(&mut self) {
        self.core.cache.drop_clean();
        self.last_read = None;
    }
}

/// Block number, and offset in the block.
fn split(offset: u64) -> (u32, usize) {
    ((offset / BLOCK_BYTES as u64) as u32, (offset % BLOCK_BYTES as u64) as usize)
}

#[cfg(test)]
mod canary;
#[cfg(test)]
mod tests;
