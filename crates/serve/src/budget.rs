//! Memory for requests under way and for replies that clients have not taken: one budget for all connections.
//!
//! Each connection has a share of its own, so that nobody is locked out; what it takes beyond that comes from a pool.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How much memory there is, in bytes. A request that is larger than the pool would wait for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// What every connection may have under way.
    pub share: usize,
    /// For all connections together beyond their shares.
    pub pool: usize,
    /// What one connection may have under way, unless a single request has more.
    pub most: usize,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory { share: 1 << 20, pool: 128 << 20, most: 64 << 20 }
    }
}

#[derive(Default)]
struct State {
    /// What the pool has given.
    given: usize,
    /// Room has been made so many times.
    freed: u64,
    /// Somebody was refused since room was made.
    wanted: bool,
}

/// The budget of a server.
pub struct Budget {
    memory: Memory,
    state: Mutex<State>,
    changed: Condvar,
}

impl Budget {
    /// A budget of so much memory.
    pub fn new(memory: Memory) -> Budget {
        Budget { memory, state: Mutex::default(), changed: Condvar::new() }
    }

    /// What a connection takes from the pool.
    fn beyond_share(&self, held: usize) -> usize {
        held.saturating_sub(self.memory.share)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that holds so many bytes wants more. False if it has to wait.
    pub fn take(&self, held: usize, more: usize) -> bool {
        let wanted = held + more;
        if held > 0 && wanted > self.memory.most {
            return false;
        }
        if wanted <= self.memory.share {
            return true;
        }
        let mut state = self.lock();
        let given = state.given - self.beyond_share(held) + self.beyond_share(wanted);
        if given > self.memory.pool {
            state.wanted = true;
            return false;
        }
        state.given = given;
        true
    }

    /// A connection that held so many bytes needs less.
    pub fn give_back(&self, held: usize, less: usize) {
        let freed = self.beyond_share(held) - self.beyond_share(held - less);
        if freed > 0 {
            let mut state = self.lock();
            state.given -= freed;
            state.freed += 1;
            state.wanted = false;
            drop(state);
            self.changed.notify_all();
        }
    }

    /// There may be room for who was told to wait.
    pub fn nudge(&self) {
        self.lock().freed += 1;
        self.changed.notify_all();
    }

    /// How often room has been made.
    pub fn freed(&self) -> u64 {
        self.lock().freed
    }

    /// Waits until room has been made since that was the number.
    pub fn wait(&self, freed: u64) {
        let state = self.lock();
        drop(self.changed.wait_while(state, |state| state.freed == freed).unwrap_or_else(PoisonError::into_inner));
    }

    /// True if somebody waits for the pool.
    pub fn is_wanted(&self) -> bool {
        self.lock().wanted
    }

    #[cfg(test)]
    fn given(&self) -> usize {
        self.lock().given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_is_shared_and_a_share_is_everybodys() {
        let memory = Memory::default();
        let Memory { share, pool, most } = memory;
        let budget = Budget::new(memory);
        let whole = share + (32 << 20);
        for _ in 0..pool / (32 << 20) {
            assert!(budget.take(0, whole));
        }
        assert!(!budget.take(0, share + 1) && budget.is_wanted());
        assert!(budget.take(0, share) && budget.take(share / 2, share / 2), "shares are not the pool's");
        budget.give_back(whole, 4096);
        assert!(!budget.is_wanted() && budget.take(share, 4096) && !budget.take(share, 1));
        assert_eq!(budget.given(), pool);
        assert!(!Budget::new(memory).take(most, 1), "one connection has a limit, too");
    }
}
