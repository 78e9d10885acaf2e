//! The exclusive jobs of collection: GC and wear levelling steps, and garbage collection of metadata superblocks.

use nand::{Cause, Completed, Priority, Work};
use units::{Lpa, Ppa, Seq, Superblock};

use super::state::Engine;
use super::waiting::MetaGc;
use crate::config::GcRuns;
use crate::core::ops::{ProgramReason, Purpose};
use crate::core::{Job, META_RESERVE};
use crate::seat::{Commit, HostRole, Mapping, Search};
use crate::space::blocks::{State, Stream};
use crate::space::gc::{PageCopy, Phase, Reason, Victim};
use crate::sram::pool::Owner;

impl<M: Mapping> Engine<M> {
    /// Begins a GC step if there is an occasion and it can run. True if it has begun.
    #[inline(always)]
    pub(super) fn begin_gc_step(&mut self) -> bool {
        let free = self.core.blocks.free();
        if self.core.has_more_occasions { self.begin_on_any_occasion(free) } else { self.begin_if_due(free) }
    }

    /// Begins a step for which writes have paid, or for which they wait.
    #[inline(always)]
    fn begin_if_due(&mut self, free: u32) -> bool {
        self.gc.due(free) && self.map.gc_ready(&self.core) && self.begin_due_gc_step(free, Reason::Due)
    }

    /// See [`EngineConfig::has_more_occasions`](crate::config::EngineConfig::has_more_occasions).
    #[inline(never)]
    fn begin_on_any_occasion(&mut self, free: u32) -> bool {
        self.core.cfg.gc.copies_percent > 0 && self.begin_random_copies(free)
            || self.begin_if_due(free)
            || self.core.cfg.gc.leaves_rows() && self.begin_kept_rows(free)
            || self.begin_refresh()
            || self.begin_idle_gc()
    }

    /// Begins a step that is due, or in idle time one that is worth it.
    #[inline(never)]
    pub(super) fn begin_due_gc_step(&mut self, free: u32, reason: Reason) -> bool {
        // A device that only reads needs room for nothing but the data that it still holds. Failing flash takes more
        // from it than GC gains with victims that are nearly full of valid pages.
        if self.core.is_read_only() && self.core.buffer.held() == 0 {
            return false;
        }
        if self.gc.victim.is_none() && !self.choose_victim(free, reason) {
            return self.begin_last_row(free);
        }
        let must = match reason {
            Reason::Due | Reason::Refresh => true,
            // A victim of before has to go first.
            Reason::Fold => M::HOST != HostRole::KeepsMapping,
            Reason::Idle => false,
        };
        if !must && !self.is_worth() {
            return false;
        }
        self.begin_step_of_victim(free)
    }

    /// Begins a step of the victim that there is, if it can copy a row.
    pub(super) fn begin_step_of_victim(&mut self, free: u32) -> bool {
        // A step needs log room for every page that it copies. It may open at most one superblock, if one is free.
        let limit = self.core.layout.superblock_units() / 2;
        let may_open = free > 0 && self.core.records.ready() && self.map.may_open(&mut self.core, Stream::Gc);
        let places = if may_open { limit } else { self.core.blocks.room(Stream::Gc).min(limit) };
        let budget = usize::from(self.buffers_for_step())
            .min(self.map.room(&self.core))
            .min(places as usize)
            .saturating_sub(self.gc.waiting_len())
            .min(self.gc.longest_step());
        if budget < self.least_budget() {
            self.map.starved(&mut self.core);
            return false;
        }
        self.begin_step(free, budget);
        self.scan_random_pages();
        true
    }

    fn begin_step(&mut self, free: u32, budget: usize) {
        self.core.begin_job(Job::Gc);
        self.core.stats.gc_steps += 1;
        self.core.stats.gc_urgent_steps += u64::from(self.gc.urgent(free));
        self.gc.begin_step(budget);
    }

