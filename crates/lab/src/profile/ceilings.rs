//! How fast a device of this profile can be at most, by each of its parts: what its link, its channels, its dies, its
//! firmware and its tags allow by themselves. No simulated device is faster, whatever its mapping scheme; one that
//! keeps its whole table in DRAM (`ideal`) comes near (`crates/lab/tests/ceilings.rs` says how near).
//!
//! Left out is what depends on the mapping or on the past of the device: reads and writes of the table, GC, erases. So
//! is what reads and writes find in SRAM: a write buffer that fills up, units that are read again.

use nand::{CellType, Kind};
use ufs::{Command, DataIn, DataOut, HpbNotice, Op, PiggyBack, Response, Status, Tag, wire_bytes, wire_bytes_response};
use units::{Lpa, Nanos, Seq, UNIT_BYTES, UNIT_KIB};

use super::Profile;

const SECOND_NS: f64 = 1e9;

/// A way to use a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// Its name.
    pub name: &'static str,
    /// Requests write.
    pub writes: bool,
    /// Requests have the largest transfer of a command, and follow one another; otherwise they have 4 KiB, anywhere.
    pub sequential: bool,
}

/// The ways to use a device.
pub const PATTERNS: [Pattern; 4] = [
    Pattern { name: "sequential_read", writes: false, sequential: true },
    Pattern { name: "sequential_write", writes: true, sequential: true },
    Pattern { name: "random_read", writes: false, sequential: false },
    Pattern { name: "random_write", writes: true, sequential: false },
];

/// A part of the system that limits it, and what the limit is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// Its name.
    pub name: &'static str,
    /// The formula, in requests per second. Symbols are those of [`SYMBOLS`].
    pub formula: &'static str,
    /// Why it is so.
    pub about: &'static str,
}

/// The parts that limit a system, in the order of [`Ceiling::by`].
pub const LIMITS: [Limit; 5] = [
    Limit {
        name: "link",
        formula: "1 / max(t_down, t_up)",
        about: "The two directions of the link do not disturb each other; within one, messages follow one another.",
    },
    Limit {
        name: "channel",
        formula: "channels / (t_row x rows), random reads: channels / t_unit",
        about: "All data crosses a channel. Reads bring only the units that are asked for, programs whole rows.",
    },
    Limit {
        name: "die",
        formula: "dies / ((tR + t_row) x rows), w_dies / ((tPROG + t_row) x rows), random reads: dies / (tR + t_unit)",
        about: "A die that senses, programs or waits for its transfer does nothing else. A row is sensed once for all \
                of its units that are read one after the other, and programmed when it is full.",
    },
    Limit { name: "firmware", formula: "1 / command_ns", about: "Commands are handled by one thread." },
    Limit {
        name: "tags",
        formula: "(tags - internal_tags) / t_least",
        about: "So many requests are under way at most, and each takes at least its time on the link, in the firmware \
                and, for reads and for writes that are written through, of the die that has most of it.",
    },
];

/// What the symbols of the formulas stand for.
pub const SYMBOLS: [(&str, &str); 9] = [
    ("t_down, t_up", "time on the wire of all UPIUs of a request from host to device, and back"),
    ("rows", "rows of a request: its bytes / row_bytes; less than 1 where several requests share a row"),
    ("t_row, t_unit", "transfer of a row, of a unit of 4 KiB over a channel: bytes / nand.transfer_mib_per_s"),
    ("tR, tPROG", "nand.tlc_read_us, nand.tlc_program_us"),
    ("dies", "nand.channels x nand.dies_per_channel"),
    (
        "w_dies",
        "dies; if a superblock lies on fewer, superblock.dies / (1 - (sram.pool_kib - sram.reserve_kib) x 1024 \
         / superblock_bytes), but at most dies",
    ),
    ("command_ns", "firmware.command_ns"),
    ("tags, internal_tags", "host.tags, host.internal_tags"),
    (
        "t_least",
        "t_down + t_up + 2 x link.upiu_ns + command_ns, and for reads and, with sram.write_through, for writes, the \
         time of the die with the most rows: tR + t_row (random: t_unit), or tPROG and the transfer of a page, times \
         rows / dies, rounded up",
    ),
];

/// The most requests per second of one pattern.
#[derive(Clone, PartialEq, Debug)]
pub struct Ceiling {
    /// The pattern.
    pub pattern: Pattern,
    /// Bytes of a request.
    pub request_bytes: u64,
    /// Requests per second that each of [`LIMITS`] allows; `None` = any number.
    pub by: [Option<f64>; LIMITS.len()],
}

impl Ceiling {
    /// The smallest limit: its place in [`LIMITS`], and requests per second.
    pub fn lowest(&self) -> (usize, f64) {
        let limited = self.by.iter().enumerate().filter_map(|(limit, rate)| rate.map(|rate| (limit, rate)));
        limited.min_by(|(_, a), (_, b)| a.total_cmp(b)).expect("cells always take time")
    }

    /// Requests per second.
    pub fn requests_per_s(&self) -> f64 {
        self.lowest().1
    }

    /// Bytes per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.requests_per_s() * self.request_bytes as f64
    }
}

impl Profile {
    /// How fast a device of this profile can be at most, for each of [`PATTERNS`].
    pub fn ceilings(&self) -> [Ceiling; PATTERNS.len()] {
        PATTERNS.map(|pattern| self.ceiling(pattern))
    }

