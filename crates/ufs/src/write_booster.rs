//! WriteBooster: a write cache in SLC mode that the host controls (JESD220G clause 13.4.18). What a host sets and reads
//! by QUERY REQUESTs, as types; flags and attributes with their bytes are in `ufshci`.
//!
//! # Glossary
//! - **buffer**: flash in SLC mode that takes writes first. All logical units share it, or it is *dedicated* to one.
//! - **flush**: copying what is in the buffer to normal storage. What was written first goes first.
//! - **user space preserved, reduced**: the buffer takes its room from what is free, and shrinks as the device fills;
//!   or the capacity is smaller from the start by what the buffer takes as normal storage.
//!
//! Flags and sizes that are said to be *volatile* are 0 after a power cut or a reset.

/// Flags of the host; volatile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct BoosterFlags {
    /// fWriteBoosterEn (0Eh): writes go to the buffer.
    pub enabled: bool,
    /// fWriteBoosterBufferFlushEn (0Fh): the device flushes whenever no command is under way.
    pub flush: bool,
    /// fWriteBoosterBufferFlushDuringHibernate (10h): it flushes while the link hibernates.
    pub flush_in_hibernation: bool,
}

/// What a host wants of the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoosterControl {
    /// Sets all three flags.
    Flags(BoosterFlags),
    /// The link hibernates, or no longer does.
    Hibernate(bool),
    /// FIFO partial flush (clause 13.4.18.7.1): a flush leaves the units that were written last, at least so many.
    Keep {
        /// In units of 4 KiB.
        units: u32,
    },
    /// bWriteBoosterBufferResizeEn (3Dh): a smaller buffer, or a larger one up to what was configured. A resize that is
    /// under way goes on, and nothing else happens. Only a buffer that preserves user space has one.
    Resize {
        /// A larger one.
        larger: bool,
    },
    /// The host has read bWriteBoosterBufferFlushStatus, so an end that it tells is forgotten.
    FlushStatusRead,
    /// The same of bWriteBoosterBufferResizeStatus.
    ResizeStatusRead,
}

/// bWriteBoosterBufferFlushStatus (1Ch).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FlushStatus {
    /// There is nothing to flush, or no flush was begun.
    #[default]
    Idle = 0,
    /// Begun, also where it has been suspended for commands.
    InProgress = 1,
    /// The host has stopped it.
    Stopped = 2,
    /// Done.
    Completed = 3,
}

/// bWriteBoosterBufferResizeStatus (3Eh).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ResizeStatus {
    /// None was asked for.
    #[default]
    Idle = 0,
    /// What is beyond the new size is being flushed.
    InProgress = 1,
    /// Done.
    Completed = 2,
    /// The size cannot change that way.
    Failed = 3,
}

/// bWriteBoosterBufferResizeHint (3Ch).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ResizeHint {
    /// Keep the size.
    #[default]
    Keep = 0,
    /// A smaller buffer leaves GC more room.
    Decrease = 1,
    /// There is room for a larger one.
    Increase = 2,
}

units::kinds! {
    /// Where the room of the buffer comes from.
    pub UserSpace {
        /// From what is free: the capacity stays, and the buffer shrinks as the device fills.
        Preserved = "preserved";
        /// From the capacity, which is smaller by slc.superblocks ordinary superblocks. So the buffer never shrinks.
        Reduced = "reduced";
    }
}

/// The buffer as a host sees it. Units are of 4 KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Booster {
    /// Size as configured.
    pub configured_units: u32,
    /// Normal storage that a byte of it takes (bWriteBoosterBufferCapAdjFac): the bits of an ordinary cell.
    pub capacity_factor: u32,
    /// Where its room comes from.
    pub user_space: UserSpace,
    /// As the host has set them.
    pub flags: BoosterFlags,
    /// Size now.
    pub current_units: u32,
    /// Of this, what can be written before some is flushed.
    pub available_units: u32,
    /// What a flush leaves.
    pub kept_units: u32,
    /// Of the last flush.
    pub flush: FlushStatus,
    /// Of the last resize.
    pub resize: ResizeStatus,
    /// What size the device recommends.
    pub hint: ResizeHint,
    /// bWriteBoosterBufferLifeTimeEst (1Eh); see [`life_time`].
    pub life_time: u8,
}

