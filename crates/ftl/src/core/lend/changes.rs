//! The log of changes, and what responses tell the host of it.

use ufs::L2pEntry;
use units::{Lpa, Ppa, Seq};

use crate::core::Core;
use crate::table::log::Log;

impl Core {
    /// The log of changes.
    #[inline(always)]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Empties the log.
    pub fn clear_log(&mut self) {
        self.log.clear();
    }

    /// The number up to which a map flush that begins now knows all changes: they are in the log or on flash. It is the
    /// last one that was given out, or the one before the first in flight.
    pub fn logged_up_to(&self) -> Seq {
        Seq(self.first_unlogged.unwrap_or(self.next_seq()).0 - 1)
    }

    /// Closes the log at a number: no entry will have changes both up to it and after it.
    pub fn close_log(&mut self, cut: Seq) {
        self.log.close(cut);
    }

    /// Drops the changes up to a number at which the log has been closed. Map units on flash have them.
    pub fn forget_changes_up_to(&mut self, cut: Seq) {
        self.log.forget_up_to(cut);
    }

    /// Drops the log's entry of an address.
    pub fn forget_change(&mut self, lpa: Lpa) {
        self.log.forget(lpa);
    }

    /// Drops the log entries that the host has applied.
    #[inline]
    pub fn forget_applied(&mut self, host_seq: Seq) {
        self.log.forget_applied(host_seq);
    }

    /// The oldest entry of the log that has not been sent to the host, for a response.
    #[inline]
    pub fn piggyback(&mut self) -> Option<&L2pEntry> {
        let entry = self.log.send_next()?;
        self.stats.entries_piggybacked += 1;
        Some(entry)
    }

    /// Up to `most` entries that have not been sent to the host, oldest first, for a command that asks for them.
    pub fn transfer(&mut self, most: usize) -> Vec<L2pEntry> {
        let n = self.log.unsent().min(most);
        let entries: Vec<_> = (0..n).map_while(|_| self.log.send_next().copied()).collect();
        self.stats.entries_transferred += entries.len() as u64;
        entries
    }

    /// The host has lost responses: every entry that is left goes to it again.
    pub fn send_again(&mut self) {
        self.log.send_again();
    }

    /// Units in programs in flight that will need a log entry.
    #[inline]
    pub fn units_to_log(&self) -> usize {
        self.units_to_log
    }

    /// Of these, units of host data.
    #[inline]
    pub fn host_units_to_log(&self) -> usize {
        self.units_to_log - self.copies_to_log
    }

    /// The mapping of an address has changed, so entries of it that an HPB host keeps are out of date.
    #[inline]
    pub fn publish_change(&mut self, lpa: Lpa, ppa: Option<Ppa>) {
        self.publisher.changed(lpa, ppa);
    }
}