    fn ceiling(&self, pattern: Pattern) -> Ceiling {
        let units = if pattern.sequential { self.values.host.max_transfer_kib / UNIT_KIB } else { 1 };
        let command = Nanos(self.values.firmware.command_ns.into());
        let wire = self.wire(pattern, units);
        let tags = f64::from(self.values.host.tags - self.values.host.internal_tags);
        let least = wire.down + wire.up + wire.handling + command + self.least_on_flash(pattern, units);
        Ceiling {
            pattern,
            request_bytes: u64::from(units) * UNIT_BYTES,
            by: [
                rate(1.0, wire.down.max(wire.up).0 as f64),
                self.channel_limit(pattern, units),
                self.die_limit(pattern, units),
                rate(1.0, command.0 as f64),
                rate(tags, least.0 as f64),
            ],
        }
    }

    fn channel_limit(&self, pattern: Pattern, units: u32) -> Option<f64> {
        let (timing, geometry) = (self.timing(), self.geometry());
        let busy = match (pattern.writes, pattern.sequential) {
            (false, false) => timing.transfer(1).0 as f64,
            _ => timing.transfer(geometry.row_units()).0 as f64 * self.rows(units),
        };
        rate(geometry.channels.into(), busy)
    }

    fn die_limit(&self, pattern: Pattern, units: u32) -> Option<f64> {
        let (timing, geometry) = (self.timing(), self.geometry());
        let of = |kind| timing.cell(CellType::Tlc, kind).0 as f64;
        let row = timing.transfer(geometry.row_units()).0 as f64;
        let busy = match (pattern.writes, pattern.sequential) {
            (false, false) => of(Kind::Read) + timing.transfer(1).0 as f64,
            (false, true) => {
                of(Kind::Read) * self.senses(units) * f64::from(geometry.word_line_pages) + row * self.rows(units)
            }
            (true, _) => (of(Kind::Program) + row) * self.rows(units),
        };
        rate(if pattern.writes { self.writing_dies() } else { geometry.dies().into() }, busy)
    }

    /// Dies that write at the same time, on average. Host data fills one superblock after the other; when the next one
    /// is opened, at most a write buffer is left to program in the one before.
    fn writing_dies(&self) -> f64 {
        let (geometry, sram) = (self.geometry(), &self.values.sram);
        let superblock_kib = f64::from(geometry.superblock_units()) * UNIT_BYTES as f64 / 1024.0;
        let before = f64::from(sram.pool_kib - sram.reserve_kib) / superblock_kib;
        let (wide, all) = (f64::from(geometry.superblock_dies), f64::from(geometry.dies()));
        if before < 1.0 { (wide / (1.0 - before)).min(all) } else { all }
    }

    /// Rows of so many units.
    fn rows(&self, units: u32) -> f64 {
        f64::from(units) / f64::from(self.geometry().row_units())
    }

    /// How often a sequential read of so many units senses. Without a page register every request does.
    fn senses(&self, units: u32) -> f64 {
        let rows = self.rows(units);
        if self.values.nand.timing.page_register { rows } else { rows.max(1.0) }
    }

    /// The least that a request waits for flash: for the die that has the most rows of it.
    fn least_on_flash(&self, pattern: Pattern, units: u32) -> Nanos {
        let (timing, geometry) = (self.timing(), self.geometry());
        let row = geometry.row_units();
        let sensed_before = self.values.nand.timing.page_register && pattern.sequential && units < row;
        let one = match pattern.writes {
            false if sensed_before => timing.transfer(units),
            false => timing.cell(CellType::Tlc, Kind::Read) + timing.transfer(units.min(row)),
            true if self.values.sram.write_through => {
                timing.cell(CellType::Tlc, Kind::Program)
                    + timing.transfer(units.min(geometry.program_units(CellType::Tlc)))
            }
            true => Nanos::ZERO,
        };
        Nanos(one.0 * u64::from((units / row).div_ceil(geometry.dies()).max(1)))
    }

    fn wire(&self, pattern: Pattern, units: u32) -> Wire {
        let lpa = Lpa(0);
        let op = match pattern.writes {
            true => Op::Write { lpa, len: units, fua: false },
            false => Op::Read { lpa, len: units },
        };
        let data = if pattern.writes { DataOut::Stamp(0) } else { DataOut::None };
        let command = Command { tag: Tag(0), op, host_seq: Seq(0), freed: None, data };
        let data = if pattern.writes { DataIn::None } else { DataIn::Many(vec![None; units as usize]) };
        let (status, hpb, piggyback) = (Status::Good, HpbNotice::None, PiggyBack::default());
        let response = Response { tag: Tag(0), status, data, hpb, piggyback };
        let link = self.link_config();
        Wire {
            down: link.down_time(wire_bytes(&command)),
            up: link.up_time(wire_bytes_response(&response)),
            handling: Nanos(2 * link.upiu_latency.0),
        }
    }
}

/// What a request takes on the link.
struct Wire {
    down: Nanos,
    up: Nanos,
    handling: Nanos,
}

/// So many at a time, each for so long; `None` if they take no time.
fn rate(at_a_time: f64, ns: f64) -> Option<f64> {
    (ns > 0.0).then(|| at_a_time * SECOND_NS / ns)
}
