//! All tests of this folder in one program, because every program takes a while to link.

mod conformance;
mod driver;
mod hp_ufs;
mod hp_ufs_property;
mod model;
mod pressure;