    /// True if commands can go on beside the present step. Where something waits for its end, they have to wait, too,
    /// because its operations come after theirs.
    pub(super) fn gc_step_goes_beside(&self) -> bool {
        let searches = self.gc.phase == Phase::Search && !M::SEARCHES_BESIDE;
        let awaited = self.gc.urgent(self.core.blocks.free())
            || self.core.meta.free() <= META_RESERVE
            || self.map.wants_flush(&self.core);
        !searches && !awaited
    }

    /// Buffers that a step may take. Beside commands it leaves the reserve to reads, except for a row of its own.
    fn buffers_for_step(&self) -> u16 {
        let all = self.core.sram.available(Owner::Gc);
        match self.core.cfg.gc.runs {
            GcRuns::Alone => all,
            GcRuns::Beside => {
                let row = self.core.layout.row_units() as u16 + self.gc.waiting_len() as u16;
                self.core.sram.available(Owner::Write).max(row).min(all)
            }
        }
    }

    /// The fewest pages for which a step begins: a row. But while host writes wait for GC, they hold all buffers except
    /// the reserve. Copies that wait for a full row hold a part of that, and the budget leaves as many to reads. What
    /// remains may be less than a row, and then there will never be more. It is enough to fill the row, because the
    /// reserve has two.
    fn least_budget(&self) -> usize {
        let row = self.core.layout.row_units() as usize;
        let remains = usize::from(self.core.cfg.sram.reserve).saturating_sub(2 * self.gc.waiting_len());
        row.min(remains).max(1)
    }

    /// Begins a step that programs a last, short row. Nothing can be collected, and host writes wait. Only the copies
    /// that wait for a full row keep their source blocks from being erased. True if it has begun.
    fn begin_last_row(&mut self, free: u32) -> bool {
        let may_open = free > 0 && self.core.records.ready() && self.map.may_open(&mut self.core, Stream::Gc);
        let fits = may_open || self.core.blocks.room(Stream::Gc) as usize >= self.gc.waiting_len();
        let stuck = self.gc.urgent(free) && self.gc.waiting_len() > 0 && fits;
        stuck && self.map.room(&self.core) >= self.gc.waiting_len() && self.begin_to_program(free)
    }

    /// Begins a step that only programs copies. A step beside commands may have left full rows of them, because host
    /// data took log entries or log blocks meanwhile. Until they are on flash, they hold buffers that others wait for.
    #[inline(never)]
    fn begin_kept_rows(&mut self, free: u32) -> bool {
        let (open, row) = (self.core.blocks.room_in_row(Stream::Gc), self.core.layout.row_units());
        let n = if open > 0 { open } else { row } as usize;
        let kept = self.gc.queue.len() >= n && self.map.room(&self.core) >= n;
        let places = open > 0 || kept && free > 0 && self.core.records.ready();
        let may_open = open > 0 || places && self.map.may_open(&mut self.core, Stream::Gc);
        (kept && may_open || self.keeps_hot_rows()) && self.begin_to_program(free)
    }

    fn begin_to_program(&mut self, free: u32) -> bool {
        self.begin_step(free, 0);
        self.gc.phase = Phase::Program;
        true
    }

