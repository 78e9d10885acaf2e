//! All tests of this folder in one program, because every program takes a while to link.

mod disks;
mod whole;
