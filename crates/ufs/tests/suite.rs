//! All tests of this folder in one program, because every program takes a while to link.

mod codec;
mod codec_errors;
mod codec_roundtrip;
mod common;
mod linux_wire;
