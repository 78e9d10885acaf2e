//! Whom the low-memory killer ends.
//!
//! Android gives every process an `oom_score_adj`: how little its end would be noticed. The killer takes the highest first,
//! and of several the one with the most memory. The values are those of `ProcessList` in Android's activity manager:
//! 0 for the app in the foreground, 700 for the one before it, 800 for services that have run for long, and from 900 in steps
//! of 10 for cached apps, the latest first.

use units::AppId;

/// `FOREGROUND_APP_ADJ`.
pub const FOREGROUND: u16 = 0;
/// `PREVIOUS_APP_ADJ`: the app that the user has just left.
pub const PREVIOUS: u16 = 700;
/// `SERVICE_B_ADJ`: a service without a window that has run for a while.
pub const SERVICE: u16 = 800;
/// `CACHED_APP_MIN_ADJ`, the app before that.
pub const CACHED: u16 = 900;
/// `CACHED_APP_MAX_ADJ`.
const CACHED_MOST: u16 = 999;
/// From one cached app to the one used before it.
const CACHED_STEP: u16 = 10;

/// Priority categories of kills: HPBvalve Figs. 7 and 16 have seven, without their borders; "the second-highest apps are the
/// user recently used ones but in the BG" (Sec. 4.4). Each is named and begins at an `oom_score_adj`.
pub const CATEGORIES: [(&str, u16); 7] = [
    ("foreground", 0),
    ("recent", 200),
    ("service or first cached", 800),
    ("second cached", 910),
    ("third cached", 920),
    ("fourth cached", 930),
    ("cached long ago", 940),
];

/// Place in [`CATEGORIES`], 0 for what matters most.
pub fn category(adj: u16) -> usize {
    CATEGORIES.iter().rposition(|&(_, from)| adj >= from).unwrap_or(0)
}

/// A process that may be killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// Which app.
    pub app: AppId,
    /// How little its end would be noticed.
    pub adj: u16,
    /// What its end would give back, in bytes.
    pub bytes: u64,
}

/// `oom_score_adj` of a cached app by how many cached apps were used after it.
pub fn cached_adj(newer: usize) -> u16 {
    CACHED + (newer.min(usize::from(CACHED_MOST)) as u16).saturating_mul(CACHED_STEP).min(CACHED_MOST - CACHED)
}

/// The one to kill: highest `oom_score_adj`, then most memory. The app in the foreground stays.
pub fn victim(candidates: impl IntoIterator<Item = Candidate>) -> Option<Candidate> {
    let others = candidates.into_iter().filter(|c| c.adj > FOREGROUND && c.bytes > 0);
    others.max_by_key(|c| (c.adj, c.bytes, std::cmp::Reverse(c.app)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(app: u16, adj: u16, bytes: u64) -> Candidate {
        Candidate { app: AppId(app), adj, bytes }
    }

    #[test]
    fn what_is_missed_least_goes_first_and_the_foreground_never() {
        let mut all = vec![
            candidate(1, FOREGROUND, 900),
            candidate(2, PREVIOUS, 500),
            candidate(3, SERVICE, 10),
            candidate(4, SERVICE, 80),
            candidate(5, cached_adj(0), 5),
            candidate(6, cached_adj(1), 0),
        ];
        let mut order = Vec::new();
        while let Some(found) = victim(all.iter().copied()) {
            order.push(found.app.0);
            all.retain(|c| c.app != found.app);
        }
        assert_eq!(order, [5, 4, 3, 2], "6 has nothing to give");
    }

    #[test]
    fn equals_are_told_apart_by_number() {
        assert_eq!(victim([candidate(2, 900, 5), candidate(1, 900, 5)]).unwrap().app, AppId(1));
    }

    #[test]
    fn categories_follow_the_score() {
        let adjs = [0, 100, 200, 700, 800, 900, 909, 910, 925, 939, 940, 999, 1000];
        assert_eq!(adjs.map(category), [0, 0, 1, 1, 2, 2, 2, 3, 4, 5, 6, 6, 6]);
        assert_eq!([0, 1, 9, 10, 5000].map(cached_adj), [900, 910, 990, 999, 999]);
    }
}
