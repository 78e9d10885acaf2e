//! Saving content and wear of an array without power to a file, and loading them.

use std::io::{Read, Write};

use archive::{ArchiveError, Reader, Writer};
use units::Superblock;

use crate::geometry::Geometry;
use crate::nand::Nand;
use crate::state::{Block, DieBlock, State};
use crate::timing::Timing;
use crate::versions::Versions;

impl Nand {
    /// Writes the content of the array and its erase counts.
    ///
    /// # Errors
    /// Errors of the archive.
    ///
    /// # Panics
    /// If an operation is in flight.
    pub fn save<W: Write>(&self, to: &mut Writer<W>) -> Result<(), ArchiveError> {
        assert!(self.idle(), "an array is stored only while nothing is in flight");
        self.state.save(to)
    }

    /// An array with the same geometry, content and wear. Its counters begin at zero.
    ///
    /// # Panics
    /// If the geometry is not the same.
    pub fn renewed(self, geometry: Geometry, timing: Timing) -> Nand {
        assert!(*self.layout.geometry() == geometry, "contents do not fit another geometry");
        let mut nand = Nand::new(geometry, timing);
        nand.state = self.state;
        nand
    }

    /// An array with the content that [`Nand::save`] has written. Its counters begin at zero.
    ///
    /// # Errors
    /// If the file is damaged or was made with another geometry.
    ///
    /// # Panics
    /// See [`Nand::new`].
    pub fn load<R: Read>(geometry: Geometry, timing: Timing, from: &mut Reader<R>) -> Result<Nand, ArchiveError> {
        let mut nand = Nand::new(geometry, timing);
        nand.state.load(from)?;
        Ok(nand)
    }
}

impl State {
    fn save<W: Write>(&self, to: &mut Writer<W>) -> Result<(), ArchiveError> {
        let blocks = self.blocks.iter();
        to.table("blocks.submitted", &blocks.clone().map(|b| b.submitted).collect::<Vec<_>>())?;
        to.table("blocks.programmed", &blocks.map(|b| b.programmed).collect::<Vec<_>>())?;
        let die_blocks = self.die_blocks.iter();
        to.table("die_blocks.erases", &die_blocks.clone().map(|b| b.erases).collect::<Vec<_>>())?;
        to.table("die_blocks.half_erased", &die_blocks.clone().map(|b| u8::from(b.half_erased)).collect::<Vec<_>>())?;
        to.table("die_blocks.first_seq", &die_blocks.map(|b| b.first_seq).collect::<Vec<_>>())?;
        to.table("superblocks.slc", &self.slc.iter().map(|&slc| u8::from(slc)).collect::<Vec<_>>())?;
        let used = self.used();
        to.table("superblocks.used", &used.iter().map(|sb| sb.0).collect::<Vec<_>>())?;
        for &sb in &used {
            let (units, pages) = self.extent(sb);
            to.table("spares", self.spares[units].as_flattened())?;
            to.table("seqs", &self.seqs[pages])?;
            to.table("lags", self.versions.lags(sb))?;
        }
        Ok(())
    }

    fn load<R: Read>(&mut self, from: &mut Reader<R>) -> Result<(), ArchiveError> {
        let mut numbers = vec![0; self.blocks.len()];
        from.table_into("blocks.submitted", &mut numbers)?;
        set(&mut self.blocks, &numbers, |block, n| block.submitted = n);
        from.table_into("blocks.programmed", &mut numbers)?;
        set(&mut self.blocks, &numbers, |block, n| block.programmed = n);
        self.load_die_blocks(from)?;
        let mut slc = vec![0u8; self.slc.len()];
        from.table_into("superblocks.slc", &mut slc)?;
        set(&mut self.slc, &slc, |to, of| *to = of != 0);
        self.check_blocks()?;
        let superblocks = self.layout.geometry().superblocks();
        let used = from.table::<u32>("superblocks.used", superblocks as usize)?;
        if let Some(&sb) = used.iter().find(|&&sb| sb >= superblocks) {
            let problem = format!("names superblock {sb}: must be below {superblocks}");
            return Err(ArchiveError::table("superblocks.used", problem));
        }
        for sb in used.into_iter().map(Superblock) {
            let (units, pages) = self.extent(sb);
            let size = units.len();
            from.table_into("spares", self.spares[units].as_flattened_mut())?;
            from.table_into("seqs", &mut self.seqs[pages])?;
            let lags = from.table("lags", size)?;
            self.versions.restore(sb, lags)?;
        }
        Ok(())
    }

