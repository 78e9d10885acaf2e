//! The journal: a ring of blocks with transactions, as JBD2 writes them.
//!
//! A transaction is one or more descriptor blocks, each followed by copies of the metadata blocks that it names, and a
//! commit block with a checksum of all copies. The journal's own superblock has the start and the number of the first
//! transaction that may not be in place yet. Recovery replays whole transactions with ascending numbers from there on,
//! and ends at the first that is not whole (Documentation/filesystems/ext4/journal.rst).

use units::Lpa;

use crate::block::Block;
use crate::fs::codec::{Reader, Writer, checksum};

const SUPER: u32 = 0x4a42_4401;
const DESCRIPTOR: u32 = 0x4a42_4402;
const COMMIT: u32 = 0x4a42_4403;
/// Most blocks that one descriptor names.
const TAGS: usize = 500;

/// Blocks and their places.
type Copies = Vec<(Lpa, Block)>;

/// The ring.
#[derive(Clone, Debug)]
pub struct Journal {
    first: Lpa,
    /// Blocks of the ring, without the superblock.
    ring: u32,
    /// Start of the next transaction.
    head: u32,
    /// Number of blocks from the oldest transaction to the head.
    used: u32,
    /// Number of the next transaction.
    sequence: u64,
}

/// A transaction to be written.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// Descriptors and copies, to be written first.
    pub body: Copies,
    /// The block that makes it valid.
    pub commit: (Lpa, Block),
}

impl Journal {
    /// An empty journal of `blocks` blocks from `first` on. `sequence` is the number of the next transaction.
    pub fn new(first: Lpa, blocks: u32, sequence: u64) -> Journal {
        Journal { first, ring: blocks - 1, head: 0, used: 0, sequence }
    }

    fn at(&self, place: u32) -> Lpa {
        self.first.offset(1 + place % self.ring)
    }

    /// Blocks of a transaction with `count` metadata blocks.
    fn blocks_for(count: usize) -> u32 {
        (count + count.div_ceil(TAGS) + 1) as u32
    }

    /// True if a transaction with `count` metadata blocks fits.
    pub fn has_room(&self, count: usize) -> bool {
        self.used + Journal::blocks_for(count) <= self.ring
    }

    /// Lays out the next transaction.
    pub fn append(&mut self, blocks: &[(Lpa, Block)]) -> Transaction {
        assert!(self.has_room(blocks.len()), "the journal is checkpointed before it is full");
        let (mut body, mut place, mut sum) = (Vec::new(), self.head, 0);
        for part in blocks.chunks(TAGS) {
            let mut writer = Writer::new(DESCRIPTOR);
            writer.u64(self.sequence);
            writer.u32(part.len() as u32);
            part.iter().for_each(|(lpa, _)| writer.u32(lpa.0));
            body.push((self.at(place), writer.finish()));
            place += 1;
            for (_, block) in part {
                sum = chain(sum, block);
                body.push((self.at(place), block.clone()));
                place += 1;
            }
        }
        let mut writer = Writer::new(COMMIT);
        writer.u64(self.sequence);
        writer.u64(sum);
        let commit = (self.at(place), writer.finish());
        self.used += place + 1 - self.head;
        self.head = (place + 1) % self.ring;
        self.sequence += 1;
        Transaction { body, commit }
    }

    /// Everything has been written in place. Gives the superblock that says so.
    pub fn emptied(&mut self) -> (Lpa, Block) {
        self.used = 0;
        let mut writer = Writer::new(SUPER);
        writer.u64(self.sequence);
        writer.u32(self.head);
        (self.first, writer.finish())
    }

    /// Reads the journal: its state after the last whole transaction, and the copies of all of them, oldest first.
    pub fn scan<E>(
        first: Lpa,
        blocks: u32,
        mut read: impl FnMut(Lpa) -> Result<Block, E>,
    ) -> Result<Option<(Journal, Copies)>, E> {
        let superblock = read(first)?;
        let fields = Reader::open(&superblock, SUPER).and_then(|mut reader| Some((reader.u64()?, reader.u32()?)));
        let Some((sequence, head)) = fields else { return Ok(None) };
        let mut journal = Journal { head, ..Journal::new(first, blocks, sequence) };
        let mut replayed = Vec::new();
        while let Some((copies, length)) = journal.read_transaction(&mut read)? {
            replayed.extend(copies);
            journal.head = (journal.head + length) % journal.ring;
            journal.used += length;
            journal.sequence += 1;
        }
        Ok(Some((journal, replayed)))
    }

