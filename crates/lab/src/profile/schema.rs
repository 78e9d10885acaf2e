//! The sections of a profile that describe the device, its link and its driver. What belongs to a scheme is declared in
//! the scheme's own file.

use ftl::MappingParams;
use host::{BoosterParams, SchedulerParams};
use params::{Field, Owner, Owners, ParamError, Params, Table, Value, params};

params! {
    /// The device as a whole.
    pub Device {
        /// Name in reports.
        name: text;
        /// What the profile models, in one line.
        summary: text;
        /// Addressable capacity.
        capacity_mib: count(16 to 4194304), fixed;
    }
}

params! {
    /// Flash: shape and cell times.
    pub NandSection {
        /// Channels; die d is on channel d modulo this.
        channels: count(1 to 32), fixed;
        /// Dies on each channel.
        dies_per_channel: count(1 to 16), fixed;
        /// Planes of a die that read and program together.
        planes: count(1 to 4), fixed;
        /// Page size of one plane; must be a power of two.
        page_kib: count(4 to 32), fixed;
        /// Pages of a block.
        pages_per_block: count(4 to 4096), fixed;
        /// Superblocks for user data. One superblock is a block on every plane of every die, or of superblock.dies.
        data_superblocks: count(20 to 1048576), fixed;
        /// Superblocks for metadata, in SLC mode.
        meta_superblocks: count(3 to 65534), fixed;
        /// SLC: page read time (tR).
        slc_read_us: count(1 to 100000);
        /// SLC: page program time (tPROG).
        slc_program_us: count(1 to 100000);
        /// SLC: block erase time (tBERS).
        slc_erase_us: count(1 to 1000000);
        /// Data cells (MLC, TLC): page read time (tR).
        tlc_read_us: count(1 to 100000);
        /// Data cells (MLC, TLC): page program time (tPROG).
        tlc_program_us: count(1 to 100000);
        /// Data cells (MLC, TLC): block erase time (tBERS).
        tlc_erase_us: count(1 to 1000000);
        /// Rate of a channel; 0 = transfers take no time.
        transfer_mib_per_s: count(0 to 16384);
        /// A read of the page that the die sensed last skips tR.
        page_register: switch;
    }
}

params! {
    /// Superblocks: what is filled, collected and erased as one.
    pub SuperblockSection {
        /// Dies of a superblock: all of them, or a group of so many. Groups take turns by the superblock's number. On
        /// fewer dies GC collects less at a time, and data is written more slowly.
        dies: count_or("all" 1 to 512) = ["all"], "striped over the whole array", fixed;
    }
}

params! {
    /// The firmware's one thread.
    pub Firmware {
        /// Time spent on each command.
        command_ns: count(0 to 1000000);
        /// Buffered write data that has waited this long is programmed even if its row is not full.
        idle_flush_us: count(10 to 10000000);
    }
}

params! {
    /// What makes data durable takes time besides flash operations: when it has rested, and for flushes. Unless a
    /// profile says otherwise, it takes none.
    pub WritePathSection {
        /// A pause without writes, flushes and trims after which the write path rests: the next of them finds it not
        /// ready, and those that follow wait with it. Reads pass.
        rest_ms: count_or("never" 1 to 1000000) = ["never"], "never unless a profile has it";
        /// Until the write path is ready again.
        wake_us: count(0 to 10000000) = 1000,
            "a Pixel 4: the first write after 100 ms without writes takes about 1 ms more";
        /// What a flush or a FUA write takes besides the programs that it waits for. Writes that follow wait with it.
        flush_us: count(0 to 10000000) = 0, "nothing unless a profile has it";
        /// A pause without flushes and FUA writes after which the next takes longer.
        flush_rest_ms: count_or("never" 1 to 1000000) = ["never"], "never unless a profile has it";
        /// By how much.
        flush_wake_us: count(0 to 10000000) = 900,
            "a Pixel 4: a flush takes 690 us, and 1.6 ms if the last one is over 100 ms ago";
    }
}

params! {
    /// SRAM inside the controller.
    pub Sram {
        /// The pool shared by write data, L2P segments, GC and operations in flight.
        pool_kib: count(128 to 262136);
        /// What pool_kib is the size of: "pool", the pool alone, with tables beside it (log buffer, directory of the
        /// metadata, superblocks, those of the mapping scheme), or "all", all SRAM: then tables take their part of the
        /// segment cache, and the pool is smaller by as much.
        covers: choice("pool" "all");
        /// At most this much of the pool holds L2P segments.
        segment_cache_kib: count(4 to 262136);
        /// Part of the pool that host data may never take.
        reserve_kib: count(4 to 65536);
        /// Writes are acknowledged only after their program, as if each had FUA.
        write_through: switch;
    }
}

