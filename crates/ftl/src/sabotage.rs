//! Promises that a device can be made to break, to show that tests would notice.
//!
//! A canary is one line below, with its name, what it does, and the schemes that it concerns; and one line where the
//! firmware keeps the promise.

/// Schemes that a sabotage concerns. `concerned.rs` lists them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Concerns {
    /// All of them.
    Every,
    /// Those that keep their table on flash.
    TableOnFlash,
    /// Those whose directory has the numbers of map units.
    Numbered,
    /// Those that count valid pages in all map units after a power cut.
    Counted,
    /// Those whose map units may share a flash unit.
    Parts,
    /// Those that change map units by reading them and writing them elsewhere.
    ChangedInFlushes,
    /// Those with translation pages, which are read, changed and written elsewhere.
    TranslationPages,
    /// Those whose translation pages may take several flash units.
    LongPages,
    /// Those that get segments from the host.
    HostSegments,
    /// Those with segment bitmaps.
    Bitmaps,
}

macro_rules! sabotages {
    ($($name:literal => $variant:ident, $concerns:expr, $summary:literal;)*) => {
        /// A promise that a device breaks.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Sabotage { $(#[doc = $summary] $variant,)* }

        impl Sabotage {
            /// Every sabotage, with its name.
            pub const ALL: &'static [(&'static str, Sabotage)] = &[$(($name, Sabotage::$variant),)*];

            /// Its name, for options.
            pub fn name(self) -> &'static str {
                match self { $(Sabotage::$variant => $name,)* }
            }

            /// What the device does, in one line.
            pub fn summary(self) -> &'static str {
                match self { $(Sabotage::$variant => $summary,)* }
            }

            pub(crate) fn scope(self) -> Concerns {
                match self { $(Sabotage::$variant => $concerns,)* }
            }
        }
    };
}

use Concerns::{
    Bitmaps, ChangedInFlushes, Counted, Every, HostSegments, LongPages, Numbered, Parts, TableOnFlash, TranslationPages,
};

sabotages! {
    "flush-at-once" => FlushAtOnce, Every, "A flush is answered at once.";
    "fua-at-once" => FuaAtOnce, Every, "A FUA write is answered when it is accepted.";
    "fua-overtakes" => FuaOvertakes, Every, "A FUA write passes older data of its address in the write buffer.";
    "forget-trims" => ForgetTrims, Every, "Trims are not journaled.";
    "forget-log-block" => ForgetLogBlock, TableOnFlash,
        "A superblock that is opened is not recorded as a log block.";
    "last-page-wins" => LastPageWins, Every,
        "Recovery takes the page that was programmed last, whatever its version.";
    "forget-recovered" => ForgetRecovered, TableOnFlash,
        "Recovery does not write the map units that it has changed.";
    "trust-torn" => TrustTorn, Every, "A unit of user data whose program was cut by a power loss counts as whole.";
    "torn-metadata" => TornMetadata, Every,
        "A unit of metadata whose program was cut by a power loss counts as whole.";
    "torn-translation-page" => TornTranslationPage, LongPages,
        "A translation page of several flash units counts as whole if its last unit can be read.";
    "stale-directory" => StaleDirectory, TableOnFlash,
        "After a power cut the directory keeps the places that map units have in the snapshot.";
    "stale-segment" => StaleSegment, TableOnFlash,
        "The directory never learns where one map unit in four is programmed the next time.";
    "stale-translation-page" => StaleTranslationPage, TranslationPages,
        "A flush changes the copy of a translation page before the newest one.";
    "stale-host-segment" => StaleHostSegment, HostSegments,
        "A segment from the host is programmed with the content that it had before.";
    "misplaced-segment" => MisplacedSegment, ChangedInFlushes,
        "A flush programs one map unit in four with the content of its neighbour.";
    "doubled-segment" => DoubledSegment, Numbered,
        "Recovery takes two copies of a map unit for the newest: the place of the older, the number of the newer.";
    "swapped-parts" => SwappedParts, Parts, "Map units that share a flash unit are marked as one another.";
    "stale-snapshot" => StaleSnapshot, TableOnFlash,
        "Recovery takes the snapshot before the newest one, and scans what was programmed since the newest one.";
    "torn-snapshot" => TornSnapshot, TableOnFlash,
        "The first flash unit of every snapshot is lost, and recovery takes the other ones.";
    "stale-record" => StaleRecord, Every, "Recovery takes the older record of log blocks.";
    "stale-journal" => StaleJournal, Every, "Recovery takes the oldest copy of a page of the journal.";
    "misplaced-journal" => MisplacedJournal, Every, "Recovery takes a page of the journal for its neighbour.";
    "stale-bitmap" => StaleBitmap, Bitmaps,
        "The segment bitmap of a superblock is never brought up to date.";
    "wrong-count" => WrongCount, Counted, "Recovery does not count the valid pages in one map unit in four.";
}
