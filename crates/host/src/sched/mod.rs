//! Schedulers: in which order parts that wait for a tag are sent. To add one, write its file and register it in the
//! list below.

use crate::request::Part;

/// A scheduler orders; it does not send. A part that must wait for the booster has left the scheduler.
pub(crate) trait Scheduler {
    /// Takes in a part.
    fn push(&mut self, part: Part);
    /// The part to send next, if any is left.
    fn pop(&mut self) -> Option<Part>;
}

macro_rules! schedulers {
    ($($(#[$doc:meta])* $variant:ident = $name:literal in $module:ident::$type:ident;)+) => {
        $(mod $module;)+

        /// The schedulers.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum SchedulerKind {
            $($(#[$doc])* $variant,)+
        }

        impl SchedulerKind {
            /// Every scheduler.
            pub const ALL: &'static [SchedulerKind] = &[$(SchedulerKind::$variant),+];
            /// The names by which they are chosen, in the order of `ALL`.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// The scheduler of this name.
            pub fn from_name(name: &str) -> Option<SchedulerKind> {
                match name {
                    $($name => Some(SchedulerKind::$variant),)+
                    _ => None,
                }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(SchedulerKind::$variant => $name,)+
                }
            }
        }

        /// The scheduler in use.
        pub(crate) enum AnyScheduler {
            $($variant($module::$type),)+
        }

        impl AnyScheduler {
            /// A scheduler without parts.
            pub fn new(kind: SchedulerKind) -> AnyScheduler {
                match kind {
                    $(SchedulerKind::$variant => AnyScheduler::$variant(Default::default()),)+
                }
            }
        }

        impl Scheduler for AnyScheduler {
            #[inline]
            fn push(&mut self, part: Part) {
                match self {
                    $(AnyScheduler::$variant(s) => s.push(part),)+
                }
            }

            #[inline]
            fn pop(&mut self) -> Option<Part> {
                match self {
                    $(AnyScheduler::$variant(s) => s.pop(),)+
                }
            }
        }
    };
}

schedulers! {
    /// First in, first out.
    Noop = "noop" in noop::Fifo;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::RequestOp;
    use units::Lpa;

    fn part(request: u32) -> Part {
        Part { request, op: RequestOp::Read, lpa: Lpa(9 - request), len: 1, counted: false, pinned: false }
    }

    #[test]
    fn names_lead_back_to_their_schedulers() {
        for (&kind, &name) in SchedulerKind::ALL.iter().zip(SchedulerKind::NAMES) {
            assert_eq!(kind.name(), name);
            assert_eq!(SchedulerKind::from_name(name), Some(kind));
        }
        assert_eq!(SchedulerKind::from_name("elevator"), None);
    }

    #[test]
    fn every_scheduler_gives_back_every_part_once() {
        for &kind in SchedulerKind::ALL {
            let mut scheduler = AnyScheduler::new(kind);
            (0..9).for_each(|i| scheduler.push(part(i)));
            let mut seen: Vec<u32> = std::iter::from_fn(|| scheduler.pop()).map(|p| p.request).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..9).collect::<Vec<_>>(), "{}", kind.name());
        }
    }

    #[test]
    fn noop_is_first_in_first_out() {
        let mut scheduler = AnyScheduler::new(SchedulerKind::Noop);
        scheduler.push(part(2));
        scheduler.push(part(1));
        assert_eq!(scheduler.pop().map(|p| p.request), Some(2));
        assert_eq!(scheduler.pop().map(|p| p.request), Some(1));
        assert_eq!(scheduler.pop(), None);
    }
}