params! {
    /// The L2P log buffer and the log blocks.
    pub Log {
        /// Capacity in entries of 16 bytes.
        entries: count(64 to 65535);
        /// Superblocks whose mappings may be missing from flash.
        max_log_blocks: count(2 to 255), fixed;
    }
}

params! {
    /// Garbage collection; thresholds count free data superblocks.
    pub Gc {
        /// What a written unit pays for: "searched", a searched unit, as in the HP-UFS authors' prototype, or "gained",
        /// as much search as frees a unit, by the victim's valid pages.
        pace: choice("searched" "gained");
        /// GC runs while fewer superblocks than this are free.
        start_superblocks: count(4 to 1048576);
        /// Above this writes pay for a third of that, below it for half.
        relaxed_superblocks: count(3 to 1048576);
        /// At or below this writes pay for all of it; with pace = "gained" for twice as much from halfway down to the
        /// reserve.
        hurried_superblocks: count(2 to 1048576);
        /// At or below this host writes wait and GC runs without pacing.
        reserve_superblocks: count(2 to 65536);
        /// With pace = "searched": written units that earn one GC step. With "gained": units that a step copies at
        /// most, at least a row.
        units_per_step: count(1 to 1048576);
    }
}

params! {
    /// Wear levelling.
    pub Wear {
        /// Starts when erase counts differ by more than this.
        spread_erases: count(2 to 1000000);
    }
}

params! {
    /// Flash operations that fail, out of a million of their kind; which ones follows from the seed of the run.
    pub FaultSection {
        /// Reads that cannot be corrected: the request ends with an error, the firmware's own reads are repeated.
        read_per_million: count(0 to 100000) = 0, "no faults unless a run asks for them";
        /// Programs: what they carried is programmed elsewhere, the superblock is given up when it is empty.
        program_per_million: count(0 to 100000) = 0, "no faults unless a run asks for them";
        /// Erases of the share of one die: the superblock is given up.
        erase_per_million: count(0 to 100000) = 0, "no faults unless a run asks for them";
    }
}

params! {
    /// Questions that no device can answer: what would be without some of its work.
    pub WhatIf {
        /// Flash operations that take no time, though they are done and counted: "nothing", "gc" (of data: search,
        /// reads, programs), or "mapping" (reads and programs of the mapping table, and the search for valid pages). A
        /// result says so.
        free: choice("nothing" "gc" "mapping") = "nothing", "a device has to do all of its work";
    }
}

params! {
    /// The link between host and device.
    pub LinkSection {
        /// Rate of UPIUs from host to device; 0 = no time on the wire.
        down_mib_per_s: count(0 to 65536);
        /// Rate of UPIUs from device to host; 0 = no time on the wire.
        up_mib_per_s: count(0 to 65536);
        /// From the last byte of a message on the wire to its handling at the other end.
        upiu_ns: count(0 to 1000000);
    }
}