    /// A host that names victims folds by its own policy.
    fn choose_victim(&mut self, free: u32, reason: Reason) -> bool {
        // The host may have overwritten the cold superblock while wear levelling waited.
        self.gc.wear_due = self.gc.wear_due.filter(|&sb| self.core.blocks.settled(sb));
        let level = self.gc.wear_due.filter(|_| self.gc.may_level(free));
        let fold = if reason == Reason::Fold && M::HOST != HostRole::KeepsMapping {
            self.core.blocks.first_in_slc()
        } else {
            None
        };
        let refresh = if reason == Reason::Refresh { self.core.refresh_due() } else { None };
        // No other superblock does in place of one to be folded that the log still names, nor does one for a refresh. A
        // host that names victims is asked for it, and may have named another before.
        let only = fold.or(refresh.filter(|_| M::HOST != HostRole::KeepsMapping));
        let found = self.map.victim(&mut self.core, fold.or(refresh).or(level));
        let Some(mut victim) = found.filter(|victim| only.is_none_or(|sb| sb == victim.sb)) else {
            if only.is_some() {
                return false;
            }
            if self.gc.urgent(free) {
                self.map.starved(&mut self.core);
            } else {
                self.gc.postpone(free);
            }
            return false;
        };
        if reason == Reason::Idle && M::HOST != HostRole::KeepsMapping && !self.gains_enough(&victim) {
            return false;
        }
        victim.wear &= fold != Some(victim.sb);
        self.core.stats.slc_victims += u64::from(self.core.blocks.slc().holds(victim.sb));
        victim.refresh = victim.wear && self.core.refresh_due() == Some(victim.sb);
        if victim.refresh {
            self.core.stats.refresh_victims += 1;
            self.core.disturb.iter_mut().for_each(|reads| reads.reset(victim.sb));
        } else {
            if victim.wear {
                self.gc.wear_due = None;
                self.core.stats.wear_victims += 1;
            }
            self.gc.chosen(&victim);
        }
        self.core.stats.gc_victims += 1;
        let erases = self.core.nand.erase_count(victim.sb);
        self.gc.victim = Some(Victim { erases, ..victim });
        true
    }

    /// Continues a step: search, read, program, each after the one before. True when the step is finished.
    pub(super) fn advance_gc(&mut self) -> bool {
        loop {
            match self.gc.phase {
                Phase::Search => {
                    let erased = self.victim_is_erased();
                    let victim = self.gc.victim.as_mut().expect("a step has a victim");
                    if erased {
                        victim.found.clear();
                        self.core.sram.give(Owner::Map, std::mem::take(&mut victim.held));
                        self.gc.exhausted = true;
                        self.gc.phase = Phase::Program;
                        continue;
                    }
                    match self.map.search(&mut self.core, victim, self.gc.budget) {
                        Search::Reading => return false,
                        Search::Found => {}
                        Search::Exhausted => self.gc.exhausted = true,
                    }
                    self.core.stats.search_ns += (self.core.now - self.core.job_began).0;
                    self.gc.phase = Phase::Read;
                }
                Phase::Read => {
                    self.gc.phase = Phase::Program;
                    if self.read_victim() {
                        return false;
                    }
                }
                Phase::Program => {
                    if self.map.copies_in_order() {
                        self.gc.order_queue();
                    }
                    if !self.program_copies() {
                        return false;
                    }
                    self.gc.phase = Phase::Finish;
                    if self.core.job_ops > 0 {
                        return false;
                    }
                }
                Phase::Finish => {
                    self.finish_step();
                    return true;
                }
            }
        }
    }

    /// Reads the pages found, with one operation for a run in a row. True if it has submitted a read.
    fn read_victim(&mut self) -> bool {
        let victim = self.gc.victim.as_mut().expect("a step has a victim");
        self.core.sram.give(Owner::Map, std::mem::take(&mut victim.held));
        let mut found = std::mem::take(&mut victim.found);
        // Sorted by place, pages of one row are adjacent and are read together.
        found.sort_unstable();
        let mut at = 0;
        while at < found.len() {
            let row = self.core.layout.row_start(found[at]);
            let mut n = 1;
            while at + n < found.len()
                && self.core.layout.row_start(found[at + n]) == row
                && found[at + n] == found[at].offset(n as u32)
            {
                n += 1;
            }
            if !self.core.sram.take(Owner::Gc, n as u16) {
                break;
            }
            let (ppa, n) = (found[at], n as u32);
            self.core.blocks.pin(self.core.layout.superblock_of(ppa));
            self.core.job_ops += 1;
            let work = Work::Read { ppa, units: n };
            self.core.submit(work, Priority::Gc, Cause::GcRead, Purpose::GcRead { ppa, n });
            at += n as usize;
        }
        // Reads of the host that waited for a segment may have taken buffers since the step began. The next step reads
        // the remaining pages.
        found.drain(..at);
        self.gc.exhausted &= found.is_empty();
        self.gc.victim.as_mut().expect("as above").found = found;
        at > 0
    }

