//! All tests of this folder in one program, because every program takes a while to link.

mod booster;
mod driver;
mod host;
mod logical_units;
