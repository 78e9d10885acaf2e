//! Which superblock garbage collection takes next: decided by the firmware, or by a host that names victims (HP-UFS
//! Sec. III-E).

use std::cmp::Reverse;

use units::{Seq, Superblock, splitmix64};

units::kinds! {
    /// What decides between superblocks.
    pub VictimPolicy {
        /// The fewest valid pages. The best there is if all data are overwritten alike.
        Greedy = "greedy";
        /// The most of age (1 - u) / 2u with the share u of valid pages (Kawaguchi et al., USENIX 1995). Age is the
        /// number of pages written since it was filled.
        CostBenefit = "cost_benefit";
        /// The one that was filled first.
        Fifo = "fifo";
        /// The fewest valid pages of a few that are drawn at random (d-choices: Van Houdt, SIGMETRICS 2013).
        Choices = "choices";
    }
}

/// How victims are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Victims {
    /// What decides.
    pub policy: VictimPolicy,
    /// Superblocks that [`VictimPolicy::Choices`] draws.
    pub choices: u32,
}

/// A superblock that could be collected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// Its number.
    pub superblock: Superblock,
    /// Its valid pages.
    pub valid: u32,
    /// Sequence number of its last page; 0 if a power cut has made it unknown.
    pub filled: Seq,
}

impl Victims {
    /// The fewest valid pages.
    pub const GREEDY: Victims = Victims { policy: VictimPolicy::Greedy, choices: 1 };

    /// True if the policy asks when a superblock was filled.
    pub fn needs_age(self) -> bool {
        matches!(self.policy, VictimPolicy::CostBenefit | VictimPolicy::Fifo)
    }

    /// The victim among candidates, each a superblock of `units` pages. `now` is the number of the next page. Of
    /// equals, the lowest number.
    pub fn choose(self, candidates: impl Iterator<Item = Candidate>, units: u32, now: Seq) -> Option<Candidate> {
        match self.policy {
            VictimPolicy::Greedy => fewest(candidates),
            VictimPolicy::Fifo => candidates.min_by_key(|one| (one.filled, one.superblock)),
            VictimPolicy::CostBenefit => {
                candidates.min_by_key(|one| (Reverse(one.benefit(units, now)), one.superblock))
            }
            VictimPolicy::Choices => {
                let luck = |one: &Candidate| splitmix64(now.0 ^ splitmix64(one.superblock.0.into()));
                let mut drawn: Vec<_> = candidates.map(|one| (luck(&one), one)).collect();
                drawn.sort_unstable_by_key(|&(luck, one)| (luck, one.superblock));
                fewest(drawn.into_iter().take(self.choices as usize).map(|(_, one)| one))
            }
        }
    }
}

fn fewest(candidates: impl Iterator<Item = Candidate>) -> Option<Candidate> {
    candidates.min_by_key(|one| (one.valid, one.superblock))
}

impl Candidate {
    /// Age (1 - u) / 2u, in 2^-32; no valid page is the most there is.
    fn benefit(&self, units: u32, now: Seq) -> u128 {
        let age = u128::from(now.0.saturating_sub(self.filled.0));
        let gained = u128::from(units - self.valid.min(units));
        ((age * gained) << 32).checked_div(2 * u128::from(self.valid)).unwrap_or(u128::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: u32 = 64;
    const NOW: Seq = Seq(10_000);

    fn chosen(policy: VictimPolicy, choices: u32, blocks: &[(u32, u64)]) -> Option<u32> {
        let candidates = (0..).zip(blocks).map(|(number, &(valid, filled))| Candidate {
            superblock: Superblock(number),
            valid,
            filled: Seq(filled),
        });
        Victims { policy, choices }.choose(candidates, UNITS, NOW).map(|one| one.superblock.0)
    }

    #[test]
    fn each_policy_takes_its_own_and_of_equals_the_first() {
        // Valid pages, and when filled: (64 - 20) / 40 of 100 is 110, (64 - 32) / 64 of 5000 is 2500, 10 of 10 is 27.
        let blocks = [(20, 9_900), (32, 5_000), (10, 9_990), (60, 100), (10, 9_990)];
        assert_eq!(chosen(VictimPolicy::Greedy, 1, &blocks), Some(2));
        assert_eq!(chosen(VictimPolicy::CostBenefit, 1, &blocks), Some(1));
        assert_eq!(chosen(VictimPolicy::Fifo, 1, &blocks), Some(3));
        assert_eq!(chosen(VictimPolicy::Choices, 5, &blocks), Some(2), "all of them are drawn");
        for &policy in VictimPolicy::ALL {
            assert_eq!(chosen(policy, 3, &[]), None);
        }
        assert_eq!(chosen(VictimPolicy::CostBenefit, 1, &[(20, 9_900), (0, 9_999)]), Some(1), "it costs nothing");
    }

    #[test]
    fn draws_are_even_and_change_with_every_page() {
        let mut seen = [0; 10];
        for now in 0..10_000 {
            let candidates =
                (0..10).map(|n| Candidate { superblock: Superblock(n), valid: 5, filled: Seq(u64::from(n)) });
            let drawn = Victims { policy: VictimPolicy::Choices, choices: 1 }.choose(candidates, UNITS, Seq(now));
            seen[drawn.expect("there are ten").superblock.index()] += 1;
        }
        // 1000 expected, standard deviation 30.
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
    }
}