    pub(super) fn gc_read_done(&mut self, done: &Completed, ppa: Ppa, n: u32) {
        self.core.job_ops -= 1;
        let source = self.core.superblock_of(ppa);
        for i in 0..n {
            let spare = self.core.nand.spare(done, i);
            match spare {
                Some(s) if self.map.still_valid(&self.core, Lpa(s.lpa), ppa.offset(i)) => {
                    let hot = self.core.heat.as_ref().is_some_and(|heat| heat.is_hot(Lpa(s.lpa)));
                    self.gc.keep(PageCopy { lpa: Lpa(s.lpa), stamp: s.stamp, version: s.version, source }, hot);
                }
                _ => self.core.sram.give(Owner::Gc, 1),
            }
        }
        self.core.unpin(ppa);
    }

    /// Programs full rows of copies. A short row waits for the next step, unless free superblocks are so short that the
    /// victim has to be erased now. False if programming has to continue after a superblock has been recorded as
    /// opened.
    pub(super) fn program_copies(&mut self) -> bool {
        let collected = self.gc.exhausted || self.gc.victim.is_none();
        let refresh = self.gc.victim.as_ref().is_some_and(|victim| victim.refresh);
        let force = collected && (self.gc.urgent(self.core.blocks.free()) || refresh || self.must_end_fold());
        if !self.gc.hot_queue.is_empty() && !self.program_hot_copies(force) {
            return false;
        }
        while !self.gc.queue.is_empty() {
            let mut row = self.core.blocks.room_in_row(Stream::Gc);
            if row == 0 {
                if self.core.cfg.gc.leaves_rows() {
                    // Host data may have taken log blocks since the step began, or be recording one.
                    if !self.core.records.ready() {
                        return false;
                    }
                    if self.none_free_for_copies() || !self.map.may_open(&mut self.core, Stream::Gc) {
                        break;
                    }
                }
                let sb = self.core.blocks.open_next(Stream::Gc).expect("a step begins only with a free superblock");
                self.opened(Stream::Gc, sb, ProgramReason::Job);
                row = self.core.blocks.room_in_row(Stream::Gc);
            }
            if !self.core.records.recorded(Stream::Gc) {
                return false;
            }
            let queued = self.gc.queue.len() as u32;
            let n = queued.min(row);
            // A step may have read more than the log has room for: pages that the previous step found and left.
            if queued < row && !force || self.map.room(&self.core) < n as usize {
                break;
            }
            self.program_copy_row(Stream::Gc, n);
        }
        true
    }

    /// True if the superblock that there was when the step began may have gone to hot data.
    fn none_free_for_copies(&self) -> bool {
        self.core.heat.is_some() && self.core.blocks.free() == 0
    }

    /// True if the last copies of a superblock must not wait for a full row: only so it is empty, as the host wants it.
    fn must_end_fold(&self) -> bool {
        let in_slc = self.gc.victim.as_ref().is_some_and(|victim| self.core.blocks.slc().holds(victim.sb));
        in_slc && self.core.cfg.slc.booster.is_some()
    }

    pub(super) fn program_copy_row(&mut self, stream: Stream, n: u32) {
        let seq = self.core.take_seq(n);
        let mut items = std::mem::take(&mut self.core.row_lists.items);
        for _ in 0..n {
            let copy = self.gc.queue_of(stream).pop_front().expect("counted by the caller");
            self.hold_source(copy);
            items.push(copy);
        }
        self.submit_row(stream, &items, seq);
        items.clear();
        self.core.row_lists.items = items;
        self.core.units_to_log += n as usize;
        self.core.copies_to_log += n as usize;
    }

    /// Beside commands, the source of a copy could be erased and filled again while the copy is being programmed. It
    /// would name a block that may hold newer data of its address by then.
    fn hold_source(&mut self, copy: u32) {
        if self.core.cfg.gc.runs == GcRuns::Beside {
            self.core.blocks.pin(self.gc.page(copy).source);
        }
    }

