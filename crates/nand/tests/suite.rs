//! All tests of this folder in one program, because every program takes a while to link.

mod common;
mod faults;
mod power_cut;
mod reads;
mod reference;
mod rules;
mod timing;