impl Booster {
    /// bAvailableWriteBoosterBufferSize (1Dh): what can be written, in tenths of the size now, rounded down.
    pub fn available_tenths(&self) -> u32 {
        let tenths = 10 * u64::from(self.available_units) / u64::from(self.current_units.max(1));
        tenths as u32
    }

    /// Exception event WRITEBOOSTER_FLUSH_NEEDED (clauses 13.4.12, 13.4.18.4): there is a buffer, and it is full or
    /// near full. Here that is less than a tenth; the standard leaves it to the device.
    pub fn needs_flush(&self) -> bool {
        self.current_units > 0 && self.available_tenths() == 0
    }
}

/// How worn a device is, as it tells a host (device health descriptor, JESD220G clause 14.1.4.10).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Health {
    /// bPreEOLInfo: 01h normal, 02h and 03h when 80% and 90% of the spare superblocks have been given up.
    pub pre_eol: u8,
    /// bDeviceLifeTimeEstA: superblocks that are always in SLC mode, those of metadata; see [`life_time`].
    pub life_time_slc: u8,
    /// bDeviceLifeTimeEstB: all others.
    pub life_time_data: u8,
}

/// An estimate of used life time as the standard writes it: 00h without one, 01h up to 10% used, up to 0Ah, 0Bh beyond.
/// `erases` is the mean, as a sum over so many superblocks, and `rated` what they last.
pub fn life_time(erases: u64, superblocks: u32, rated: Option<u32>) -> u8 {
    let Some(rated) = rated else { return 0 };
    let all = u64::from(rated) * u64::from(superblocks.max(1));
    match erases > all {
        true => 0x0B,
        false => (1 + 10 * erases / all).min(0x0A) as u8,
    }
}

/// bPreEOLInfo for so many spare superblocks, of which so many have been given up.
pub fn pre_eol(lost: u32, spare: u32) -> u8 {
    match 100 * u64::from(lost) / u64::from(spare.max(1)) {
        0..80 => 1,
        80..90 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn life_times_are_tenths_that_begin_at_one() {
        assert_eq!(life_time(5, 1, None), 0);
        let of = |erases| life_time(erases, 4, Some(100));
        assert_eq!([0, 39, 40, 79, 360, 399, 400, 401].map(of), [1, 1, 2, 2, 10, 10, 10, 11]);
    }

    #[test]
    fn spare_superblocks_run_out_in_three_steps() {
        assert_eq!([0, 79, 80, 89, 90, 100, 200].map(|lost| pre_eol(lost, 100)), [1, 1, 2, 2, 3, 3, 3]);
    }

    #[test]
    fn a_buffer_needs_a_flush_below_a_tenth_and_only_if_there_is_one() {
        let of = |available_units, current_units| Booster {
            configured_units: 100,
            capacity_factor: 3,
            user_space: UserSpace::Preserved,
            flags: BoosterFlags::default(),
            current_units,
            available_units,
            kept_units: 0,
            flush: FlushStatus::Idle,
            resize: ResizeStatus::Idle,
            hint: ResizeHint::Keep,
            life_time: 0,
        };
        let told = |available, current| {
            let booster = of(available, current);
            (booster.available_tenths(), booster.needs_flush())
        };
        assert_eq!([told(100, 100), told(99, 100), told(10, 100)], [(10, false), (9, false), (1, false)]);
        assert_eq!([told(9, 100), told(0, 100), told(0, 0)], [(0, true), (0, true), (0, false)]);
    }
}
