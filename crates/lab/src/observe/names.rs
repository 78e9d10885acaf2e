//! What slices are called.

use ftl::Work;
use nand::Cause;
use ufs::PowerState;

/// What a piece of work is called.
pub(super) fn work_name(work: Work) -> &'static str {
    match work {
        Work::Command(op) => op.name(),
        Work::Seals => "seals",
        Work::MapFlush | Work::FlushBeside => "map flush",
        Work::Gc => "GC step",
        Work::MetaGc => "metadata GC",
        Work::Recovery => "recovery",
    }
}

/// What a flash operation is called.
pub(super) fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::HostRead => "host read",
        Cause::HostWrite => "host write",
        Cause::MapRead => "map read",
        Cause::MapWrite => "map write",
        Cause::GcRead => "GC read",
        Cause::GcWrite => "GC write",
        Cause::ValidPageSearch => "valid page search",
        Cause::Erase => "erase",
        Cause::Recovery => "recovery",
    }
}

/// What a power state is called.
pub(super) fn power_name(state: PowerState) -> &'static str {
    match state {
        PowerState::Busy => "busy",
        PowerState::Idle => "idle",
        PowerState::Entering => "entering",
        PowerState::Hibern8 => "hibern8",
        PowerState::ClkGated => "clk gated",
        PowerState::Sleep => "sleep",
        PowerState::Waking => "waking",
    }
}

/// The names that slices have most often; a file names them once. Others may occur.
pub(super) const NAMES: [&str; 24] = [
    "host read",
    "host write",
    "map read",
    "map write",
    "GC read",
    "GC write",
    "valid page search",
    "erase",
    "recovery",
    "map flush",
    "GC step",
    "metadata GC",
    "seals",
    "read",
    "write",
    "flush",
    "trim",
    "unmap",
    "mapped read",
    "HPB read",
    "HPB read buffer",
    "segment read",
    "segment write",
    "entry transfer",
];
