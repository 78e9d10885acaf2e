//! All tests of this folder in one program, because every program takes a while to link.

mod cuts;
mod dftl;
mod fua;
mod full;
mod hp_ufs;
mod ideal;
mod kit;
mod learned;
mod map_cache;
mod msftl;
mod plain;
mod registry;
mod write_booster;