params! {
    /// Power states of link and device in idle time, as Linux leads a phone through them. All delays count from the
    /// last response; without one of the three timers the link is always up.
    pub PowerSection {
        /// Idle time after which the controller hibernates the link (sysfs: auto_hibern8).
        auto_hibern8_idle_us: count_or("off" 1 to 102300000) = ["off"],
            "off unless a profile has it: no paper's platform tells its timers. Linux sets 150 ms, phones 1 ms to 150 \
            ms; the register holds at most 102.3 s (UFSHCI, AHIT)";
        /// From the end of that timer, or the driver's wish, until the link hibernates.
        hibern8_enter_us: count(0 to 1000000) = 100,
            "assumed: the handshake of UniPro, and the shortest stay of an M-PHY in HIBERN8, 100 us";
        /// From hibernation until the link is up.
        hibern8_exit_us: count(0 to 1000000) = 450,
            "a Pixel 4: 4 KiB reads and writes after 1 to 50 ms without requests take 405 to 510 us more";
        /// Idle time after which the driver hibernates the link and stops the clocks (sysfs: clkgate_delay_ms).
        clkgate_delay_ms: count_or("off" 1 to 1000000) = ["off"],
            "off unless a profile has it. Linux sets 150 ms; Qualcomm's driver 50 ms, 10 ms at a low clock";
        /// The driver's timer ends up to so much late; how much is drawn in every idle time.
        clkgate_jitter_us: count(0 to 1000000000) = 0,
            "none unless a profile has it. Linux: delayed work, on ticks of 4 to 10 ms";
        /// Until the clocks run again; the link's exit comes on top.
        clk_ungate_us: count(0 to 10000000) = 11700,
            "a Pixel 4: requests after 60 ms without requests take 12.15 ms more, 0.45 of them for the link";
        /// Idle time after which runtime power management puts the device to sleep (sysfs: autosuspend_delay_ms).
        autosuspend_delay_ms: count_or("off" 1 to 1000000000) = ["off"],
            "off unless a profile has it. Linux sets 2000 ms (RPM_AUTOSUSPEND_DELAY_MS)";
        /// Until the device sleeps: the link comes up, START STOP UNIT, the link hibernates, the clocks stop.
        sleep_enter_us: count(0 to 10000000) = 13000,
            "assumed: an exit by clocks and link as above, the command, and a way into hibernation";
        /// Until the device is awake; clocks and link come on top.
        sleep_exit_us: count(0 to 10000000) = 10000,
            "assumed: supplies settle and the controller starts; Linux waits for it without an upper bound";
        /// Idle times, of a hundred, in which something else uses the link once, such as a request to another
        /// partition; 0 = none. It wakes the link, and the idle time begins anew.
        other_use_percent: count(0 to 100) = 0, "none unless a profile has it: a trace does not tell";
        /// At most so long after an idle time has begun; any moment until then is as likely.
        other_use_within_ms: count(1 to 1000000) = 150,
            "a Pixel 4: after 50 to 150 ms without requests the link is down or not, later it nearly always is";
    }
}

params! {
    /// What the device draws, for an estimate of its energy in results. It decides nothing.
    pub EnergySection {
        /// Supply of the flash.
        vcc_mv: count(1 to 10000) = 2900, "JESD220C: VCC of 2.7 V to 3.6 V; 2.9 to 3.0 V is common in phones";
        /// Supply of controller and link.
        vccq2_mv: count(1 to 10000) = 1800, "JESD220C: VCCQ2 of 1.7 V to 1.95 V";
        /// A die that reads, programs, erases or moves data, from VCC.
        die_ua: count(0 to 1000000) = 25000,
            "assumed: data sheets of dies give 20 to 25 mA as typical for reads, programs and erases (ICC1 to ICC3)";
        /// Controller and link while a command is under way, or a state is being entered or left, from VCCQ2.
        busy_ua: count(0 to 10000000) = 150000,
            "assumed: what is left of about 1 W under load, of which data sheets of UFS 2.1 tell, without the dies";
        /// The same while the link is up and idle, and of a device that has work of its own.
        idle_ua: count(0 to 10000000) = 40000,
            "assumed: published figures for idle devices with the link up are some tens of milliwatts";
        /// The same while the link hibernates.
        hibern8_ua: count(0 to 10000000) = 1500, "assumed: data sheets give one to a few milliwatts";
        /// The same while the clocks are stopped too, the reference clock of the device among them.
        clk_gated_ua: count(0 to 10000000) = 1000, "assumed: below hibernation, for lack of a reference clock";
        /// The same while the device sleeps.
        sleep_ua: count(0 to 10000000) = 400, "assumed: data sheets give some hundreds of microamperes";
    }
}

params! {
    /// The host's driver.
    pub HostSection {
        /// Commands in flight.
        tags: count(2 to 32);
        /// Tags kept for the driver's own commands.
        internal_tags: count(1 to 31);
        /// Largest transfer of one command.
        max_transfer_kib: count(4 to 4096);
        /// Host DRAM for cached L2P entries.
        memory_mib: count_or("unlimited" 1 to 65536);
    }
}

