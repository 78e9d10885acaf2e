//! The low-memory killer: which process it ends.
//!
//! Android gives every process an `oom_score_adj`: the higher, the less the user would miss the process. The killer
//! takes the highest first, and of several with the same value the one with the most memory. The values are those of
//! `ProcessList` in Android's activity manager: 0 for the app in the foreground, 700 for the one before it, and from
//! 900 in steps of 10 for cached processes, the latest first. Processes that have shown a window come before those that
//! have not.

use units::AppId;

/// `FOREGROUND_APP_ADJ`.
pub const FOREGROUND: u16 = 0;
/// `PREVIOUS_APP_ADJ`: the app that the user has just left.
pub const PREVIOUS: u16 = 700;
/// `CACHED_APP_MIN_ADJ`: the app used before the previous one.
const CACHED: u16 = 900;
/// `CACHED_APP_MAX_ADJ`.
const CACHED_MOST: u16 = 999;
/// Difference between a cached process and the one used before it.
const CACHED_STEP: u16 = 10;
/// Apps besides the one in the foreground that count as recently used.
const RECENT: usize = 4;

/// Priority categories of kills. HPBvalve Figs. 7 and 16 have seven, "the higher the priority is, the more
/// user-perceptible the app is (e.g., the second-highest apps are the user recently used ones but in the BG)" (Sec.
/// 4.4). The paper gives no borders. Here the first three are apps that the user has opened; the others are processes
/// that no user has opened, by age.
pub const CATEGORIES: [&str; 7] = [
    "foreground",
    "recently used",
    "used earlier",
    "background, newest",
    "background, newer",
    "background, older",
    "background, oldest",
];

/// A process that may be killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The app of the process.
    pub app: AppId,
    /// `oom_score_adj`: the higher, the less the user would miss it.
    pub adj: u16,
    /// Index into [`CATEGORIES`].
    pub category: usize,
    /// Memory that killing it frees, in bytes.
    pub bytes: u64,
}

/// A process as the activity manager sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process {
    /// The app of the process.
    pub app: AppId,
    /// True if it has shown a window.
    pub opened: bool,
    /// Order of last use or start; later is larger.
    pub used: u64,
    /// Memory that killing it frees, in bytes.
    pub bytes: u64,
}

/// All processes with their `oom_score_adj` and category.
pub fn rank(mut processes: Vec<Process>, foreground: Option<AppId>) -> Vec<Candidate> {
    processes.sort_unstable_by_key(|p| std::cmp::Reverse((p.opened, p.used, p.app)));
    let background = processes.iter().filter(|p| !p.opened).count();
    // Numbers of processes seen so far: opened apps in the background, and processes that were never opened.
    let (mut opened_seen, mut unopened_seen) = (0, 0);
    let mut ranked = Vec::with_capacity(processes.len());
    for process in processes {
        let (adj, category) = if foreground == Some(process.app) {
            (FOREGROUND, 0)
        } else if process.opened {
            opened_seen += 1;
            let adj = if opened_seen == 1 { PREVIOUS } else { cached_adj(opened_seen - 2) };
            (adj, if opened_seen <= RECENT { 1 } else { 2 })
        } else {
            unopened_seen += 1;
            (cached_adj(opened_seen.saturating_sub(1) + unopened_seen - 1), 3 + (unopened_seen - 1) * 4 / background)
        };
        ranked.push(Candidate { app: process.app, adj, category, bytes: process.bytes });
    }
    ranked
}

/// `oom_score_adj` of a cached process; `newer` cached ones were used after it.
fn cached_adj(newer: usize) -> u16 {
    CACHED + (newer.min(usize::from(CACHED_MOST)) as u16).saturating_mul(CACHED_STEP).min(CACHED_MOST - CACHED)
}

/// The process to kill: highest `oom_score_adj`, then most memory. Never the app in the foreground.
pub fn victim(candidates: impl IntoIterator<Item = Candidate>) -> Option<Candidate> {
    let others = candidates.into_iter().filter(|c| c.adj > FOREGROUND && c.bytes > 0);
    others.max_by_key(|c| (c.adj, c.bytes, std::cmp::Reverse(c.app)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(app: u16, opened: bool, used: u64) -> Process {
        Process { app: AppId(app), opened, used, bytes: 100 }
    }

    /// Apps 1 to 7 opened in this order, 7 in the foreground; 8 to 11 in the background, 8 started last.
    fn phone() -> Vec<Candidate> {
        let opened = (1..=7).map(|app| process(app, true, app.into()));
        let others = (8..=11).map(|app| process(app, false, 1000 - u64::from(app)));
        rank(opened.chain(others).collect(), Some(AppId(7)))
    }

    #[test]
    fn processes_have_the_scores_and_categories_of_android() {
        let found: Vec<_> = phone().iter().map(|c| (c.app.0, c.adj, c.category)).collect();
        let expected = [
            (7, 0, 0),
            (6, 700, 1),
            (5, 900, 1),
            (4, 910, 1),
            (3, 920, 1),
            (2, 930, 2),
            (1, 940, 2),
            (8, 950, 3),
            (9, 960, 4),
            (10, 970, 5),
            (11, 980, 6),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_highest_score_is_killed_first_and_the_foreground_never() {
        let (mut all, mut order) = (phone(), Vec::new());
        while let Some(found) = victim(all.iter().copied()) {
            order.push(found.app.0);
            all.retain(|c| c.app != found.app);
        }
        assert_eq!(order, [11, 10, 9, 8, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn of_equal_scores_the_largest_is_killed_and_one_without_memory_never() {
        let all: Vec<Process> = (1..=30).map(|app| process(app, false, 5)).collect();
        let mut ranked = rank(all, None);
        assert_eq!(ranked.iter().filter(|c| c.adj == 999).count(), 20, "from the eleventh on");
        let last = ranked.iter_mut().filter(|c| c.adj == 999).nth(3).unwrap();
        last.bytes = 101;
        let wanted = last.app;
        assert_eq!(victim(ranked.iter().copied()).unwrap().app, wanted);
        ranked.iter_mut().for_each(|c| c.bytes = 0);
        assert_eq!(victim(ranked), None);
    }
}
