//! All tests of this folder in one program, because every program takes a while to link.

mod disk;
mod engine;
mod full_disk;
mod outside;
mod store_damage;
mod store_kills;
mod store_rescue;
