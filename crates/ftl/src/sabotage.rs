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
    /// Those whose first level may name the place of data.
    Runs,
}

use Concerns::{
    Bitmaps, ChangedInFlushes, Counted, Every, HostSegments, LongPages, Numbered, Parts, Runs, TableOnFlash,
    TranslationPages,
};

units::kinds! {
    /// A promise that a device breaks.
    pub Sabotage, pub(crate) scope: Concerns {
        /// A flush is answered at once.
        FlushAtOnce = "flush-at-once", Every;
        /// A FUA write is answered when it is accepted.
        FuaAtOnce = "fua-at-once", Every;
        /// A FUA write passes older data of its address in the write buffer.
        FuaOvertakes = "fua-overtakes", Every;
        /// A write whose region has grown hot, or cold, passes older data of its address in the write buffer.
        HotOvertakes = "hot-overtakes", Every;
        /// Trims are not journaled.
        ForgetTrims = "forget-trims", Every;
        /// A superblock that is opened is not recorded as a log block.
        ForgetLogBlock = "forget-log-block", TableOnFlash;
        /// Recovery takes the page that was programmed last, whatever its version.
        LastPageWins = "last-page-wins", Every;
        /// Recovery does not write the map units that it has changed.
        ForgetRecovered = "forget-recovered", TableOnFlash;
        /// A unit of user data whose program was cut by a power loss counts as whole.
        TrustTorn = "trust-torn", Every;
        /// A unit of metadata whose program was cut by a power loss counts as whole.
        TornMetadata = "torn-metadata", Every;
        /// A translation page of several flash units counts as whole if its last unit can be read.
        TornTranslationPage = "torn-translation-page", LongPages;
        /// After a power cut the directory keeps the places that map units have in the snapshot.
        StaleDirectory = "stale-directory", TableOnFlash;
        /// The directory never learns where one map unit in four is programmed the next time.
        StaleSegment = "stale-segment", TableOnFlash;
        /// A flush changes the copy of a translation page before the newest one.
        StaleTranslationPage = "stale-translation-page", TranslationPages;
        /// A segment from the host is programmed with the content that it had before.
        StaleHostSegment = "stale-host-segment", HostSegments;
        /// A flush programs one map unit in four with the content of its neighbour.
        MisplacedSegment = "misplaced-segment", ChangedInFlushes;
        /// Recovery takes two copies of a map unit for the newest: the place of the older, the number of the newer.
        DoubledSegment = "doubled-segment", Numbered;
        /// Map units that share a flash unit are marked as one another.
        SwappedParts = "swapped-parts", Parts;
        /// Recovery takes the snapshot before the newest one, and scans what was programmed since the newest one.
        StaleSnapshot = "stale-snapshot", TableOnFlash;
        /// The first flash unit of every snapshot is lost, and recovery takes the other ones.
        TornSnapshot = "torn-snapshot", TableOnFlash;
        /// Recovery takes the older record of log blocks.
        StaleRecord = "stale-record", Every;
        /// Recovery takes the oldest copy of a page of the journal.
        StaleJournal = "stale-journal", Every;
        /// Recovery takes a page of the journal for its neighbour.
        MisplacedJournal = "misplaced-journal", Every;
        /// The segment bitmap of a superblock is never brought up to date.
        StaleBitmap = "stale-bitmap", Bitmaps;
        /// The first level never learns that the data of a map unit lie together no more.
        StaleRun = "stale-run", Runs;
        /// Recovery takes superblocks in SLC mode for erased ones.
        ForgetSlc = "forget-slc", Every;
        /// Recovery does not count the valid pages in one map unit in four.
        WrongCount = "wrong-count", Counted;
    }
}