    pub(super) fn gc_program_done(&mut self, token: u32, ppa: Ppa, n: u32, seq: Seq) {
        let sb = self.core.superblock_of(ppa);
        self.core.programs -= 1;
        self.core.job_ops -= 1;
        self.core.units_to_log -= n as usize;
        self.core.copies_to_log -= n as usize;
        self.core.blocks.programmed(sb, n);
        self.core.sram.give(Owner::Gc, n as u16);
        for i in 0..n {
            let id = self.core.ops.item(token, i);
            let copy = self.gc.page(id);
            self.gc.release(id);
            let commit = Commit {
                lpa: copy.lpa,
                ppa: ppa.offset(i),
                seq: seq.plus(i),
                source: Some(copy.source),
                newest: true,
                overtaken: false,
            };
            self.map.committed(&mut self.core, commit);
            if self.core.cfg.gc.runs == GcRuns::Beside {
                self.core.unpin_superblock(copy.source);
            }
        }
        self.map.program_done(&mut self.core, sb);
    }

    /// Drops copies that wait for a full row if the log has a newer place of their address. A map flush would clear the
    /// log, and then nothing would tell that the copies are out of date.
    pub(super) fn forget_overtaken_copies(&mut self) {
        let log = &self.core.log;
        let dropped = self.gc.forget(|page| log.get(page.lpa).is_some());
        self.core.sram.give(Owner::Gc, dropped);
    }

    fn finish_step(&mut self) {
        self.gc.end_step(self.core.blocks.free());
        self.core.waiting_sources = self.gc.waiting().map(|page| page.source).collect();
        if self.gc.exhausted {
            let erased = self.victim_is_erased();
            let victim = self.gc.victim.take().expect("a step has a victim");
            if !erased && !victim.random {
                self.map.collected(&mut self.core, victim.sb);
                // Nothing else will ask soon for the map flush that makes the folded superblocks free.
                if self.core.blocks.folded(victim.sb) || self.core.ends_folding(victim.sb) {
                    self.map.starved(&mut self.core);
                }
            }
        }
    }

    /// True if the victim is being or has been erased, because the host has overwritten or trimmed its last valid page.
    fn victim_is_erased(&self) -> bool {
        self.gc.victim.as_ref().filter(|victim| !victim.random).is_some_and(|victim| {
            let erases = self.core.nand.erase_count(victim.sb);
            self.core.blocks.state(victim.sb) != State::Closed || erases != victim.erases
        })
    }

    pub(super) fn erase_done(&mut self, sb: Superblock, failed: bool) {
        let Some(usable) = self.core.die_erased(sb, failed) else { return };
        if !self.core.blocks.exists(sb) {
            if !usable {
                // Metadata superblocks are few and wear slowly, so a failed erase is repeated.
                self.core.erase(sb);
                return;
            }
            self.core.meta.erased(sb);
            self.core.job_ops -= 1;
            return;
        }
        // The copies would name a source block that may hold newer data of the same address by then. They would pass
        // the source check and replace the newer data.
        let forgotten = self.gc.forget(|page| page.source == sb);
        self.core.sram.give(Owner::Gc, forgotten);
        if !usable {
            self.core.blocks.set_bad(sb);
            self.core.stats.superblocks_retired += 1;
            return;
        }
        let count = self.core.nand.erase_count(sb);
        self.core.blocks.erased(sb, count);
        self.core.disturb.iter_mut().for_each(|reads| reads.reset(sb));
        let least = self.core.blocks.least_worn_closed(|b| self.core.nand.erase_count(b));
        if let Some((cold, worn)) = least
            && self.core.blocks.max_erases() - worn > self.core.cfg.wear_spread
        {
            self.gc.wear_due = Some(cold);
        }
    }

    pub(super) fn begin_meta_gc(&mut self) {
        // The victim may hold the newest snapshot of the directory, so it is erased only after the programs of the new
        // snapshot have finished.
        if self.core.meta.free() > 1 {
            self.core.open_meta();
        }
        self.meta_gc = MetaGc::default();
    }