    /// The transaction at the head, if it is whole: its copies and its length in blocks.
    fn read_transaction<E>(&self, read: &mut impl FnMut(Lpa) -> Result<Block, E>) -> Result<Option<(Copies, u32)>, E> {
        let (mut copies, mut place, mut sum) = (Vec::new(), self.head, 0);
        while place - self.head + self.used < self.ring {
            let block = read(self.at(place))?;
            place += 1;
            if let Some(tags) = self.tags(&block) {
                for lpa in tags {
                    let copy = read(self.at(place))?;
                    place += 1;
                    sum = chain(sum, &copy);
                    copies.push((lpa, copy));
                }
                continue;
            }
            let commit = Reader::open(&block, COMMIT).and_then(|mut reader| Some((reader.u64()?, reader.u64()?)));
            let whole = commit == Some((self.sequence, sum));
            return Ok(whole.then_some((copies, place - self.head)));
        }
        Ok(None)
    }

    /// Places that a descriptor of the next transaction names.
    fn tags(&self, block: &Block) -> Option<Vec<Lpa>> {
        let mut reader = Reader::open(block, DESCRIPTOR)?;
        let sequence = reader.u64()?;
        let count = reader.u32()?;
        let tags = (0..count).map(|_| reader.u32().map(Lpa)).collect::<Option<Vec<Lpa>>>()?;
        (sequence == self.sequence).then_some(tags)
    }
}

fn chain(sum: u64, block: &Block) -> u64 {
    checksum(&[sum.to_le_bytes(), checksum(&block[..]).to_le_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use super::*;
    use crate::block::Image;

    fn copies(byte: u8, count: u32) -> Vec<(Lpa, Block)> {
        (0..count).map(|i| (Lpa(1000 + i), Arc::new([byte; 4096]))).collect()
    }

    fn write(image: &mut Image, transaction: &Transaction, commit: bool) {
        for (lpa, block) in transaction.body.iter().chain(commit.then_some(&transaction.commit)) {
            image.write(*lpa, block.clone());
        }
    }

    fn scan(image: &Image) -> Vec<(Lpa, Block)> {
        Journal::scan(Lpa(0), 64, |lpa| Ok::<_, Infallible>(image.read(lpa))).unwrap().unwrap().1
    }

    #[test]
    fn whole_transactions_are_replayed_also_round_the_end_of_the_ring() {
        let mut image = Image::default();
        let mut journal = Journal::new(Lpa(0), 64, 7);
        for round in 0..20 {
            let (at, superblock) = journal.emptied();
            image.write(at, superblock);
            let mut expected = Vec::new();
            for n in 0..3 {
                let blocks = copies(round * 3 + n, 5 + u32::from(round % 4));
                write(&mut image, &journal.append(&blocks), true);
                expected.extend(blocks);
                assert_eq!(scan(&image), expected, "round {round}");
            }
        }
    }

    #[test]
    fn a_transaction_without_commit_or_with_a_missing_copy_is_not_replayed() {
        let mut image = Image::default();
        let mut journal = Journal::new(Lpa(0), 64, 7);
        let (at, superblock) = journal.emptied();
        image.write(at, superblock);
        let (first, second) = (copies(1, 3), copies(2, 3));
        write(&mut image, &journal.append(&first), true);
        let mut transaction = journal.append(&second);
        write(&mut image, &transaction, false);
        assert_eq!(scan(&image), first, "no commit block");
        let (lost, _) = transaction.body.remove(2);
        image.write(lost, crate::block::zeroes());
        image.write(transaction.commit.0, transaction.commit.1.clone());
        assert_eq!(scan(&image), first, "a lost copy");
    }
}