    fn load_die_blocks<R: Read>(&mut self, from: &mut Reader<R>) -> Result<(), ArchiveError> {
        let mut erases = vec![0u32; self.die_blocks.len()];
        from.table_into("die_blocks.erases", &mut erases)?;
        set(&mut self.die_blocks, &erases, |block, n| block.erases = n);
        let mut half_erased = vec![0u8; self.die_blocks.len()];
        from.table_into("die_blocks.half_erased", &mut half_erased)?;
        set(&mut self.die_blocks, &half_erased, |block, n| block.half_erased = n != 0);
        let mut seqs = vec![0u64; self.die_blocks.len()];
        from.table_into("die_blocks.first_seq", &mut seqs)?;
        set(&mut self.die_blocks, &seqs, |block: &mut DieBlock, n| block.first_seq = n);
        let dies = self.layout.geometry().superblock_dies as usize;
        for (count, of_superblock) in self.erase_counts.iter_mut().zip(erases.chunks_exact(dies)) {
            *count = of_superblock.iter().copied().min().unwrap_or(0);
        }
        self.max_erase_count = self.erase_counts.iter().copied().max().unwrap_or(0);
        Ok(())
    }

    fn check_blocks(&self) -> Result<(), ArchiveError> {
        let pages = self.layout.geometry().pages_per_block;
        let planes = self.layout.geometry().planes as usize;
        for (die_block, blocks) in self.die_blocks.iter().zip(self.blocks.chunks_exact(planes)) {
            let fits = |block: &Block| match die_block.half_erased {
                true => block.programmed == 0 && u32::from(block.submitted) == pages,
                false => block.submitted == block.programmed && u32::from(block.submitted) <= pages,
            };
            if let Some(block) = blocks.iter().find(|block| !fits(block)) {
                let problem = format!(
                    "{} of {} pages are programmed: must be equal, and at most {pages}",
                    block.programmed, block.submitted
                );
                return Err(ArchiveError::table("blocks.programmed", problem));
            }
        }
        Ok(())
    }

    /// Superblocks that are not erased.
    fn used(&self) -> Vec<Superblock> {
        (0..self.layout.geometry().superblocks()).map(Superblock).filter(|&sb| !self.is_erased(sb)).collect()
    }

    /// Ranges of the units and plane pages of a superblock.
    fn extent(&self, sb: Superblock) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
        let size = self.layout.superblock_units() as usize;
        let page = self.layout.geometry().units_per_page as usize;
        let first = self.layout.first_ppa(sb).index();
        (first..first + size, first / page..(first + size) / page)
    }
}

fn set<T, N: Copy>(of: &mut [T], numbers: &[N], put: impl Fn(&mut T, N)) {
    of.iter_mut().zip(numbers).for_each(|(item, &number)| put(item, number));
}

impl Versions {
    /// The stored lags of a superblock; empty if there are none.
    fn lags(&self, sb: Superblock) -> &[u32] {
        self.lags[sb.index()].as_deref().unwrap_or(&[])
    }

    fn restore(&mut self, sb: Superblock, lags: Vec<u32>) -> Result<(), ArchiveError> {
        if !lags.is_empty() && lags.len() != self.units {
            let problem = format!("has {} numbers for {sb}: must be 0 or {}", lags.len(), self.units);
            return Err(ArchiveError::table("lags", problem));
        }
        self.lags[sb.index()] = (!lags.is_empty()).then(|| lags.into_boxed_slice());
        Ok(())
    }
}
