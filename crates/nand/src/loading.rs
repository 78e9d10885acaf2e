//! Cached program: while the cells of a die program, the data of the program that is next on it cross the channel.

use units::{Nanos, SimTime};

use crate::op::{Kind, NandEvent, Slot};
use crate::suspend::History;
use crate::timeline::{Phase, Timeline};

impl Timeline {
    /// While the cells of a die program, the data of the program that comes next may come already.
    #[cold]
    #[inline(never)]
    pub(crate) fn load_ahead<E: From<NandEvent>>(&mut self, now: SimTime, die: u16, wakes: &mut Vec<(SimTime, E)>) {
        if !self.cache_program {
            return;
        }
        let state = &self.dies[die as usize];
        if !matches!(state.phase, Phase::Cell(_)) || state.loading.is_some() || state.waiting == 0 {
            return;
        }
        let queue = state.waiting.trailing_zeros() as usize;
        let next = state.queues[queue][0];
        let (programs, task) = (self.running(die).task.op.work.kind() == Kind::Program, &self.slab[next as usize].task);
        if !programs || task.op.work.kind() != Kind::Program || task.transfer == Nanos::ZERO {
            return;
        }
        let state = &mut self.dies[die as usize];
        state.queues[queue].pop_front();
        if state.queues[queue].is_empty() {
            state.waiting &= !(1 << queue);
        }
        state.loading = Some((next, false));
        self.request_channel(now, die, next, wakes);
    }

    /// A program whose data has been coming follows the one that has ended.
    #[inline(never)]
    pub(crate) fn follow<E: From<NandEvent>>(
        &mut self,
        now: SimTime,
        die: u16,
        (slot, is_there): (Slot, bool),
        wakes: &mut Vec<(SimTime, E)>,
    ) {
        let state = &mut self.dies[die as usize];
        (state.running, state.sensed, state.phase) = (slot, None, Phase::Channel);
        state.history = History::from(now);
        self.slab[slot as usize].started = now;
        if let Some(waits) = &mut self.waits {
            waits.started(die, slot);
        }
        if is_there {
            self.begin_cell(now, die, wakes);
        }
    }
}
