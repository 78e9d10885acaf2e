//! The steps of a flush whose reads and programs overlap, as a job or beside commands.

use std::ops::Range;

use super::{Mode, Phase, SegmentLog};
use ftl::seat::{Core, Loaded, Programmed};

impl SegmentLog {
    /// Moves the pipeline on as far as it goes now. True if all map units are on flash.
    fn advance_pipeline(&mut self, core: &mut Core) -> bool {
        while let Some((unit, updates, read)) = self.pipeline.next_read() {
            let read = read.loaded(core.meta().directory());
            let loaded = read.get(unit).expect("the unit itself was read");
            self.look_up(core, loaded, updates.clone());
            self.settle(core, updates);
        }
        while self.done < self.updates.sorted.len() && self.pipeline.takes_one_more(core) {
            self.enter_next(core);
        }
        let last = self.done == self.updates.sorted.len();
        // Metadata that runs short is collected before more is programmed. An exclusive job has room for a flush.
        let collects = || self.mode == Mode::Background;
        while !(collects() && core.metadata_runs_short()) && self.pipeline.program_row(core, last) {}
        last && self.pipeline.is_empty()
    }

    /// The next map unit enters the pipeline.
    fn enter_next(&mut self, core: &mut Core) {
        let units = core.units();
        let rest = &self.updates.sorted[self.done..];
        let unit = units.of(rest[0].lpa);
        let n = rest.iter().take_while(|update| units.of(update.lpa) == unit).count();
        let updates = self.done..self.done + n;
        self.done += n;
        self.updates.sorted[updates.clone()].iter().for_each(|update| core.prefetch_entry(update.lpa));
        // The flush copies a cached unit to its own buffer, so that reads find it in the cache as before.
        match core.cached_copy(unit).or_else(|| self.made(core, unit)).or_else(|| core.unwritten(unit)) {
            Some(loaded) => {
                self.look_up(core, &loaded, updates.clone());
                self.settle(core, updates.clone());
                self.pipeline.enter_changed(unit, updates);
            }
            None => self.pipeline.enter_and_read(core, unit, updates),
        }
    }

    /// Looks the entries up that updates of a map unit replace.
    fn look_up(&mut self, core: &Core, loaded: &Loaded, updates: Range<usize>) {
        let view = core.view(loaded);
        self.old.clear();
        self.old.extend(self.updates.sorted[updates].iter().map(|update| view.entry(update.lpa)));
    }

    /// Makes what the pipeline has programmed the content of a map unit.
    pub(super) fn unit_content(&self, core: &mut Core, programmed: &Programmed, updates: Range<usize>) {
        core.segment_written(programmed, self.flush_seq);
        for update in self.updates.sorted[updates].iter().filter(|update| update.holds) {
            core.set_entry(programmed, update.lpa, update.ppa);
        }
    }

    /// A step of a flush with pipeline; as [`Flush::flush`].
    pub(super) fn flush_pipelined(&mut self, core: &mut Core) -> bool {
        if self.phase == Phase::Start {
            if self.mode == Mode::Pipelined && core.programs_in_flight() > 0 {
                return false;
            }
            let cut = core.logged_up_to();
            core.close_log(cut);
            self.sort_log(core, cut);
            if self.updates.sorted.is_empty() {
                self.finish(core);
                return true;
            }
            self.phase = Phase::Pipeline;
        }
        if self.phase == Phase::Pipeline {
            if !self.advance_pipeline(core) {
                return false;
            }
            self.phase = Phase::Bitmaps;
            core.program_bitmaps_beside(&self.bitmaps(core), self.flush_seq);
        }
        if core.bitmaps_in_flight() > 0 {
            return false;
        }
        self.finish(core);
        true
    }
}