params! {
    /// What takes time on the host, between workload and driver: places in the block layer, the processors' work for
    /// each request, and what keeps processors from working. Unless a profile says otherwise, nothing does.
    pub HostTimeSection {
        /// Requests that the block layer takes in at once, of all tasks and kinds together (sysfs: nr_requests). A task
        /// that finds no place waits before the queue.
        nr_requests: count_or("unlimited" 1 to 65536) = ["unlimited"],
            "unlimited unless a profile has it. Linux: 128 for devices with one queue (BLKDEV_MAX_RQ)";
        /// Tasks of fio jobs, SQLite and phones have plugs: what one asks for at a moment is merged where it is
        /// neighbouring, within the limits of [merge]. Traces have the option --merge.
        plugs: switch = false, "off unless a profile has it";
        /// Processors that work for storage. Interrupts are handled by the first one.
        processors: count_or("unlimited" 1 to 64) = ["unlimited"],
            "as many as there is work for, unless a profile has it: none of its other work is in a trace";
        /// Read: time of the submitting task, from plug to driver.
        read_submit_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Read: the same for each page of 4 KiB.
        read_submit_page_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Read: from the last response until its completion work is asked for; it occupies no processor.
        read_delay_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Read: time of the processor that handles interrupts.
        read_complete_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Read: the same for each page, such as decryption.
        read_complete_page_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Write: time of the submitting task, from plug to driver.
        write_submit_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Write: the same for each page, such as encryption.
        write_submit_page_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Write: from the last response until its completion work is asked for; it occupies no processor.
        write_delay_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Write: time of the processor that handles interrupts.
        write_complete_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Write: the same for each page.
        write_complete_page_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Write of the file system's metadata (flag META), in place of write_submit_ns.
        meta_submit_ns: count_or("as-write" 0 to 100000000) = ["as-write"], "as other writes unless a profile has it";
        /// The same in place of write_submit_page_ns.
        meta_submit_page_ns: count_or("as-write" 0 to 100000000) = ["as-write"],
            "as other writes unless a profile has it";
        /// The same in place of write_delay_ns.
        meta_delay_ns: count_or("as-write" 0 to 100000000) = ["as-write"], "as other writes unless a profile has it";
        /// The same in place of write_complete_ns.
        meta_complete_ns: count_or("as-write" 0 to 100000000) = ["as-write"], "as other writes unless a profile has it";
        /// The same in place of write_complete_page_ns.
        meta_complete_page_ns: count_or("as-write" 0 to 100000000) = ["as-write"],
            "as other writes unless a profile has it";
        /// Flush and trim: time of the submitting task.
        other_submit_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Flush and trim: from the response until its completion work is asked for; it occupies no processor.
        other_delay_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Flush and trim: time of the processor that handles interrupts.
        other_complete_ns: count(0 to 100000000) = 0, "nothing unless a profile has it";
        /// Idle time after which a processor sleeps.
        processor_idle_us: count_or("never" 1 to 100000000) = ["never"], "never unless a profile has it";
        /// Until a processor that sleeps works again.
        processor_wake_us: count(0 to 1000000) = 150,
            "assumed: device trees of phones give exit latencies of some 100 us to the deepest states of a core";
        /// Bursts, of a hundred, in which the processors stall, as for a change of frequency; 0 = none.
        stall_percent: count(0 to 100) = 0, "nothing unless a profile has it";
        /// A pause without requests that ends a burst.
        stall_pause_ms: count(1 to 1000000) = 20, "assumed: a governor looks every 10 to 20 ms";
        /// From the beginning of a burst to its stall, at least.
        stall_after_min_ms: count(0 to 1000000) = 15, "a Pixel 4: all stalls come 15 to 150 ms after a burst began";
        /// The same at most.
        stall_after_max_ms: count(0 to 1000000) = 150, "a Pixel 4: all stalls come 15 to 150 ms after a burst began";
        /// Length of a stall, at least.
        stall_min_us: count(1 to 10000000) = 4000, "a Pixel 4: what counts as a stall lasts over 4 ms";
        /// The same at most.
        stall_max_us: count(1 to 10000000) = 12000, "assumed: three times the shortest";
        /// Completions of writes, out of a million, whose processor is taken by something else first; 0 = none.
        preempt_per_million: count(0 to 1000000) = 0, "nothing unless a profile has it";
        /// For how long it is taken, at least.
        preempt_min_us: count(1 to 10000000) = 200, "a Pixel 4: gaps between completions of writes of 200 us and more";
        /// The same at most.
        preempt_max_us: count(1 to 10000000) = 500, "a Pixel 4: the median of these gaps is 358 us";
    }
}