    /// Makes sure, for an exclusive job, that a metadata superblock is open; a snapshot that could not be programmed
    /// does not count. True when the snapshot is whole. Before it opens the last free superblock, it erases superblocks
    /// of failed snapshots, because a row of failures must not use all superblocks up.
    pub(super) fn meta_opened(&mut self) -> bool {
        if self.core.programs > 0 {
            return false;
        }
        let short = !self.core.meta.is_open() && self.core.meta.free() <= 1;
        if short && let Some(sb) = self.core.meta.take_abandoned() {
            self.core.job_ops += 1;
            self.core.erase(sb);
            return false;
        }
        self.core.open_meta();
        self.core.programs == 0
    }

    /// Copies the valid pieces of the victim in rounds of as many pieces as there are buffers, then erases the victim.
    /// True when that is done.
    pub(super) fn advance_meta_gc(&mut self) -> bool {
        if self.core.programs > 0 && self.meta_gc.held == 0 && !self.meta_gc.erasing {
            // The directory does not know the place of a piece whose program is under way.
            return false;
        }
        if self.meta_gc.held > 0 {
            return self.write_back_pieces();
        }
        if self.meta_gc.erasing {
            self.meta_gc = MetaGc::default();
            return true;
        }
        let victim = match self.meta_gc.victim {
            Some(victim) => victim,
            None => {
                if !self.meta_opened() {
                    return false;
                }
                let (sb, pieces) = self.core.meta.take_victim().expect("metadata superblocks fill before they run out");
                self.meta_gc = MetaGc { victim: Some(sb), pieces, ..MetaGc::default() };
                sb
            }
        };
        if self.meta_gc.pieces.is_empty() {
            self.meta_gc.erasing = true;
            self.core.job_ops += 1;
            self.core.erase(victim);
            return false;
        }
        self.read_pieces();
        false
    }

    /// Reads as many of the victim's pieces as there are buffers. Pieces that share a flash unit come with one read,
    /// and take only as many buffers as they fill together (MSFTL Sec. 3.4).
    fn read_pieces(&mut self) {
        let meta = &self.core.meta;
        let mut room = u32::from(self.core.sram.available(Owner::Map));
        if !meta.units().is_plain() && room >= meta.program_units() {
            // Every round but the last fills whole programs.
            room -= room % meta.program_units();
        }
        let mut placing = meta.placing();
        let mut reads: Vec<(Ppa, u32)> = Vec::new();
        let mut n = 0;
        for &(ppa, piece) in &self.meta_gc.pieces {
            let mut next = placing;
            next.put(piece);
            if next.units() > room {
                break;
            }
            if reads.last().is_none_or(|&(last, _)| last != ppa) {
                reads.push((ppa, meta.units_of(piece)));
            }
            (placing, n) = (next, n + 1);
        }
        assert!(n > 0, "the reserve leaves buffers for metadata");
        let taken = self.core.sram.take(Owner::Map, placing.units() as u16);
        assert!(taken, "counted above");
        (self.meta_gc.held, self.meta_gc.round) = (placing.units() as u16, n);
        for (ppa, units) in reads {
            self.core.job_read(ppa, units, Cause::MapRead);
        }
    }

    /// Programs the pieces of the round, which are in SRAM. False: the job has to continue when the programs are done.
    fn write_back_pieces(&mut self) -> bool {
        let (core, mut reads, mut round) = (&mut self.core, 0, Vec::new());
        for (place, piece) in self.meta_gc.pieces.drain(..self.meta_gc.round) {
            let shown = core.job_reads.shows_next(&mut reads, piece, place, core.meta.pages());
            // A snapshot may name a piece that was dropped before a power cut, at a place that was used again since.
            if !shown && core.meta.kind(piece).can_be_dropped() {
                core.meta.drop_piece(piece);
                continue;
            }
            assert!(shown, "the read of {piece:?} at {place} shows something else");
            round.push(piece);
        }
        core.program_all_pieces(&round, ProgramReason::Move);
        core.sram.give(Owner::Map, self.meta_gc.held);
        self.meta_gc.held = 0;
        round.is_empty() && self.advance_meta_gc()
    }
}

#[cfg(test)]
mod tests;
