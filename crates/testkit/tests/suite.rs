//! All tests of this folder in one program, because every program takes a while to link.

mod conformance;
mod driven;
mod faults;
mod fuzz_corpus;
mod malicious_host;
mod power;
mod race;
mod recovery_time;
mod segment_parts;
mod sqlite_power;
mod untrusted_host;