params! {
    /// Merging of neighbouring requests of a trace before the scheduler, as the block layer of Linux does it.
    pub MergeSection {
        /// The largest request that merging makes (max_sectors).
        max_kib: count(4 to 65536) = 1024, "Linux drivers/ufs/core/ufshcd.c: max_sectors of 1 MiB";
        /// Pages of memory that a merged request may have (max_segments).
        max_segments: count(1 to 65535) = 128, "Linux drivers/ufs/core/ufshcd.c: sg_tablesize, SG_ALL";
        /// Requests of a task that wait in its plug to be merged.
        plug_requests: count(1 to 1024) = 32, "Linux block/blk.h: BLK_MAX_REQUEST_COUNT; 16 before 5.16";
        /// A longer pause between two requests of a task ends its plug.
        plug_gap_us: count(0 to 1000000) = 50,
            "assumed: a task that waits for an answer sleeps, which ends its plug, and nine of ten answers of a Pixel \
            4 take 60 us or more";
        /// The same after a request that somebody waits for: a SYNC write, or a read that is not read ahead.
        plug_sync_gap_us: count_or("as-others" 0 to 1000000) = ["as-others"], "as after others unless a profile has it";
    }
}

/// A section, or the table of a scheme.
#[derive(Clone, PartialEq, Debug)]
pub struct Section {
    /// Name of its table.
    pub name: String,
    /// What it is about.
    pub about: &'static str,
    /// Its keys.
    pub fields: Vec<Field>,
}

macro_rules! sections {
    ($($section:ident: $Section:ty,)+) => {
        /// A device profile. Every value is inside its range.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct Values {
            $( #[doc = concat!("`[", stringify!($section), "]`")] pub $section: $Section, )+
            /// Parameters of mapping schemes.
            pub mappings: MappingParams,
            /// Parameters of boosters.
            pub boosters: BoosterParams,
            /// Parameters of schedulers.
            pub schedulers: SchedulerParams,
        }

        /// The sections in the order of the documentation.
        pub fn sections() -> Vec<Section> {
            vec![$( Section {
                name: stringify!($section).into(),
                about: <$Section as Params>::ABOUT.trim_ascii(),
                fields: <$Section as Params>::fields(),
            }, )+]
        }

        impl Values {
            /// Reads the tables of a profile.
            pub(super) fn read(root: &Table) -> Result<Values, ParamError> {
                let scheme = |name: &str| table(root.get("scheme").and_then(|schemes| schemes.get(name)));
                Ok(Values {
                    $( $section: params::read(stringify!($section), &table(root.get(stringify!($section))))?, )+
                    mappings: schemes::read("scheme.", &scheme)?,
                    boosters: Owners::read("scheme.", &scheme)?,
                    schedulers: Owners::read("scheme.", &scheme)?,
                })
            }

            /// All values, as the file of a profile could hold them.
            pub fn tables(&self) -> Table {
                let of = |values: Vec<(&'static str, Value)>| -> Table {
                    values.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
                };
                let mut root = Table::new();
                $( root.insert(stringify!($section).into(), of(self.$section.values()).into()); )+
                let mut schemes = Table::new();
                let owners = self.mappings.values().into_iter().chain(self.boosters.values());
                for (name, values) in owners.chain(self.schedulers.values()) {
                    let all = schemes.entry(name).or_insert_with(|| Table::new().into());
                    all.as_table_mut().expect("made above").extend(values);
                }
                root.insert("scheme".into(), schemes.into());
                root
            }
        }
    };
}

sections! {
    device: Device,
    nand: NandSection,
    superblock: SuperblockSection,
    firmware: Firmware,
    write_path: WritePathSection,
    sram: Sram,
    log: Log,
    gc: Gc,
    wear: Wear,
    faults: FaultSection,
    what_if: WhatIf,
    link: LinkSection,
    power: PowerSection,
    energy: EnergySection,
    host: HostSection,
    host_time: HostTimeSection,
    merge: MergeSection,
}

fn table(value: Option<&Value>) -> Table {
    value.and_then(Value::as_table).cloned().unwrap_or_default()
}

/// The tables of schemes, `[scheme.NAME]`, each name once, with all of its keys.
pub fn schemes() -> Vec<Section> {
    let owners = [schemes::owners(), BoosterParams::owners(), SchedulerParams::owners()];
    let mut all: Vec<Section> = Vec::new();
    for Owner { name, fields } in owners.into_iter().flatten() {
        match all.iter_mut().find(|section| section.name == name) {
            Some(section) => section.fields.extend(fields),
            None => all.push(Section { name: name.into(), about: "", fields }),
        }
    }
    all
}
