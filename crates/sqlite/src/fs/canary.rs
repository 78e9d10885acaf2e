//! A file system that breaks its promise, to show that the tests of power cuts would notice.

use units::Lpa;

use super::ext4::Ext4;
use super::tree::{Ino, Inode};
use super::{Change, Core, FsError, Personality, WriteReason};

/// ext4 whose syncs return before anything is durable.
pub(super) struct IgnoresSync(pub Ext4);

impl Personality for IgnoresSync {
    fn new_ino(&mut self, core: &Core) -> Result<Ino, FsError> {
        self.0.new_ino(core)
    }

    fn changed(&mut self, core: &Core, ino: Ino, change: Change) {
        self.0.changed(core, ino, change);
    }

    fn removed(&mut self, core: &Core, ino: Ino, inode: Inode) {
        self.0.removed(core, ino, inode);
    }

    fn cut(&mut self, core: &Core, ino: Ino, freed: Vec<Lpa>) {
        self.0.cut(core, ino, freed);
    }

    fn make_room(&mut self, core: &mut Core, blocks: usize) -> Result<(), FsError> {
        self.0.make_room(core, blocks)
    }

    fn place(&mut self, core: &mut Core, ino: Ino, index: u32, reason: WriteReason) -> Result<Lpa, FsError> {
        self.0.place(core, ino, index, reason)
    }

    fn data_sync(&mut self, _core: &mut Core, _ino: Ino) -> Result<(), FsError> {
        Ok(())
    }

    fn sync_directory(&mut self, _core: &mut Core) -> Result<(), FsError> {
        Ok(())
    }

    fn background(&mut self, core: &mut Core) -> Result<(), FsError> {
        self.0.background(core)
    }

    fn sync_all(&mut self, core: &mut Core) -> Result<(), FsError> {
        self.0.sync_all(core)
    }
}
